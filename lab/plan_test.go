package lab

import (
	"strings"
	"testing"
	"time"
)

// What a file or a default says of slices decides whether pilots may choose.
func TestPlanOfSlices(t *testing.T) {
	for text, want := range map[string]Plan{
		"":                                     {Slices: 8, FitSlices: true, Slice: 200 * time.Millisecond, FitLength: true},
		"slices = 6":                           {Slices: 6, Slice: 200 * time.Millisecond, FitLength: true},
		"slice = \"1s\"":                       {Slices: 8, FitSlices: true, Slice: time.Second},
		"slices = 6\nslice = \"1s\"":           {Slices: 6, Slice: time.Second},
		"latency = \"70%\"\nslices = 8":        {Slices: 8, Slice: 200 * time.Millisecond, FitLength: true, Latency: 0.7},
		"latency = \"0.5\"\nslice = \"250ms\"": {Slices: 8, FitSlices: true, Slice: 250 * time.Millisecond, Latency: 0.5},
	} {
		e, err := ParseExperiment("x.toml", "builds = [\"mariadb@10.5\"]\n[[workload]]\nname = \"slap\"\n[plan]\n"+text, nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		p := e.Plan
		if p.Slices != want.Slices || p.FitSlices != want.FitSlices || p.Slice != want.Slice || p.FitLength != want.FitLength || p.Latency != want.Latency {
			t.Errorf("%q: %d slices (fitted %t) of %s (fitted %t), latency %v; want %+v", text, p.Slices, p.FitSlices, p.Slice, p.FitLength, p.Latency, want)
		}
		if again := p.WithDefaults(); again != p {
			t.Errorf("%q: defaults are not filled in once: %+v", text, again)
		}
	}
	for text, want := range map[string]string{
		"latency = \"fast\"": "x.toml:5: plan: latency = \"fast\" is not a share such as 70%",
		"latency = \"100%\"": "x.toml:5: plan: latency = 100% is outside 0 to 100 %",
	} {
		_, err := ParseExperiment("x.toml", "builds = [\"mariadb@10.5\"]\n[[workload]]\nname = \"slap\"\n[plan]\n"+text, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
