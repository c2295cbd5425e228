package probe

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"backslide/lab"
)

// loadSample is how long Host watches what else runs.
const loadSample = 200 * time.Millisecond

// Host returns what of this machine can matter to a number, for a lab in directory dir,
// which need not exist yet. A fact that the host does not tell is empty. Each warning
// says what was found, why it matters and what to do. It takes a fifth of a second, in
// which it looks for other load. Client is left to the caller.
func Host(dir string) lab.Host {
	r := roots{proc: "/proc", sys: "/sys"}
	before := r.ticks()
	time.Sleep(loadSample)
	f := r.facts(dir)
	f.steal, f.busy = shares(before, r.ticks())
	f.HardwareCycles, f.noCycles = cycles()
	f.Warnings = f.warnings()
	return f.Host
}

// roots are where the kernel shows itself; tests have their own.
type roots struct{ proc, sys string }

// facts is lab.Host with what only warnings are made of.
type facts struct {
	lab.Host
	online     int     // CPUs of the machine; Host.CPUs are those that we may use
	quota      float64 // CPUs' worth of time that a control group allows; 0: no limit
	turbo, smt bool
	throttled  int64 // times that a CPU was slowed down for its heat, since boot
	nodes      int   // NUMA nodes
	swap, used int64 // bytes of swap, and how many are in use
	limit      int64 // bytes of memory that a control group allows; 0: no limit
	steal      float64
	busy       float64 // share of all CPUs' time
	noCycles   string  // why hardware counters cannot be read
	dir        string
	room       Room
}

func (r roots) facts(dir string) facts {
	f := facts{dir: dir, room: r.free(dir)}
	f.Kernel = r.text(r.proc, "sys/kernel/osrelease")
	f.CPUs, f.online = runtime.NumCPU(), cpuCount(r.text(r.sys, "devices/system/cpu/online"))
	var hypervisor bool
	f.CPU, hypervisor = r.cpuInfo()
	f.ClockSource = r.text(r.sys, "devices/system/clocksource/clocksource0/current_clocksource")
	if hypervisor || runtime.GOARCH != "amd64" { // other CPUs have no such flag
		f.Virtual = r.hypervisor(hypervisor)
	}
	f.Governor = r.governor()
	f.turbo = r.text(r.sys, "devices/system/cpu/intel_pstate/no_turbo") == "0" || r.text(r.sys, "devices/system/cpu/cpufreq/boost") == "1"
	f.smt = r.text(r.sys, "devices/system/cpu/smt/active") == "1"
	f.throttled = r.throttled()
	nodes, _ := filepath.Glob(filepath.Join(r.sys, "devices/system/node/node[0-9]*"))
	f.nodes = len(nodes)
	f.THP = chosen(r.text(r.sys, "kernel/mm/transparent_hugepage/enabled"))
	f.Swappiness = r.text(r.proc, "sys/vm/swappiness")
	if m, ok := r.memory(); ok {
		f.Memory, f.swap, f.used = m.total, m.swap, m.swap-m.swapFree
	}
	f.FileSystem = r.mountedType(dir)
	f.quota, f.limit = r.groupLimits()
	return f
}

// text returns a file's content without space around it, empty when it cannot be read.
func (r roots) text(root, name string) string {
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

func (r roots) ticks() hostTicks {
	b, err := os.ReadFile(filepath.Join(r.proc, "stat"))
	if err != nil {
		return unreadTicks()
	}
	return parseHost(b)
}

// shares returns which part of all CPUs' time the hypervisor took since boot, and which
// part was used between two readings.
func shares(a, b hostTicks) (steal, busy float64) {
	if b.total > 0 {
		steal = float64(b.steal) / float64(b.total)
	}
	if d := diff(a.total, b.total); d > 0 {
		busy = float64(max(0, diff(a.busy, b.busy))) / float64(d)
	}
	return steal, busy
}

// cpuInfo returns the CPU's model and whether it says that it runs below a hypervisor.
func (r roots) cpuInfo() (model string, hypervisor bool) {
	fs, err := procfs.NewFS(r.proc)
	if err != nil {
		return "", false
	}
	info, err := fs.CPUInfo()
	if err != nil || len(info) == 0 {
		return "", false
	}
	return info[0].ModelName, slices.Contains(info[0].Flags, "hypervisor")
}

// hypervisor names what the machine runs on, from what firmware and kernel show.
func (r roots) hypervisor(certain bool) string {
	if t := r.text(r.sys, "hypervisor/type"); t != "" {
		return t
	}
	for _, name := range []string{"sys_vendor", "product_name", "bios_vendor", "board_vendor"} {
		dmi := r.text(r.sys, "class/dmi/id/"+name)
		for _, known := range [][2]string{
			{"QEMU", "kvm"}, {"KVM", "kvm"}, {"Amazon EC2", "amazon"}, {"Google", "google"}, {"DigitalOcean", "digitalocean"}, {"OpenStack", "openstack"},
			{"VMware", "vmware"}, {"innotek", "virtualbox"}, {"VirtualBox", "virtualbox"}, {"Microsoft Corporation", "hyper-v"}, {"Xen", "xen"},
			{"Parallels", "parallels"}, {"BHYVE", "bhyve"}, {"Hetzner", "hetzner"}, {"Alibaba", "alibaba"},
		} {
			if certain && strings.Contains(dmi, known[0]) {
				return known[1]
			}
		}
	}
	if strings.Contains(r.text(r.sys, "devices/system/clocksource/clocksource0/available_clocksource"), "kvm-clock") {
		return "kvm"
	}
	if certain {
		return "unnamed"
	}
	return ""
}

// governor returns the frequency governors of all CPUs, each once.
func (r roots) governor() string {
	files, _ := filepath.Glob(filepath.Join(r.sys, "devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	var found []string
	for _, name := range files {
		if g := r.text("", name); g != "" && !slices.Contains(found, g) {
			found = append(found, g)
		}
	}
	slices.Sort(found)
	return strings.Join(found, ", ")
}

func (r roots) throttled() int64 {
	files, _ := filepath.Glob(filepath.Join(r.sys, "devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count"))
	var sum int64
	for _, name := range files {
		sum += max(0, number([]byte(r.text("", name))))
	}
	return sum
}

// chosen returns the word in brackets: always [madvise] never.
func chosen(s string) string {
	_, s, _ = strings.Cut(s, "[")
	s, _, ok := strings.Cut(s, "]")
	if !ok {
		return ""
	}
	return s
}

// cpuCount counts the CPUs of a list such as 0-3,8.
func cpuCount(list string) int {
	n := 0
	for _, part := range strings.Split(list, ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		if err != nil {
			return 0
		}
		b := a
		if ranged {
			if b, err = strconv.Atoi(hi); err != nil || b < a {
				return 0
			}
		}
		n += b - a + 1
	}
	return n
}

// cycles finds out by trying whether the CPU's cycle counter can be read, and if not, why.
func cycles() (ok bool, why string) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES,
		Size: unix.PERF_ATTR_SIZE_VER0, Bits: unix.PerfBitDisabled | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	switch err {
	case nil:
		unix.Close(fd)
		return true, ""
	case unix.EACCES, unix.EPERM:
		return false, "not permitted; lower kernel.perf_event_paranoid to 1, or allow perf_event_open in the container"
	case unix.ENOENT, unix.EOPNOTSUPP, unix.ENODEV, unix.ENOSYS:
		return false, "this machine has none, as most virtual machines"
	}
	return false, err.Error()
}
