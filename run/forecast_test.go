package run

import (
	"testing"
	"time"

	"backslide/lab"
)

// Two variants, a level that reads and one that writes, each 8 slices of 200 ms: 2 s with
// discards of 50 ms, of which a pilot may leave half, or make four times as many.
func TestForesee(t *testing.T) {
	p := lab.Plan{Discard: 50 * time.Millisecond, Warm: time.Second}.WithDefaults()
	if p.Slices != 8 || p.Slice != 200*time.Millisecond {
		t.Fatalf("the plan has %d slices of %s", p.Slices, p.Slice)
	}
	levels := []lab.LevelPlan{{Read: true}, {Read: false}}
	f := Foresee(p, 2, levels)
	want := Forecast{
		Calibrate: cycleTime + 2*200*time.Millisecond + 16*25*time.Millisecond,
		Least:     2 * (cycleTime + 2*time.Second + time.Second + 2*time.Second),
		Most:      2 * (cycleTime + 2*time.Second + 8*time.Second + 2*time.Second),
	}
	if f != want {
		t.Errorf("forecast %+v, want %+v", f, want)
	}
	p.FitSlices = false
	if f := Foresee(p, 2, levels); f.Least != f.Most || f.Calibrate != cycleTime+2*200*time.Millisecond {
		t.Errorf("of a plan that fixes its slices: %+v", f)
	}
	if f := Foresee(p, 2, []lab.LevelPlan{{Limit: time.Hour, Slice: time.Minute}}); f.Calibrate != 0 || f.Most != 2*(cycleTime+time.Minute) {
		t.Errorf("of a long step: %+v", f)
	}
}
