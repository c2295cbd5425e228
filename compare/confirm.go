package compare

import (
	"fmt"

	"backslide/lab"
	"backslide/stat"
)

// ConfirmAlpha is the level of either stage of a confirmation. Both err in the same
// direction on the same level with a probability of 0.02·0.01 if nothing differs.
const ConfirmAlpha = 0.02

// Suspects returns the throughput comparisons of a run that are called at ConfirmAlpha:
// what a confirmation is to measure again, on fresh blocks with the roles of the two sides
// swapped in all that they do not share (ports, directories, CPUs, clones of the data).
func Suspects(run lab.Run, slices []lab.Slice, b *stat.Boundaries) ([]lab.Comparison, error) {
	cs, err := stage(run, slices, b)
	if err != nil {
		return nil, err
	}
	var out []lab.Comparison
	for _, c := range cs.Comparisons {
		if c.Metric == lab.QPS && called(c) && (c.Candidate.Copy == 0 || run.Plan.Inject != 0) {
			out = append(out, c)
		}
	}
	return out, nil
}

// Confirm returns the summary of a confirmation run, in which exactly those comparisons
// by throughput are red that both runs call at ConfirmAlpha, with the same sign. Each run
// fits its own prior, so that the two share nothing. The summary's plan and lamps are those
// of this test: its intervals are of 98 %. Notes say what the earlier run had
// found; a comparison that it did not call, or did not have, is judged but never red.
func Confirm(earlier lab.Run, first []lab.Slice, later lab.Run, second []lab.Slice, b *stat.Boundaries) (lab.Summary, error) {
	if later.ID == earlier.ID {
		return lab.Summary{}, fmt.Errorf("confirm run %d: a run does not confirm itself", earlier.ID)
	}
	if b == nil {
		b = &stat.Boundaries{}
	}
	before, err := Suspects(earlier, first, b)
	if err != nil {
		return lab.Summary{}, err
	}
	s, err := stage(later, second, b)
	if err != nil {
		return lab.Summary{}, err
	}
	type key struct {
		l    lab.Level
		v, b lab.Variant
	}
	suspects := map[key]lab.Comparison{}
	for _, c := range before {
		suspects[key{c.Level, c.Candidate, c.Base}] = c
	}
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		if c.Metric != lab.QPS {
			c.Red = false
			continue
		}
		was, ok := suspects[key{c.Level, c.Candidate, c.Base}]
		if !ok {
			c.Red = false
			continue
		}
		confirm(c, was, earlier.ID)
		if c.Red && s.AA != nil && s.AA.Held {
			hold(s.Comparisons[i:i+1], nil)
		}
	}
	for i := range s.Groups {
		s.Groups[i].Test.Red = false
	}
	s.Lamps.AlphaRed, s.Lamps.AlphaRedSecondary = ConfirmAlpha*ConfirmAlpha/2, 0
	// What was suspected has been chosen for being called once: of a suspect that differs in
	// nothing the second stage alone stands between it and the lamp, on one side.
	s.Lamps.Level = min(1, ConfirmAlpha/2*float64(len(suspects)))
	s.Lamps.Tests = len(suspects) + len(s.Groups)
	s.Lamps.FalseAmbers = ConfirmAlpha * float64(s.Lamps.Tests)
	return s, nil
}

// confirm sets the lamp of a comparison that an earlier run had called.
func confirm(c *lab.Comparison, was lab.Comparison, run int64) {
	before := fmt.Sprintf("%s by %s in run %d", was.Verdict, signed(was.LogRatio), run)
	switch {
	case c.Verdict != was.Verdict:
		c.Red, c.Held = false, false
		c.Notes = append(c.Notes, "not confirmed: "+before)
	case c.Bound:
		c.Red, c.Held = false, true
		c.Notes = append(c.Notes, "confirmed, and held: "+before)
	default:
		c.Red = true
		c.Notes = append(c.Notes, "confirmed: "+before)
	}
}

// stage judges a run at ConfirmAlpha, which is also where it stops.
func stage(run lab.Run, slices []lab.Slice, b *stat.Boundaries) (lab.Summary, error) {
	run.Plan.Alpha, run.Plan.Stop = ConfirmAlpha, lab.UntilAmber
	return Compare(run, slices, b)
}

func called(c lab.Comparison) bool { return c.Verdict == lab.Regressed || c.Verdict == lab.Improved }
