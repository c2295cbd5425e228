package load

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat/distuv"

	"backslide/lab"
)

// values evaluates src for n operations.
func values(t *testing.T, src string, n int) []int64 {
	t.Helper()
	sites := uint64(1)
	sc := &scope{vars: stepVars(), sites: &sites}
	e, err := sc.compile(src)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]int64, n)
	for i := range out {
		fr := frame{key: subkey(99, uint64(i))}
		fr.vars[varOp] = int64(i)
		out[i] = e.num(&fr)
	}
	return out
}

// chiSquare returns the chance of counts at least as far from expected as these.
func chiSquare(counts []int64, expected []float64) float64 {
	x := 0.0
	for i, e := range expected {
		d := float64(counts[i]) - e
		x += d * d / e
	}
	return distuv.ChiSquared{K: float64(len(expected) - 1)}.Survival(x)
}

// TestDistributions compares draws with what their definitions say, at a level of 1 in
// 100,000 so that a change of the generator does not fail by chance.
func TestDistributions(t *testing.T) {
	const n = 200_000
	zipf := func(size int, s float64) []float64 {
		p, sum := make([]float64, size), 0.0
		for k := range p {
			p[k] = math.Pow(float64(k+1), -s)
			sum += p[k]
		}
		for k := range p {
			p[k] /= sum
		}
		return p
	}
	even := func(size int) []float64 {
		p := make([]float64, size)
		for i := range p {
			p[i] = 1 / float64(size)
		}
		return p
	}
	hot := make([]float64, 100) // 80 % of draws from the first 10 of 100
	for i := range hot {
		if hot[i] = 0.2 / 90; i < 10 {
			hot[i] = 0.8 / 10
		}
	}
	for src, p := range map[string][]float64{
		"uniform(1, 100)":     even(100),
		"uniform(1, 7)":       even(7),
		"zipf(1, 100, 0.8)":   zipf(100, 0.8),
		"zipf(1, 100, 1)":     zipf(100, 1),
		"zipf(1, 1000, 1.5)":  zipf(1000, 1.5)[:1000],
		"hot(1, 100, 10, 80)": hot,
	} {
		counts := make([]int64, len(p))
		for _, v := range values(t, src, n) {
			if v < 1 || v > int64(len(p)) {
				t.Fatalf("%s = %d", src, v)
			}
			counts[v-1]++
		}
		// Cells of fewer than 5 expected are put together.
		var c []int64
		var e []float64
		var restC int64
		restE := 0.0
		for i := range p {
			if x := p[i] * n; x >= 5 {
				c, e = append(c, counts[i]), append(e, x)
			} else {
				restC, restE = restC+counts[i], restE+x
			}
		}
		if restE >= 5 {
			c, e = append(c, restC), append(e, restE)
		}
		if p := chiSquare(c, e); p < 1e-5 {
			t.Errorf("%s: a chance of %g that these are its frequencies", src, p)
		}
	}
}

// TestIndependence looks for a connection between two draws of one operation, between
// neighbouring operations, and between clients.
func TestIndependence(t *testing.T) {
	const n, cells = 100_000, 10
	p := mustBind(t, `
name = "w"
[[step]]
name = "s"
group = "point"
sql = "SELECT :a, :b"
args.a = "uniform(0, 9)"
args.b = "uniform(0, 9)"
`)
	s := newStream(p.steps["s"], 1, 0, 2)
	var pairs, next, clients, blocks [cells * cells]int64
	other := newStream(p.steps["s"], 1, 1, 2)
	last := int64(0)
	for op := range int64(n) {
		s.start(1, op)
		two := s.f.nums[0]
		s.start(0, op)
		a, b := s.f.nums[0], s.f.nums[1]
		other.start(0, op)
		pairs[a*cells+b]++
		next[last*cells+a]++
		clients[two*cells+a]++
		blocks[other.f.nums[0]*cells+a]++
		last = a
	}
	even := make([]float64, cells*cells)
	for i := range even {
		even[i] = n / float64(cells*cells)
	}
	for what, c := range map[string][cells * cells]int64{"two draws": pairs, "neighbours": next, "clients": clients, "blocks": blocks} {
		if p := chiSquare(c[:], even); p < 1e-5 {
			t.Errorf("%s: a chance of %g that they are independent", what, p)
		}
	}
}

const mixed = `
name = "mixed"
[params]
rows = 100
[[step]]
name = "s"
group = "write"
args.t = "uniform(1, 4)"
args.id = "uniform(1, $rows)"
[[step.transaction]]
weight = 70
begin = true
[[step.transaction.statement]]
choose = [
  { sql = "SELECT c FROM t{t} WHERE id = :p FOR SHARE", family = "mysql", from = "8.0" },
  "SELECT c FROM t{t} WHERE id = :p LOCK IN SHARE MODE",
]
repeat = 3
args.p = "uniform(1, $rows)"
[[step.transaction.statement]]
sql = "DELETE FROM t{t} WHERE id = :id"
chance = 25
[[step.transaction.statement]]
sql = "INSERT INTO t{t} VALUES (:id, :c)"
args.c = "pattern('#@#-##')"
[[step.transaction]]
weight = 30
[[step.transaction.statement]]
sql = "SELECT c FROM t{t} WHERE id IN (:ids)"
args.ids = "list(2, uniform(1, $rows))"
`

