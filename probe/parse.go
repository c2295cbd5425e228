package probe

import (
	"bytes"
	"errors"
	"math"
	"strconv"
)

// stat is what is wanted of /proc/PID/stat, proc_pid_stat(5).
type stat struct {
	state        byte
	majorFaults  int64 // of all threads
	user, system int64 // in ticks, of all threads, the ended ones too
	start        int64 // in ticks since the host was booted: tells a pid's owners apart
}

// parseStat reads /proc/PID/stat. The second field is the command in parentheses, which
// may hold spaces, line ends and parentheses itself, so fields count from the last ')'.
func parseStat(b []byte) (stat, error) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return stat{}, errors.New("its stat has no command in parentheses")
	}
	f := bytes.Fields(b[end+1:])
	const state, majflt, utime, stime, starttime = 3, 12, 14, 15, 22 // numbered as in the manual
	if len(f) <= starttime-state || len(f[0]) != 1 {
		return stat{}, errors.New("its stat has too few fields")
	}
	s := stat{
		state: f[0][0], majorFaults: number(f[majflt-state]),
		user: number(f[utime-state]), system: number(f[stime-state]), start: number(f[starttime-state]),
	}
	return s, nil
}

// parseSchedstat reads nanoseconds on a CPU, nanoseconds waiting for one, and how often
// one was given, from /proc/PID/task/TID/schedstat.
func parseSchedstat(b []byte) (run, wait, turns int64) {
	f := bytes.Fields(b)
	if len(f) < 3 {
		return -1, -1, -1
	}
	return number(f[0]), number(f[1]), number(f[2])
}

// parseSwitches reads the context switches of a thread from /proc/PID/task/TID/status.
func parseSwitches(b []byte) (voluntary, forced int64) {
	return field(b, "voluntary_ctxt_switches:"), field(b, "nonvoluntary_ctxt_switches:")
}

// ioCounts is what is wanted of /proc/PID/io; −1 is unreadable.
type ioCounts struct{ readBytes, writeBytes, readCalls, writeCalls int64 }

func unreadIO() ioCounts { return ioCounts{-1, -1, -1, -1} }

func parseIO(b []byte) ioCounts {
	return ioCounts{
		readBytes: field(b, "read_bytes:"), writeBytes: field(b, "write_bytes:"),
		readCalls: field(b, "syscr:"), writeCalls: field(b, "syscw:"),
	}
}

// parseStatm reads the resident bytes from /proc/PID/statm.
func parseStatm(b []byte, page int64) int64 {
	f := bytes.Fields(b)
	if len(f) < 2 {
		return -1
	}
	pages := number(f[1])
	if pages < 0 || pages > math.MaxInt64/page {
		return -1
	}
	return pages * page
}

// hostTicks is the CPU time of all CPUs since boot, in ticks; −1 is unreadable.
type hostTicks struct{ busy, steal, total int64 }

func unreadTicks() hostTicks { return hostTicks{-1, -1, -1} }

// parseHost reads the first line of /proc/stat, proc_stat(5). Time given to guests is part
// of user and nice already.
func parseHost(b []byte) hostTicks {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	f := bytes.Fields(line)
	if len(f) < 9 || string(f[0]) != "cpu" {
		return unreadTicks()
	}
	const user, nice, system, idle, iowait, irq, softirq, steal = 1, 2, 3, 4, 5, 6, 7, 8
	var h hostTicks
	for _, i := range []int{user, nice, system, irq, softirq} {
		n := number(f[i])
		if n < 0 || n > math.MaxInt64/16 {
			return unreadTicks()
		}
		h.busy += n
	}
	h.steal = number(f[steal])
	rest := max(0, number(f[idle])) + max(0, number(f[iowait]))
	if h.steal < 0 || h.steal > math.MaxInt64/16 || rest < 0 || rest > math.MaxInt64/16 {
		return unreadTicks()
	}
	h.total = h.busy + h.steal + rest
	return h
}

// field returns the number behind a key at the start of a line, −1 without one.
func field(b []byte, key string) int64 {
	for len(b) > 0 {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		if len(line) > len(key) && string(line[:len(key)]) == key {
			return number(bytes.TrimSpace(line[len(key):]))
		}
		b = rest
	}
	return -1
}

// number reads a count, −1 for anything else.
func number(b []byte) int64 {
	n, err := strconv.ParseUint(string(b), 10, 63)
	if err != nil {
		return -1
	}
	return int64(n)
}
