package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Spec says how a child process is started that lives beside us: a server, the load client.
type Spec struct {
	Name   string    // in errors; empty: the program's
	Args   []string  // the program, found in PATH if it has no slash, and its arguments
	Dir    string    // working directory; empty: ours
	Env    []string  // whole environment; nil: ours
	Stdin  io.Reader // nil: empty
	Stdout io.Writer // nil: thrown away
	Stderr io.Writer // nil: the end of it is kept and shown by Err
	Talk   bool      // standard input and output are pipes: Process.In and Process.Out

	CPUs    []int    // the only CPUs it may run on, from its first instruction; nil: ours
	Freezer *Freezer // how Freeze keeps it still; nil: it cannot be frozen
	Guard   *Guard   // ends it if we are killed; nil: only the kernel's parent-death signal does
	Remove  []string // directories that go too when Guard or CleanUp has to end it
}

// Process is a running child process and its process group. It dies with us, whatever
// kills us. Its methods may be called from any goroutine.
type Process struct {
	name  string
	pid   int
	in    io.WriteCloser
	out   io.ReadCloser
	cage  *cage
	rec   *record
	errs  *tail // nil: Spec.Stderr took it
	ready chan error
	done  chan struct{}
	err   error            // valid once done is closed
	cpu   [2]time.Duration // user, system

	mu   sync.Mutex // held over every signal, and while the process is reaped
	gone bool       // reaped: its number may belong to another process
}

// killWait is how long Kill waits for a killed process to be gone: the kernel may have
// gigabytes to give back, or be waiting for a disk.
const killWait = 30 * time.Second

// freezeWait is how long Freeze waits at most; it holds Kill up for as long.
const freezeWait = 10 * time.Second

// Start starts a child process in a process group of its own. It returns once the program
// has been executed. Whoever starts a process must see to it that it ends: Stop or Kill.
func Start(s Spec) (*Process, error) {
	name := s.Name
	if name == "" {
		name = filepath.Base(s.Args[0])
	}
	p := &Process{name: name, ready: make(chan error), done: make(chan struct{})}
	fail := func(err error) (*Process, error) { return nil, fmt.Errorf("start %s: %w", name, err) }

	cmd := exec.Command(s.Args[0], s.Args[1:]...)
	if errors.Is(cmd.Err, exec.ErrNotFound) {
		return fail(ErrMissing)
	}
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Dir, s.Env, s.Stdin, s.Stdout, s.Stderr
	if s.Stderr == nil {
		p.errs = new(tail)
		cmd.Stderr = p.errs
	}
	theirs, err := p.pipes(cmd, s.Talk)
	if err != nil {
		return fail(err)
	}
	defer closeAll(theirs)
	cmd.WaitDelay = 2 * time.Second // for the end of a pipe that somebody outside the group holds
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	if p.cage, err = s.Freezer.newCage(s.Guard); err != nil {
		p.closePipes()
		return fail(err)
	}
	go p.live(cmd, s.CPUs)
	if err := <-p.ready; err != nil {
		p.closePipes()
		return fail(errors.Join(err, p.cage.remove()))
	}
	if err := p.register(s); err != nil {
		p.Kill()
		p.closePipes()
		return fail(err)
	}
	return p, nil
}

// register puts a started process where it can be frozen and where Guard finds it. Until
// then it is not frozen, so the parent-death signal is enough.
func (p *Process) register(s Spec) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil
	}
	if err := p.cage.enter(p.pid); err != nil {
		return err
	}
	var err error
	p.rec, err = s.Guard.add(p.pid, p.cage, s.Remove)
	return err
}

