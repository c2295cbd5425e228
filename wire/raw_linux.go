package wire

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// recv reads what the kernel holds for fd, never waiting; 0 and no error: the peer closed.
func recv(fd int, b []byte) (int, unix.Errno) { return recvFrom(fd, b, unix.MSG_DONTWAIT) }

// recvWait reads as recv does, but waits until there is something.
func recvWait(fd int, b []byte) (int, unix.Errno) { return recvFrom(fd, b, 0) }

// recvFrom does not tell the runtime of the call (RawSyscall): telling costs more than the
// client's own work, and a thread that waits is to keep its place.
func recvFrom(fd int, b []byte, flags uintptr) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), flags, 0, 0)
		switch errno {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// send gives the kernel as much of b as it takes at once, and raises no SIGPIPE.
func send(fd int, b []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
