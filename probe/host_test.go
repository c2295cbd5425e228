package probe

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"backslide/lab"
)

// machine writes files as a kernel would show them.
func machine(t *testing.T, files map[string]string) roots {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"proc", "sys"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return roots{proc: filepath.Join(dir, "proc"), sys: filepath.Join(dir, "sys")}
}

// rented is a virtual machine in a container with everything about it that is bad.
func rented() map[string]string {
	const cpu = "sys/devices/system/cpu/"
	return map[string]string{
		"proc/sys/kernel/osrelease": "6.1.0-28-amd64\n",
		"proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu hypervisor sse\n\n" +
			"processor\t: 1\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu hypervisor sse\n\n",
		"proc/meminfo":                                    "MemTotal:        8388608 kB\nMemFree:          100000 kB\nMemAvailable:    1048576 kB\nSwapTotal:       2097152 kB\nSwapFree:        1048576 kB\n",
		"proc/sys/vm/swappiness":                          "60\n",
		"proc/self/mountinfo":                             "22 1 254:0 / / rw - overlay overlay rw\n",
		"proc/self/cgroup":                                "4:memory:/job\n3:cpu,cpuacct:/job\n0::/job/sub\n",
		"proc/pressure/cpu":                               "some avg10=12.50 avg60=0.98 avg300=1.51 total=21175753\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		cpu + "online":                                    "0-4095\n",
		cpu + "smt/active":                                "1\n",
		cpu + "cpufreq/boost":                             "1\n",
		cpu + "cpu0/cpufreq/scaling_governor":             "schedutil\n",
		cpu + "cpu1/cpufreq/scaling_governor":             "powersave\n",
		cpu + "cpu1/thermal_throttle/core_throttle_count": "7\n",
		"sys/devices/system/node/node0/x":                 "",
		"sys/devices/system/node/node1/x":                 "",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
		"sys/kernel/mm/transparent_hugepage/enabled":                      "[always] madvise never\n",
		"sys/class/dmi/id/sys_vendor":                                     "QEMU\n",
		"sys/fs/cgroup/job/cpu.max":                                       "50000 100000\n",
		"sys/fs/cgroup/job/sub/cpu.max":                                   "max 100000\n",
		"sys/fs/cgroup/job/memory.max":                                    "4294967296\n",
		"sys/fs/cgroup/job/memory.current":                                "4194304000\n",
		"sys/fs/cgroup/job/memory.stat":                                   "anon 5\ninactive_file 1048576\nactive_file 7\n",
		"sys/fs/cgroup/memory/job/memory.limit_in_bytes":                  "9223372036854771712\n",
	}
}

