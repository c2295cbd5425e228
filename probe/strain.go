package probe

import (
	"bytes"
	"path/filepath"

	"golang.org/x/sys/unix"

	"backslide/lab"
)

// strain is what the host shows of shortage and heat; −1 is unreadable.
type strain struct {
	cpu, memory, io int64   // microseconds since boot in which some task waited for it
	dirty           int64   // bytes of the file cache that are not yet on storage
	frequency       float64 // Hz, mean of the CPUs that were looked at
	throttled       int64   // times since boot that a CPU was slowed down for its heat
}

func noStrain() strain { return strain{-1, -1, -1, -1, -1, -1} }

// cpuFiles are where the kernel shows frequency and throttling, of a few CPUs: each file
// costs an interrupt of its CPU.
type cpuFiles struct{ frequency, throttled []string }

// mostCPUs is how many CPUs are asked for their frequency.
const mostCPUs = 8

func (p *Prober) strain() strain {
	s := noStrain()
	for name, to := range map[string]*int64{"pressure/cpu": &s.cpu, "pressure/memory": &s.memory, "pressure/io": &s.io} {
		if b, err := p.read(unix.AT_FDCWD, p.path(name)); err == nil {
			*to = parsePressure(b)
		}
	}
	if b, err := p.read(unix.AT_FDCWD, p.path("meminfo")); err == nil {
		s.dirty = parseDirty(b)
	}
	if p.cpus == nil {
		p.cpus = findCPUFiles(p.sys)
	}
	sum, n := int64(0), 0
	for _, name := range p.cpus.frequency {
		if b, err := p.read(unix.AT_FDCWD, name); err == nil {
			if kHz := number(bytes.TrimSpace(b)); kHz > 0 {
				sum, n = sum+kHz, n+1
			}
		}
	}
	if n > 0 {
		s.frequency = 1000 * float64(sum) / float64(n)
	}
	for _, name := range p.cpus.throttled {
		if b, err := p.read(unix.AT_FDCWD, name); err == nil {
			if count := number(bytes.TrimSpace(b)); count >= 0 {
				s.throttled = max(0, s.throttled) + count
			}
		}
	}
	return s
}

// findCPUFiles looks once: CPUs do not come and go.
func findCPUFiles(sys string) *cpuFiles {
	if sys == "" {
		sys = "/sys"
	}
	find := func(name string) []string {
		all, err := filepath.Glob(filepath.Join(sys, "devices/system/cpu/cpu[0-9]*", name))
		if err != nil {
			return nil
		}
		return all[:min(len(all), mostCPUs)]
	}
	return &cpuFiles{find("cpufreq/scaling_cur_freq"), find("thermal_throttle/core_throttle_count")}
}

// parsePressure reads the microseconds in which some task waited, from
// /proc/pressure/cpu, memory or io (psi.rst of the kernel's documentation).
func parsePressure(b []byte) int64 {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	if !bytes.HasPrefix(line, []byte("some ")) {
		return -1
	}
	_, total, ok := bytes.Cut(line, []byte(" total="))
	if !ok {
		return -1
	}
	return number(bytes.TrimSpace(total))
}

// parseDirty reads the bytes of Dirty from /proc/meminfo.
func parseDirty(b []byte) int64 {
	const key = "Dirty:"
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(key)); ok {
			kB := number(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB"))))
			if kB < 0 || kB > 1<<50 {
				return -1
			}
			return kB << 10
		}
	}
	return -1
}

// strainBetween fills in what happened from a to b.
func strainBetween(u *lab.Usage, a, b strain) {
	u.StallCPU = seconds(diff(a.cpu, b.cpu), 1e6)
	u.StallMemory = seconds(diff(a.memory, b.memory), 1e6)
	u.StallIO = seconds(diff(a.io, b.io), 1e6)
	u.Throttled = diff(a.throttled, b.throttled)
	u.Dirty, u.Frequency = b.dirty, b.frequency
}
