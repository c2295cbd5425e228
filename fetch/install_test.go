package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"backslide/lab"

	"github.com/google/go-cmp/cmp"
)

// fill is what a fetch would do to a stage: a server and a description of it. It counts
// itself in the file called count.
func fill(count string) func(string) (lab.Build, error) {
	return func(stage string) (lab.Build, error) {
		f, err := os.OpenFile(count, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return lab.Build{}, err
		}
		fmt.Fprintln(f, stage)
		f.Close()
		server := filepath.Join(stage, "bin", "mysqld")
		if err := os.Mkdir(filepath.Dir(server), 0o755); err != nil {
			return lab.Build{}, err
		}
		time.Sleep(20 * time.Millisecond) // for others to come and meet the lock
		return lab.Build{Name: "x", Family: lab.MySQL, Dir: stage, Server: server, LibraryPath: []string{stage + "/lib", "/usr/lib"},
			Preloads: map[string]string{"jemalloc": stage + "/lib/j.so"}}, os.WriteFile(server, []byte("server"), 0o755)
	}
}

// helper is another process that installs folder x; with FETCH_HELPER=hang it says "filling"
// in mid-way and waits to be killed.
func helper() {
	c := &Cache{Dir: os.Getenv("FETCH_DIR")}
	_, err := c.install(context.Background(), "x", func(stage string) (lab.Build, error) {
		b, err := fill(filepath.Join(c.Dir, "count"))(stage)
		if os.Getenv("FETCH_HELPER") == "hang" {
			fmt.Println("filling")
			time.Sleep(time.Minute)
		}
		return b, err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func startHelper(t *testing.T, dir, what string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "FETCH_HELPER="+what, "FETCH_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// leftovers lists what is in the builds directory besides finished builds.
func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "builds", ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestInstallTogether(t *testing.T) {
	dir := t.TempDir()
	c := &Cache{Dir: dir}
	var cmds []*exec.Cmd
	for range 3 {
		cmd := startHelper(t, dir, "install")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	builds := make([]lab.Build, 4)
	var wg sync.WaitGroup
	for i := range builds {
		wg.Go(func() {
			var err error
			if builds[i], err = c.install(context.Background(), "x", fill(filepath.Join(dir, "count"))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	count, err := os.ReadFile(filepath.Join(dir, "count"))
	if err != nil || strings.Count(string(count), "\n") != 1 {
		t.Errorf("filled %q, %v: want once", count, err)
	}
	final := filepath.Join(dir, "builds", "x")
	want := lab.Build{Name: "x", Family: lab.MySQL, Dir: final, Server: final + "/bin/mysqld", LibraryPath: []string{final + "/lib", "/usr/lib"},
		Preloads: map[string]string{"jemalloc": final + "/lib/j.so"}}
	have, err := c.Installed()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range append(builds, have...) {
		if d := cmp.Diff(want, b); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	if left := leftovers(t, dir); len(have) != 1 || len(left) > 0 {
		t.Errorf("%d builds, left over %v", len(have), left)
	}
}

func TestInstallKilled(t *testing.T) {
	dir := t.TempDir()
	c := &Cache{Dir: dir}
	cmd := startHelper(t, dir, "hang")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "filling\n" {
		t.Errorf("helper said %q, %v", line, err)
	}
	// While it holds the lock, another waits, and can be called off.
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Millisecond)
	defer cancel()
	if _, err := c.install(ctx, "x", fill(filepath.Join(dir, "count"))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("install beside it: %v", err)
	}
	// Another build's sweep leaves the living one's stage alone.
	if _, err := c.install(context.Background(), "y", fill(filepath.Join(dir, "count-y"))); err != nil {
		t.Error(err)
	}
	if left := leftovers(t, dir); len(left) != 1 {
		t.Errorf("stages while it lives: %v", left)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // says that it was killed
	if have, err := c.Installed(); len(have) != 1 || have[0].Dir != filepath.Join(dir, "builds", "y") || err != nil {
		t.Errorf("after the kill: %v, %v", have, err)
	}
	if left := leftovers(t, dir); len(left) != 1 {
		t.Errorf("after the kill: stages %v, want the dead one's", left)
	}
	if _, err := c.install(context.Background(), "x", fill(filepath.Join(dir, "count"))); err != nil {
		t.Error(err)
	}
	if have, err := c.Installed(); len(have) != 2 || err != nil {
		t.Errorf("after the second try: %v, %v", have, err)
	}
	if left := leftovers(t, dir); len(left) != 0 {
		t.Errorf("after the second try: stages %v", left)
	}
}

// TestInstallDiedAt makes the states in which a fetch can die, step by step.
func TestInstallDiedAt(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"making the stage":       {"builds/.new-x.1/debs/a.deb": ""},
		"unpacking":              {"builds/.new-x.1/bin/mysqld": "half"},
		"writing the manifest":   {"builds/.new-x.1/bin/mysqld": "server", "builds/.new-x.1/manifest.json.new": "{"},
		"renaming":               {"builds/.new-x.1/bin/mysqld": "server", "builds/.new-x.1/manifest.json": `{"name":"x"}`},
		"another one's sweeping": {"builds/.new-z.7/a": "", "builds/.new-x.1/a": ""},
		"removing a build":       {"builds/x/bin/mysqld": "server"},
		"removing its server":    {"builds/x/manifest.json": `{"name":"x","server":"/nonexistent/mysqld"}`},
		"a torn manifest":        {"builds/x/manifest.json": `{"name":`, "builds/x/bin/mysqld": "server"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, files)
			c := &Cache{Dir: dir}
			if have, _ := c.Installed(); len(have) > 0 {
				t.Errorf("looks installed: %v", have)
			}
			if _, err := c.install(context.Background(), "x", fill(filepath.Join(dir, "count"))); err != nil {
				t.Fatal(err)
			}
			have, err := c.Installed()
			if err != nil || len(have) != 1 {
				t.Errorf("Installed: %v, %v", have, err)
			}
			if left := leftovers(t, dir); len(left) > 0 {
				t.Errorf("left over %v", left)
			}
		})
	}
}

func TestInstallFails(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	boom := errors.New("boom")
	_, err := c.install(context.Background(), "x", func(stage string) (lab.Build, error) {
		write(t, stage, map[string]string{"bin/mysqld": "half"})
		return lab.Build{}, boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(filepath.Join(c.Dir, "builds"))
	if err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestPackagesID(t *testing.T) {
	a, b := lab.Package{Name: "a", Version: "1", SHA256: "aa"}, lab.Package{Name: "b", Version: "1", SHA256: "bb"}
	if packagesID([]lab.Package{a, b}) != packagesID([]lab.Package{b, a}) {
		t.Error("the order of packages changes the ID")
	}
	other := b
	other.SHA256 = "bc"
	if packagesID([]lab.Package{a, b}) == packagesID([]lab.Package{a, other}) {
		t.Error("a package's digest does not change the ID")
	}
}
