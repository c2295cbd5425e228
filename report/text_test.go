package report

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

func text(t *testing.T, s lab.Summary, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTextAligned looks at where the numbers of verdict tables stand, in columns of the
// terminal and not in bytes.
func TestTextAligned(t *testing.T) {
	s := first()
	renameStep(&s, "scan", "scän数据") // 8 columns wide, 11 bytes
	for _, width := range []int{0, 80, 132} {
		var at []int
		verdicts, _, _ := strings.Cut(text(t, s, Options{Width: width, View: Brief}), "Groups of steps")
		for _, line := range strings.Split(verdicts, "\n") {
			before, _, ok := strings.Cut(line, "[0.")
			if !ok || !strings.HasPrefix(line, "  ") {
				before, _, ok = strings.Cut(line, "[1.")
			}
			if ok && strings.HasPrefix(line, "  ") {
				at = append(at, columns(before))
			}
		}
		if len(at) < 15 {
			t.Fatalf("width %d: only %d lines of tables", width, len(at))
		}
		for _, x := range at {
			if x != at[0] {
				t.Errorf("width %d: the first interval of a line stands at columns %v, want the same everywhere", width, at)
				break
			}
		}
	}
}

func renameStep(s *lab.Summary, from, to string) {
	set := func(x *lab.Step) {
		if x.Name == from {
			x.Name = to
		}
	}
	for i := range s.Run.Levels {
		set(&s.Run.Levels[i].Level.Step)
	}
	for i := range s.Comparisons {
		set(&s.Comparisons[i].Level.Step)
	}
	for i := range s.Cells {
		set(&s.Cells[i].Cell.Step)
	}
}

func TestTextFits(t *testing.T) {
	for _, width := range []int{72, 80, 100, 132, 200} {
		for _, line := range strings.Split(text(t, first(), Options{Width: width}), "\n") {
			if n := columns(line); n > width {
				t.Errorf("width %d: a line has %d columns: %s", width, n, line)
			}
			if strings.HasSuffix(line, " ") {
				t.Errorf("a line ends in blanks: %q", line)
			}
		}
	}
}

func TestTextColor(t *testing.T) {
	if got := text(t, first(), Options{}); strings.Contains(got, "\x1b") {
		t.Error("escapes without Color")
	}
	colored := text(t, first(), Options{Width: 100, Color: true})
	if !strings.Contains(colored, "\x1b[1;31m▼") {
		t.Error("no red mark with Color")
	}
	bare := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(colored, "")
	bare = regexp.MustCompile(` +\n`).ReplaceAllString(bare, "\n") // blanks at ends were coloured
	if d := cmp.Diff(text(t, first(), Options{Width: 100}), bare); d != "" {
		t.Errorf("colour changes more than colour (-without +with):\n%s", d)
	}
}

// TestTextHarmless feeds text that would move the cursor or reorder the line.
func TestTextHarmless(t *testing.T) {
	for _, format := range []string{"text", "markdown"} {
		var b bytes.Buffer
		if err := Write(&b, format, hostile(), Options{}); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.String() {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Fatalf("%s holds %q", format, r)
			}
		}
		if format == "markdown" && strings.Contains(b.String(), "<script") {
			t.Error("Markdown holds a tag")
		}
	}
}

