package proc

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// kinds returns every kind of freezing that this host has; stop is always among them.
func kinds(t *testing.T) []string {
	t.Helper()
	kinds := []string{StopSignal}
	for _, kind := range []string{CgroupV2, CgroupV1} {
		if _, err := NewFreezer(context.Background(), kind); err != nil {
			t.Logf("not tested here: %v", err)
			continue
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

func newGuard(t *testing.T) *Guard {
	t.Helper()
	g, err := NewGuard(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// TestFreeze: a frozen process uses no CPU, a thawed one does, and a frozen one can be
// stopped and killed.
func TestFreeze(t *testing.T) {
	ctx := context.Background()
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			f, err := NewFreezer(ctx, kind)
			if err != nil {
				t.Fatal(err)
			}
			if f.String() != kind {
				t.Errorf("String() = %s", f)
			}
			p := play(t, "spin", Spec{Freezer: f, Guard: newGuard(t)})
			line(t, p)
			for range 5 {
				began := time.Now()
				if err := p.Freeze(ctx); err != nil {
					t.Fatal(err)
				}
				took := time.Since(began)
				// A stopped task is charged for its last microseconds when it is switched out,
				// which a busy host may do after it counts as stopped. Running, it would use
				// 20 ms.
				if used := cpuDuring(t, p.PID(), 20*time.Millisecond); used > time.Millisecond {
					t.Errorf("used %v of CPU while frozen", used)
				}
				if err := p.Thaw(); err != nil {
					t.Fatal(err)
				}
				eventually(t, "it uses CPU after Thaw", func() bool { return cpuDuring(t, p.PID(), 5*time.Millisecond) > 0 })
				t.Logf("frozen after %v", took)
			}
			if err := p.Freeze(ctx); err != nil {
				t.Fatal(err)
			}
			if err := p.Stop(ctx); err != nil {
				t.Errorf("Stop of a frozen process: %v", err)
			}
			if p.cage.dir != "" {
				if _, err := os.Stat(p.cage.dir); err == nil {
					t.Errorf("cgroup %s is still there", p.cage.dir)
				}
			}
			if err := p.Freeze(ctx); err == nil {
				t.Error("Freeze of a process that has ended: no error")
			}

			p = play(t, "spin", Spec{Freezer: f, Guard: newGuard(t)})
			line(t, p)
			if err := p.Freeze(ctx); err != nil {
				t.Fatal(err)
			}
			p.Kill()
			select {
			case <-p.Done():
			default:
				t.Error("Kill of a frozen process returned before its end")
			}
		})
	}
}

func cpuDuring(t *testing.T, pid int, d time.Duration) time.Duration {
	t.Helper()
	before, err := CPUTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	after, err := CPUTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	return after - before
}

// TestFreezeDying: a process that dies while being frozen is reported, not waited for.
func TestFreezeDying(t *testing.T) {
	f, err := NewFreezer(context.Background(), StopSignal)
	if err != nil {
		t.Fatal(err)
	}
	p := play(t, "spin", Spec{Freezer: f})
	line(t, p)
	p.mu.Lock() // so that it is not reaped
	syscall.Kill(p.PID(), syscall.SIGKILL)
	began := time.Now()
	eventually(t, "freezing a zombie is refused", func() bool {
		err = p.cage.freeze(context.Background())
		return err != nil
	})
	p.mu.Unlock()
	if !strings.Contains(err.Error(), "ended") || time.Since(began) > 5*time.Second {
		t.Errorf("freeze: %v after %v", err, time.Since(began))
	}
}

func TestFreezerNames(t *testing.T) {
	ctx := context.Background()
	if _, err := NewFreezer(ctx, "ice"); err == nil || !strings.Contains(err.Error(), CgroupV2) {
		t.Errorf("NewFreezer(ice): %v, want the names that there are", err)
	}
	f, err := NewFreezer(ctx, NoFreezing)
	if err != nil || f.String() != "off" {
		t.Errorf("got %v, %v", f, err)
	}
	p := play(t, "spin", Spec{Freezer: f})
	line(t, p)
	if err := p.Freeze(ctx); err != nil {
		t.Errorf("Freeze when off: %v", err)
	}
	eventually(t, "it runs although asked to freeze", func() bool { return cpuDuring(t, p.PID(), 5*time.Millisecond) > 0 })
	none := play(t, "spin", Spec{})
	if err := none.Freeze(ctx); err == nil {
		t.Error("Freeze without a freezer: no error")
	}
	if err := none.Thaw(); err != nil {
		t.Errorf("Thaw without a freezer: %v", err)
	}
	v1 := &Freezer{kind: CgroupV1, parent: t.TempDir()}
	if _, err := Start(Spec{Args: []string{"true"}, Freezer: v1}); err == nil || !strings.Contains(err.Error(), "guard") {
		t.Errorf("cgroup v1 without a guard: %v, want a refusal", err)
	}
}

// TestUnprivileged: who may not make cgroups gets the next best kind.
func TestUnprivileged(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{partEnv + "=freezer"}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	got := strings.TrimSpace(string(out))
	// A user's own systemd manager may have been given a cgroup of its own.
	if err != nil || got != "stop <nil>" && (os.Geteuid() == 0 || got != "cgroup v2 <nil>") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestOwnCgroup(t *testing.T) {
	const mounts = `22 26 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw
35 22 0:30 / /sys/fs/cgroup/freezer rw,relatime shared:14 - cgroup cgroup rw,freezer
36 22 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:15 - cgroup cgroup rw,cpu,cpuacct
37 22 0:32 /docker/abc /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw,nsdelegate
`
	for _, tt := range []struct {
		name, kind, mounts, groups string
		want, err                  string
	}{
		{"v1", CgroupV1, mounts, "6:freezer:/jobs/a:b\n4:cpu,cpuacct:/\n0::/x\n", "/sys/fs/cgroup/freezer/jobs/a:b", ""},
		{"v2 below a mount's root", CgroupV2, mounts, "6:freezer:/\n0::/docker/abc/in\n", "/sys/fs/cgroup/unified/in", ""},
		{"v2 at a mount's root", CgroupV2, mounts, "0::/docker/abc\n", "/sys/fs/cgroup/unified", ""},
		{"v2 outside", CgroupV2, mounts, "0::/docker\n", "", "outside"},
		{"v2 above a namespace", CgroupV2, mounts, "0::/../x\n", "", "outside"},
		{"no v1", CgroupV1, "", "6:freezer:/\n", "", "not mounted"},
		{"not in v1", CgroupV1, mounts, "0::/\n", "", "in none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ownCgroup(tt.kind, tt.mounts, tt.groups)
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v, want %q, %q", got, err, tt.want, tt.err)
			}
		})
	}
}
