package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A server that is killed in the middle of l.i1 costs that step, with when, how far into
// it, and the server's last words; the steps behind it run on a fresh server with the
// same data.
func TestInsertServerKilled(t *testing.T) {
	c := newCLI(t)
	cmd := c.command("run", "--build", "mariadb@11.8", "--workload", "insert", "--steps", "l.i2", "--blocks", "1",
		"--param", "rows=2000", "--param", "more=150000", "--param", "seconds=1", "--config", "fast:innodb_flush_log_at_trx_commit=2")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 2400 {
		if c.stored() >= 2 { // l.i0 and l.x
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	killed := false
	for range 40 {
		for _, s := range c.servers() {
			pid, cmdline, _ := strings.Cut(s, " ")
			if n, err := strconv.Atoi(pid); err == nil && strings.Contains(cmdline, "--datadir=") && !killed {
				time.Sleep(300 * time.Millisecond)
				killed = syscall.Kill(n, syscall.SIGKILL) == nil
			}
		}
		if killed {
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	_, slices := c.slices()
	broken, whole := 0, 0
	for _, s := range slices {
		switch {
		case s.Cell.Step.Name == "l.i1":
			broken++
			for _, want := range []string{`\d\.\d s into the step, at \d\d:\d\d:\d\d: `, "signal: killed", "ready for connections"} {
				if !regexp.MustCompile(want).MatchString(s.Err) {
					t.Errorf("l.i1 ended with %q, want %q", s.Err, want)
				}
			}
		case s.Err == "":
			whole++
		}
	}
	if !killed || broken != 1 || whole != 3 {
		t.Errorf("killed %v, %d broken and %d whole slices; want l.i1 broken and the three others whole\n%s", killed, broken, whole, out.String())
	}
	if !strings.Contains(out.String(), "into the step") {
		t.Errorf("nobody is told:\n%s", out.String())
	}
}

// The client of 32 clients, each with a writer, a deleter and a reader, stays small.
func TestInsertClientMemory(t *testing.T) {
	c := newCLI(t)
	cmd := c.command("run", "--build", "mariadb@10.11", "--workload", "insert", "--steps", "qp100", "--blocks", "1", "--clients", "32",
		"--param", "rows=3000", "--param", "more=1000", "--param", "seconds=2", "--config", "fast:innodb_flush_log_at_trx_commit=2,max_connections=200")
	most := 0
	c.watch(cmd, 50*time.Millisecond, func(pid int) { most = max(most, clientPeak(pid)) })
	t.Logf("the client's memory peaked at %d MiB", most>>10)
	if limit := 200 << 10; most == 0 || most > limit {
		t.Errorf("the client's memory peaked at %d KiB, want at most %d", most, limit)
	}
	r, slices := c.slices()
	if len(slices) != 6 || len(slices[5].Parts) != 3 || slices[5].Parts[1].Offered != 3200 {
		t.Errorf("run %d: %d slices, the last %+v; want six steps, and 32 writers of 100 rows a second", r.ID, len(slices), slices[len(slices)-1])
	}
	text, _ := c.must(0, "report", "--view", "insert")
	for _, want := range []string{"rows indexed", "asked", "3200", "what each step cost", "qp100 insert", "I/O of the engines per operation", "fsyncs", "page writes", "doublewrite KiB", "memory accounted"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	c.must(0, "report", "-o", "page.html")
	if page, err := os.ReadFile(filepath.Join(c.dir, "page.html")); err != nil || !bytes.Contains(page, []byte(`<section id="long"`)) {
		t.Errorf("the page shows no long steps: %v", err)
	}
}

// clientPeak returns the most memory, in KiB, that the client child of a process had.
func clientPeak(parent int) int {
	for _, f := range glob("/proc/[0-9]*/cmdline") {
		b, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(b, []byte(clientVerb)) {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(f), "status"))
		if err != nil || !strings.Contains(string(status), "\nPPid:\t"+strconv.Itoa(parent)+"\n") {
			continue
		}
		if m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindStringSubmatch(string(status)); m != nil {
			n, _ := strconv.Atoi(m[1])
			return n
		}
	}
	return 0
}