func TestSentence(t *testing.T) {
	base, next := lab.Variant{Build: "a@1", Config: "c", Engine: "InnoDB"}, lab.Variant{Build: "a@2", Config: "c", Engine: "InnoDB"}
	one := func(step string, n int, v lab.Verdict, x float64) lab.Comparison {
		return lab.Comparison{
			Base: base, Candidate: next, Metric: lab.QPS, Verdict: v, LogRatio: x, Lo: x - 0.02, Hi: x + 0.02, Blocks: make([]lab.BlockDiff, 8),
			Level: lab.Level{Step: lab.Step{Workload: "w", Name: step}, Clients: n}, Group: lab.Point,
		}
	}
	real := one("e", 1, lab.Equivalent, -0.03)
	real.Real = true
	early := one("g", 1, lab.Inconclusive, 0.3)
	early.Lo, early.Hi = math.Inf(-1), math.Inf(1)
	for _, tt := range []struct {
		name string
		cs   []lab.Comparison
		fail []lab.Failure
		want string
	}{
		{"one", []lab.Comparison{one("a", 4, lab.Regressed, -0.1)}, nil,
			"a@2 against a@1: 1 of 1 regressed, namely a at 4 clients −9.5 % [−11.3, −7.7]."},
		{"worst", []lab.Comparison{one("a", 1, lab.Regressed, -0.1), one("b", 1, lab.Regressed, -0.2), one("c", 1, lab.Improved, 0.1)}, nil,
			"a@2 against a@1: 2 of 3 regressed, worst b at 1 client −18.1 % [−19.7, −16.5]; 1 improved, namely c at 1 client +10.5 % [+8.3, +12.7]."},
		{"nothing", []lab.Comparison{one("a", 1, lab.Equivalent, 0), real, early}, nil,
			"a@2 against a@1: none of 3 regressed; 2 equivalent within 5 % (1 small but real); 1 inconclusive."},
		{"broken", []lab.Comparison{one("a", 1, lab.Equivalent, 0)}, []lab.Failure{
			{Cell: lab.Cell{Variant: next, Step: lab.Step{Workload: "w", Name: "h"}, Clients: 1}, Err: "gone"},
			{Cell: lab.Cell{Variant: base, Step: lab.Step{Workload: "w", Name: "i"}, Clients: 1}, Err: "gone"}},
			"a@2 against a@1: none of 3 regressed; 1 equivalent within 5 %; 2 broken."},
		{"empty", nil, nil, "a@2 against a@1: nothing to compare."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := lab.Summary{Run: lab.Run{Base: base, Variants: []lab.Variant{base, next}}, Comparisons: tt.cs, Failures: tt.fail}
			if got := newView(s, lab.QPS).sentence(next); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestBaseBroke holds that a candidate whose base broke is shown as broken, with why.
func TestBaseBroke(t *testing.T) {
	s := first()
	level := s.Comparisons[0].Level
	var keep []lab.Comparison
	for _, c := range s.Comparisons {
		if c.Level != level {
			keep = append(keep, c)
		}
	}
	s.Comparisons = keep
	s.Failures = append(s.Failures, lab.Failure{Cell: lab.Cell{Variant: s.Run.Base, Step: level.Step, Clients: level.Clients}, Err: "base failed to start"})
	if got := text(t, s, Options{}); strings.Count(got, "broken: the base broke: base failed to start") != 1 || strings.Count(got, "✗") < 3 {
		t.Errorf("the text does not say that the base broke:\n%s", got)
	}
}

func TestInjected(t *testing.T) {
	s := first()
	s.Run.Plan.Inject = 0.05
	if got := text(t, s, Options{View: Brief}); !strings.Contains(got, "mariadb@10.5#1 (the base again, slowed down on purpose by 5 %) against mariadb@10.5:") {
		t.Errorf("the text does not say that the copy was slowed down:\n%s", got)
	}
}

// TestGroupOrder holds that tables follow lab.Groups and not the order of the run.
func TestGroupOrder(t *testing.T) {
	v := newView(first(), lab.QPS)
	var got []lab.Group
	for _, g := range v.groups {
		got = append(got, g.name)
	}
	if !slices.Equal(got, lab.Groups()) {
		t.Errorf("groups are %v, want %v", got, lab.Groups())
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Metric: "server-cpus"}, "did you mean server-cpu"},
		{Options{View: "ful"}, "did you mean full"},
	} {
		if err := Text(&bytes.Buffer{}, first(), tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want one that says %q", tt.o, err, tt.want)
		}
	}
	if err := Write(&bytes.Buffer{}, "htm", first(), Options{}); err == nil || !strings.Contains(err.Error(), "html") {
		t.Errorf("format htm: error %v, want one that names html", err)
	}
}

// full is a file on a full disk.
type full struct{ left int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if f.left < len(p) {
		return 0, errFull
	}
	f.left -= len(p)
	return len(p), nil
}

func TestDiskFull(t *testing.T) {
	for _, format := range Formats() {
		for _, left := range []int{0, 3000} {
			if err := Write(&full{left}, format, first(), Options{}); !errors.Is(err, errFull) {
				t.Errorf("%s after %d bytes: error %v, want %v", format, left, err, errFull)
			}
		}
	}
}
