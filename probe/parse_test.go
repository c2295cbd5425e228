package probe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	const rest = " S 1 4711 4711 0 -1 4194560 12345 678 91 2 1500 320 7 8 20 0 38 0 987654 1843953664 25678 18446744073709551615 1 1 0 0"
	want := stat{state: 'S', majorFaults: 91, user: 1500, system: 320, start: 987654}
	for _, comm := range []string{"mariadbd", "ld-linux-x86-64", "a b", "a) R 1 2 (b", "(((", "x)\ny", ""} {
		got, err := parseStat([]byte("4711 (" + comm + ")" + rest + "\n"))
		if err != nil || got != want {
			t.Errorf("command %q: %+v, %v, want %+v", comm, got, err, want)
		}
	}
	for _, bad := range []string{"", "4711 (x", "4711 (x)", "4711 (x) S 1 2", "4711 (x) SS" + rest[2:]} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v, want an error", bad, got)
		}
	}
}

func TestParseCounters(t *testing.T) {
	const io = "rchar: 6976\nwchar: 17\nsyscr: 10\nsyscw: 3\nread_bytes: 40960\nwrite_bytes: 8192\ncancelled_write_bytes: 4096\n"
	if got, want := parseIO([]byte(io)), (ioCounts{readBytes: 40960, writeBytes: 8192, readCalls: 10, writeCalls: 3}); got != want {
		t.Errorf("io: %+v, want %+v", got, want)
	}
	if got := parseIO([]byte("syscr: many\n")); got != unreadIO() {
		t.Errorf("no io: %+v", got)
	}
	run, wait, turns := parseSchedstat([]byte("110824 74994 2\n"))
	if run != 110824 || wait != 74994 || turns != 2 {
		t.Errorf("schedstat: %d %d %d", run, wait, turns)
	}
	if run, wait, _ := parseSchedstat([]byte("1 2")); run != -1 || wait != -1 {
		t.Errorf("short schedstat: %d %d", run, wait)
	}
	const status = "Name:\tvoluntary_ctxt_switches: 5\nPid:\t7\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n"
	if v, f := parseSwitches([]byte(status)); v != 150 || f != 545 {
		t.Errorf("switches: %d %d, want 150 545", v, f)
	}
	if got := parseStatm([]byte("5000 1200 300 1 0 900 0"), 4096); got != 1200*4096 {
		t.Errorf("statm: %d", got)
	}
	if got := parseStatm([]byte("5000 9223372036854775807"), 4096); got != -1 {
		t.Errorf("impossible statm: %d", got)
	}
}

func TestParseHost(t *testing.T) {
	// busy is user, nice, system, irq and softirq; guest time (50) is in user already.
	const text = "cpu  6857 11 3510 922388 399 2 108 110 50 0\ncpu0 3100 0 1474 462180 44 0 13 47 0 0\n"
	want := hostTicks{busy: 6857 + 11 + 3510 + 2 + 108, steal: 110, total: 6857 + 11 + 3510 + 2 + 108 + 110 + 922388 + 399}
	if d := cmp.Diff(want, parseHost([]byte(text)), cmp.AllowUnexported(hostTicks{})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for _, bad := range []string{"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8 9 10", "cpu a b c d e f g h"} {
		if got := parseHost([]byte(bad)); got != unreadTicks() {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func TestFileSystem(t *testing.T) {
	const mounts = `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:22 / /sys rw - sysfs sysfs rw
24 22 0:30 / /data rw shared:1 - xfs /dev/vdb rw
25 24 0:31 / /data/my\040lab rw shared:2 master:1 - tmpfs tmpfs rw
26 22 0:32 / /data rw - btrfs /dev/vdc rw
nonsense
`
	for dir, want := range map[string]string{
		"/": "ext4", "/home/x": "ext4", "/data/lab": "btrfs", "/data/my lab": "tmpfs", "/data/my lab/x": "tmpfs", "/data/my lab2": "btrfs",
		"/database": "ext4", "": "",
	} {
		if got := fileSystem(mounts, dir); got != want {
			t.Errorf("%q is on %q, want %q", dir, got, want)
		}
	}
}

func TestSmallWords(t *testing.T) {
	for text, want := range map[string]string{"always [madvise] never": "madvise", "[always]": "always", "always": "", "": "", "[": ""} {
		if got := chosen(text); got != want {
			t.Errorf("chosen(%q) = %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]int{"0-1": 2, "0": 1, "0-3,8,10-11": 7, "": 0, "x": 0, "3-1": 0} {
		if got := cpuCount(text); got != want {
			t.Errorf("cpuCount(%q) = %d, want %d", text, got, want)
		}
	}
}

// No text makes a parser panic, hang, or count under −1.
func FuzzParsers(f *testing.F) {
	f.Add([]byte("4711 (a b) S 1 4711 4711 0 -1 4194560 12345 678 91 2 1500 320 7 8 20 0 38 0 987654 1 2 3"))
	f.Add([]byte("cpu  6857 11 3510 922388 399 2 108 110 50 0\n"))
	f.Add([]byte("syscr: 10\nvoluntary_ctxt_switches:\t150\n"))
	f.Add([]byte(`25 24 0:31 / /data/my\040lab rw - tmpfs tmpfs rw`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseStat(b)
		if err == nil && min(s.majorFaults, s.user, s.system, s.start) < -1 {
			t.Errorf("stat %+v", s)
		}
		io := parseIO(b)
		run, wait, turns := parseSchedstat(b)
		v, fo := parseSwitches(b)
		h := parseHost(b)
		if min(io.readBytes, io.writeBytes, io.readCalls, io.writeCalls, run, wait, turns, v, fo, parseStatm(b, 4096), h.busy, h.steal, h.total) < -1 {
			t.Errorf("a count under −1 from %q", b)
		}
		if h.total >= 0 && h.total < h.busy+h.steal {
			t.Errorf("ticks %+v", h)
		}
		_ = fileSystem(string(b), "/data/x")
		_ = cpuCount(string(b))
	})
}
