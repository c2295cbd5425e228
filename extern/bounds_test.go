package extern

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHuge holds the parser to its bounds: megabytes of one line, and of many.
func TestHuge(t *testing.T) {
	endless := func(s string, n int) io.Reader { return io.LimitReader(&repeat{s: s}, int64(n)) }
	for name, in := range map[string]io.Reader{
		"one line":  endless(strings.Repeat("x", 1000), 8<<20),
		"notes":     endless("what is this?\n", 8<<20),
		"intervals": endless("[ 1s ] thds: 1 tps: 1.00 qps: 1.00\n", 4<<20),
		"buckets":   io.MultiReader(strings.NewReader("Latency histogram (values are in milliseconds)\n"), endless("1.0 |* 1\n", 1<<20)),
		"fatal":     endless("FATAL: error 1040: no\n", 1<<20),
		"underflow": endless("[ 1s ] thds: 1 tps: -1 qps: 1.00\n", 1<<20),
		"summaries": endless("[ 1s ] Checkpoint report:\nSQL statistics:\n", 1<<20),
	} {
		r, err := ParseSysbench(Output{Stdout: in})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Notes) > maxNotes || len(r.Intervals) > maxIntervals || len(r.Histogram) > maxBuckets || len(r.Errors) > maxErrors || len(r.Checkpoints) > maxRows || len(r.Warnings) > 20 {
			t.Errorf("%s: kept too much: %d notes, %d intervals, %d buckets, %d errors, %d summaries, %d warnings",
				name, len(r.Notes), len(r.Intervals), len(r.Histogram), len(r.Errors), len(r.Checkpoints), len(r.Warnings))
		}
		if len(r.Invalid) > 10*maxShown {
			t.Errorf("%s: a reason of %d bytes", name, len(r.Invalid))
		}
	}
}

// repeat reads as the same text over and over.
type repeat struct {
	s  string
	at int
}

func (r *repeat) Read(b []byte) (n int, err error) {
	for n < len(b) {
		c := copy(b[n:], r.s[r.at:])
		n, r.at = n+c, (r.at+c)%len(r.s)
	}
	return n, nil
}

func FuzzSysbench(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no fixtures", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b), "", 0)
	}
	f.Add("", "invalid option: --x\n", 1)
	f.Fuzz(func(t *testing.T, stdout, stderr string, exit int) {
		r, err := ParseSysbench(Output{Stdout: strings.NewReader(stdout), Stderr: strings.NewReader(stderr), Exit: exit})
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range []Op{Events, Transactions, Queries} {
			f := r.Figures(op)
			if f.Ops < 0 || f.Wall < 0 || f.Retries < 0 || (f.Err == "") == (f.Ops == 0 || f.Wall == 0) || exit != 0 && f.Err == "" {
				t.Errorf("figures %+v", f)
			}
			for i, e := range f.Errors {
				if e.Count <= 0 || i > 0 && f.Errors[i-1].Code >= e.Code {
					t.Errorf("errors %+v", f.Errors)
				}
			}
		}
		for _, iv := range r.Intervals {
			for _, v := range []float64{iv.End, iv.Events, iv.Queries, iv.Errors, iv.Latency.Value} {
				if v < 0 && v != unsaid || v >= 1<<63 || v != v {
					t.Errorf("interval %+v", iv)
				}
			}
		}
		if n := len(fmt.Sprintf("%+v", r)); n > 200_000+200*len(stdout) {
			t.Errorf("%d bytes were kept of %d", n, len(stdout))
		}
	})
}
