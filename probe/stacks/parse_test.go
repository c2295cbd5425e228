package stacks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHeader: threads call themselves anything; the rest of a header is found from the right.
func TestHeader(t *testing.T) {
	type want struct {
		comm, event string
		pid, tid    int
		period      float64
		rest        string
	}
	for _, tt := range []struct {
		line string
		want want
	}{
		{"mysqld  6007/6039   8207.665992:    1001001 cpu-clock: ", want{"mysqld", "cpu-clock", 6007, 6039, 1001001, ""}},
		{"HDMI polling ta   333 [001]  5412.060218:          1 cycles: ", want{"HDMI polling ta", "cycles", 333, 333, 1, ""}},
		{"[ET_NET 0] 11/12 [000] 1.000001: cycles:u:", want{"[ET_NET 0]", "cycles:u", 11, 12, -1, ""}},
		{"foobar [worker]  7/8  [003] 9.000000001:  42 cpu_core/cycles/P:", want{"foobar [worker]", "cpu_core/cycles/P", 7, 8, 42, ""}},
		{"rocksdb:low  5/6 1.000000:  10 task-clock:ppp: ", want{"rocksdb:low", "task-clock:ppp", 5, 6, 10, ""}},
		{"a  b 12 34   5/6 [001] 1.000000:  10 cpu-clock: ", want{"a  b 12 34", "cpu-clock", 5, 6, 10, ""}},
		{"[001] 2.345678:  5/6 [000] 1.000000:  10 cpu-clock: ", want{"[001] 2.345678:", "cpu-clock", 5, 6, 10, ""}},
		{"1/2 [000] 3.45:  5/6 1.000000: cpu-clock: ", want{"1/2 [000] 3.45:", "cpu-clock", 5, 6, -1, ""}},
		{"ld-linux-x86-64 5/6 1.000000: 10 cpu-clock: ", want{"ld-linux-x86-64", "cpu-clock", 5, 6, 10, ""}},
		{"ib_pg_flush_co- 5/6 1.000000: 10 cpu-clock: ", want{"ib_pg_flush_co-", "cpu-clock", 5, 6, 10, ""}},
		{"  padded 5/6 1.000000: 10 cpu-clock:  ffffffff81000000 f ([kernel.kallsyms])", want{"padded", "cpu-clock", 5, 6, 10, "ffffffff81000000 f ([kernel.kallsyms])"}},
		{" 5/6 1.000000: 10 cpu-clock: ", want{"", "cpu-clock", 5, 6, 10, ""}},
		{"名前 é 5/6 1.000000: 10 cpu-clock: ", want{"名前 é", "cpu-clock", 5, 6, 10, ""}},
		{":-1 -1/-1 1.000000: 10 cpu-clock: ", want{":-1", "cpu-clock", -1, -1, 10, ""}},
		{"#odd 5/6 1.000000: 10 cpu-clock: ", want{"#odd", "cpu-clock", 5, 6, 10, ""}},
		// without a time
		{"mysqld 5/6 [001]  10 cycles: ", want{"mysqld", "cycles", 5, 6, 10, ""}},
		{"mysqld 5/6   10 cycles: ", want{"mysqld", "cycles", 5, 6, 10, ""}},
		{"my 77 sqld 5/6 cycles: ", want{"my 77 sqld", "cycles", 5, 6, -1, ""}},
		{"mysqld  6 cycles: ", want{"mysqld", "cycles", 6, 6, -1, ""}},
		{"mysqld  6  10 cycles: ", want{"mysqld", "cycles", 6, 6, 10, ""}},
		// without an event
		{"mysqld 5/6 1.000000: ", want{"mysqld", "", 5, 6, -1, ""}},
		{"mysqld 5/6 1.000000:   250000 ", want{"mysqld", "", 5, 6, 250000, ""}},
		// a tracepoint's own text
		{"mysqld 5/6 1.000000: sched:sched_switch: prev_comm=x y:1 ==> z", want{"mysqld", "sched:sched_switch", 5, 6, -1, "prev_comm=x y:1 ==> z"}},
	} {
		h, ok := parseHeader([]byte(tt.line))
		if !ok {
			t.Errorf("%q: not read", tt.line)
			continue
		}
		got := want{string(h.comm), string(h.event), h.pid, h.tid, h.period, string(h.rest)}
		if !h.hasPeriod {
			got.period = -1
		}
		if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{})); d != "" {
			t.Errorf("%q (-want +got):\n%s", tt.line, d)
		}
	}
	for _, line := range []string{"", "mysqld", "mysqld: ", "# event : name = cycles", "mysqld x/y 1.000000: 1 cycles:", "12.000000:", "mysqld 99999999999999999999/1 1.000000: 1 cycles:"} {
		if h, ok := parseHeader([]byte(line)); ok {
			t.Errorf("%q: read as %+v", line, h)
		}
	}
}