func TestFacts(t *testing.T) {
	got := machine(t, rented()).facts("/nowhere")
	want := facts{
		Host: lab.Host{
			Kernel: "6.1.0-28-amd64", CPU: "Some CPU @ 2 GHz", CPUs: runtime.NumCPU(), Governor: "powersave, schedutil", Memory: 8 << 30, Virtual: "kvm",
			ClockSource: "hpet", THP: "always", Swappiness: "60", FileSystem: "overlay",
		},
		online: 4096, quota: 0.5, turbo: true, smt: true, throttled: 7, nodes: 2, swap: 2 << 30, used: 1 << 30, limit: 4 << 30, dir: "/nowhere",
		room: Room{Memory: 4<<30 - 4194304000 + 1<<20, MemoryAll: 4 << 30, Pressure: Pressure{CPU: 0.125, Memory: -1, IO: -1}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(facts{}), cmpopts.IgnoreFields(Room{}, "Disk", "DiskAll")); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got.room.Disk <= 0 || got.room.DiskAll < got.room.Disk {
		t.Errorf("disk: %d of %d free", got.room.Disk, got.room.DiskAll)
	}
	// a version 1 group counts like one of version 2
	files := rented()
	delete(files, "sys/fs/cgroup/job/cpu.max")
	files["sys/fs/cgroup/cpu/job/cpu.cfs_quota_us"], files["sys/fs/cgroup/cpu/job/cpu.cfs_period_us"] = "150000\n", "100000\n"
	if got := machine(t, files).facts("/nowhere").quota; got != 1.5 {
		t.Errorf("quota of a version 1 group: %g CPUs, want 1.5", got)
	}
}

// A host that shows nothing yields empty facts, and says which of them matter.
func TestNoFacts(t *testing.T) {
	f := machine(t, nil).facts("/nowhere")
	f.CPUs = 0
	if runtime.GOARCH == "amd64" && f.Virtual != "" {
		t.Errorf("virtual: %q", f.Virtual)
	}
	if d := cmp.Diff(lab.Host{}, f.Host); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	w := strings.Join(f.warnings(), "\n")
	if !strings.Contains(w, "no frequency governor") || !strings.Contains(w, "file system of /nowhere is not known") {
		t.Errorf("warnings:\n%s", w)
	}
}

// quiet is a host without anything to warn of.
func quiet() facts {
	return facts{
		Host: lab.Host{
			Kernel: "6.1.0", CPU: "x", CPUs: 8, Governor: "performance", Memory: 64 << 30, ClockSource: "tsc", THP: "madvise",
			Swappiness: "1", FileSystem: "ext4", HardwareCycles: true,
		},
		online: 8, nodes: 1, swap: 1 << 30, busy: 0.02, room: Room{Memory: 60 << 30, MemoryAll: 64 << 30, Disk: 100 << 30, DiskAll: 200 << 30},
	}
}

func TestWarnings(t *testing.T) {
	if w := quiet().warnings(); len(w) > 0 {
		t.Errorf("a quiet host: %q", w)
	}
	for name, c := range map[string]struct {
		change func(*facts)
		want   string
	}{
		"governor":        {func(f *facts) { f.Governor = "powersave" }, "governor powersave"},
		"no governor":     {func(f *facts) { f.Governor = "" }, "no frequency governor"},
		"turbo":           {func(f *facts) { f.turbo = true }, "turbo is on"},
		"smt":             {func(f *facts) { f.smt = true }, "SMT is on"},
		"heat":            {func(f *facts) { f.throttled = 3 }, "for their heat 3 times"},
		"numa":            {func(f *facts) { f.nodes = 2 }, "2 NUMA nodes"},
		"affinity":        {func(f *facts) { f.online = 16 }, "8 of 16 CPUs"},
		"quota":           {func(f *facts) { f.quota = 1.5 }, "1.5 CPUs' worth"},
		"quota of all":    {func(f *facts) { f.quota = 8 }, ""},
		"clock":           {func(f *facts) { f.ClockSource = "acpi_pm" }, "clock source acpi_pm"},
		"steal":           {func(f *facts) { f.steal = 0.012 }, "took 1.2 %"},
		"load":            {func(f *facts) { f.busy = 0.5 }, "use 50 %"},
		"virtual":         {func(f *facts) { f.Virtual = "kvm" }, "virtual machine (kvm)"},
		"virtual, no gov": {func(f *facts) { f.Virtual, f.Governor = "kvm", "" }, "frequency of its CPUs cannot be seen"},
		"thp":             {func(f *facts) { f.THP = "always" }, "huge pages"},
		"swappiness":      {func(f *facts) { f.Swappiness = "60" }, "swappiness is 60"},
		"no swap":         {func(f *facts) { f.Swappiness, f.swap = "60", 0 }, ""},
		"swapped":         {func(f *facts) { f.used = 1 << 30 }, "1.0 GiB of swap"},
		"memory limit":    {func(f *facts) { f.limit = 2 << 30 }, "allows 2.0 GiB of memory"},
		"memory":          {func(f *facts) { f.room.Memory = 1 << 30 }, "1.0 GiB of memory available"},
		"disk":            {func(f *facts) { f.room.Disk = 1 << 30 }, "1.0 GiB free where the lab is"},
		"tmpfs":           {func(f *facts) { f.FileSystem = "tmpfs" }, "the lab is on tmpfs"},
		"network":         {func(f *facts) { f.FileSystem = "nfs4" }, "the lab is on nfs4"},
		"overlay":         {func(f *facts) { f.FileSystem = "overlay" }, "the lab is on overlay"},
		"no counters":     {func(f *facts) { f.HardwareCycles, f.noCycles = false, "not permitted" }, "hardware counters"},
	} {
		f := quiet()
		c.change(&f)
		w := f.warnings()
		switch {
		case c.want == "" && len(w) > 0:
			t.Errorf("%s: %q", name, w)
		case c.want == "":
		case len(w) != 1 || !strings.Contains(w[0], c.want):
			t.Errorf("%s: %q, want one with %q", name, w, c.want)
		case !strings.Contains(w[0], ":"):
			t.Errorf("%s: %q does not say why it matters", name, w[0])
		}
	}
}

func TestHost(t *testing.T) {
	h := Host(filepath.Join(t.TempDir(), "not", "there", "yet"))
	if h.Kernel == "" || h.CPUs < 1 || h.Memory < 1<<28 || h.FileSystem == "" || h.Swappiness == "" {
		t.Errorf("facts that every Linux shows are missing: %+v", h)
	}
	if slices.Contains(h.Warnings, "") {
		t.Errorf("an empty warning: %q", h.Warnings)
	}
	r := Free(".")
	if r.Memory <= 0 || r.MemoryAll < r.Memory || r.Disk <= 0 {
		t.Errorf("room: %+v", r)
	}
}

func TestShares(t *testing.T) {
	a, b := hostTicks{busy: 100, steal: 5, total: 1000}, hostTicks{busy: 110, steal: 10, total: 1040}
	if steal, busy := shares(a, b); steal != 10.0/1040 || busy != 0.25 {
		t.Errorf("steal %g, busy %g; want 10 of 1040 since boot, 10 of 40 in between", steal, busy)
	}
	if steal, busy := shares(unreadTicks(), unreadTicks()); steal != 0 || busy != 0 {
		t.Errorf("unreadable: %g %g", steal, busy)
	}
}
