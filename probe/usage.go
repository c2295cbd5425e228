package probe

import (
	"slices"

	"backslide/lab"
)

// thread holds what a thread of the server has counted; −1 is unreadable.
type thread struct {
	tid               int
	run, wait         int64 // nanoseconds on a CPU, and waiting for one
	voluntary, forced int64 // context switches
}

const (
	// userHZ is the number of ticks per second in which /proc shows CPU time: 100 on every
	// architecture that Go runs Linux on.
	userHZ = 100
	// minTicks is how many ticks make a split into user and kernel time: each side may be
	// off by one tick, so fewer would be off by more than a fifth.
	minTicks = 5
)

// Between returns what was spent from a to b, two snapshots of the same processes. A value
// is −1 where either snapshot could not read it, where a counter went backwards, or where
// a's process is not b's.
//
// CPU time is exact to the scheduler's clock, ended threads included; its split into user
// and kernel time follows the ticks of 10 ms that the kernel gives away in the same time,
// and those since the process started when there are fewer than five. Run-queue wait and
// context switches are summed over threads: a thread that started in between counts in
// full, one that ended in between has taken its part with it. Bytes written count when
// pages become dirty, or at once for direct I/O; calls do not contain asynchronous I/O.
// HostBusy is exact to a tick per CPU, and never under zero.
// conns are the server's threads that serve clients; nil: not known.
func Between(a, b Snapshot, conns []int) lab.Usage {
	u := unread()
	strainBetween(&u, a.strain, b.strain)
	u.Steal = seconds(diff(a.host.steal, b.host.steal), userHZ)
	u.ClientUser, u.ClientSystem = cpu(a.client, b.client)
	u.ServerUser, u.ServerSystem = cpu(a.server, b.server)
	if busy := seconds(diff(a.host.busy, b.host.busy), userHZ); busy >= 0 && u.ServerUser >= 0 {
		busy -= u.ServerUser + u.ServerSystem
		switch {
		case a.client.pid == 0 && b.client.pid == 0:
			u.HostBusy = max(0, busy)
		case u.ClientUser >= 0:
			u.HostBusy = max(0, busy-u.ClientUser-u.ClientSystem)
		}
	}
	if !same(a.server, b.server) {
		return u
	}
	wait, voluntary, forced := threadsBetween(a.threads, b.threads)
	u.ServerRunq, u.CtxVoluntary, u.CtxForced = seconds(wait, 1e9), voluntary, forced
	u.ConnCPU, u.ConnRunq = connsBetween(a.threads, b.threads, conns)
	u.ReadBytes = diff(a.server.io.readBytes, b.server.io.readBytes)
	u.WriteBytes = diff(a.server.io.writeBytes, b.server.io.writeBytes)
	u.ReadCalls = diff(a.server.io.readCalls, b.server.io.readCalls)
	u.WriteCalls = diff(a.server.io.writeCalls, b.server.io.writeCalls)
	u.MajorFaults = diff(a.server.stat.majorFaults, b.server.stat.majorFaults)
	u.RSS = b.server.rss
	return u
}

func unread() lab.Usage {
	return lab.Usage{
		ServerUser: -1, ServerSystem: -1, ServerRunq: -1, ConnCPU: -1, ConnRunq: -1, ClientUser: -1, ClientSystem: -1, CtxVoluntary: -1, CtxForced: -1,
		ReadBytes: -1, WriteBytes: -1, ReadCalls: -1, WriteCalls: -1, MajorFaults: -1, Steal: -1, HostBusy: -1, RSS: -1,
		StallCPU: -1, StallMemory: -1, StallIO: -1, Dirty: -1, Frequency: -1, Throttled: -1,
	}
}

// same reports whether two observations are of one process, not of two that had its pid.
func same(a, b process) bool {
	return a.pid != 0 && a.pid == b.pid && a.stat.start == b.stat.start
}

// cpu returns the seconds of user and kernel time between two observations of a process.
func cpu(a, b process) (user, system float64) {
	total := seconds(diff(a.cpu, b.cpu), 1e9)
	if !same(a, b) || total < 0 {
		return -1, -1
	}
	u, s := diff(a.stat.user, b.stat.user), diff(a.stat.system, b.stat.system)
	if u < 0 || s < 0 || u+s < minTicks {
		u, s = max(0, b.stat.user), max(0, b.stat.system)
	}
	if u+s == 0 {
		u = 1 // younger than a tick: all of it counts as user time
	}
	share := float64(u) / (float64(u) + float64(s))
	return total * share, total * (1 - share)
}

// threadsBetween adds up what the threads of b have counted since a. Both are sorted.
func threadsBetween(a, b []thread) (wait, voluntary, forced int64) {
	i := 0
	for _, t := range b {
		for i < len(a) && a[i].tid < t.tid {
			i++
		}
		var was thread
		if i < len(a) && a[i].tid == t.tid && !younger(a[i], t) {
			was = a[i]
		}
		wait = add(wait, diff(was.wait, t.wait))
		voluntary = add(voluntary, diff(was.voluntary, t.voluntary))
		forced = add(forced, diff(was.forced, t.forced))
	}
	return wait, voluntary, forced
}

// connsBetween returns the seconds on a CPU, and waiting for one, of the threads conns:
// −1 where there are none, or one of them was not there all the time.
func connsBetween(a, b []thread, conns []int) (cpu, wait float64) {
	run, runq := int64(0), int64(0)
	for _, tid := range conns {
		was, ok1 := threadOf(a, tid)
		is, ok2 := threadOf(b, tid)
		if !ok1 || !ok2 || younger(was, is) {
			return -1, -1
		}
		run, runq = add(run, diff(was.run, is.run)), add(runq, diff(was.wait, is.wait))
	}
	if len(conns) == 0 {
		return -1, -1
	}
	return seconds(run, 1e9), seconds(runq, 1e9)
}

func threadOf(threads []thread, tid int) (thread, bool) {
	i, ok := slices.BinarySearchFunc(threads, tid, func(t thread, tid int) int { return t.tid - tid })
	if !ok {
		return thread{}, false
	}
	return threads[i], true
}

// younger reports whether t is another thread than the one that had its tid: counters
// only grow within one.
func younger(was, t thread) bool {
	return t.run < was.run || t.wait < was.wait || t.voluntary < was.voluntary || t.forced < was.forced
}

// diff returns b−a, −1 where that means nothing.
func diff(a, b int64) int64 {
	if a < 0 || b < a {
		return -1
	}
	return b - a
}

// add returns a+b, −1 where one of them is unreadable.
func add(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// seconds converts a count of units of 1/per seconds and keeps −1.
func seconds(n int64, per float64) float64 {
	if n < 0 {
		return -1
	}
	return float64(n) / per
}
