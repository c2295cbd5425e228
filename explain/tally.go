package explain

import "backslide/lab"

// timed estimates times per operation from the rounds with waits, as rounds does, and says
// what they are made of: how long and how often in all rounds together.
func (x *evidence) timed(get func(lab.Observation) []lab.Amount) []lab.Component {
	return x.tallied(x.rounds(lab.Waits, "sec/op", get, bySquare), get)
}

// tallied returns components of the rounds with waits with what was counted and timed of
// each: as the servers did, neither scaled to a common pace nor to the time blocked.
func (x *evidence) tallied(cs []lab.Component, get func(lab.Observation) []lab.Amount) []lab.Component {
	rounds := x.common(lab.Waits)
	base, cand := tally(x.BaseSeen, rounds, get), tally(x.CandidateSeen, rounds, get)
	for i, c := range cs {
		cs[i].Tallies = &lab.Tallies{Base: base[c.Name], Candidate: cand[c.Name]}
	}
	return cs
}

// tally adds up amounts over all operations of rounds with waits.
func tally(seen []lab.Observation, rounds []int, get func(lab.Observation) []lab.Amount) map[string]lab.Tally {
	by := roundsOf(seen, lab.Waits)
	ops := 0.0
	out := map[string]lab.Tally{}
	for _, n := range rounds {
		for _, o := range by[n] {
			ops += float64(o.Ops)
			for _, a := range get(o) {
				if !sane(a.Value) || !sane(a.Count) {
					continue
				}
				t := out[a.Name]
				t.Seconds += a.Value * float64(o.Ops)
				t.Times += a.Count * float64(o.Ops)
				out[a.Name] = t
			}
		}
	}
	for name, t := range out {
		t.TimesPerOp = t.Times / ops
		out[name] = t
	}
	return out
}