// pipes makes the pipes of a conversation and returns the child's ends. They are files,
// so that no goroutine copies and no deadline of exec cuts the reader off.
func (p *Process) pipes(cmd *exec.Cmd, talk bool) ([]*os.File, error) {
	if !talk {
		return nil, nil
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		closeAll([]*os.File{inR, inW})
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = inR, outW
	p.in, p.out = inW, outR
	return []*os.File{inR, outW}, nil
}

func (p *Process) closePipes() {
	if p.in != nil {
		p.in.Close()
		p.out.Close()
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// live forks the child and stays with it until it has ended, on a thread of its own. The
// parent-death signal comes when the thread that forked ends, not when the process does,
// and a child inherits the forking thread's affinity: so the thread must last as long as
// the child and can be bent to its needs. It is never unlocked, so it ends with live.
func (p *Process) live(cmd *exec.Cmd, cpus []int) {
	runtime.LockOSThread()
	defer close(p.done)
	defer p.awaitGroup()
	if len(cpus) > 0 {
		if err := PinThread(0, cpus); err != nil {
			p.ready <- err
			return
		}
	}
	if err := cmd.Start(); err != nil {
		p.ready <- err
		return
	}
	p.pid = cmd.Process.Pid
	p.ready <- nil

	// Wait without reaping first: while the leader is a zombie its number and its group's
	// cannot be given to others, so that the rest of the group can be killed safely.
	for unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	syscall.Kill(-p.pid, syscall.SIGKILL)
	cageErr := p.cage.remove()
	err := cmd.Wait()
	p.gone = true
	p.cpu = [2]time.Duration{cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime()}
	if p.errs != nil && err != nil {
		if s := strings.TrimSpace(p.errs.String()); s != "" {
			err = fmt.Errorf("%w: %s", err, s)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", p.name, err)
	}
	p.err = errors.Join(err, cageErr)
	if cageErr == nil {
		p.rec.remove()
	}
}

// awaitGroup waits for what was left of the group when its leader ended, and was killed.
func (p *Process) awaitGroup() {
	if p.pid == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), killWait)
	defer cancel()
	until(ctx, func() (bool, error) { return !groupAlive(p.pid), nil })
}

// PID returns the number of the process, which is also that of its group.
func (p *Process) PID() int { return p.pid }

// CPU is the user and system time that the process has used, with the children that it
// waited for. It is known once Done is closed.
func (p *Process) CPU() time.Duration {
	user, system := p.Times()
	return user + system
}

// Times are the two parts of CPU: in user mode, and in kernel mode.
func (p *Process) Times() (user, system time.Duration) {
	<-p.done
	return p.cpu[0], p.cpu[1]
}

// In is the child's standard input, for Spec.Talk. The caller closes it.
func (p *Process) In() io.WriteCloser { return p.in }

// Out is the child's standard output, for Spec.Talk. It ends when the child has closed
// it; what was written before can be read even after Done. The caller closes it.
func (p *Process) Out() io.ReadCloser { return p.out }

// Done is closed when the process has ended and has been reaped. Whatever was left of its
// group has been killed by then.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the process ended: nil while it runs and after exit status 0; otherwise
// its status or signal, with the end of its standard error if Spec.Stderr was nil.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Wait waits for the end of the process and returns Err, or the cause of ctx's end.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Signal sends a signal to the process group. A process that has ended takes none, and
// that is no error.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signal(sig)
}

func (p *Process) signal(sig syscall.Signal) error {
	if p.gone {
		return nil
	}
	if err := syscall.Kill(-p.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %s to %s (pid %d): %w", sig, p.name, p.pid, err)
	}
	return nil
}

// Stop thaws the process group, asks it to end with SIGTERM, and waits. When ctx ends
// first, it kills the group and says so. How the process ended is in Err.
func (p *Process) Stop(ctx context.Context) error {
	if err := errors.Join(p.Thaw(), p.Signal(syscall.SIGTERM)); err != nil {
		p.Kill()
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("%s (pid %d) did not end when asked and was killed: %w", p.name, p.pid, context.Cause(ctx))
	}
}

// Kill kills the process group, frozen or not, and waits until it is gone, at most for
// half a minute: a process that waits for a disk cannot die before the disk answers.
func (p *Process) Kill() {
	p.mu.Lock()
	p.signal(syscall.SIGKILL)
	if !p.gone {
		p.cage.thaw() // in this order, so that it does not run again
	}
	p.mu.Unlock()
	select {
	case <-p.done:
	case <-time.After(killWait):
	}
}

// Freeze keeps the process from running and returns when no thread of it runs any more,
// or fails after ten seconds. It stays frozen until Thaw, Stop or Kill.
func (p *Process) Freeze(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return fmt.Errorf("freeze %s (pid %d): it has ended", p.name, p.pid)
	}
	ctx, cancel := context.WithTimeout(ctx, freezeWait)
	defer cancel()
	if err := p.cage.freeze(ctx); err != nil {
		return fmt.Errorf("freeze %s (pid %d): %w", p.name, p.pid, errors.Join(err, p.cage.thaw()))
	}
	return nil
}

// Thaw lets a frozen process run again. It does nothing to one that is not frozen.
func (p *Process) Thaw() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil
	}
	if err := p.cage.thaw(); err != nil {
		return fmt.Errorf("thaw %s (pid %d): %w", p.name, p.pid, err)
	}
	return nil
}