func TestFrame(t *testing.T) {
	for _, tt := range []struct {
		line   string
		want   Frame
		offset bool
	}{
		{"ut_delay(unsigned long) (/usr/sbin/mysqld)", Frame{"ut_delay(unsigned long)", "/usr/sbin/mysqld", false}, false},
		{"ut_delay+0x1f (/usr/sbin/mysqld)", Frame{"ut_delay", "/usr/sbin/mysqld", false}, true},
		{"A<B>::operator()(int) const+0x2a (/opt/my sql (old)/bin/mysqld)", Frame{"A<B>::operator()(int) const", "/opt/my sql (old)/bin/mysqld", false}, true},
		{"f(void (*)(int)) (/usr/sbin/mysqld (deleted))", Frame{"f(void (*)(int))", "/usr/sbin/mysqld (deleted)", false}, false},
		{"operator<<(std::ostream&, X const&) (/lib/libx.so.1)", Frame{"operator<<(std::ostream&, X const&)", "/lib/libx.so.1", false}, false},
		{"X::operator->() (/lib/libx.so.1+0x1200)", Frame{"X::operator->()", "/lib/libx.so.1", false}, false},
		{"(anonymous namespace)::f(int)::{lambda(int)#1}::operator()(int) const (/x)", Frame{"(anonymous namespace)::f(int)::{lambda(int)#1}::operator()(int) const", "/x", false}, false},
		{"[unknown] (/usr/sbin/mysqld)", Frame{Unknown, "/usr/sbin/mysqld", false}, false},
		{"[unknown] ([unknown])", Frame{Unknown, "[unknown]", false}, false},
		{"[unknown] (//anon)", Frame{Unknown, "//anon", false}, false},
		{"inner (inlined)", Frame{"inner", "inlined", false}, false},
		{"schedule ([kernel.kallsyms])", Frame{"schedule", "[kernel.kallsyms]", true}, false},
		{"ext4_readpage+0x10 (/lib/modules/6.1/kernel/fs/ext4/ext4.ko)", Frame{"ext4_readpage", "/lib/modules/6.1/kernel/fs/ext4/ext4.ko", true}, true},
		{"__vdso_clock_gettime ([vdso])", Frame{"__vdso_clock_gettime", "[vdso]", false}, false},
		{"_ZN3fooILi3EE3barEv (/x)", Frame{"_ZN3fooILi3EE3barEv", "/x", false}, false},
		{"f (/opt/a)b/x)", Frame{"f", "/opt/a)b/x", false}, false},
		{"f(int) const", Frame{"f(int) const", "", false}, false},
		{"f(int)", Frame{"f(int)", "", false}, false},
		{"f", Frame{"f", "", false}, false},
		{"(/x)", Frame{Unknown, "/x", false}, false},
		{"", Frame{Unknown, "", false}, false},
	} {
		got, offset := parseFrame([]byte(tt.line), false)
		if got != tt.want || offset != tt.offset {
			t.Errorf("%q: got %+v, offset %v, want %+v, %v", tt.line, got, offset, tt.want, tt.offset)
		}
	}
	for _, tt := range []struct {
		line   string
		kernel bool
	}{{"nft_do_chain ([nf_tables])", true}, {"[unknown] ([unknown])", true}, {"time ([vsyscall])", false}} {
		if got, _ := parseFrame([]byte(tt.line), true); got.Kernel != tt.kernel {
			t.Errorf("%q at a high address: kernel %v", tt.line, got.Kernel)
		}
	}
}

