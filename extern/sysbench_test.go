package extern

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"backslide/lab"
)

func fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func parse(t *testing.T, stdout string) SysbenchRun {
	t.Helper()
	r, err := ParseSysbench(Output{Stdout: strings.NewReader(stdout)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestVersions reads the same things from the outputs of four generations. All figures
// stand in the files as they stand here, but for milliseconds.
func TestVersions(t *testing.T) {
	near := cmpopts.EquateApprox(0, 1e-9)
	for _, x := range []struct {
		file    string
		version Version
		threads int
		want    Summary
	}{
		{"v0.4.txt", Version{Tool: "sysbench", Minor: 4, Patch: 12}, 16, Summary{
			Reads: 140056, Writes: 50017, Others: 20004, Queries: 210077, Transactions: 10000, Events: 10000, Errors: 4, Reconnects: -1,
			Wall: 10, Printed: Rates{1000, -1, 0.4, -1}, Latency: Latency{0.00575, 0.01595, 0.1105, 159.5, Percentile{P: 95, Value: 0.0235}},
			Fairness: Fairness{625, 6.25, 9.9688, 0},
		}},
		{"v0.5.txt", Version{Tool: "sysbench", Minor: 5}, 8, Summary{
			Reads: 28714, Writes: 8203, Others: 4101, Queries: 41018, Transactions: 2050, Events: 2050, Errors: 1, Reconnects: 0,
			Wall: 10.0098, Printed: Rates{204.8, -1, 0.1, 0}, Latency: Latency{0.01425, 0.03902, 1.31062, 79.99, Percentile{P: 99, Value: 0.06967}},
			Fairness: Fairness{256.25, 2.5, 9.9988, 0},
		}},
		{"read-write.txt", Version{Tool: "sysbench", Major: 1, Patch: 20}, 2, Summary{
			Reads: 28854, Writes: 8236, Others: 4119, Queries: 41209, Transactions: 2058, Events: 2058, Errors: 3, Reconnects: 0,
			Wall: 3.0993, Printed: Rates{663.75, 13290.85, 0.97, 0}, Latency: Latency{0.00053, 0.00299, 0.16089, 6.16255, Percentile{P: 95, Value: 0.00509}},
			Fairness: Fairness{1029, 24, 3.0813, 0},
		}},
		{"v1.1.txt", Version{Tool: "sysbench", Major: 1, Minor: 1, Suffix: "-9072687"}, 2, Summary{
			Reads: 280000, Writes: 0, Others: 40000, Queries: 320000, Transactions: 20000, Events: 20000, Errors: 0, Reconnects: 0,
			Wall: 10.0002, Printed: Rates{1999.96, 31999.36, 0, 0}, Latency: Latency{0.00031, 0.001, 0.00993, 19.98, Percentile{P: 95, Value: 0.00134}},
			Fairness: Fairness{10000, 12, 9.99, 0},
		}},
	} {
		r := parse(t, fixture(t, x.file))
		if r.Version != x.version || r.Threads != x.threads || r.Invalid != "" {
			t.Errorf("%s: version %+v, %d threads, invalid %q", x.file, r.Version, r.Threads, r.Invalid)
		}
		if d := cmp.Diff(&x.want, r.Summary, near); d != "" {
			t.Errorf("%s (-want +got):\n%s", x.file, d)
		}
	}
}

// TestIntervals reads the time series in all its forms.
func TestIntervals(t *testing.T) {
	near := cmpopts.EquateApprox(0, 1e-9)
	p := func(p, ms float64) Percentile { return Percentile{P: p, Value: ms / 1000} }
	for _, x := range []struct {
		line string
		want Interval
	}{
		{"[ 1s ] thds: 2 tps: 888.99 qps: 17844.68 (r/w/o: 12501.75/3559.96/1782.97) lat (ms,95%): 5.88 err/s: 2.99 reconn/s: 0.25",
			Interval{1, 2, 888.99, 17844.68, 12501.75, 3559.96, 1782.97, 2.99, 0.25, p(95, 5.88), -1}},
		{"[ 1s ] thds: 2 tps: 50.90 qps: 50.90 (r/w/o: 50.90/0.00/0.00) lat (ms,0%): 0.00 err/s: 0.00 reconn/s: 0.00\n[ 1s ] queue length: 7, concurrency: 2",
			Interval{1, 2, 50.9, 50.9, 50.9, 0, 0, 0, 0, Percentile{Value: -1}, 7}},
		{"[ 3s ] thds: 1 eps: 2288.50 lat (ms,99%): 0.48", Interval{3, 1, 2288.5, -1, -1, -1, -1, -1, -1, p(99, 0.48), -1}},
		{"[   5s] threads: 8, tps: 200.00, reads: 2800.00, writes: 800.00, response time: 62.50ms (99%), errors: 0.20, reconnects:  0.00",
			Interval{5, 8, 200, -1, 2800, 800, -1, 0.2, 0, p(99, 62.5), -1}},
		{"[  10s] threads: 8, tps: 210.00, reads/s: 2940.00, writes/s: 840.00 response time: 1.25s (99%)",
			Interval{10, 8, 210, -1, 2940, 840, -1, -1, -1, p(99, 1250), -1}},
		{"1,1,15411.65,15411.65,15000.65,400.00,11.00,0.13,0.50,0.00",
			Interval{1, 1, 15411.65, 15411.65, 15000.65, 400, 11, 0.5, 0, p(0, 0.13), -1}},
	} {
		r := parse(t, x.line)
		if d := cmp.Diff([]Interval{x.want}, r.Intervals, near); d != "" {
			t.Errorf("%s (-want +got):\n%s", x.line, d)
		}
		if len(r.Notes) > 0 {
			t.Errorf("%s: notes %q", x.line, r.Notes)
		}
	}
	for file, n := range map[string]int{"read-write.txt": 3, "csv.txt": 2, "v0.5.txt": 2, "json.txt": 0, "killed.txt": 2} {
		if got := len(parse(t, fixture(t, file)).Intervals); got != n {
			t.Errorf("%s: %d intervals, want %d", file, got, n)
		}
	}
}

func TestHistogram(t *testing.T) {
	r := parse(t, fixture(t, "read-write.txt"))
	var sum int64
	for _, b := range r.Histogram {
		sum += b.Count
	}
	if len(r.Histogram) != 162 || sum != r.Summary.Events {
		t.Errorf("%d buckets with %d events, want 162 with %d", len(r.Histogram), sum, r.Summary.Events)
	}
}

// TestCheckpoint: after a checkpoint counts begin anew, but the total time does not. The
// rate that sysbench prints at the end, 52.74/s, is that of 107 events in 3.0323 - 1.0033 s.
func TestCheckpoint(t *testing.T) {
	r := parse(t, fixture(t, "checkpoint.txt"))
	if len(r.Checkpoints) != 1 || r.Checkpoints[0].Events != 51 || r.Checkpoints[0].Wall != 1.0033 {
		t.Errorf("checkpoints %+v", r.Checkpoints)
	}
	if got := r.Summary.Rates().Events; got < 52.73 || got > 52.75 {
		t.Errorf("%.3f events/s, want 52.74: %+v", got, r.Summary)
	}
	if r.Rate != 50 || r.Intervals[0].Queue != 0 || !strings.Contains(strings.Join(r.Warnings, "\n"), "last of 1 checkpoints") {
		t.Errorf("%+v", r)
	}
	broken, _, _ := strings.Cut(fixture(t, "checkpoint.txt"), "[ 2s ]")
	if r := parse(t, broken); r.Summary != nil || !strings.Contains(r.Invalid, "no final summary") {
		t.Errorf("a checkpoint was taken for the end: %+v", r)
	}
}

// summary is a good one of 300 events in 3 s.
const summary = `SQL statistics:
    queries performed:
        read:                            300
        write:                           0
        other:                           0
        total:                           300
    transactions:                        300 (100.00 per sec.)
    queries:                             300 (100.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          3.0000s
    total number of events:              300

Latency (ms):
         min:                                    5.00
         avg:                                   10.00
         max:                                   20.00
         95th percentile:                       15.00
         sum:                                 3000.00

Threads fairness:
    events (avg/stddev):           300.0000/0.00
    execution time (avg/stddev):   3.0000/0.00
`

const second = "[ %ds ] thds: %d tps: %s qps: %[3]s (r/w/o: %[3]s/0.00/0.00) lat (ms,95%%): 15.00 err/s: %s reconn/s: 0.00\n"

// TestTraps has one case for each way in which an output parses and is wrong.
func TestTraps(t *testing.T) {
	line := func(end, threads int, tps string) string { return fmt.Sprintf(second, end, threads, tps, "0.00") }
	good := line(1, 4, "100.00") + line(2, 4, "100.00")
	with := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(summary) }
	for _, x := range []struct {
		name    string
		output  string
		exit    int
		invalid string // part of Invalid; empty: valid
		warning string // part of the warnings; empty: none
	}{
		{name: "good", output: good + summary},
		{name: "underflow", output: good + line(3, 4, "18446842801212211200.00") + summary, warning: "3 numbers are below zero or 2^63 and more"},
		{name: "underflow in a total", output: with("events:              300", "events:              18446744073709551615"), invalid: "cut off", warning: "2^63"},
		{name: "underflow in csv", output: "1,1,100,100,100,0,0,15,0,0\n2,1,-18446744073709551000.00,-nan,1,1,1,inf,1,1\n" + summary, warning: "below zero"},
		{name: "percentile below minimum", output: with("total number of events:              300", "total number of events:              1", "300 (100.00 per", "1 (0.33 per",
			"5.00\n", "241.47\n", "10.00\n", "241.47\n", " 20.00\n", "241.47\n", "15.00\n", "240.02\n"), warning: "below the minimum of 241.47 ms"},
		{name: "percentile above maximum", output: with(" 15.00\n", " 20.40\n"), warning: "above the maximum of 20.00 ms"},
		{name: "percentile of few", output: with("events:              300", "events:              19", "300 (100.00", "19 (6.33"), warning: "percentile 95 of only 19 events"},
		{name: "percentile zero", output: with(" 15.00\n", "  0.00\n"), warning: "it was not measured"},
		{name: "ceiling", output: with(" 20.00\n", " 140000.00\n", " 15.00\n", " 100000.00\n"), warning: "100 s or more"},
		{name: "threads end", output: line(1, 512, "100.00") + line(2, 241, "50.00") + line(3, 241, "0.00"), invalid: "at 2 s 241 threads were left of 512"},
		{name: "threads end, with a summary", output: line(1, 4, "100.00") + line(2, 3, "100.00") + summary, invalid: "at 2 s 3 threads were left of 4"},
		{name: "threads end at the end", output: good + line(3, 1, "100.00") + summary},
		{name: "threads missing", output: "Number of threads: 8\n" + good + summary, invalid: "at most 4 threads ran of 8"},
		{name: "stall", output: line(1, 4, "150.00") + line(2, 4, "0.00") + summary, invalid: "nothing ended in 1 intervals, the first at 2 s"},
		{name: "stall from the start", output: line(1, 4, "0.00") + line(2, 4, "0.00"), invalid: "nothing ended in any of 2 intervals"},
		{name: "slow start", output: line(1, 4, "0.00") + line(2, 4, "150.00") + summary, warning: "no event ended in the first 1 s"},
		{name: "few events", output: line(1, 1, "1.00") + line(2, 1, "0.00") + line(3, 1, "1.00") + with("events:              300", "events:              2", "300 (100.00", "2 (0.67"),
			warning: "short for so few events"},
		{name: "long transactions", output: "[ 1s ] thds: 4 tps: 150.00 qps: 300.00\n[ 2s ] thds: 4 tps: 0.00 qps: 300.00\n" + summary},
		{name: "errors only", output: line(1, 2, "150.00") + "[ 2s ] thds: 2 tps: 0.00 qps: 6606.66 (r/w/o: 0.00/0.00/6606.66) lat (ms,95%): 0.00 err/s: 6606.66 reconn/s: 0.00\n" + summary,
			invalid: "1 intervals have errors and no event that ended well, the first at 2 s"},
		{name: "ignored errors", output: with("errors:                      0      (0.00", "errors:                      30     (10.00"), warning: "30 errors were ignored, 10/s"},
		{name: "reconnects", output: with("reconnects:                          0      (0.00", "reconnects:                          6      (2.00"), warning: "6 reconnects, 2/s"},
		{name: "no summary", output: good, invalid: "no final summary"},
		{name: "nothing", output: "", invalid: "no final summary"},
		{name: "cut off", output: summary[:strings.Index(summary, "General")], invalid: "cut off"},
		{name: "no events", output: with("300 (100.00", "0 (0.00", "events:              300", "events:              0"), invalid: "no event ended in 3 s"},
		{name: "contradiction", output: line(1, 4, "50.00") + line(2, 4, "50.00") + line(3, 4, "50.00") + summary, warning: "add up to 150 events in 3 s, the summary says 300 in 3 s"},
		{name: "contradiction upwards", output: line(1, 4, "500.00") + line(2, 4, "500.00") + summary, warning: "add up to 1000 events in 2 s, the summary says 300 in 3 s"},
		{name: "kinds", output: with("read:                            300", "read:                            299"), warning: "add up to 299, queries are 300"},
		{name: "printed rate", output: with("300 (100.00", "300 (200.00"), warning: "printed rate of 200.00 events/s"},
		{name: "unlike threads", output: with("300.0000/0.00", "75.0000/60.00"), warning: "threads were not alike"},
		{name: "fatal in csv", output: "1,1,100,100,100,0,0,15,0,0\nFATAL: `thread_run' function failed: SQL error, errno = 2013\n2,1,100,100,100,0,0,15,0,0\n", exit: 1, invalid: "exit status 1): FATAL: `thread_run'"},
		{name: "fatal and a summary", output: "FATAL: mysql_drv_query() returned error 1317 (Query execution was interrupted)\n" + summary, invalid: "error 1317"},
		{name: "alert of 0.4", output: "ALERT: failed to execute MySQL query\n" + summary, invalid: "ALERT"},
		{name: "exit status", output: summary, exit: 1, invalid: "ended with exit status 1"},
		{name: "killed", output: good, exit: -1, invalid: "exit status -1"},
		{name: "two runs", output: "sysbench 1.0.20 (x)\n" + summary + "sysbench 1.0.20 (x)\n" + summary, invalid: "more than one run"},
		{name: "two runs without first lines", output: summary + summary, invalid: "more than one run"},
		{name: "warning", output: "WARNING: the --test option is deprecated.\n" + summary, warning: "1 warnings by sysbench"},
		{name: "unknown lines", output: "user's own words\n" + strings.Replace(summary, "Latency", "total: lots\n???\nLatency", 1)},
		{name: "words like ours", output: "total: 7\nmax: 1.00\n" + summary + "max: 1.00\nread: 3\n"},
	} {
		r, err := ParseSysbench(Output{Stdout: strings.NewReader(x.output), Exit: x.exit})
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		if !strings.Contains(r.Invalid, x.invalid) || (x.invalid == "") != (r.Invalid == "") {
			t.Errorf("%s: invalid %q, want %q", x.name, r.Invalid, x.invalid)
		}
		w := strings.Join(r.Warnings, "\n")
		if !strings.Contains(w, x.warning) || x.warning == "" && x.invalid == "" && w != "" {
			t.Errorf("%s: warnings %q, want %q", x.name, w, x.warning)
		}
		f := r.Figures(Queries)
		if (f.Err == "") != (x.invalid == "") || f.Err != "" && f.Ops != 0 {
			t.Errorf("%s: figures %+v of a run that is invalid for %q", x.name, f, r.Invalid)
		}
	}
}

func TestPercentileString(t *testing.T) {
	for want, p := range map[string]Percentile{
		">= 100000.00 ms":      {P: 95, Value: 100, Ceiling: true},
		"240.02 ms (bucketed)": {P: 95, Value: 0.24002, Bucketed: true},
		"0.34 ms":              {P: 95, Value: 0.00034},
		"not said":             {Value: -1},
	} {
		if got := p.String(); got != want {
			t.Errorf("%+v is %q, want %q", p, got, want)
		}
	}
}

func TestSysbenchFigures(t *testing.T) {
	r := parse(t, fixture(t, "read-write.txt"))
	for op, ops := range map[Op]int64{Events: 2058, Transactions: 2058, Queries: 41209} {
		want := lab.Slice{Ops: ops, Wall: 3.0993, Retries: 3, Errors: []lab.ErrorCount{{Code: 0, Count: 3}}}
		var got lab.Slice
		r.Figures(op).Fill(&got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", op, d)
		}
	}
	if f := r.Figures("rows"); f.Err == "" || f.Ops != 0 {
		t.Errorf("rows: %+v", f)
	}
	cpu := parse(t, fixture(t, "cpu.txt"))
	if f := cpu.Figures(Queries); f.Err == "" || f.Ops != 0 {
		t.Errorf("queries of a script that has none: %+v", f)
	}
	if f := cpu.Figures(Events); f.Err != "" || f.Ops != 1985 {
		t.Errorf("events: %+v", f)
	}
	lost := parse(t, strings.Replace(fixture(t, "killed.txt"), "FATAL: `thread", "(last message repeated 2 times)\nFATAL: `thread", 1))
	if d := cmp.Diff([]lab.ErrorCount{{Code: 2006, Count: 3}}, lost.Figures(Events).Errors); d != "" {
		t.Errorf("errors (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]lab.ErrorCount{{Code: 1040, Count: 9}}, parse(t, fixture(t, "refused.txt")).Figures(Events).Errors); d != "" {
		t.Errorf("errors (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]lab.ErrorCount{{Code: 2013, Count: 5}}, SysbenchRun{Summary: &Summary{Events: 1, Reconnects: 5}}.Figures(Events).Errors); d != "" {
		t.Errorf("errors (-want +got):\n%s", d)
	}
}

// TestAsked compares what was run with what was asked.
func TestAsked(t *testing.T) {
	for _, x := range []struct {
		s    Sysbench
		want string
	}{
		{Sysbench{Threads: 1, Time: 3 * time.Second}, ""},
		{Sysbench{Threads: 2, Time: 3 * time.Second}, "ran 1 threads, asked for were 2"},
		{Sysbench{Threads: 1, Time: 10 * time.Second}, "ended after 3 s of 10"},
		{Sysbench{Threads: 1, Events: 300}, ""},
		{Sysbench{Threads: 1, Events: 301}, "ended after 300 events of 301"},
	} {
		r, err := x.s.Parse(Output{Stdout: strings.NewReader("Number of threads: 1\n" + summary)})
		if err != nil || !strings.Contains(r.Invalid, x.want) || (x.want == "") != (r.Invalid == "") {
			t.Errorf("%+v: %q, %v, want %q", x.s, r.Invalid, err, x.want)
		}
	}
}

func TestSysbenchFailed(t *testing.T) {
	for _, x := range []struct {
		out, err string
		exit     int
		want     string
	}{
		{"Creating table 'sbtest1'...\n", "", 0, ""},
		{"FATAL: error 1050: Table 'sbtest1' already exists\n", "", 0, "exit status 0: FATAL: error 1050"},
		{"", "invalid option: --tabels=1\n", 1, "invalid option: --tabels=1"},
		{"", "", 1, "exit status 1"},
		{"", "WARNING: deprecated\n", 0, ""},
	} {
		err := SysbenchFailed(Output{Stdout: strings.NewReader(x.out), Stderr: strings.NewReader(x.err), Exit: x.exit})
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q %q %d: %v, want %q", x.out, x.err, x.exit, err, x.want)
		}
	}
}

// status is an error as os/exec has it.
type status int

func (s status) Error() string { return "status" }
func (s status) ExitCode() int { return int(s) }

func TestExit(t *testing.T) {
	for want, err := range map[int]error{0: nil, 7: fmt.Errorf("mysqlslap: %w", status(7)), -1: errors.New("no end after 1s")} {
		if got := Exit(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("no disk") }

func TestReadError(t *testing.T) {
	for _, o := range []Output{{Stdout: brokenReader{}}, {Stderr: brokenReader{}}} {
		if _, err := ParseSysbench(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
		if _, err := ParseSlap(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
