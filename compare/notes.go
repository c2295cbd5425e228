package compare

import (
	"fmt"
	"math"

	"backslide/lab"
	"backslide/stat"
)

const (
	noisy     = 0.10 // smallest detectable difference from which on a comparison is called noisy
	auditFrom = 20   // blocks from which on a call is audited without assuming a shape of noise
	auditFar  = 0.70 // of the audit's bound; normal noise reaches three quarters of it at a call
	lopsided  = 0.50 // imbalance over which one side ran before the other
)

// unusable says why a series cannot be judged at all, if so.
func (j *judge) unusable(s series) []string {
	switch {
	case s.doubt != "":
		return []string{s.doubt}
	case s.zeros > 0:
		return []string{fmt.Sprintf("no ratio in %s, where a side had none of it: not judged", blocks(s.zeros))}
	case len(s.diffs) == 0:
		return []string{"no block has both sides"}
	}
	return nil
}

// orderDoubt withholds a verdict when one side ran before the other in every block: what
// drifts meanwhile looks like a difference, and blocks repeat it faithfully.
func orderDoubt(order []float64) []string {
	early, late := 0, 0
	for _, o := range order {
		switch {
		case o > lopsided:
			early++
		case o < -lopsided:
			late++
		}
	}
	first := "base"
	if late > 0 {
		first = "candidate"
	}
	if n := early + late; n == len(order) && (early == 0 || late == 0) && n > 0 {
		return []string{fmt.Sprintf("order effect suspected: the %s ran first in all of %s, so that drift cannot be told from a difference: no verdict", first, blocks(n))}
	}
	return nil
}

// slowDoubt withholds a verdict when a role of a step fell behind its rate: what ran
// beside it was spared that work.
func (j *judge) slowDoubt(p *pair) []string {
	var out []string
	for _, v := range []lab.Variant{j.run.Base, p.candidate} {
		for _, text := range j.fellBehind(v, p.plan.Level) {
			out = append(out, text+", so what ran beside it is not comparable: no verdict")
		}
	}
	return out
}

// aloneBehind says which roles fell behind in a run of one variant: there is no verdict
// whose notes could.
func (j *judge) aloneBehind() []string {
	if len(j.candidates) > 0 {
		return nil
	}
	var out []string
	for _, l := range j.levels {
		for _, text := range j.fellBehind(j.run.Base, l.Level) {
			out = append(out, fmt.Sprintf("%s: %s, so what ran beside it was spared that work", l.Level, text))
		}
	}
	return out
}

// fellBehind says which roles of a variant did not come to their rate at a level, how far
// they came where it was least, and how often.
func (j *judge) fellBehind(v lab.Variant, l lab.Level) []string {
	worst := map[string]slow{}
	var roles []string
	seen := map[string]map[int32]bool{}
	for _, s := range j.of(v, l).slow {
		if seen[s.role] == nil {
			roles, seen[s.role], worst[s.role] = append(roles, s.role), map[int32]bool{}, s
		}
		if seen[s.role][s.block] = true; s.rate/s.offered < worst[s.role].rate/worst[s.role].offered {
			worst[s.role] = s
		}
	}
	var out []string
	for _, r := range roles {
		w := worst[r]
		out = append(out, fmt.Sprintf("%s fell behind: %s came to %.1f of %.1f operations a second in block %d (in %s in all)",
			v, r, w.rate, w.offered, w.block+1, blocks(len(seen[r]))))
	}
	return out
}

// needs says how many blocks a verdict takes, if there are too few.
func needs(p lab.Plan, n int) []string {
	switch {
	case p.BlocksMax < firstLook:
		return []string{fmt.Sprintf("the plan ends after %s; a verdict needs at least %d", blocks(p.BlocksMax), firstLook)}
	case n == 1:
		return []string{fmt.Sprintf("n=1: point estimate only, no interval; a verdict needs at least %d blocks", firstLook)}
	case n < firstLook:
		return []string{fmt.Sprintf("n=%d: no interval yet; a verdict needs at least %d blocks", n, firstLook)}
	}
	return nil
}

// notes returns the doubts about a look at differences d.
func (j *judge) notes(c lab.Comparison, l look, d []float64, prior stat.Prior) []string {
	out := needs(j.plan, len(d))
	if l.est.Ties {
		out = append(out, tiesNote(c, len(d)))
	}
	if !math.IsInf(c.MDE, 1) && c.MDE > noisy && len(d) >= firstLook {
		out = append(out, fmt.Sprintf("noisy: one block varies by %s, so that only a difference of %s would be seen in %s",
			percent(c.SD), percent(c.MDE), blocks(j.plan.BlocksMax)))
	}
	if l.call == stat.Higher || l.call == stat.Lower {
		out = append(out, j.audit(d, prior)...)
	}
	return out
}

func tiesNote(c lab.Comparison, n int) string {
	all := fmt.Sprintf("zero variance: all of %s give the same ratio", blocks(n))
	switch c.Verdict {
	case lab.Regressed, lab.Improved:
		return all + "; a difference, resolution-limited: its size is known only to the resolution of the values"
	case lab.Equivalent:
		return all + "; resolution-limited: the noise was taken from the other steps"
	}
	return all + "; resolution-limited: too coarse to call small differences"
}

// audit warns when a call rests on noise being about normal.
func (j *judge) audit(d []float64, prior stat.Prior) []string {
	if len(d) < auditFrom {
		return nil
	}
	guess := prior.Var
	if prior.DF == 0 {
		e := stat.Prior{}.Moderate(d[:firstLook])
		guess = e.SD * e.SD
	}
	if guess == 0 {
		return nil
	}
	sum, bound := stat.Symmetry(d, 4*guess, j.plan.Alpha)
	if sum >= auditFar*bound {
		return nil
	}
	return []string{fmt.Sprintf("heavy tails: a test that assumes no shape of noise is at %.0f %% of its bound after %s; look at the blocks",
		100*sum/bound, blocks(len(d)))}
}

// blocks returns "1 block", "2 blocks".
func blocks(n int) string {
	if n == 1 {
		return "1 block"
	}
	return fmt.Sprintf("%d blocks", n)
}

// are returns "1 is", "2 are".
func are(n int) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}

// percent returns a log-ratio's size as a percentage.
func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*math.Expm1(math.Abs(x))) }
