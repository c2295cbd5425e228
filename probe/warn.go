package probe

import "fmt"

// Below these, a host gets no warning.
const (
	stealShare = 0.001 // of all CPUs' time since boot
	busyShare  = 0.10  // of all CPUs' time while we looked
	lowMemory  = 2 << 30
	lowDisk    = 2 << 30
)

// warnings says what of a host can spoil a measurement: what was found, why it matters,
// what to do. Nothing is changed for the user.
func (f facts) warnings() []string {
	var out []string
	warn := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	f.cpuWarnings(warn)
	f.memoryWarnings(warn)
	switch f.FileSystem {
	case "tmpfs", "ramfs":
		warn("the lab is on %s: writing and syncing cost next to nothing there, so steps that write look faster than they are, and data takes memory; put the lab on a disk", f.FileSystem)
	case "overlay", "aufs":
		warn("the lab is on %s: the first write to a file copies it whole, which lands in some slices; put the lab on a volume of its own", f.FileSystem)
	case "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse", "ceph":
		warn("the lab is on %s: other machines decide how long its reads and writes take; put the lab on a local disk", f.FileSystem)
	case "":
		warn("the file system of %s is not known: compare steps that write only with runs of the same directory", f.dir)
	}
	if f.room.Disk > 0 && f.room.Disk < lowDisk {
		warn("%s free where the lab is: each block clones the data of every variant, and a full disk ends it; free some, or put the lab elsewhere", gib(f.room.Disk))
	}
	if !f.HardwareCycles && f.noCycles != "" {
		warn("hardware counters cannot be read (%s): profiles use the CPU clock, and there are no cycles and instructions", f.noCycles)
	}
	return out
}

func (f facts) cpuWarnings(warn func(string, ...any)) {
	switch {
	case f.Governor == "" && f.Virtual != "":
		warn("virtual machine (%s): its neighbours and the frequency of its CPUs cannot be seen; differences of a few percent need many blocks, bare metal needs fewer", f.Virtual)
	case f.Virtual != "":
		warn("virtual machine (%s): its neighbours cannot be seen; differences of a few percent need many blocks, bare metal needs fewer", f.Virtual)
	case f.Governor == "":
		warn("the kernel shows no frequency governor: whether CPUs change their speed during slices is not known; look into the firmware's power settings")
	}
	if f.Governor != "" && f.Governor != "performance" {
		warn("frequency governor %s: CPUs speed up with load, so a server that sleeps more is measured slower; use performance (cpupower frequency-set -g performance)", f.Governor)
	}
	if f.turbo {
		warn("turbo is on: the CPU's speed depends on its heat and on what the other cores do; turn it off (echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > /sys/devices/system/cpu/cpufreq/boost)")
	}
	if f.smt {
		warn("SMT is on: two threads share one core, so speed depends on which CPUs the kernel picks; turn it off (echo off > /sys/devices/system/cpu/smt/control), or pin servers and clients to different cores")
	}
	if f.throttled > 0 {
		warn("CPUs were slowed down for their heat %d times since boot: a slice in which that happens is slower for no fault of the server; cool the machine, or limit its frequency", f.throttled)
	}
	if f.nodes > 1 {
		warn("%d NUMA nodes: memory on the other node is slower, and the kernel moves it when it likes; start servers and clients with a launcher such as numactl --cpunodebind=0 --membind=0", f.nodes)
	}
	if f.online > f.CPUs {
		warn("%d of %d CPUs may be used: the rest is kept from this process by its affinity, so results hold for %d CPUs", f.CPUs, f.online, f.CPUs)
	}
	if f.quota > 0 && f.quota < float64(f.CPUs) {
		warn("a control group allows %.2g CPUs' worth of time: servers are stopped for the rest of each period, which shows as stalls; lift its cpu.max", f.quota)
	}
	switch f.ClockSource {
	case "", "tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page":
	default:
		warn("clock source %s: reading the time takes a system call or more, which servers that time every operation pay for; use tsc where the hardware allows it", f.ClockSource)
	}
	if f.steal > stealShare {
		warn("the hypervisor took %.1f %% of the CPU time since boot: slices lose time to neighbours; use a machine with CPUs of its own, or expect more blocks", 100*f.steal)
	}
	if f.busy > busyShare {
		warn("other programs use %.0f %% of the CPUs right now: they take turns with servers and clients; stop them, or wait", 100*f.busy)
	}
}

func (f facts) memoryWarnings(warn func(string, ...any)) {
	if f.THP == "always" {
		warn("transparent huge pages are always on: whether a server gets them differs from start to start, and with it its speed; use madvise (echo madvise > /sys/kernel/mm/transparent_hugepage/enabled)")
	}
	if f.swap > 0 && f.Swappiness != "" && f.Swappiness != "0" && f.Swappiness != "1" {
		warn("swap is on and vm.swappiness is %s: the kernel may page out the caches of idle servers; set it to 1 (sysctl vm.swappiness=1), or turn swap off", f.Swappiness)
	}
	if f.used > 0 {
		warn("%s of swap are in use: memory was short, and pages come back during slices; free memory and swap (swapoff -a, swapon -a)", gib(f.used))
	}
	if f.limit > 0 && f.Memory > 0 && f.limit < f.Memory {
		warn("a control group allows %s of memory: the servers and their file cache have to fit into that together; lift its memory.max", gib(f.limit))
	}
	if f.room.Memory > 0 && f.room.Memory < lowMemory {
		warn("%s of memory available: servers side by side would page, and that is what would be measured; end other programs, or use smaller caches", gib(f.room.Memory))
	}
}

func gib(b int64) string { return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30)) }
