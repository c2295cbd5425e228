// Package probe observes a host, a server process and a client process around a slice,
// from /proc. It changes nothing and judges nothing: what cannot be read is said to be
// unreadable, and what about a host can spoil a measurement is put into words.
package probe

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"backslide/proc"
)

// Prober takes snapshots. It reuses buffers, so one goroutine at a time may use it; the
// snapshots are their own. The zero Prober is ready.
type Prober struct {
	root string // of the proc file system; empty: /proc
	sys  string // root of sysfs; empty: /sys
	cpus *cpuFiles
	buf  []byte
	dir  []byte
	tids []string
}

// Snapshot is what the counters of a server process, a client process and the host
// showed at one instant. Its differences mean something: see Between.
type Snapshot struct {
	Time    time.Time // when Take began
	server  process
	client  process
	threads []thread // of the server, ascending by tid
	host    hostTicks
	strain  strain
}

// process holds a process's counters since its start; −1 is unreadable.
type process struct {
	pid  int // 0: nobody
	cpu  int64
	stat stat
	rss  int64 // bytes
	io   ioCounts
}

// Take reads the counters of the server and of the client; client 0 means that there is
// none. It fails with os.ErrProcessDone when one of them has ended, and does not fail
// for a counter that the host keeps to itself.
func (p *Prober) Take(server, client int) (Snapshot, error) {
	s := Snapshot{Time: time.Now(), client: process{cpu: -1}}
	var err error
	if s.server, s.threads, err = p.server(server); err != nil {
		return Snapshot{}, fmt.Errorf("observe server process %d: %w", server, err)
	}
	if client != 0 {
		if s.client, err = p.client(client); err != nil {
			return Snapshot{}, fmt.Errorf("observe client process %d: %w", client, err)
		}
	}
	s.host = unreadTicks()
	if b, err := p.read(unix.AT_FDCWD, p.path("stat")); err == nil {
		s.host = parseHost(b)
	}
	s.strain = p.strain()
	return s, nil
}

func (p *Prober) server(pid int) (process, []thread, error) {
	dir, err := p.open(pid)
	if err != nil {
		return process{}, nil, err
	}
	defer unix.Close(dir)
	out, err := p.common(dir, pid)
	if err != nil {
		return process{}, nil, err
	}
	out.io, out.rss = unreadIO(), -1
	if b, err := p.read(dir, "io"); err == nil {
		out.io = parseIO(b)
	}
	if b, err := p.read(dir, "statm"); err == nil {
		out.rss = parseStatm(b, int64(os.Getpagesize()))
	}
	threads, err := p.threads(dir)
	return out, threads, err
}

func (p *Prober) client(pid int) (process, error) {
	dir, err := p.open(pid)
	if err != nil {
		return process{}, err
	}
	defer unix.Close(dir)
	return p.common(dir, pid)
}

// common reads what is wanted of servers and clients: CPU time and stat.
func (p *Prober) common(dir, pid int) (process, error) {
	out := process{pid: pid, cpu: -1}
	b, err := p.read(dir, "stat")
	if err != nil {
		return process{}, err
	}
	if out.stat, err = parseStat(b); err != nil {
		return process{}, err
	}
	if out.stat.state == 'Z' || out.stat.state == 'X' {
		return process{}, os.ErrProcessDone
	}
	if cpu, err := proc.CPUTime(pid); err == nil {
		out.cpu = int64(cpu)
	}
	return out, nil
}

// threads reads all threads of a process. One that ends meanwhile is left out.
func (p *Prober) threads(dir int) ([]thread, error) {
	fd, err := unix.Openat(dir, "task", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, gone(err)
	}
	defer unix.Close(fd)
	if err := p.list(fd); err != nil {
		return nil, gone(err)
	}
	out := make([]thread, 0, len(p.tids))
	counted := false // a kernel that does not count waiting shows zeros only
	for _, name := range p.tids {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		t := thread{tid: tid, wait: -1, voluntary: -1, forced: -1}
		b, err := p.read(fd, name+"/schedstat")
		if errors.Is(err, os.ErrProcessDone) && !p.alive(fd, name) {
			continue
		}
		if err == nil {
			var turns int64
			t.run, t.wait, turns = parseSchedstat(b)
			counted = counted || turns > 0
		}
		if b, err = p.read(fd, name+"/status"); errors.Is(err, os.ErrProcessDone) {
			continue
		}
		if err == nil {
			t.voluntary, t.forced = parseSwitches(b)
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, os.ErrProcessDone
	}
	for i := range out {
		if !counted {
			out[i].wait = -1
		}
	}
	slices.SortFunc(out, func(a, b thread) int { return a.tid - b.tid })
	return out, nil
}

// alive tells a thread that has ended from a kernel without schedstat.
func (p *Prober) alive(task int, tid string) bool {
	return unix.Faccessat(task, tid, unix.F_OK, 0) == nil
}

// list reads the names in a directory into p.tids.
func (p *Prober) list(fd int) error {
	if p.dir == nil {
		p.dir = make([]byte, 32<<10)
	}
	p.tids = p.tids[:0]
	for {
		n, err := unix.ReadDirent(fd, p.dir)
		if err != nil || n <= 0 {
			return err
		}
		_, _, p.tids = unix.ParseDirent(p.dir[:n], -1, p.tids)
	}
}

func (p *Prober) path(name string) string {
	if p.root == "" {
		return "/proc/" + name
	}
	return p.root + "/" + name
}

// open opens the directory of a process. What is read through it is of that process for
// good: when it has ended, reading fails, even if its pid was given away again.
func (p *Prober) open(pid int) (int, error) {
	fd, err := unix.Open(p.path(strconv.Itoa(pid)), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fd, gone(err)
}

// read reads a file relative to a directory; the bytes are valid until the next call.
func (p *Prober) read(dir int, name string) ([]byte, error) {
	if p.buf == nil {
		p.buf = make([]byte, 16<<10)
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, gone(err)
	}
	defer unix.Close(fd)
	n := 0
	for {
		if n == len(p.buf) {
			p.buf = append(p.buf, make([]byte, len(p.buf))...)
		}
		m, err := unix.Read(fd, p.buf[n:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, gone(err)
		case m == 0:
			return p.buf[:n], nil
		default:
			n += m
		}
	}
}

// gone turns the errors by which /proc says that a process or thread has ended into
// os.ErrProcessDone.
func gone(err error) error {
	if err == unix.ENOENT || err == unix.ESRCH {
		return os.ErrProcessDone
	}
	return err
}
