package server

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
	"backslide/proc"
)

// launch starts the server's program with arguments; its output and log go to LogFile.
func launch(s Spec, args []string, stdin io.Reader) (*proc.Process, logFrom, error) {
	log := logFrom{path: s.LogFile}
	if err := os.MkdirAll(filepath.Dir(s.LogFile), 0o755); err != nil {
		return nil, log, err
	}
	out, err := os.OpenFile(s.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, log, fmt.Errorf("error log: %w", err)
	}
	defer out.Close()
	if log.offset, err = out.Seek(0, io.SeekEnd); err != nil {
		return nil, log, fmt.Errorf("error log: %w", err)
	}
	command, env, err := commandLine(s.Build, s.Config)
	if err != nil {
		return nil, log, err
	}
	p, err := proc.Start(proc.Spec{
		Name: filepath.Base(s.Build.Server), Args: append(command, args...), Env: env, Dir: s.DataDir,
		Stdin: stdin, Stdout: out, Stderr: out,
		CPUs: s.CPUs, Freezer: s.Freezer, Guard: s.Guard, Remove: append([]string{s.RunDir, s.tempDir()}, s.Remove...),
	})
	return p, log, err
}

// commandLine returns the command before the server's own options, and the environment.
// Where the tree has a loader of its own, that is started with the libraries to use, so
// that neither they nor an allocator built for the tree's C library reach the launcher,
// which runs with the host's. Nothing of our own environment reaches the server.
func commandLine(b lab.Build, c lab.Config) (command, env []string, err error) {
	lib, err := preload(b, c.Preload)
	if err != nil {
		return nil, nil, err
	}
	libraries := strings.Join(b.LibraryPath, ":")
	env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TZ=UTC"}, c.Env...)
	command = slices.Clone(c.Launcher)
	if b.Loader != "" {
		command = append(command, b.Loader)
		if libraries != "" {
			command = append(command, "--library-path", libraries)
		}
		if lib != "" {
			command = append(command, "--preload", lib)
		}
		return append(command, b.Server, "--no-defaults"), env, nil
	}
	var own []string
	if libraries != "" {
		own = append(own, "LD_LIBRARY_PATH="+libraries)
	}
	if lib != "" {
		own = append(own, "LD_PRELOAD="+lib)
	}
	switch {
	case len(own) == 0:
	case len(command) == 0:
		env = append(env, own...)
	default: // env(1) sets them for the server alone
		command = append(append(command, "env"), own...)
	}
	return append(command, b.Server, "--no-defaults"), env, nil
}

// preload returns the shared object of a config's allocator.
func preload(b lab.Build, name string) (string, error) {
	if name == "" || name == lab.Glibc {
		return "", nil
	}
	path := name
	if !filepath.IsAbs(name) {
		path = b.Preloads[name]
	}
	if path == "" {
		var have []string
		for n := range b.Preloads {
			have = append(have, n)
		}
		slices.Sort(have)
		return "", fmt.Errorf("%s has no allocator %q%s; an absolute path to a shared object works too", b.Name, name, lab.Suggest(name, have))
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("allocator of %s: %w", b.Name, err)
	}
	return path, nil
}

// verify checks in /proc that allocator and launcher did what they were there for.
func (s *Server) verify() error {
	lib, err := preload(s.spec.Build, s.spec.Config.Preload)
	if err != nil {
		return err
	}
	if lib != "" {
		if err := mapped(s.pid, lib); err != nil {
			return err
		}
	}
	return pinned(s.pid, s.spec.Config.Launcher)
}

// mapped checks that a process has loaded a shared object.
func mapped(pid int, lib string) error {
	real, err := filepath.EvalSymlinks(lib)
	if err != nil {
		return err
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return fmt.Errorf("see whether %s is loaded: %w", lib, err)
	}
	for _, line := range strings.Split(string(maps), "\n") {
		if strings.HasSuffix(line, " "+real) {
			return nil
		}
	}
	return fmt.Errorf("%s is not in the memory of the server (pid %d), although it was to be preloaded; its log has the loader's reason", lib, pid)
}

// pinned checks that taskset, if that is the launcher, left the server on its CPUs.
func pinned(pid int, launcher []string) error {
	want, err := tasksetCPUs(launcher)
	if err != nil || want == nil {
		return err
	}
	got, err := proc.Affinity(pid)
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the server (pid %d) may run on CPUs %v, although %q was to keep it on %v", pid, got, strings.Join(launcher, " "), want)
	}
	return nil
}

// tasksetCPUs returns the CPUs that a launcher starting with taskset asks for, in the
// forms "taskset -c 0,2-3", "taskset --cpu-list 0" and "taskset 0x5"; nil for others.
func tasksetCPUs(launcher []string) ([]int, error) {
	if len(launcher) < 2 || filepath.Base(launcher[0]) != "taskset" {
		return nil, nil
	}
	for i, arg := range launcher[1:] {
		list, joined := strings.CutPrefix(arg, "--cpu-list=")
		switch {
		case joined:
			return proc.ParseCPUs(list)
		case (arg == "-c" || arg == "--cpu-list") && i+2 < len(launcher):
			return proc.ParseCPUs(launcher[i+2])
		case strings.HasPrefix(arg, "-"):
			continue
		}
		mask, err := strconv.ParseUint(strings.TrimPrefix(arg, "0x"), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("launcher %q: %q is not a mask of CPUs", strings.Join(launcher, " "), arg)
		}
		var cpus []int
		for c := range 64 {
			if mask>>c&1 == 1 {
				cpus = append(cpus, c)
			}
		}
		return cpus, nil
	}
	return nil, nil
}