// TestSameStream holds the promise that servers of different families execute the same
// operations, whatever SQL they get for it.
func TestSameStream(t *testing.T) {
	w, err := Parse("mixed.toml", mixed)
	if err != nil {
		t.Fatal(err)
	}
	bind := func(f lab.Family, major, minor int) *Program {
		p, err := w.Bind(nil, Target{Family: f, Version: [3]int{major, minor, 0}, Engine: "InnoDB"})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := bind(lab.MySQL, 9, 7), bind(lab.MariaDB, 10, 5)
	base := a.Digest("s", 1, 0, 4, 1000)
	if got := b.Digest("s", 1, 0, 4, 1000); got != base {
		t.Errorf("two servers, two streams: %s and %s", base, got)
	}
	for what, d := range map[string]string{
		"seed":    a.Digest("s", 2, 0, 4, 1000),
		"block":   a.Digest("s", 1, 1, 4, 1000),
		"clients": a.Digest("s", 1, 0, 5, 1000),
		"length":  a.Digest("s", 1, 0, 4, 999),
	} {
		if d == base {
			t.Errorf("another %s, the same stream", what)
		}
	}
	if d := a.Digest("none", 1, 0, 4, 1000); d != "" {
		t.Errorf("an unknown step has the digest %s", d)
	}
}

// TestGoldenStreams fails when seeds no longer mean what they meant: results that were
// stored could not be continued. Change it on purpose only.
func TestGoldenStreams(t *testing.T) {
	p := mustBind(t, mixed)
	goldenFile(t, "mixed.sql", render(p, "s", 8))
}

// render returns the statements of n operations.
func render(p *Program, step string, n int64) string {
	var b strings.Builder
	for _, w := range p.steps[step].works() {
		s := newStream(w, 1, 0, 2)
		for g := range n {
			s.start(place(g, 2))
			for s.next() {
				b.Write(s.sql(nil))
				if st := s.stmt(); st != nil && st.prepared {
					b.WriteString("    -- ")
					b.WriteString(st.formText(s.form() - st.first))
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

func goldenFile(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got), UPDATE_GOLDEN=1 accepts it:\n%s", file, d)
	}
}

func TestWeights(t *testing.T) {
	p := mustBind(t, mixed)
	s := newStream(p.steps["s"], 1, 0, 1)
	const n = 50_000
	kinds, deletes := [2]int64{}, int64(0)
	for op := range int64(n) {
		s.start(0, op)
		kinds[s.kind]++
		for s.next() {
			if s.kind == 0 && s.at == 1 {
				deletes++
			}
		}
	}
	if p := chiSquare(kinds[:], []float64{0.7 * n, 0.3 * n}); p < 1e-5 {
		t.Errorf("transactions %v for weights of 70 and 30", kinds)
	}
	rest := kinds[0] - deletes
	if p := chiSquare([]int64{deletes, rest}, []float64{0.25 * float64(kinds[0]), 0.75 * float64(kinds[0])}); p < 1e-5 {
		t.Errorf("%d of %d transactions delete, at a chance of 25 %%", deletes, kinds[0])
	}
}

// TestClientGroups has clients that do different things at once, which a weight that
// depends on the client makes.
func TestClientGroups(t *testing.T) {
	srv := newFake(t)
	srv.record()
	p := mustBind(t, `
name = "w"
[[step]]
name = "s"
group = "write"
[[step.transaction]]
weight = "client == 0"
counts = 0
[[step.transaction.statement]]
sql = "DELETE FROM t WHERE id = :id"
args.id = "op"
[[step.transaction]]
weight = "client > 0"
[[step.transaction.statement]]
sql = "INSERT INTO t VALUES (:id)"
args.id = "serial"
`)
	sess := open(t, srv, p, "s", 3, 3)
	r, err := sess.Slice(context.Background(), SliceSpec{Ops: 30}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	got := srv.logged()
	sort.Strings(got)
	deletes := 0
	for _, sql := range got {
		if strings.HasPrefix(sql, "DELETE") {
			deletes++
		}
	}
	if len(got) != 30 || deletes != 10 || r.Ops != 20 {
		t.Errorf("%d statements, %d deletes, %d counted; want 30, 10, 20", len(got), deletes, r.Ops)
	}
}

func BenchmarkOperation(b *testing.B) {
	w, err := Parse("p.toml", pointText)
	if err != nil {
		b.Fatal(err)
	}
	p, err := w.Bind(nil, Target{Family: lab.MySQL})
	if err != nil {
		b.Fatal(err)
	}
	s := newStream(p.steps["read"], 1, 0, 1)
	var args []lab.Arg
	b.ReportAllocs()
	for i := range b.N {
		s.start(0, int64(i))
		s.next()
		args = s.bound(args[:0])
	}
}
