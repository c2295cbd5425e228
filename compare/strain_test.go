package compare

import (
	"math"
	"strings"
	"testing"

	"backslide/lab"
)

// hosted returns the noise of a run in which the host shows what usage says, of base and
// candidate.
func hosted(t *testing.T, usage func(candidate bool, u *lab.Usage)) lab.Summary {
	t.Helper()
	s := sim{blocks: 5, slices: 4, levels: 1, clients: 1, candidates: 1, restart: 0.02, noise: 0.02, seed: 3}
	all := s.measure()
	for i := range all {
		usage(all[i].Cell.Variant == variant(1), &all[i].Usage)
		all[i].Wall = 0.2
	}
	return summary(t, s.run(), all)
}

func TestStrain(t *testing.T) {
	s := hosted(t, func(candidate bool, u *lab.Usage) {
		u.StallCPU, u.StallMemory, u.StallIO, u.Frequency, u.Dirty, u.Throttled = 0.1, 0.001, 0.02, 2e9, 1<<20, 0
		if candidate {
			u.Frequency, u.Dirty = 2.2e9, 201<<20
		}
	})
	n := s.Noise.Pairs[0]
	near := func(name string, got, want float64) {
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	near("StallCPU", n.StallCPU, 0.5)
	near("StallMemory", n.StallMemory, 0.005)
	near("StallIO", n.StallIO, 0.1)
	near("Frequency", n.Frequency, math.Sqrt(2e9*2.2e9))
	near("FasterClock", n.FasterClock, math.Log(1.1))
	near("BaseDirty", n.BaseDirty, 1<<20)
	near("Dirty", n.Dirty, 201<<20)
	notes := strings.Join(n.Notes, "\n")
	for _, want := range []string{"the CPUs' frequency was +10.0 % in the candidate's slices", "201 MiB of the file cache", "1 MiB after the base's"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q do not say %q", notes, want)
		}
	}
	for _, f := range s.Footnotes {
		t.Errorf("footnote %q of a host that is short of nothing", f)
	}
}

// What a host does not tell is not known, and is no doubt.
func TestStrainUnknown(t *testing.T) {
	s := hosted(t, func(_ bool, u *lab.Usage) {
		u.StallCPU, u.StallMemory, u.StallIO, u.Frequency, u.Dirty, u.Throttled = -1, -1, -1, -1, -1, -1
	})
	n := s.Noise.Pairs[0]
	if n.StallCPU != -1 || n.StallMemory != -1 || n.StallIO != -1 || n.Frequency != -1 || n.FasterClock != 0 || n.Dirty != -1 || n.BaseDirty != -1 || n.Throttled != -1 {
		t.Errorf("of a host that shows nothing: %+v", n)
	}
	if len(n.Notes)+len(s.Footnotes) > 0 {
		t.Errorf("notes %q, footnotes %q", n.Notes, s.Footnotes)
	}
}

func TestShortage(t *testing.T) {
	for want, usage := range map[string]func(bool, *lab.Usage){
		"slowed down for their heat 40 times":  func(_ bool, u *lab.Usage) { u.Throttled = 1 },
		"waited for memory in 5 % of the time": func(_ bool, u *lab.Usage) { u.StallMemory = 0.01 },
	} {
		s := hosted(t, usage)
		foot := strings.Join(s.Footnotes, "\n")
		advice := s.Noise.Pairs[0].Advice
		if !strings.Contains(foot, want) || !strings.Contains(advice, want) {
			t.Errorf("footnotes %q and advice %q, want %q in both", foot, advice, want)
		}
	}
}