const small = `# ========
# captured on    : Tue Dec  1 01:00:00 2026
#
mysqld  10/11   1.000001:    1000 cpu-clock: 
	          59ca74 leaf(int) (/usr/sbin/mysqld)
	          5ce0de mid (/usr/sbin/mysqld)
	           891f5 start_thread (/lib/libc.so.6)

mysqld  10/12   1.000002:    500 cpu-clock: 
	ffffffff813a4413 schedule ([kernel.kallsyms])
	          5ce0ff mid (/usr/sbin/mysqld)
	           891f5 start_thread (/lib/libc.so.6)

x 1: [y]  10/11 1.000003:    7 cycles:u: 
	          59ca75 leaf(int) (/usr/sbin/mysqld)

mysqld  20/21   1.000004:    9000 cpu-clock: 
	          59ca74 other (/usr/sbin/other)

mysqld  10/11   1.000005:    2000 cpu-clock: 

mysqld  10/11   1.000006:    1000 cpu-clock: 
	          59ca7a leaf(int) (/usr/sbin/mysqld)
	          5ce0de mid (/usr/sbin/mysqld)
	           891f5 start_thread (/lib/libc.so.6)
`

func folded(t *testing.T, p *Profile) string {
	t.Helper()
	var b strings.Builder
	if err := p.Folded(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	r, err := Parse(strings.NewReader(small), Select{PID: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Profiles) != 2 || r.Samples != 6 || r.Malformed != 0 {
		t.Fatalf("got %d profiles, %d samples, %d malformed", len(r.Profiles), r.Samples, r.Malformed)
	}
	clock, cycles := r.Profiles[0], r.Profiles[1]
	if clock.Event != "cpu-clock" || clock.Unit != "nanoseconds" || cycles.Event != "cycles:u" || cycles.Unit != "cycles" {
		t.Errorf("events %s in %s, %s in %s", clock.Event, clock.Unit, cycles.Event, cycles.Unit)
	}
	want := "[unknown] 2000\nstart_thread;mid;leaf(int) 2000\nstart_thread;mid;schedule_[k] 500\n"
	if d := cmp.Diff(want, folded(t, clock)); d != "" {
		t.Errorf("cpu-clock (-want +got):\n%s", d)
	}
	if d := cmp.Diff("leaf(int) 7\n", folded(t, cycles)); d != "" {
		t.Errorf("cycles (-want +got):\n%s", d)
	}
	if got := clock.Total(); got != (Amount{4500, 4, 1e6 + 0.25e6 + 4e6 + 1e6}) {
		t.Errorf("total %+v", got)
	}
	if got := clock.UnknownShare(); math.Abs(got-2000.0/4500) > 1e-12 {
		t.Errorf("unknown share %v", got)
	}
	threads := []Thread{{10, 11, "mysqld", 4}, {10, 12, "mysqld", 1}}
	if d := cmp.Diff(threads, r.Threads); d != "" {
		t.Errorf("threads (-want +got):\n%s", d)
	}

	r, err = Parse(strings.NewReader(small), Select{PID: 10, TIDs: []int{12}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("start_thread;mid;schedule_[k] 500\n", folded(t, r.Profiles[0])); d != "" {
		t.Errorf("thread 12 (-want +got):\n%s", d)
	}
}

// TestParseLayouts: other fields, line ends and missing parts give the same stacks.
func TestParseLayouts(t *testing.T) {
	const want = "main;f 2\n"
	for name, text := range map[string]string{
		"no period, time, cpu":  "a b 1/2 cycles: \n\t  10 f (/x)\n\t 20 main (/x)\n\na b 1/2 cycles: \n\t  11 f (/x)\n\t 20 main (/x)\n\n",
		"tid only":              "a b 2 1.000000: cycles: \n\t  10 f (/x)\n\t 20 main (/x)\n\na b 2 1.000001: cycles: \n\t  11 f (/x)\n\t 20 main (/x)",
		"offsets":               "a 1/2 1.000000: cycles: \n\t  10 f+0x1 (/x)\n\t 20 main+0x20 (/x)\n\na 1/2 1.000001: cycles: \n\t  11 f+0x2 (/x)\n\t 20 main+0x21 (/x)\n",
		"no file":               "a 1/2 1.000000: cycles: \n\t  10 f\n\t 20 main\n\na 1/2 1.000001: cycles: \n\t  11 f\n\t 20 main\n",
		"carriage returns":      "a 1/2 1.000000: cycles: \r\n\t  10 f (/x)\r\n\t 20 main (/x)\r\n\r\na 1/2 1.000001: cycles: \r\n\t  11 f (/x)\r\n\t 20 main (/x)\r\n",
		"no blank lines":        "a 1/2 1.000000: cycles: \n\t  10 f (/x)\n\t 20 main (/x)\na 1/2 1.000001: cycles: \n\t  11 f (/x)\n\t 20 main (/x)\n",
		"lines of source":       "a 1/2 1.000000: cycles: \n\t  10 f (/x)\n  x.c:1\n\t 20 main (/x)\n  x.c:2\n\na 1/2 1.000001: cycles: \n\t  11 f (/x)\n\t 20 main (/x)\n",
		"newline within a name": "x\na 1/2 1.000000: cycles: \n\t  10 f (/x)\n\t 20 main (/x)\n\na 1/2 1.000001: cycles: \n\t  11 f (/x)\n\t 20 main (/x)\n",
	} {
		r, err := Parse(strings.NewReader(text), Select{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(want, folded(t, r.Profiles[0])); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	r, err := Parse(strings.NewReader("   a 1/2 1.000000:  5 cycles:  ffffffff81000000 f ([kernel.kallsyms])\n   a 1/2 1.000001:  6 cycles:  10 g (/x)\n"), Select{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("f_[k] 5\ng 6\n", folded(t, r.Profiles[0])); d != "" {
		t.Errorf("without call chains (-want +got):\n%s", d)
	}
}

// TestParseUnreadable: text that is read wrongly is an error, not a profile.
func TestParseUnreadable(t *testing.T) {
	var single, bad, tids strings.Builder
	for i := range 600 {
		fmt.Fprintf(&single, "a 1/2 1.%06d: cycles: \n\t 10 f%d (/x)\n\n", i, i)
		fmt.Fprintf(&bad, "line %d of something else\n", i)
		fmt.Fprintf(&tids, "a 2 1.%06d: cycles: \n\t 10 f (/x)\n\n", i)
	}
	for _, tt := range []struct {
		name, text string
		sel        Select
		want       string
	}{
		{"stacks of their own", single.String(), Select{}, "600 of 600 samples of cycles have a function of their own"},
		{"no headers", bad.String(), Select{}, "no header"},
		{"no pid", tids.String(), Select{PID: 1}, "not its process"},
		{"no addresses", "a 1/2 1.000000: cycles: \n\trun (/x)\n\tmain (/x)\n", Select{}, "no address"},
	} {
		_, err := Parse(strings.NewReader(tt.text), tt.sel)
		if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
	if _, err := Parse(strings.NewReader(tids.String()), Select{TIDs: []int{2}}); err != nil {
		t.Errorf("threads by number: %v", err)
	}
	broken := errors.New("disk on fire")
	r, err := Parse(io.MultiReader(strings.NewReader(small), &failing{broken}), Select{})
	if !errors.Is(err, broken) || r == nil || r.Samples != 6 {
		t.Errorf("a reader that fails: %v", err)
	}
}

// TestParseVaried: 600 samples of 600 different stacks with 400 functions are nothing odd.
// A quarter of them have a function that was met once.
func TestParseVaried(t *testing.T) {
	var text strings.Builder
	for i := range 600 {
		fmt.Fprintf(&text, "a 1/2 1.%06d: cycles: \n", i)
		if i%4 == 0 {
			fmt.Fprintf(&text, "\t 10 once%d (/x)\n", i)
		}
		for j := range 20 {
			fmt.Fprintf(&text, "\t 10 f%d (/x)\n", (i*7+j*j*13+i/250)%250)
		}
		text.WriteByte('\n')
	}
	r, err := Parse(strings.NewReader(text.String()), Select{})
	if err != nil || r.Samples != 600 {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestParseLongLine: a name longer than any buffer is cut and takes nothing else with it.
func TestParseLongLine(t *testing.T) {
	long := strings.Repeat("T<", 3*maxLine)
	text := "a 1/2 1.000000: 3 cycles: \n\t 10 " + long + " (/x)\n\t 20 main (/x)\n\n" + "a 1/2 1.000000: 4 cycles: \n\t 20 main (/x)\n\n"
	r, err := Parse(strings.NewReader(text), Select{})
	if err != nil {
		t.Fatal(err)
	}
	got := folded(t, r.Profiles[0])
	if !strings.HasPrefix(got, "main 4\nmain;T<T<") || !strings.HasSuffix(got, "T< 3\n") && !strings.HasSuffix(got, "T 3\n") || len(got) > 2*maxLine {
		t.Errorf("got %d bytes: %.40q…%q", len(got), got, got[len(got)-10:])
	}
}

// repeated yields a text n times.
type repeated struct {
	text string
	n    int
	at   int
}

func (r *repeated) Read(b []byte) (int, error) {
	if r.at == len(r.text) {
		r.n, r.at = r.n-1, 0
	}
	if r.n <= 0 {
		return 0, io.EOF
	}
	n := copy(b, r.text[r.at:])
	r.at += n
	return n, nil
}

// TestParseConstantMemory: ten times the text takes no more allocations.
func TestParseConstantMemory(t *testing.T) {
	text := manyStacks(500)
	few := testing.AllocsPerRun(3, func() { Parse(&repeated{text: text, n: 2}, Select{}) })
	many := testing.AllocsPerRun(3, func() { Parse(&repeated{text: text, n: 20}, Select{}) })
	if many > 1.02*few+50 {
		t.Errorf("%v allocations for 2 rounds, %v for 20", few, many)
	}
}

// manyStacks is text like that of a busy server: 20 frames a stack, of 400 functions.
func manyStacks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "connection  6332/%d   8217.%06d:    1001001 cpu-clock: \n", 6500+i%8, i)
		for depth := 20; depth > 0; depth-- {
			fn := depth*20 + (i/(depth+1))%20
			fmt.Fprintf(&b, "\t        %8x handler::function_number_%d (/opt/mysql-9.7/usr/sbin/mysqld)\n", 0x1000000+fn*256+i%100, fn)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// BenchmarkParse measures text per second on one core. The folder in Perl that people
// use, or one written from its description, does some 20 MB/s here.
func BenchmarkParse(b *testing.B) {
	text := manyStacks(20000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(strings.NewReader(text), Select{PID: 6332}); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small), 10)
	f.Add([]byte(manyStacks(3)), 0)
	f.Add([]byte("a b 2 cycles: \n\t  10 f+0x1 (/x (deleted))\n  x.c:1\n\nx 1/2 1.000000: 18446744073709551615 c: 10 f"), 0)
	f.Fuzz(func(t *testing.T, text []byte, pid int) {
		r, _ := Parse(bytes.NewReader(text), Select{PID: pid})
		for _, p := range r.Profiles {
			checkProfile(t, p)
		}
	})
}

// checkProfile holds what is true of every profile.
func checkProfile(t *testing.T, p *Profile) {
	t.Helper()
	total := p.Total()
	var sum Amount
	p.Stacks(func(stack []Frame, a Amount) bool {
		sum.add(a)
		return true
	})
	if sum.Samples != total.Samples || math.Abs(sum.Weight-total.Weight) > 1e-6*total.Weight {
		t.Fatalf("stacks add up to %+v, total is %+v", sum, total)
	}
	tree := p.Tree()
	if tree.Total != total {
		t.Fatalf("tree's total %+v, total is %+v", tree.Total, total)
	}
	for _, f := range p.Flat() {
		if f.Self.Samples > f.Total.Samples || f.Total.Samples > total.Samples {
			t.Fatalf("%+v of %+v", f, total)
		}
		Short(f.Name)
	}
	lines := 0
	var b strings.Builder
	if err := p.Folded(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		lines++
		if i := strings.LastIndexByte(line, ' '); i < 0 || !strings.HasSuffix(line, "\n") {
			t.Fatalf("folded line %q", line)
		}
	}
	if lines == 0 && total.Samples > 0 {
		t.Fatal("samples, but no folded lines")
	}
}
