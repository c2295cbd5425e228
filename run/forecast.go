package run

import (
	"time"

	"backslide/lab"
)

// cycleTime is about how long a block spends on one server beside its slices: clone, start
// and stop.
const cycleTime = 3 * time.Second

// Forecast is about how long a run takes, before the host's noise and the servers' speed
// are known.
type Forecast struct {
	Calibrate   time.Duration // trials of all levels and pilots of their noise, once
	Least, Most time.Duration // a block, on a quiet host and on a noisy one
}

// Foresee returns the forecast of a run of so many variants. Levels are those that Calibrate
// will be given. Long steps that nobody knows the length of are not in it.
func Foresee(p lab.Plan, variants int, levels []lab.LevelPlan) Forecast {
	f := Forecast{Calibrate: cycleTime, Least: cycleTime, Most: cycleTime}
	pilots, tried := affordable(p, len(levels)), false
	for _, l := range levels {
		if l.Whole() {
			f.Least, f.Most = f.Least+l.Slice, f.Most+l.Slice
			continue
		}
		tried = true
		slice := max(p.Slice, l.Grain)
		slices := max(2, int(time.Duration(p.Slices)*p.Slice/slice))
		one, warm := slice+p.Discard, max(p.Warm, l.Grain)
		least, most := slices, slices
		f.Calibrate += pilot + max(pilot, l.Grain)
		if l.Slice = slice; pilots && pilotFits(p, l) {
			least, most = min(slices, fewest), mostLonger*slices
			f.Calibrate += pilotSlices * p.Slice / pilotPart
		}
		f.Least += time.Duration(least)*one + warm
		f.Most += time.Duration(most)*one + warm
	}
	if !tried { // nothing of it is tried beforehand
		f.Calibrate = 0
	}
	f.Least *= time.Duration(variants)
	f.Most *= time.Duration(variants)
	return f
}
