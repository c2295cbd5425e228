// Package server runs one database server process: it makes an empty data directory,
// starts the server on it, knows when it is ready, says why it died, freezes and stops
// it. It does not load data, generate load or measure.
package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"backslide/lab"
	"backslide/proc"
)

// Spec says which server is meant: a build, with a config, on a data directory. All paths
// are absolute.
type Spec struct {
	Build   lab.Build
	Config  lab.Config
	Engine  string // that must be there, named as lab.Engines does; empty: whatever there is
	DataDir string
	RunDir  string // for socket and pid file, of this server alone; short: a socket's path has 107 bytes at most
	TempDir string // --tmpdir, emptied at each start; empty: DataDir with .tmp behind
	LogFile string // the error log; each start appends to it
	CPUs    []int  // the only CPUs it may run on; nil: ours
	TCP     bool   // listen on a free port of 127.0.0.1 too, where any user of this host may connect

	Extra   []lab.Option  // after those of Config: what a diagnosis needs
	Freezer *proc.Freezer // nil: it cannot be frozen
	Guard   *proc.Guard   // ends it when we are killed
	Remove  []string      // directories that Guard removes then, next to RunDir and TempDir: a clone
}

// Asked returns the options that the spec asks for, later ones winning; not those that
// every server here gets.
func (s Spec) Asked() []lab.Option { return append(s.Config.For(s.Build.Family), s.Extra...) }

func (s Spec) socket() string  { return filepath.Join(s.RunDir, "sock") }
func (s Spec) pidFile() string { return filepath.Join(s.RunDir, "pid") }

func (s Spec) tempDir() string {
	if s.TempDir != "" {
		return s.TempDir
	}
	return s.DataDir + ".tmp"
}

// socketMax is sizeof(sockaddr_un.sun_path) − 1, see unix(7).
const socketMax = 107

// check finds what can be known to be wrong before anything is started or made.
func (s Spec) check() (family, error) {
	f, ok := families()[s.Build.Family]
	if !ok {
		return f, fmt.Errorf("%s: no servers of family %q are known here", s.Build.Name, s.Build.Family)
	}
	if n := len(s.socket()); n > socketMax {
		return f, fmt.Errorf("the socket's path %s has %d bytes and the system allows %d: use a run directory with a shorter path", s.socket(), n, socketMax)
	}
	for _, dir := range []string{s.DataDir, s.RunDir, s.LogFile} {
		if !filepath.IsAbs(dir) {
			return f, fmt.Errorf("%s: the path %q is not absolute", s.Build.Name, dir)
		}
	}
	if _, err := engineOptions(f, s.Build, s.Engine); err != nil {
		return f, err
	}
	for _, o := range s.Asked() {
		if err := s.apart(o); err != nil {
			return f, err
		}
	}
	_, err := preload(s.Build, s.Config.Preload)
	return f, err
}

// Server is a running database server. Its methods may be called from any goroutine.
type Server struct {
	spec  Spec
	p     *proc.Process
	pid   int
	addr  string
	ready time.Time
	log   logFrom
	died  chan struct{}
}

// startTries is how often a start is tried when somebody else takes the port meanwhile.
const startTries = 3

// Start starts a server on a data directory that Init or CloneDir has made, and returns
// when a query on it was answered and it is known to be the process that we started. An
// error quotes the server's own log. The caller ends the server with Stop or Kill.
func Start(ctx context.Context, s Spec) (*Server, error) {
	fail := func(err error) (*Server, error) { return nil, fmt.Errorf("start %s: %w", s.Build.Name, err) }
	f, err := s.check()
	if err != nil {
		return fail(err)
	}
	for try := 1; ; try++ {
		srv, err := start(ctx, f, s)
		if err == nil {
			return srv, nil
		}
		if !errors.Is(err, errPortTaken) || try == startTries {
			return fail(err)
		}
	}
}

func start(ctx context.Context, f family, s Spec) (*Server, error) {
	if err := s.prepareDirs(ctx); err != nil {
		return nil, err
	}
	addr, own, err := f.ownOptions(s)
	if err != nil {
		return nil, err
	}
	engine, err := engineOptions(f, s.Build, s.Engine)
	if err != nil {
		return nil, err
	}
	options := append(append(engine, userOptions(s.Asked())...), own...)
	srv := &Server{spec: s, addr: addr, died: make(chan struct{})}
	if srv.p, srv.log, err = launch(s, arguments(options), nil); err != nil {
		return nil, err
	}
	if err := srv.awaitReady(ctx); err != nil {
		srv.p.Kill()
		s.tidy()
		return nil, err
	}
	go func() {
		<-srv.p.Done()
		s.tidy()
		close(srv.died)
	}()
	if err := srv.verify(); err != nil {
		srv.Kill()
		return nil, err
	}
	return srv, nil
}

