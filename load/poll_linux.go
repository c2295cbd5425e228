package load

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller waits until one of a few sockets can be read. With one socket that is ppoll,
// with more epoll, which here is level-triggered. The system calls are raw: the scheduler
// does not see that the thread waits, so it keeps its P and its place, which is what
// makes waiting as cheap as in C. The Go scheduler's
// hand-over would cost more than the whole exchange.
type poller struct {
	epfd   int // -1: a single socket
	fd     int
	events []unix.EpollEvent
}

func newPoller(fds []int) (*poller, error) {
	p := &poller{epfd: -1, fd: fds[0]}
	if len(fds) == 1 {
		return p, nil
	}
	var err error
	if p.epfd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make an epoll instance: %w", err)
	}
	p.fd = p.epfd // an epoll instance can itself be polled
	for i, fd := range fds {
		ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(i)}
		if err := unix.EpollCtl(p.epfd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
			p.close()
			return nil, fmt.Errorf("watch socket %d: %w", fd, err)
		}
	}
	p.events = make([]unix.EpollEvent, len(fds))
	return p, nil
}

func (p *poller) close() {
	if p != nil && p.epfd >= 0 {
		unix.Close(p.epfd)
		p.epfd = -1
	}
}

// wait returns how many sockets are ready, within some nanoseconds. An interruption is 0.
func (p *poller) wait(nanos int64) int {
	if p.epfd >= 0 && nanos >= int64(10e6) {
		return p.epoll(nanos / 1e6)
	}
	ts := unix.NsecToTimespec(max(nanos, 0))
	pfd := unix.PollFd{Fd: int32(p.fd), Events: unix.POLLIN | unix.POLLRDHUP}
	n, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&pfd)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	if errno != 0 || n == 0 {
		return 0
	}
	if p.epfd >= 0 {
		return p.epoll(0)
	}
	return 1
}

func (p *poller) epoll(millis int64) int {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epfd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(millis), 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// ready returns the place of the i-th ready socket of the last wait.
func (p *poller) ready(i int) int {
	if p.epfd < 0 {
		return 0
	}
	return int(p.events[i].Fd)
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
