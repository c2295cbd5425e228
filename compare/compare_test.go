package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
	"backslide/stat"
)

// bounds are the same for all tests, which would otherwise spend their time on them.
var bounds stat.Boundaries

// summary compares and fails the test on an error.
func summary(t *testing.T, run lab.Run, slices []lab.Slice) lab.Summary {
	t.Helper()
	s, err := Compare(run, slices, &bounds)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// qps returns the comparisons by throughput.
func qps(s lab.Summary) []lab.Comparison { return of(s, lab.QPS) }

func of(s lab.Summary, m lab.Metric) []lab.Comparison {
	var out []lab.Comparison
	for _, c := range s.Comparisons {
		if c.Metric == m {
			out = append(out, c)
		}
	}
	return out
}

func count(cs []lab.Comparison) map[lab.Verdict]int {
	out := map[lab.Verdict]int{}
	for _, c := range cs {
		out[c.Verdict]++
	}
	return out
}

func hasNote(c lab.Comparison, part string) bool {
	return strings.Contains(strings.Join(c.Notes, "\n"), part)
}

// Many simulated steps with a known truth go through the whole function, each with
// restarts, slices and a drifting host.
func TestTruth(t *testing.T) {
	for _, tt := range []struct {
		name          string
		theta, margin float64
		want          lab.Verdict
		least         int // of 300
	}{
		{"same build twice", 0, 0.05, lab.Equivalent, 298},
		{"same build twice, and no margin to be equivalent in", 0, 0.001, lab.Inconclusive, 291},
		{"slower", -0.05, 0.03, lab.Regressed, 295},
		{"faster", +0.05, 0.03, lab.Improved, 295},
	} {
		s := sim{blocks: 20, slices: 4, levels: 300, clients: 1, candidates: 1, theta: tt.theta, restart: 0.012, noise: 0.02, drift: 0.002, seed: 11}
		run := s.run()
		run.Plan.Margin = tt.margin
		cs := qps(summary(t, run, s.measure()))
		got := count(cs)
		missed := 0
		for _, c := range cs {
			if c.Lo > tt.theta || c.Hi < tt.theta {
				missed++
			}
			if !c.Done {
				t.Errorf("%s: %s is not done after 20 blocks", tt.name, c.Level)
			}
		}
		if got[tt.want] < tt.least { // 1 % of false alarms are 3; 10 or more come with 0.1 %
			t.Errorf("%s: verdicts %v, want at least %d %s", tt.name, got, tt.least, tt.want)
		}
		if missed > 9 {
			t.Errorf("%s: %d of 300 intervals miss the truth", tt.name, missed)
		}
		t.Logf("%s: %v, %d intervals miss", tt.name, got, missed)
	}
}

// A difference that is real and smaller than the margin is equivalent, and says so.
func TestSmallButReal(t *testing.T) {
	s := sim{blocks: 20, slices: 8, levels: 30, clients: 1, candidates: 1, theta: -0.02, restart: 0.003, noise: 0.005, seed: 5}
	found := 0
	for _, c := range qps(summary(t, s.run(), s.measure())) {
		if c.Verdict != lab.Equivalent {
			t.Errorf("2 %% within a margin of 5 %% is %s", c.Verdict)
		}
		if c.Real {
			found++
		}
	}
	if found < 15 { // the others stop before they can tell from zero
		t.Errorf("%d of 30 said to be small but real", found)
	}
}

// A host that slows down steadily: mirrored slices cancel it exactly, one side after the
// other is seen through.
func TestDrift(t *testing.T) {
	mirrored := sim{blocks: 10, slices: 4, levels: 2, clients: 1, candidates: 1, drift: -0.01, seed: 3}
	for _, c := range qps(summary(t, mirrored.run(), mirrored.measure())) {
		for _, d := range c.Blocks {
			if math.Abs(d.Diff) > 1e-12 {
				t.Errorf("mirrored: block %d differs by %g", d.Block, d.Diff)
			}
		}
		if c.Verdict == lab.Regressed || c.Verdict == lab.Improved {
			t.Errorf("mirrored: %s", c.Verdict)
		}
	}
	noisy := mirrored
	noisy.noise, noisy.drift = 0.003, -0.02
	for _, c := range qps(summary(t, noisy.run(), noisy.measure())) {
		if c.Verdict != lab.Equivalent {
			t.Errorf("mirrored with noise: %s [%.3f, %.3f]", c.Verdict, c.Lo, c.Hi)
		}
	}
	blocked := noisy
	blocked.blocked = true
	for _, c := range qps(summary(t, blocked.run(), blocked.measure())) {
		if c.Verdict != lab.Inconclusive || !hasNote(c, "order effect suspected") {
			t.Errorf("blocked: %s, notes %q; want none for the order", c.Verdict, c.Notes)
		}
	}
}

// The result does not depend on the order of slices, and a tally that is asked block by
// block ends with what one asked once says.
func TestDeterminism(t *testing.T) {
	s := sim{blocks: 9, slices: 4, levels: 7, clients: 2, candidates: 2, theta: -0.03, restart: 0.01, noise: 0.02, seed: 8}
	run, all := s.run(), s.measure()
	want := summary(t, run, all)
	shuffled := append([]lab.Slice(nil), all...)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if d := cmp.Diff(want, summary(t, run, append(shuffled, all...))); d != "" {
		t.Errorf("shuffled, each twice (-want +got):\n%s", d)
	}
	var tally Tally
	for i, s := range all {
		tally.Add(s)
		if i+1 == len(all) || all[i+1].Block != s.Block {
			if _, err := tally.Verdicts(run, &bounds); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := tally.Verdicts(run, &bounds)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(qps(want), got); d != "" {
		t.Errorf("block by block (-want +got):\n%s", d)
	}
}

// The first look that calls counts: blocks that came later change nothing but a note.
func TestFirstCallCounts(t *testing.T) {
	s := sim{blocks: 20, slices: 4, levels: 8, clients: 1, candidates: 1, theta: -0.15, restart: 0.01, noise: 0.01, seed: 4}
	run, all := s.run(), s.measure()
	for i := range all {
		if all[i].Block >= 12 && all[i].Cell.Variant != run.Base { // later the candidate is fast
			all[i].Wall /= 2
		}
	}
	var early []lab.Slice
	for _, s := range all {
		if s.Block < 12 {
			early = append(early, s)
		}
	}
	short, full := qps(summary(t, run, early)), qps(summary(t, run, all))
	for i := range full {
		a, b := short[i], full[i]
		if b.Verdict != lab.Regressed || !b.Done || len(b.Blocks) != 20 || !hasNote(b, "of 20 blocks; the later") {
			t.Errorf("%s: %s after %d blocks, notes %q", b.Level, b.Verdict, len(b.Blocks), b.Notes)
		}
		a.Blocks, b.Blocks, a.Notes, b.Notes = nil, nil, nil, nil
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("%s: later blocks changed it (-early +all):\n%s", full[i].Level, d)
		}
	}
}

// What the prior says is fixed by the first four blocks.
func TestPriorIsFixed(t *testing.T) {
	s := sim{blocks: 10, slices: 4, levels: 8, clients: 1, candidates: 1, restart: 0.01, noise: 0.02, seed: 9}
	run, all := s.run(), s.measure()
	want := qps(summary(t, run, all))[0]
	for i := range all {
		if all[i].Block >= 4 && all[i].Cell.Step.Name != "step0" {
			all[i].Wall *= 1 + 0.3*float64(i%7)
		}
	}
	got := qps(summary(t, run, all))[0]
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("later blocks of other steps changed step0 (-want +got):\n%s", d)
	}
	if want.DF <= float64(len(want.Blocks)-1) {
		t.Errorf("%g degrees of freedom after %d blocks: no prior", want.DF, len(want.Blocks))
	}
}

func TestTooFew(t *testing.T) {
	for _, tt := range []struct {
		blocks, max int
		note        string
	}{
		{0, 20, "no block has both sides"},
		{1, 20, "n=1: point estimate only"},
		{2, 20, "a verdict needs at least 4 blocks"},
		{3, 20, "n=3"},
		{3, 3, "the plan ends after 3 blocks; a verdict needs at least 4"},
		{1, 1, "the plan ends after 1 block; a verdict needs at least 4"},
	} {
		run, all := exact(tt.blocks, 0.5)
		run.Plan.BlocksMax = tt.max
		for i := range all { // not even ties
			all[i].Wall *= 1 + 1e-4*float64(i%5)
		}
		c := qps(summary(t, run, all))[0]
		if c.Verdict != lab.Inconclusive || !hasNote(c, tt.note) || !math.IsInf(c.Lo, -1) || !math.IsInf(c.Hi, 1) {
			t.Errorf("%d of %d blocks: %s [%g, %g] %q, want none and %q", tt.blocks, tt.max, c.Verdict, c.Lo, c.Hi, c.Notes, tt.note)
		}
		if want := tt.blocks == tt.max; c.Done != want {
			t.Errorf("%d of %d blocks: done is %v", tt.blocks, tt.max, c.Done)
		}
		if tt.blocks > 0 && math.Abs(c.LogRatio-math.Log(0.5)) > 0.01 {
			t.Errorf("%d of %d blocks: point estimate %g", tt.blocks, tt.max, c.LogRatio)
		}
		if math.IsNaN(c.SD) || math.IsNaN(c.MDE) || math.IsNaN(c.LogRatio) {
			t.Errorf("%d of %d blocks: a number is NaN: %+v", tt.blocks, tt.max, c)
		}
	}
}

// Values without any variance come from a clock or counter that is too coarse.
func TestTies(t *testing.T) {
	for _, tt := range []struct {
		ratio float64
		want  lab.Verdict
		note  string
	}{
		{1 / 1.46, lab.Regressed, "a difference, resolution-limited"},
		{1.46, lab.Improved, "a difference, resolution-limited"},
		{1, lab.Inconclusive, "resolution-limited: too coarse"},
		{1.01, lab.Inconclusive, "resolution-limited: too coarse"},
	} {
		run, all := exact(5, tt.ratio)
		c := qps(summary(t, run, all))[0]
		if c.Verdict != tt.want || !hasNote(c, "zero variance") || !hasNote(c, tt.note) {
			t.Errorf("ratio %.2f in 5 equal blocks: %s %q, want %s and %q", tt.ratio, c.Verdict, c.Notes, tt.want, tt.note)
		}
		run, all = exact(3, tt.ratio)
		if c = qps(summary(t, run, all))[0]; c.Verdict != lab.Inconclusive || !hasNote(c, "at least 4") {
			t.Errorf("ratio %.2f in 3 equal blocks: %s %q", tt.ratio, c.Verdict, c.Notes)
		}
	}
}

func TestNoisy(t *testing.T) {
	s := sim{blocks: 6, slices: 4, levels: 1, clients: 1, candidates: 1, restart: 0.3, seed: 2}
	c := qps(summary(t, s.run(), s.measure()))[0]
	if c.Verdict != lab.Inconclusive || c.Done || !hasNote(c, "noisy") {
		t.Errorf("%s, done %v, %q", c.Verdict, c.Done, c.Notes)
	}
	want := c.SD * stat.Rule{Max: 20, First: 4, Alpha: 0.01, Rho: 2}.Solve().Reach().Detect
	if c.MDE != want {
		t.Errorf("smallest detectable difference %g, want %g", c.MDE, want)
	}
}

// Two blocks in hundreds of times the others' noise: a call rests on them, and says so.
func TestHeavyTails(t *testing.T) {
	s := sim{blocks: 24, slices: 2, levels: 1, clients: 1, candidates: 1, theta: 0.1, restart: 0.11, seed: 21}
	run := s.run()
	run.Plan.BlocksMax, run.Plan.Margin = 80, 0.001
	j := &judge{plan: run.Plan}
	d := make([]float64, 24)
	rng := rand.New(rand.NewPCG(1, 9))
	for i := range d {
		d[i] = 0.01 + 0.01*rng.NormFloat64()
	}
	if notes := j.audit(d, stat.Prior{}); notes != nil {
		t.Errorf("normal noise, t about 5: %q", notes)
	}
	for i := range d[4:] {
		d[i+4] = 0.3 + 0.3*rng.NormFloat64() // far noisier than the first looks said
	}
	d[0], d[1], d[2], d[3] = 1.2, 0.1, -1, 0.5
	if notes := j.audit(d, stat.Prior{}); len(notes) != 1 || !strings.Contains(notes[0], "heavy tails") {
		t.Errorf("wild blocks: %q", notes)
	}
	if notes := j.audit(d[:19], stat.Prior{}); notes != nil {
		t.Errorf("audited at 19 blocks: %q", notes)
	}
}

func TestErrors(t *testing.T) {
	s := sim{blocks: 1, slices: 2, levels: 1, clients: 1, candidates: 1}
	run := s.run()
	run.Base = variant(7)
	if _, err := Compare(run, nil, nil); err == nil || !strings.Contains(err.Error(), "server@7") {
		t.Errorf("a base that is no variant: %v", err)
	}
	run = s.run()
	run.Plan.Alpha = 2
	if _, err := Compare(run, nil, nil); err == nil {
		t.Error("alpha of 2 was taken")
	}
	if got := len(lab.Metrics()); got != perOp+1 {
		t.Errorf("lab has %d metrics, a slice here holds %d", got, perOp+1)
	}
}

func BenchmarkCompare(b *testing.B) {
	s := sim{blocks: 40, slices: 8, levels: 42, clients: 3, candidates: 3, theta: -0.02, restart: 0.02, noise: 0.03, seed: 1}
	run, slices := s.run(), s.measure()
	run.Plan.BlocksMax = 40
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := Compare(run, slices, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			if _, err := Compare(run, slices, &bounds); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(slices)), "slices")
	})
	b.Run("forecast", func(b *testing.B) {
		t := tallied(slices, 8) // half of the levels are open
		for b.Loop() {
			if _, err := t.Forecast(run, &bounds); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verdicts", func(b *testing.B) {
		var t Tally
		for _, s := range slices {
			t.Add(s)
		}
		for b.Loop() {
			if _, err := t.Verdicts(run, &bounds); err != nil {
				b.Fatal(err)
			}
		}
	})
}