// prepareDirs makes the run and temporary directories and takes away what an earlier
// server left in them. It refuses when a server still listens there.
func (s Spec) prepareDirs(ctx context.Context) error {
	if _, err := os.Stat(s.DataDir); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(s.RunDir, 0o700); err != nil {
		return err
	}
	if c, err := (&net.Dialer{}).DialContext(ctx, "unix", s.socket()); err == nil {
		defer c.Close()
		pid, _ := peer(c)
		return fmt.Errorf("pid %d already listens on %s: stop it, or use another run directory", pid, s.socket())
	}
	s.removeFiles()
	return s.makeTempDir()
}

// makeTempDir makes the server's directory for temporary files, empty.
func (s Spec) makeTempDir() error {
	if err := os.RemoveAll(s.tempDir()); err != nil {
		return err
	}
	return os.MkdirAll(s.tempDir(), 0o700)
}

func (s Spec) removeFiles() {
	os.Remove(s.socket())
	os.Remove(s.socket() + ".lock")
	os.Remove(s.pidFile())
}

// tidy removes what a server that has ended leaves outside its data directory.
func (s Spec) tidy() {
	s.removeFiles()
	os.RemoveAll(s.tempDir())
	os.Remove(s.RunDir) // stays if others put something there
}

// PID returns the number of the server's process, which is the one to observe even when
// a launcher stays between us and it.
func (s *Server) PID() int { return s.pid }

// Socket returns the path of the unix socket.
func (s *Server) Socket() string { return s.spec.socket() }

// Addr returns the host and port of a server with Spec.TCP, otherwise nothing.
func (s *Server) Addr() string { return s.addr }

// Ready returns when the server's first answer came.
func (s *Server) Ready() time.Time { return s.ready }

// Died is closed once the server has ended, asked to or not, and its socket is removed.
func (s *Server) Died() <-chan struct{} { return s.died }

// Err says why the server ended: nil while it runs and after a clean end, otherwise its
// status or signal with the last lines of its log.
func (s *Server) Err() error {
	select {
	case <-s.died:
	default:
		return nil
	}
	if err := s.p.Err(); err != nil {
		return fmt.Errorf("%s died: %w%s", s.spec.Build.Name, err, s.log.quoteEnd())
	}
	return nil
}

// Stop shuts the server down cleanly, thawing it first. When ctx ends before the server
// does, the server is killed and the error says so.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.p.Stop(ctx); err != nil {
		return fmt.Errorf("stop %s: %w%s", s.spec.Build.Name, err, s.log.quoteEnd())
	}
	<-s.died
	return s.Err()
}

// Kill kills the server, frozen or not, and waits until it is gone.
func (s *Server) Kill() {
	s.p.Kill()
	select {
	case <-s.p.Done():
		<-s.died
	default: // the kernel does not let go of it yet
	}
}

// Freeze keeps the server from running and returns when no thread of it runs any more.
func (s *Server) Freeze(ctx context.Context) error { return s.p.Freeze(ctx) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() error { return s.p.Thaw() }

// DB returns a pool of connections over the socket for everything except generating
// load; schema may be empty. A connection is made only to the process that Start
// started. The caller closes the pool.
func (s *Server) DB(schema string) (*sql.DB, error) { return open(s.spec.socket(), schema, s.isPeer) }

// Settings returns all global variables, by name in lower case.
func (s *Server) Settings(ctx context.Context) (map[string]string, error) {
	db, err := s.DB("")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SHOW GLOBAL VARIABLES")
	if err != nil {
		return nil, fmt.Errorf("%s: read the settings: %w", s.spec.Build.Name, err)
	}
	defer rows.Close()
	settings := map[string]string{}
	for rows.Next() {
		var name string
		var value sql.NullString
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		settings[lab.NormalName(name)] = value.String
	}
	return settings, rows.Err()
}

// Log returns what the server wrote to its log since it was started.
func (s *Server) Log() string { return s.log.text() }

// LogTail returns the last n lines of Log.
func (s *Server) LogTail(n int) string { return tail(s.log.text(), n) }
