package archive

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// tree writes result folders of builds × 50 tests with five files each: an output,
// averages, and raw samples of vmstat, iostat and ps, in all about a hundred kilobytes a
// file on average. It returns the number of files and of bytes.
func tree(t *testing.T, dir string, builds int) (files int, bytes int64) {
	t.Helper()
	fill := func(block string, n int) string { return strings.Repeat(block, n/len(block)) }
	vmBlock := strings.Join(strings.SplitAfter(vmstatText(), "\n")[:23], "")
	ioHead, ioBlock, _ := strings.Cut(iostatText, "\n\n\n")
	texts := map[string]string{
		"o": sysbenchText, "met": metText,
		"vm": vmBlock + fill(vmBlock, 60<<10), "io": ioHead + "\n\n\n" + fill(ioBlock+"\n\n", 300<<10), "ps": fill(psText, 140<<10),
	}
	for b := range builds {
		folder := filepath.Join(dir, fmt.Sprintf("x.my80%02d_rel.z12a_c8r32.pk1", b))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			for kind, text := range texts {
				name := filepath.Join(folder, fmt.Sprintf("sb.%s.read-only.range%d.pk1.dop2", kind, i+1))
				if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
				files++
				bytes += int64(len(text))
			}
		}
	}
	return files, bytes
}

var big = flag.Bool("big", false, "import 350 MB in 3500 files")

// TestBig imports many files within bounds of time and memory: with -big as many as the
// bounds are meant for, else a tenth. Memory is all that the runtime has from the system.
func TestBig(t *testing.T) {
	builds, most := 1, 6*time.Second
	if *big {
		builds, most = 14, 20*time.Second
	}
	dir := t.TempDir()
	files, bytes := tree(t, dir, builds)
	debug.FreeOSMemory()
	done, peak := make(chan bool), make(chan uint64)
	go func() {
		var top uint64
		for {
			top = max(top, inUse())
			select {
			case <-done:
				peak <- top
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	start := time.Now()
	r := imported(t, dir, Options{})
	took := time.Since(start)
	done <- true
	memory := <-peak
	t.Logf("%d files, %d MB: %v, %d MB of memory, %d records", files, bytes>>20, took.Round(10*time.Millisecond), memory>>20, len(r.Records))
	// Of a test: 8 of the output, 12 of averages, 6 of raw samples, 5 of those per operation, 1 of ps.
	if want := builds * 50 * (8 + 12 + 6 + 5 + 1); len(r.Records) != want || len(r.Problems) > 0 {
		t.Errorf("%d records, want %d; %d problems: %v", len(r.Records), want, len(r.Problems), r.Problems[:min(3, len(r.Problems))])
	}
	if took > most {
		t.Errorf("took %v, more than %v", took, most)
	}
	if memory > 300<<20 {
		t.Errorf("took %d MB of memory, more than 300", memory>>20)
	}
}

// inUse returns what the runtime has from the system and has not given back, in bytes.
func inUse() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
