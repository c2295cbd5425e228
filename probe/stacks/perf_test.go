package stacks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/proc"
)

func TestArgs(t *testing.T) {
	got := strings.Join(Record{PID: 7, Output: "/tmp/o"}.Args(), " ")
	if want := "perf record --no-buildid --no-buildid-cache -e cycles -F 499 --call-graph fp -p 7 -o /tmp/o"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = strings.Join(Record{PID: 7, Event: "cpu-clock:u", Frequency: 99, CallGraph: Dwarf, StackSize: 16384, Output: "o", Length: 2500 * time.Millisecond, MaxSize: 1 << 20}.Args(), " ")
	if want := "perf record --no-buildid --no-buildid-cache -e cpu-clock:u -F 99 --call-graph dwarf,16384 -p 7 -o o --max-size 1048576B -- sleep 2.500"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = strings.Join(Script{Input: "o", MaxStack: 64, SymFS: "/sym"}.Args(), " ")
	if want := "perf script -i o -F comm,pid,tid,time,period,event,ip,sym,dso --no-inline --force --max-stack 64 --symfs /sym"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	env := Env([]string{"PATH=/bin", "DEBUGINFOD_URLS=https://x", "LC_ALL=de_DE.UTF-8"})
	if d := cmp.Diff([]string{"PATH=/bin", "DEBUGINFOD_URLS=", "LC_ALL=C", "PERF_CONFIG=/dev/null"}, env); d != "" {
		t.Errorf("environment (-want +got):\n%s", d)
	}
}

// TestExplain: texts of perf 4.9 to 6.1.
func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		text string
		want error
		do   string
	}{
		{"Error:\nAccess to performance monitoring and observability operations is limited.\nConsider adjusting /proc/sys/kernel/perf_event_paranoid setting to open\n", ErrNotPermitted, "perf_event_paranoid=1"},
		{"You may not have permission to collect stats.\n\nConsider tweaking /proc/sys/kernel/perf_event_paranoid,", ErrNotPermitted, "CAP_PERFMON"},
		{"perf_event_open(..., PERF_FLAG_FD_CLOEXEC) failed with unexpected error 1 (Operation not permitted)", ErrNotPermitted, "root"},
		{"Permission error mapping pages.\nConsider increasing /proc/sys/kernel/perf_event_mlock_kb,\nor try again with a smaller value of -m/--mmap_pages.", ErrNotPermitted, "perf_event_mlock_kb"},
		{"Error:\nThe cycles event is not supported.", ErrUnsupported, "cpu-clock"},
		{"cycles: PMU Hardware doesn't support sampling/overflow-interrupts. Try 'perf stat'", ErrUnsupported, "cpu-clock"},
		{"event syntax error: 'nosuch'\n                     \\___ parser error", ErrUnsupported, "perf list"},
		{"The sys_perf_event_open() syscall returned with 38 (Function not implemented) for event (cpu-clock).", ErrUnsupported, "kernel"},
		{"Couldn't create thread/CPU maps: No such process", ErrGone, "log"},
		{"WARNING: The /tmp/x file's data size field is 0 which is unexpected.\nWas the 'perf record' command properly terminated?", ErrEmpty, "interrupt"},
		{"The perf.data data has no samples!", ErrEmpty, "longer"},
	} {
		err := Explain(tt.text)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.do) {
			t.Errorf("%.60q: got %v, want %v with %q", tt.text, err, tt.want, tt.do)
		}
	}
	if err := Explain("[ perf record: Captured and wrote 0.008 MB a.data (84 samples) ]"); err != nil {
		t.Errorf("no trouble: %v", err)
	}
}

