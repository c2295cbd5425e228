package load

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller waits until one of a few sockets can be read, or a bell rings: epoll, which
// here is level-triggered. The system calls are raw: the scheduler does not see that the
// thread waits, so it keeps its P and its place. Its hand-over would cost more than the
// whole exchange. A wait without a time limit saves the kernel a timer, a tenth of the
// client's whole cost; the bell ends it.
type poller struct {
	epfd   int
	events []unix.EpollEvent
}

func newPoller(fds []int, b, gong bell) (*poller, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make an epoll instance: %w", err)
	}
	p := &poller{epfd: epfd, events: make([]unix.EpollEvent, len(fds)+2)}
	err = errors.Join(p.watch(b.fd, -1, readable), p.watch(gong.fd, -1, readable|unix.EPOLLET))
	for i, fd := range fds {
		err = errors.Join(err, p.watch(fd, i, readable))
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// readable is what is always watched for.
const readable = unix.EPOLLIN | unix.EPOLLRDHUP

// watch adds a descriptor under the name that ready gives it.
func (p *poller) watch(fd, name int, events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(name)}
	if err := unix.EpollCtl(p.epfd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("watch descriptor %d: %w", fd, err)
	}
	return nil
}

// writing watches a descriptor for room to write too, or no more.
func (p *poller) writing(fd, name int, on bool) error {
	ev := unix.EpollEvent{Events: readable, Fd: int32(name)}
	if on {
		ev.Events |= unix.EPOLLOUT
	}
	if err := unix.EpollCtl(p.epfd, unix.EPOLL_CTL_MOD, fd, &ev); err != nil {
		return fmt.Errorf("watch descriptor %d for writing: %w", fd, err)
	}
	return nil
}

func (p *poller) close() {
	if p != nil && p.epfd >= 0 {
		unix.Close(p.epfd)
		p.epfd = -1
	}
}

// wait returns how many things are ready within some nanoseconds, or until one is if
// nanos is negative. An interruption is 0.
func (p *poller) wait(nanos int64) int {
	if nanos < 0 {
		return p.epoll(-1)
	}
	// epoll_pwait counts milliseconds. An epoll instance can itself be polled, and ppoll
	// counts nanoseconds.
	ts := unix.NsecToTimespec(nanos)
	pfd := unix.PollFd{Fd: int32(p.epfd), Events: unix.POLLIN}
	n, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&pfd)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	if errno != 0 || n == 0 {
		return 0
	}
	return p.epoll(0)
}

func (p *poller) epoll(millis int) int {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epfd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(millis), 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// ready returns the place of the i-th ready socket of the last wait, -1 for bell and gong.
func (p *poller) ready(i int) int { return int(p.events[i].Fd) }

// bell wakes all pollers of a session: until it is muted, or those that watch its edge
// once for each ring.
type bell struct{ fd int }

func noBell() bell { return bell{-1} }

func newBell() (bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return noBell(), fmt.Errorf("make an eventfd: %w", err)
	}
	return bell{fd}, nil
}

func (b bell) ring() {
	one := [8]byte{1}
	unix.Write(b.fd, one[:])
}

// mute may be called when nobody waits.
func (b bell) mute() {
	var n [8]byte
	unix.Read(b.fd, n[:])
}

func (b bell) close() {
	if b.fd >= 0 {
		unix.Close(b.fd)
	}
}

// affinity returns how many CPUs the process may use; 0 if that is not known.
func affinity() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0
	}
	return set.Count()
}

// fineTimers lets the calling thread's timed waits end within microseconds instead of the
// usual 50. The thread has to be locked.
func fineTimers() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// processCPU returns the user and system CPU seconds that the process has used.
func processCPU() (user, system float64) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return -1, -1
	}
	return seconds(ru.Utime), seconds(ru.Stime)
}

func seconds(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

func lockThread() {
	runtime.LockOSThread()
	fineTimers()
}
