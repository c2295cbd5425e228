package stacks

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// of makes a profile from folded stacks, each sample weighing 1000.
func of(t *testing.T, event string, stacks map[string]int64) *Profile {
	t.Helper()
	p := &Profile{Event: event, Unit: "nanoseconds"}
	for _, key := range sorted(stacks) {
		var frames []Frame
		for name := range strings.SplitSeq(key, ";") {
			name, kernel := strings.CutSuffix(name, "_[k]")
			dso := "/usr/sbin/mysqld"
			if kernel {
				dso = kernelFile
			}
			frames = append(frames, Frame{name, dso, kernel})
		}
		n := stacks[key]
		p.Add(frames, Amount{1000 * float64(n), n, 1e6 * float64(n)})
	}
	return p
}

func sorted(m map[string]int64) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	for i := range keys { // few
		for j := range i {
			if keys[i] < keys[j] {
				keys[i], keys[j] = keys[j], keys[i]
			}
		}
	}
	return keys
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

func TestFlatAndTree(t *testing.T) {
	p := of(t, "cpu-clock", map[string]int64{"main;f;g": 3, "main;f": 1, "main;f;g;f": 2, "main;h_[k]": 4})
	got := map[string][2]int64{}
	for _, f := range p.Flat() {
		got[f.Name] = [2]int64{f.Self.Samples, f.Total.Samples}
	}
	want := map[string][2]int64{"main": {0, 10}, "f": {3, 6}, "g": {3, 5}, "h": {4, 4}} // f is twice on one stack and counts once
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("flat (-want +got):\n%s", d)
	}
	tree := p.Tree()
	main := tree.Calls[0]
	if len(tree.Calls) != 1 || main.Name != "main" || main.Total.Samples != 10 || main.Calls[0].Name != "f" || main.Calls[0].Total.Samples != 6 || main.Calls[0].Self.Samples != 1 || main.Calls[1].Name != "h" {
		t.Errorf("tree %+v", main)
	}
	checkProfile(t, p)
}

