package stacks

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The ways in which perf finds out who called whom.
const (
	FramePointers = "fp"    // cheap; stacks end early where code was built without frame pointers
	Dwarf         = "dwarf" // copies the stack with every sample: much data, slow to read
)

// Record is a recording of one process by perf.
type Record struct {
	PID       int
	Event     string        // "": cycles, for which perf itself takes cpu-clock where there are no counters
	Frequency int           // samples per second and thread; 0: 499, which beats with no timer of the kernel
	CallGraph string        // FramePointers or Dwarf; "": FramePointers
	StackSize int           // bytes of stack copied per sample with Dwarf; 0: 8192
	Output    string        // the file to write
	Length    time.Duration // 0: until it gets an interrupt
	MaxSize   int64         // bytes after which it stops by itself; 0: no bound
}

// Args returns the command line. Perf needs to be interrupted or terminated, not killed,
// for the file to be complete. What the process costs meanwhile is not our saying:
// measure it.
func (r Record) Args() []string {
	event, freq, graph := r.Event, r.Frequency, r.CallGraph
	if event == "" {
		event = "cycles"
	}
	if freq == 0 {
		freq = 499
	}
	switch {
	case graph == "":
		graph = FramePointers
	case graph == Dwarf && r.StackSize > 0:
		graph += "," + strconv.Itoa(r.StackSize)
	}
	// Build ids are for finding files again on another host, and gathering them takes a
	// pass over the whole recording.
	args := []string{"perf", "record", "--no-buildid", "--no-buildid-cache", "-e", event, "-F", strconv.Itoa(freq), "--call-graph", graph,
		"-p", strconv.Itoa(r.PID), "-o", r.Output}
	if r.MaxSize > 0 {
		args = append(args, "--max-size", strconv.FormatInt(r.MaxSize, 10)+"B")
	}
	if r.Length > 0 {
		args = append(args, "--", "sleep", strconv.FormatFloat(r.Length.Seconds(), 'f', 3, 64))
	}
	return args
}

// scriptFields are the fields that Parse wants. The CPU is not among them: perf script
// fails if the recording does not have it.
const scriptFields = "comm,pid,tid,time,period,event,ip,sym,dso"

// Script is the reading of a recording by perf.
type Script struct {
	Input    string
	MaxStack int    // frames; 0: 127
	SymFS    string // directory that is put before the paths of all files, for symbols kept elsewhere; "": none
}

// Args returns the command line. It never has perf look up inlined functions or lines of
// source: for these perf starts addr2line, which reads all debug information again and
// again and can take hours.
func (s Script) Args() []string {
	args := []string{"perf", "script", "-i", s.Input, "-F", scriptFields, "--no-inline", "--force"}
	if s.MaxStack > 0 {
		args = append(args, "--max-stack", strconv.Itoa(s.MaxStack))
	}
	if s.SymFS != "" {
		args = append(args, "--symfs", s.SymFS)
	}
	return args
}

// Env returns the environment for perf: base without what would make it ask the network for
// debug information, translate its messages, or take a user's settings.
func Env(base []string) []string {
	env := make([]string, 0, len(base)+3)
	for _, kv := range base {
		key, _, _ := strings.Cut(kv, "=")
		switch key {
		case "DEBUGINFOD_URLS", "LC_ALL", "LANG", "PERF_CONFIG":
		default:
			env = append(env, kv)
		}
	}
	return append(env, "DEBUGINFOD_URLS=", "LC_ALL=C", "PERF_CONFIG=/dev/null")
}

// Losses finds in what perf script wrote to its standard error how much of the recording
// perf could not keep up with, and says so. It returns "" if nothing was lost.
func Losses(stderr string) string {
	const doubt = ": the host was too busy to write them down, and the shares of functions may be wrong"
	if m := regexp.MustCompile(`Processed \d+ samples and lost ([0-9.]+)%`).FindStringSubmatch(stderr); m != nil {
		return fmt.Sprintf("perf lost %s %% of its samples%s", m[1], doubt)
	}
	if m := regexp.MustCompile(`Processed \d+ events and lost (\d+) chunks`).FindStringSubmatch(stderr); m != nil {
		return fmt.Sprintf("perf lost samples, %s times%s", m[1], doubt)
	}
	return ""
}

// Doubts says what of the recording could not be read or kept.
func (r *Recording) Doubts() []string {
	var out []string
	if r.Malformed > 0 {
		out = append(out, fmt.Sprintf("%d lines of what perf wrote could not be read", r.Malformed))
	}
	if r.Cut > 0 {
		out = append(out, fmt.Sprintf("the stacks of %d samples were cut: there are too many different ones", r.Cut))
	}
	return out
}

// What keeps perf from recording.
var (
	ErrNotPermitted = errors.New("perf is not permitted")
	ErrUnsupported  = errors.New("perf cannot count this event here")
	ErrGone         = errors.New("the process to be sampled is gone")
	ErrEmpty        = errors.New("perf recorded no samples")
)

// Explain finds the cause in what perf wrote to its standard error, or in an error that
// holds the end of it, and returns what to do about it, wrapping one of the errors above.
// It returns nil if it knows no cause.
func Explain(stderr string) error {
	text := strings.ToLower(stderr)
	has := func(any ...string) bool {
		for _, s := range any {
			if strings.Contains(text, s) {
				return true
			}
		}
		return false
	}
	switch {
	case has("mlock", "mmap_pages", "perf_event_mlock_kb") && has("failed to mmap", "cannot allocate", "perf_event_mlock_kb value", "permission error mapping"):
		return fmt.Errorf("%w: no memory may be locked for its buffers; raise kernel.perf_event_mlock_kb (sysctl) or stop other recordings", ErrNotPermitted)
	case has("perf_event_paranoid", "access to performance monitoring", "permission denied", "operation not permitted", "eacces", "eperm"):
		return fmt.Errorf("%w: run as root, or: sysctl kernel.perf_event_paranoid=1 (2 lets it see user code only: record event cpu-clock:u); in a container it also needs CAP_PERFMON and a seccomp profile that allows perf_event_open", ErrNotPermitted)
	case has("not supported", "no such device", "pmu hardware doesn't support", "enoent", "unable to find pmu", "bad event"):
		return fmt.Errorf("%w: this CPU or virtual machine gives no access to the counter; use event cpu-clock, which needs none", ErrUnsupported)
	case has("event syntax error", "invalid or unsupported event"):
		return fmt.Errorf("%w: it does not know the name; perf list names those there are, and cpu-clock is always there", ErrUnsupported)
	case has("function not implemented", "enosys"):
		return fmt.Errorf("%w: the kernel was built without perf events or a sandbox hides them", ErrUnsupported)
	case has("no such process", "couldn't create thread/cpu maps", "process not found"):
		return fmt.Errorf("%w: look at its log for why it ended", ErrGone)
	case has("has no samples", "zero-sized data", "data size field is 0", "wasn't properly terminated"):
		return fmt.Errorf("%w: the process was idle, or perf was killed before it could finish the file; record longer, while there is load, and end perf by an interrupt", ErrEmpty)
	}
	return nil
}
