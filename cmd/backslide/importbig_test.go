package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"backslide/archive/archivetest"
)

var big = flag.Bool("big", false, "import 350 MB in 3500 files")

// TestImportBig has the whole command import many files within bounds of time and memory:
// with -big as many as the bounds are meant for, else a tenth. Memory is the most that the
// process ever held.
func TestImportBig(t *testing.T) {
	builds, most, memory := 1, 10*time.Second, int64(300<<20)
	if *big {
		builds, most = 14, 20*time.Second
	}
	if raced {
		most, memory = 10*most, 10*memory
	}
	dir := t.TempDir()
	files, bytes, err := archivetest.Tree(dir, builds)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "--lab", t.TempDir(), "import", "--name", "big", dir)
	cmd.Env = append(os.Environ(), runEnvName+"=1")
	start := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	held := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	t.Logf("%d files, %d MB: %v, %d MB of memory", files, bytes>>20, took.Round(10*time.Millisecond), held>>20)
	if want := fmt.Sprintf("import i1, big: %d figures from %d files\n", builds*archivetest.Tests*archivetest.Figures, files); !strings.HasPrefix(string(out), want) {
		t.Errorf("it says %.200q, want %q first", out, want)
	}
	if strings.Contains(string(out), "Could not be read") {
		t.Errorf("files could not be read:\n%s", out)
	}
	if took > most {
		t.Errorf("took %v, more than %v", took, most)
	}
	if held > memory {
		t.Errorf("held %d MB of memory, more than %d", held>>20, memory>>20)
	}
}
