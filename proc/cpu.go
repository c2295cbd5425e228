package proc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime returns the CPU time that all threads of a process have used, user and system,
// including those that have ended. It reads the process's CPU-time clock, whose number
// is that of clock_getcpuclockid(3): all bits of the pid inverted, shifted by three, and
// 2 for the scheduler's clock with its nanoseconds. /proc/PID/schedstat is the first
// thread alone, and summing the threads loses those that ended.
func CPUTime(pid int) (time.Duration, error) {
	const schedClock = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|schedClock, &ts); err != nil {
		return 0, fmt.Errorf("CPU time of pid %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// Affinity returns the CPUs that the first thread of a process may run on, ascending.
// Pid 0 is the calling thread.
func Affinity(pid int) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		return nil, fmt.Errorf("affinity of pid %d: %w", pid, err)
	}
	var cpus []int
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

// PinThread lets one thread run on the given CPUs only; 0 is the calling thread, which
// has to be locked.
func PinThread(tid int, cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		return fmt.Errorf("run on CPUs %v: %w", cpus, err)
	}
	return nil
}

// ParseCPUs reads a list as taskset -c and /proc write it: 0,2-3. The result ascends.
func ParseCPUs(list string) ([]int, error) {
	var cpus []int
	for _, part := range strings.Split(strings.TrimSpace(list), ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(hi)
		}
		if err != nil || a < 0 || b < a || b >= len(unix.CPUSet{})*64 {
			return nil, fmt.Errorf("%q is not a list of CPUs such as 0,2-3", list)
		}
		for c := a; c <= b; c++ {
			cpus = append(cpus, c)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}
