package probe

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"backslide/lab"
)

// before is a snapshot with every counter at a value that shows in no other.
func before() Snapshot {
	return Snapshot{
		server: process{pid: 10, cpu: 5e9, rss: 1000, stat: stat{state: 'S', majorFaults: 3, user: 300, system: 200, start: 77},
			io: ioCounts{readBytes: 100, writeBytes: 200, readCalls: 30, writeCalls: 40}},
		client:  process{pid: 11, cpu: 1e9, stat: stat{user: 90, system: 10, start: 78}},
		threads: []thread{{10, 1e9, 5e8, 100, 10}, {12, 2e9, 1e8, 200, 20}, {14, 2e9, 1e8, 300, 30}},
		host:    hostTicks{busy: 1000, steal: 50, total: 9000},
		strain:  strain{cpu: 7e6, memory: 5e6, io: 3e6, dirty: 4096, frequency: 3e9, throttled: 4},
	}
}

// after is 0.2 s later: thread 12 ended, 13 is new, 14's tid belongs to a new thread.
func after() Snapshot {
	s := before()
	s.server.cpu += 160e6
	s.server.stat.user += 12
	s.server.stat.system += 4
	s.server.stat.majorFaults += 2
	s.server.io = ioCounts{readBytes: 4196, writeBytes: 8392, readCalls: 35, writeCalls: 46}
	s.server.rss = 2000
	s.client.cpu += 20e6
	s.client.stat.user += 2 // too few ticks to split by: 92:10 since the start decides
	s.threads = []thread{{10, 1.1e9, 6e8, 150, 11}, {13, 5e7, 1e7, 7, 3}, {14, 1e7, 2e7, 9, 1}}
	s.host = hostTicks{busy: 1025, steal: 53, total: 9040}
	s.strain = strain{cpu: 7.1e6, memory: 5.01e6, io: 3.002e6, dirty: 8192, frequency: 2.5e9, throttled: 6}
	return s
}

func TestBetween(t *testing.T) {
	want := lab.Usage{
		ServerUser: 0.12, ServerSystem: 0.04, // 0.16 s split 12:4
		ServerRunq: 0.1 + 0.01 + 0.02,  // thread 10's difference, 13 and 14 in full
		ConnCPU:    0.1, ConnRunq: 0.1, // thread 10
		ClientUser: 0.02 * 92 / 102, ClientSystem: 0.02 * 10 / 102,
		CtxVoluntary: 50 + 7 + 9, CtxForced: 1 + 3 + 1,
		ReadBytes: 4096, WriteBytes: 8192, ReadCalls: 5, WriteCalls: 6, MajorFaults: 2,
		Steal: 0.03, HostBusy: 0.25 - 0.16 - 0.02, RSS: 2000,
		StallCPU: 0.1, StallMemory: 0.01, StallIO: 0.002, Dirty: 8192, Frequency: 2.5e9, Throttled: 2,
	}
	if d := cmp.Diff(want, Between(before(), after(), []int{10}), cmpopts.EquateApprox(0, 1e-12)); d != "" {
		t.Errorf("Between (-want +got):\n%s", d)
	}
}

// TestConnections: the time of connections is known only if each of their threads was
// there all the time.
func TestConnections(t *testing.T) {
	for _, c := range []struct {
		conns     []int
		cpu, wait float64
	}{
		{[]int{10}, 0.1, 0.1},
		{nil, -1, -1},
		{[]int{10, 12}, -1, -1}, // ended
		{[]int{10, 13}, -1, -1}, // began
		{[]int{10, 14}, -1, -1}, // another thread has its number
		{[]int{99}, -1, -1},
	} {
		u := Between(before(), after(), c.conns)
		if math.Abs(u.ConnCPU-c.cpu) > 1e-12 || math.Abs(u.ConnRunq-c.wait) > 1e-12 {
			t.Errorf("threads %v: %v s on a CPU, %v s waiting, want %v and %v", c.conns, u.ConnCPU, u.ConnRunq, c.cpu, c.wait)
		}
	}
}

func TestBetweenUnreadable(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a, b *Snapshot)
		want   func(*lab.Usage)
	}{
		"another process has the server's pid": {
			func(a, b *Snapshot) { b.server.stat.start++ },
			func(u *lab.Usage) {
				steal, user, system := u.Steal, u.ClientUser, u.ClientSystem
				*u = unread()
				u.Steal, u.ClientUser, u.ClientSystem = steal, user, system
				strainBetween(u, before().strain, after().strain) // of the host, whoever the server is
			},
		},
		"another client": {
			func(a, b *Snapshot) { b.client.pid++ },
			func(u *lab.Usage) { u.ClientUser, u.ClientSystem, u.HostBusy = -1, -1, -1 },
		},
		"no client": {
			func(a, b *Snapshot) { a.client, b.client = process{cpu: -1}, process{cpu: -1} },
			func(u *lab.Usage) { u.ClientUser, u.ClientSystem, u.HostBusy = -1, -1, 0.09 },
		},
		"no io": {
			func(a, b *Snapshot) { b.server.io = unreadIO() },
			func(u *lab.Usage) { u.ReadBytes, u.WriteBytes, u.ReadCalls, u.WriteCalls = -1, -1, -1, -1 },
		},
		"no schedstat": {
			func(a, b *Snapshot) {
				for i := range a.threads {
					a.threads[i].wait, b.threads[i].wait = -1, -1
				}
			},
			func(u *lab.Usage) { u.ServerRunq = -1 },
		},
		"counters went backwards": {
			func(a, b *Snapshot) {
				b.host.steal, b.server.io.writeBytes, b.server.cpu = a.host.steal-1, 1, a.server.cpu-1
			},
			func(u *lab.Usage) {
				u.Steal, u.WriteBytes, u.ServerUser, u.ServerSystem, u.HostBusy = -1, -1, -1, -1, -1
			},
		},
		"ticks lag behind": {
			func(a, b *Snapshot) { b.host.busy = a.host.busy + 1 },
			func(u *lab.Usage) { u.HostBusy = 0 },
		},
		"no ticks at all yet": {
			func(a, b *Snapshot) {
				a.server.stat.user, a.server.stat.system, b.server.stat.user, b.server.stat.system = 0, 0, 0, 0
			},
			func(u *lab.Usage) { u.ServerUser, u.ServerSystem = 0.16, 0 },
		},
	} {
		a, b := before(), after()
		want := Between(a, b, nil)
		c.change(&a, &b)
		c.want(&want)
		if d := cmp.Diff(want, Between(a, b, nil), cmpopts.EquateApprox(0, 1e-12)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