func TestMerge(t *testing.T) {
	a := of(t, "cpu-clock", map[string]int64{"main;f": 1, "main;g": 2})
	b := of(t, "cpu-clock", map[string]int64{"main;f": 10})
	idle := &Profile{Event: "cpu-clock"} // a recording without samples does not say its unit
	sum, err := Merge(nil, idle, a, idle, b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("main;f 11000\nmain;g 2000\n", folded(t, sum)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := Merge(a, of(t, "cycles", map[string]int64{"main": 1})); err == nil {
		t.Error("two events were added up")
	}
}

// TestCompare derives the numbers by hand: base 1000 samples for 100 µs/op, candidate 400
// for 200 µs/op, so a sample is 0.1 and 0.5 µs/op.
func TestCompare(t *testing.T) {
	base := Side{of(t, "cpu-clock", map[string]int64{"main;f(int)": 500, "main;gone": 400, "main;same": 100}), 100e-6}
	cand := Side{of(t, "cpu-clock", map[string]int64{"main;f(int, int)": 300, "main;ut_delay": 80, "main;same": 20}), 200e-6}
	d, err := Compare(base, cand, Spinners(lab.MySQL))
	if err != nil {
		t.Fatal(err)
	}
	if !near(d.Total.Diff(), 100) || d.Total.Noise() {
		t.Errorf("total %+v", d.Total)
	}
	type row struct {
		name       string
		base, cand float64
		noise      bool
		spin       bool
	}
	var got []row
	for _, f := range d.Functions {
		got = append(got, row{f.Name, math.Round(f.Self.Base*1e6) / 1e6, math.Round(f.Self.Cand*1e6) / 1e6, f.Self.Noise(), f.Spin})
	}
	want := []row{{"f", 50, 150, false, false}, {"gone", 40, 0, false, false}, {"ut_delay", 0, 40, false, true}, {"main", 0, 0, true, false}, {"same", 10, 10, true, false}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(row{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// same: p = 0.1 of n = 1000 samples and 0.05 of 400, one sample added to the count:
	// ((1-p)²(np+1) + p² n(1-p)) / n² is (0.81·101 + 0.01·900)/10⁶ and (0.9025·21 + 0.0025·380)/160000.
	same := d.Functions[4].Self.SE
	if v := (0.81*101+0.01*900)/1e6*1e4 + (0.9025*21+0.0025*380)/160000*4e4; !near(same, math.Sqrt(v)) {
		t.Errorf("SE %v, want %v", same, math.Sqrt(v))
	}
	// One sample of either side, three times its standard error.
	if want := 3 * math.Hypot(0.1, 0.5); !near(d.Floor, want) {
		t.Errorf("floor %v, want %v", d.Floor, want)
	}
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "the candidate has only 400 samples") {
		t.Errorf("warnings %q", d.Warnings)
	}

	for name, bad := range map[string]Side{
		"another event": {of(t, "cycles", map[string]int64{"main": 9}), 1e-6},
		"no samples":    {&Profile{Event: "cpu-clock", Unit: "nanoseconds"}, 1e-6},
		"no profile":    {nil, 1e-6},
		"no CPU time":   {base.Profile, 0},
		"not a number":  {base.Profile, math.NaN()},
	} {
		if _, err := Compare(base, bad, nil); !errors.Is(err, ErrNotComparable) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Overlay(bad, cand, nil, nil); !errors.Is(err, ErrNotComparable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCompareNoise: the same code sampled twice differs by noise alone. Of 3000
// comparisons, one of 370 may exceed three standard errors.
func TestCompareNoise(t *testing.T) {
	beyond, all := 0, 0
	seed := uint64(1)
	next := func() float64 { // xorshift: the same in every run
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		return float64(seed>>11) / (1 << 53)
	}
	draw := func(n int) *Profile {
		p := &Profile{Event: "cpu-clock", Unit: "nanoseconds"}
		for range n {
			i := int(30 * next() * next()) // some functions much, some hardly ever
			w := 500 + 1000*next()         // periods vary
			p.Add([]Frame{{Name: "main"}, {Name: string(rune('A' + i))}}, Amount{w, 1, w * w})
		}
		return p
	}
	for range 100 {
		d, err := Compare(Side{draw(400), 100e-6}, Side{draw(1500), 100e-6}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range d.Functions {
			all++
			if !f.Self.Noise() {
				beyond++
			}
		}
	}
	if share := float64(beyond) / float64(all); share > 3*0.0027 {
		t.Errorf("%d of %d equal functions were called different", beyond, all)
	}
}

// TestSpins: the example is the stack of a recording of MySQL 5.7 in a scan at 32 clients.
func TestSpins(t *testing.T) {
	const scan = "handle_connection;row_search_mvcc(...);buf_page_optimistic_get(...);_ZN11PolicyMutexI14TTASEventMutexI11TrackPolicyEE5enterEmmPKcm.constprop.95;"
	p := of(t, "cpu-clock", map[string]int64{
		scan + "ut_delay(unsigned long)":                                                 24,
		scan + "TTASEventMutex<TrackPolicy>::spin_and_wait(...)":                         16,
		scan + "TTASEventMutex<TrackPolicy>::spin_and_wait(...);ut_delay(unsigned long)": 2,
		"handle_connection;row_search_mvcc(...)":                                         50,
		"a;futex_wake_[k];_raw_spin_lock_[k];native_queued_spin_lock_slowpath_[k]":       3,
		"[unknown];ut_delay": 1,
	})
	var got []Spin
	for _, s := range p.Spins(Spinners(lab.MySQL)) {
		s.Amount = Amount{Samples: s.Amount.Samples}
		got = append(got, s)
	}
	want := []Spin{
		{"ut_delay", "buf_page_optimistic_get", "a page's latch", Amount{Samples: 24}},
		{"TTASEventMutex::spin_and_wait", "buf_page_optimistic_get", "a page's latch", Amount{Samples: 18}},
		{"native_queued_spin_lock_slowpath", "futex_wake", "a mutex that many threads sleep on (futex hash bucket)", Amount{Samples: 3}},
		{"ut_delay", "", "a latch of InnoDB", Amount{Samples: 1}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	maria := of(t, "cpu-clock", map[string]int64{"btr_cur_t::search_leaf;ssux_lock_impl<true>::rd_wait();srw_mutex_impl<true>::wait_and_lock()": 5})
	if got := maria.Spins(Spinners(lab.MariaDB)); len(got) != 1 || got[0].In != "btr_cur_t::search_leaf" || got[0].Function != "ssux_lock_impl::rd_wait" {
		t.Errorf("MariaDB: %+v", got)
	}
}

// TestSpinnersAreShort: a name that Short would change is never matched.
func TestSpinnersAreShort(t *testing.T) {
	for _, f := range []lab.Family{lab.MySQL, lab.MariaDB} {
		seen := map[string]bool{}
		for _, s := range Spinners(f) {
			if Short(s.Name) != s.Name || s.On == "" || s.Where == "" || seen[s.Name] {
				t.Errorf("%s: %+v", f, s)
			}
			seen[s.Name] = true
		}
	}
}

// TestPprof: go tool pprof reads our files, and the difference of two.
func TestPprof(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, p *Profile) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := p.WritePprof(f); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p := of(t, "cpu-clock", map[string]int64{"main;A<B>::operator()(int) const": 3000, "main;[unknown]": 1000, "main;schedule_[k]": 500})
	q := of(t, "cpu-clock", map[string]int64{"main;A<B>::operator()(int) const": 1000, "main;[unknown]": 1000})
	base, cand := write("base.pb.gz", q), write("cand.pb.gz", p)

	run := func(args ...string) string {
		cmd := exec.Command("go", append([]string{"tool", "pprof", "-symbolize=none"}, args...)...)
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("pprof %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	top := run("-top", cand)
	for _, want := range []string{"Type: cpu-clock", "3000us 66.67%", "A<B>::operator()(int) const", "[mysqld]", "schedule"} {
		if !strings.Contains(top, want) {
			t.Errorf("pprof -top lacks %q:\n%s", want, top)
		}
	}
	if diff := run("-top", "-sample_index=samples", "-diff_base="+base, cand); !strings.Contains(diff, "2000") || !strings.Contains(diff, "500") {
		t.Errorf("pprof -diff_base:\n%s", diff)
	}

	f, err := os.Open(cand)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	back, err := ReadPprof(f)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(folded(t, p), folded(t, back)); d != "" || back.Total() != p.Total() || back.Event != p.Event || back.Unit != p.Unit {
		t.Errorf("read back: %+v, want %+v (-want +got):\n%s", back.Total(), p.Total(), d)
	}
	if _, err := ReadPprof(strings.NewReader("no")); err == nil {
		t.Error("rubbish was read")
	}
}
