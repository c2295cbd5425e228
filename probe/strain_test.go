package probe

import (
	"os"
	"path/filepath"
	"testing"
)

func TestParsePressure(t *testing.T) {
	for text, want := range map[string]int64{
		"some avg10=32.00 avg60=36.48 avg300=28.58 total=5179925130\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n": 5179925130,
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n":                                                             0,
		"full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n":                                                             -1,
		"some avg10=0.00": -1, "some total=": -1, "some avg10=1 total=x": -1, "": -1,
	} {
		if got := parsePressure([]byte(text)); got != want {
			t.Errorf("parsePressure(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestParseDirty(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal: 5 kB\nDirty:              1234 kB\nWriteback: 1 kB\n": 1234 << 10,
		"Dirty: 0 kB": 0, "Dirty: kB": -1, "Dirty: 99999999999999999 kB": -1, "MemTotal: 5 kB\n": -1, "": -1,
	} {
		if got := parseDirty([]byte(text)); got != want {
			t.Errorf("parseDirty(%q) = %d, want %d", text, got, want)
		}
	}
}

// TestStrain reads a host of files, and one that shows nothing.
func TestStrain(t *testing.T) {
	proc, sys := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(proc, "pressure/cpu"):                                                "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n",
		filepath.Join(proc, "pressure/memory"):                                             "some avg10=0.00 avg60=0.00 avg300=0.00 total=22\n",
		filepath.Join(proc, "meminfo"):                                                     "Dirty: 8 kB\n",
		filepath.Join(sys, "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"):             "2000000\n",
		filepath.Join(sys, "devices/system/cpu/cpu1/cpufreq/scaling_cur_freq"):             "3000000\n",
		filepath.Join(sys, "devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"): "4\n",
		filepath.Join(sys, "devices/system/cpu/cpu1/thermal_throttle/core_throttle_count"): "6\n",
		filepath.Join(sys, "devices/system/cpu/cpufreq/boost"):                             "1\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := Prober{root: proc, sys: sys}
	if got, want := p.strain(), (strain{cpu: 11, memory: 22, io: -1, dirty: 8 << 10, frequency: 2.5e9, throttled: 10}); got != want {
		t.Errorf("strain %+v, want %+v", got, want)
	}
	p = Prober{root: t.TempDir(), sys: t.TempDir()}
	if got := p.strain(); got != noStrain() {
		t.Errorf("strain of a host that shows nothing: %+v, want %+v", got, noStrain())
	}
}
