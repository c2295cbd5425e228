package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary is started once more, in a mount namespace of its own, to clone a
// directory into a file system that is too small.
const smallDiskEnv = "BACKSLIDE_SERVER_SMALL_DISK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(smallDiskEnv); dir != "" {
		cloneToSmallDisk(dir)
		return
	}
	os.Exit(m.Run())
}

// tree makes a directory with all that data directories have in them.
func tree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "from")
	if err := os.MkdirAll(filepath.Join(dir, "#innodb_redo"), 0o750); err != nil {
		t.Fatal(err)
	}
	full := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	for name, content := range map[string][]byte{"ibdata1": full, "empty": nil, "#innodb_redo/r1": []byte("r")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	sparse, err := os.Create(filepath.Join(dir, "sparse.ibd"))
	if err != nil {
		t.Fatal(err)
	}
	defer sparse.Close()
	for _, at := range []int64{1 << 20, 40 << 20} {
		if _, err := sparse.WriteAt([]byte("data"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := sparse.Truncate(64 << 20); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/elsewhere/t.ibd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "left"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCloneDir(t *testing.T) {
	from := tree(t)
	to := filepath.Join(t.TempDir(), "deep", "to")
	if err := CloneDir(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ibdata1", "empty", "#innodb_redo/r1", "sparse.ibd"} {
		want, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v, differ from the %d of the original", name, len(got), err, len(want))
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(to, "sparse.ibd"), &st); err != nil || st.Size != 64<<20 || st.Blocks*512 > 1<<20 {
		t.Errorf("the sparse file takes %d of %d bytes, %v", st.Blocks*512, st.Size, err)
	}
	if info, err := os.Stat(filepath.Join(to, "ibdata1")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got, err := os.Readlink(filepath.Join(to, "link")); err != nil || got != "/elsewhere/t.ibd" {
		t.Errorf("link to %q, %v", got, err)
	}
	if _, err := os.Lstat(filepath.Join(to, "left")); err == nil {
		t.Error("what is neither file nor directory nor link was cloned")
	}
	if err := CloneDir(t.Context(), from, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("cloning onto a directory that exists: %v", err)
	}
}

func TestCloneDirFails(t *testing.T) {
	from := tree(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		from string
		want error
	}{
		"cancelled": {ctx, from, context.Canceled},
		"no source": {t.Context(), filepath.Join(from, "none"), fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := CloneDir(tt.ctx, tt.from, filepath.Join(dir, "to")); !errors.Is(err, tt.want) {
				t.Errorf("CloneDir: %v, want %v", err, tt.want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestCloneDirDiskFull(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{smallDiskEnv + "=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := string(out); !strings.Contains(got, "no space left on device") || !strings.Contains(got, "ibdata1") || !strings.HasSuffix(got, "left: 0\n") {
		t.Errorf("cloning to a full disk: %q", got)
	}
}

// cloneToSmallDisk mounts a file system of 256 KiB and clones 1 MiB into it.
func cloneToSmallDisk(dir string) {
	from, disk := filepath.Join(dir, "from"), filepath.Join(dir, "disk")
	must(os.Mkdir(from, 0o700))
	must(os.Mkdir(disk, 0o700))
	must(os.WriteFile(filepath.Join(from, "ibdata1"), make([]byte, 1<<20), 0o600))
	must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	must(unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"))
	err := CloneDir(context.Background(), from, filepath.Join(disk, "to"))
	left, _ := os.ReadDir(disk)
	fmt.Printf("%v\nleft: %d\n", err, len(left))
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
