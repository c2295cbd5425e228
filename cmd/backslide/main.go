// Command backslide finds where a database server got slower, and why. This package
// holds the flags, the wiring and the exit codes: a file per verb.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes, as diff(1) has them.
const (
	exitSame    = 0 // nothing regressed
	exitDiffer  = 1 // something regressed
	exitTrouble = 2 // it could not be found out
)

// errRegressed makes a verb exit with exitDiffer. It is not printed.
var errRegressed = errors.New("regressed")

func main() { os.Exit(backslide(os.Stdin, os.Stdout, os.Stderr, os.Args[1:])) }

// backslide runs one command line and returns the exit code.
func backslide(stdin io.Reader, stdout, stderr io.Writer, args []string) int {
	ctx, stop := interruptible(stderr)
	defer stop()
	e := &env{stdin: stdin, stdout: stdout, stderr: stderr}
	cmd := newRoot(e)
	cmd.SetArgs(args)
	cmd.SetIn(stdin)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitSame
	case errors.Is(err, errRegressed):
		return exitDiffer
	}
	fmt.Fprintf(harmless{stderr}, "backslide: %v\n", err)
	return exitTrouble
}

// errInterrupted is why everything stops after Ctrl-C.
var errInterrupted = errors.New("interrupted")

// interruptible returns a context that ends at the first Ctrl-C, SIGTERM, or SIGHUP of a
// terminal that was closed, unless nohup has that ignored. A second Ctrl-C or SIGTERM ends
// the process at once; the guard then kills what is left.
func interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	hangup := make(chan os.Signal, 1) // apart: shell and kernel may both send it
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(hangup, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-hangup:
		case <-ch:
			fmt.Fprintln(stderr, "\nstopping servers; once more to stop at once")
		case <-done:
			return
		}
		cancel(errInterrupted)
		select {
		case <-ch:
			os.Exit(exitTrouble)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		signal.Stop(hangup)
		close(done)
		cancel(nil)
	}
}

func newRoot(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "backslide",
		Short:         "Find where your database got slower, and why",
		Long:          "backslide runs the same workloads against several builds and configurations of real\ndatabase servers, side by side, and says which differences are real.",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.PersistentFlags().StringVar(&e.labDir, "lab", envOr("BACKSLIDE_LAB", "lab"), "the lab: a `directory` for results and data sets")
	cmd.PersistentFlags().StringVar(&e.cacheDir, "cache", envOr("BACKSLIDE_CACHE", defaultCache()), "`directory` for server builds")
	cmd.PersistentFlags().StringVar(&e.symbolDir, "symbols", os.Getenv("BACKSLIDE_SYMBOLS"), "`directory` with debug symbols of servers, as /usr/lib/debug, or where a package of them was unpacked")
	cmd.SetFlagErrorFunc(flagError)
	cmd.AddCommand(
		newQuickstart(e), newBuilds(e), newFetch(e), newCheck(e), newRun(e), newCompare(e), newHistory(e), newExplain(e), newReport(e), newImport(e), newSelftest(e),
		newClient(e),
	)
	return cmd
}

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = s.Value[:min(12, len(s.Value))]
		}
	}
	if v == "" {
		v = "(devel)"
	}
	return v
}
