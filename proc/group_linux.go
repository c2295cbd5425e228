package proc

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a process group of its own, so that a Ctrl-C at our
// terminal does not reach it and killing the group reaches its children.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
