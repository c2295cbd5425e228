package extern

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"backslide/lab"
)

// Sysbench is an invocation of sysbench 1.0 or later on a MySQL or MariaDB server.
type Sysbench struct {
	Program string // empty: sysbench, found in PATH
	Script  string // oltp_read_only or another script that comes with it, or the path of a Lua file

	// The script's own options: one that is zero is not passed, for a script must know it.
	Tables    int
	Rows      int64        // per table
	RangeSize int          // rows of a range query
	Engine    string       // storage engine of the tables
	Options   []lab.Option // more, by name without dashes: the script's (skip-trx), or sysbench's (rand-type)

	Threads int
	Time    time.Duration // whole seconds; needed unless Events is set
	Events  int64         // ends the run after so many, over all threads, which share them as they come
	Rate    float64       // events per second of an open loop; 0: closed loop
	Warmup  time.Duration // whole seconds before Time; needs sysbench 1.1
	Report  time.Duration // whole seconds between interval lines; 0: none, so that nothing shows a stall
	Text    bool          // the text protocol instead of prepared statements

	// Seed makes runs draw the same numbers; 0 is the clock's, which repeats nothing. Even
	// with a seed, which thread executes what depends on timing.
	Seed int64

	Percentile int // 1 to 100; 0: 95
	Histogram  bool

	Socket string
	User   string
	Schema string
	Config string // file of options for --config-file, to hold mysql-password; servers of ours have none
}

// The commands of sysbench.
const (
	Prepare = "prepare"
	Run     = "run"
	Cleanup = "cleanup"
)

// Connections returns how many connections the server must allow for a run.
func (s Sysbench) Connections() int { return s.Threads }

// Args returns the program and arguments of a command for sysbench of version v; the zero
// Version stands for 1.0. What prepare loads differs each time, even with a seed (1.0.20 was
// seen to do so): to give several servers the same rows, load one and clone its data.
func (s Sysbench) Args(v Version, command string) ([]string, error) {
	if err := s.check(v, command); err != nil {
		return nil, fmt.Errorf("sysbench %s: %w", command, err)
	}
	args := []string{s.Program, s.Script, "--db-driver=mysql"}
	if args[0] == "" {
		args[0] = "sysbench"
	}
	add := func(name, value string) {
		if value != "" && value != "0" {
			args = append(args, "--"+name+"="+value)
		}
	}
	add("config-file", s.Config)
	add("mysql-socket", s.Socket)
	add("mysql-user", s.User)
	add("mysql-db", s.Schema)
	add("tables", strconv.Itoa(s.Tables))
	add("table-size", strconv.FormatInt(s.Rows, 10))
	add("mysql-storage-engine", strings.ToLower(s.Engine))
	add("rand-seed", strconv.FormatInt(s.Seed, 10))
	for _, o := range s.Options {
		args = append(args, "--"+o.Name+"="+o.Value)
	}
	if command == Run {
		args = append(args, "--threads="+strconv.Itoa(s.Threads), "--time="+seconds(s.Time), "--events="+strconv.FormatInt(s.Events, 10))
		add("range-size", strconv.Itoa(s.RangeSize))
		add("rate", strconv.FormatFloat(s.Rate, 'f', -1, 64))
		add("warmup-time", seconds(s.Warmup))
		add("report-interval", seconds(s.Report))
		add("percentile", strconv.Itoa(s.Percentile))
		if s.Text {
			add("db-ps-mode", "disable")
		}
		if s.Histogram {
			add("histogram", "on")
		}
	}
	return append(args, command), nil
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

func (s Sysbench) check(v Version, command string) error {
	for _, d := range []time.Duration{s.Time, s.Warmup, s.Report} {
		if d < 0 || d%time.Second != 0 {
			return fmt.Errorf("%s: times are whole seconds", d)
		}
	}
	switch {
	case command != Prepare && command != Run && command != Cleanup:
		return errors.New("no such command: there are prepare, run and cleanup")
	case s.Script == "":
		return errors.New("no script: name one that comes with sysbench, or a Lua file")
	case strings.HasPrefix(s.Script, "-"):
		return fmt.Errorf("script %s: would be taken for an option: write ./%[1]s", s.Script)
	case v != (Version{}) && !v.AtLeast(1, 0):
		return fmt.Errorf("version %d.%d: has other options: use 1.0 or later", v.Major, v.Minor)
	case s.Warmup > 0 && !v.AtLeast(1, 1):
		return errors.New("warm-up: comes with version 1.1: run it once before as a warm-up instead")
	case s.Tables < 0, s.Rows < 0, s.RangeSize < 0, s.Events < 0, s.Rate < 0, s.Seed < 0, s.Percentile < 0, s.Percentile > 100:
		return errors.New("a number is out of range: none is negative, and a percentile is at most 100")
	case command != Run:
		return nil
	case s.Threads <= 0:
		return errors.New("no threads")
	case s.Time == 0 && s.Events == 0:
		return errors.New("no end: set a time or a number of events")
	}
	return nil
}

// Env returns the environment for sysbench: env, in which Lua is told to look for modules
// beside a script that is given by its path.
func (s Sysbench) Env(env []string) []string {
	if !strings.Contains(s.Script, "/") && !strings.HasSuffix(s.Script, ".lua") {
		return env
	}
	const name = "LUA_PATH="
	was := ";" // two semicolons stand for the default path
	var out []string
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name); ok {
			was = v
		} else {
			out = append(out, e)
		}
	}
	return append(out, name+filepath.Join(filepath.Dir(s.Script), "?.lua")+";"+was)
}