// TestLive records a process that spends three quarters of its time in one function and a
// quarter in another.
func TestLive(t *testing.T) {
	if testing.Short() {
		t.Skip("needs perf")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	busy := filepath.Join(t.TempDir(), "busy")
	if _, err := proc.Output(ctx, proc.Command{Args: []string{"go", "build", "-o", busy, "testdata/busy/main.go"}}); err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(proc.Spec{Args: []string{busy}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	for _, graph := range []string{FramePointers, Dwarf} {
		prof := live(ctx, t, Record{PID: p.PID(), CallGraph: graph, Frequency: 499, Length: time.Second, Output: filepath.Join(t.TempDir(), "perf.data")})
		t.Logf("%s: %s in %s, %+v, %.1f %% unknown", graph, prof.Event, prof.Unit, prof.Total(), 100*prof.UnknownShare())
		total := prof.Total()
		shares := map[string]float64{}
		for _, f := range prof.Flat() {
			shares[f.Name] = f.Total.Weight / total.Weight
		}
		// 500 samples at 3/4 have a standard error of 0.02; the runtime takes a little.
		three, one := shares["main.busyThree"], shares["main.busyOne"]
		if total.Samples < 100 || three < 0.65 || three > 0.85 || one < 0.15 || one > 0.35 {
			t.Errorf("%s: %d samples, shares %.3f and %.3f, want 0.75 and 0.25", graph, total.Samples, three, one)
		}
	}

	_, err = proc.Output(ctx, proc.Command{Args: Record{PID: 1 << 22, Event: "cpu-clock", Output: filepath.Join(t.TempDir(), "x"), Length: time.Second}.Args(), Env: Env(os.Environ())})
	if err == nil || !errors.Is(Explain(err.Error()), ErrGone) {
		t.Errorf("a process that is not there: %v", err)
	}
	_, err = proc.Output(ctx, proc.Command{Args: Record{PID: p.PID(), Event: "nosuch", Output: filepath.Join(t.TempDir(), "x"), Length: time.Second}.Args(), Env: Env(os.Environ())})
	if err == nil || !errors.Is(Explain(err.Error()), ErrUnsupported) {
		t.Errorf("an event that is not there: %v", err)
	}
}

func live(ctx context.Context, t *testing.T, r Record) *Profile {
	t.Helper()
	if _, err := proc.Output(ctx, proc.Command{Args: r.Args(), Env: Env(os.Environ())}); err != nil {
		if why := Explain(err.Error()); why != nil {
			err = why
		}
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := proc.Output(ctx, proc.Command{Args: Script{Input: r.Output}.Args(), Env: Env(os.Environ()), Stdout: &text, Timeout: 30 * time.Second}); err != nil {
		t.Fatal(err)
	}
	rec, err := Parse(&text, Select{PID: r.PID})
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Profiles) != 1 || rec.Malformed > 0 {
		t.Fatal(fmt.Errorf("%d events, %d lines that were not read", len(rec.Profiles), rec.Malformed))
	}
	return rec.Profiles[0]
}

func TestLosses(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"Warning:\nProcessed 51234 samples and lost 12.30%!\n\n":                      "perf lost 12.30 % of its samples",
		"Processed 3452 events and lost 7 chunks!\n\nCheck IO/CPU overload!\n\n":      "perf lost samples, 7 times",
		"Warning:\n2 out of order events recorded.\nno symbols found in /usr/bin/x\n": "",
	} {
		if got := Losses(text); (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestDoubts(t *testing.T) {
	text := "mysqld 1/2 1.000000: 100 cpu-clock: \n\t1000 f (/x)\n\tnonsense\n\n"
	rec, err := Parse(strings.NewReader(text+text), Select{})
	if err != nil {
		t.Fatal(err)
	}
	if got := rec.Doubts(); len(got) != 1 || !strings.Contains(got[0], "2 lines") {
		t.Errorf("got %q, want the 2 lines that are no frames", got)
	}
	if got := (&Recording{Cut: 3}).Doubts(); len(got) != 1 || !strings.Contains(got[0], "3 samples") {
		t.Errorf("cut stacks: %q", got)
	}
	if got := (&Recording{Samples: 9}).Doubts(); got != nil {
		t.Errorf("a good recording: %q", got)
	}
}
