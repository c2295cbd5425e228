package probe

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Room is what an experiment has to fit into. Bytes; 0 is unknown.
type Room struct {
	Memory    int64 // can be used without paging, limits of control groups included
	MemoryAll int64 // of the machine, or of the control group if that is less
	Disk      int64 // can be written by this user where the lab is
	DiskAll   int64
	Pressure  Pressure
}

// Pressure is the share of the last ten seconds, 0 to 1, in which some task waited for a
// resource; −1 where the kernel does not tell (no PSI).
type Pressure struct{ CPU, Memory, IO float64 }

// Free returns the room for a lab in directory dir, which need not exist yet.
func Free(dir string) Room { return roots{proc: "/proc", sys: "/sys"}.free(dir) }

func (r roots) free(dir string) Room {
	room := Room{Pressure: Pressure{CPU: r.pressure("cpu"), Memory: r.pressure("memory"), IO: r.pressure("io")}}
	if m, ok := r.memory(); ok {
		room.Memory, room.MemoryAll = m.available, m.total
	}
	for _, g := range r.groups("memory") {
		limit, err := strconv.ParseInt(first(r.text(g, "memory.max"), r.text(g, "memory.limit_in_bytes")), 10, 64)
		if err != nil || limit <= 0 || room.MemoryAll > 0 && limit >= room.MemoryAll {
			continue
		}
		room.MemoryAll = limit
		used, err := strconv.ParseInt(first(r.text(g, "memory.current"), r.text(g, "memory.usage_in_bytes")), 10, 64)
		if err == nil {
			stat := []byte(r.text(g, "memory.stat"))
			cache := max(0, field(stat, "inactive_file "), field(stat, "total_inactive_file ")) // given back when needed
			room.Memory = min(room.Memory, max(0, limit-used+cache))
		}
	}
	var st unix.Statfs_t
	if d := existing(dir); d != "" && unix.Statfs(d, &st) == nil {
		room.Disk, room.DiskAll = int64(st.Bavail)*st.Frsize, int64(st.Blocks)*st.Frsize
	}
	return room
}

func (r roots) pressure(resource string) float64 {
	fs, err := procfs.NewFS(r.proc)
	if err != nil {
		return -1
	}
	psi, err := fs.PSIStatsForResource(resource)
	if err != nil || psi.Some == nil {
		return -1
	}
	return psi.Some.Avg10 / 100
}

// memory is in bytes.
type memory struct{ total, available, swap, swapFree int64 }

func (r roots) memory() (memory, bool) {
	fs, err := procfs.NewFS(r.proc)
	if err != nil {
		return memory{}, false
	}
	info, err := fs.Meminfo()
	if err != nil || info.MemTotalBytes == nil || info.MemAvailableBytes == nil {
		return memory{}, false
	}
	m := memory{total: int64(*info.MemTotalBytes), available: int64(*info.MemAvailableBytes)}
	if info.SwapTotalBytes != nil && info.SwapFreeBytes != nil {
		m.swap, m.swapFree = int64(*info.SwapTotalBytes), int64(*info.SwapFreeBytes)
	}
	return m, true
}

// groupLimits returns the smallest limits on our control group and those above it: CPUs'
// worth of time and bytes of memory, 0 for none.
func (r roots) groupLimits() (cpus float64, bytes int64) {
	for _, g := range r.groups("cpu") {
		quota, period, _ := strings.Cut(r.text(g, "cpu.max"), " ")
		if quota == "" {
			quota, period = r.text(g, "cpu.cfs_quota_us"), r.text(g, "cpu.cfs_period_us")
		}
		q, err := strconv.ParseFloat(quota, 64) // "max" and −1 are no limit
		p, err2 := strconv.ParseFloat(period, 64)
		if err == nil && err2 == nil && q > 0 && p > 0 && (cpus == 0 || q/p < cpus) {
			cpus = q / p
		}
	}
	for _, g := range r.groups("memory") {
		n, err := strconv.ParseInt(first(r.text(g, "memory.max"), r.text(g, "memory.limit_in_bytes")), 10, 64)
		// version 1 shows "no limit" as the largest number of pages
		if err == nil && n > 0 && n < 1<<60 && (bytes == 0 || n < bytes) {
			bytes = n
		}
	}
	return cpus, bytes
}

// groups returns the folders of our control group and those above it, of version 2 and of
// the given controller of version 1.
func (r roots) groups(controller string) []string {
	var out []string
	for _, line := range strings.Split(r.text(r.proc, "self/cgroup"), "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 {
			continue
		}
		mounts := []string{"fs/cgroup", "fs/cgroup/unified"}
		if f[1] != "" {
			mounts = []string{"fs/cgroup/" + controller, "fs/cgroup/" + f[1]}
			if !strings.Contains(","+f[1]+",", ","+controller+",") {
				continue
			}
		}
		for _, m := range mounts {
			for p := path.Clean("/" + f[2]); ; p = path.Dir(p) {
				out = append(out, filepath.Join(r.sys, m, p))
				if p == "/" {
					break
				}
			}
		}
	}
	return out
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// existing returns dir, or the nearest directory above it that exists, resolved.
func existing(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if p, err := filepath.EvalSymlinks(dir); err == nil {
			return p
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// mountedType returns the type of the file system that holds dir, or will.
func (r roots) mountedType(dir string) string {
	return fileSystem(r.text(r.proc, "self/mountinfo"), existing(dir))
}

// fileSystem returns the type of the file system that holds an absolute path, from
// /proc/self/mountinfo, proc_pid_mountinfo(5): the longest mount point above it, the
// last of equal ones, because that one covers the others.
func fileSystem(mountinfo, dir string) string {
	best, kind := -1, ""
	for _, line := range strings.Split(mountinfo, "\n") {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 6 || len(g) < 1 || dir == "" {
			continue
		}
		point := unescape(f[4])
		if point != "/" && dir != point && !strings.HasPrefix(dir, point+"/") {
			continue
		}
		if len(point) >= best {
			best, kind = len(point), g[0]
		}
	}
	return kind
}

// unescape undoes the octal escapes of mountinfo: \040 is a space.
func unescape(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
