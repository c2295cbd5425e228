package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"backslide/store"
)

// env is what all verbs share: where they read and write.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	labDir         string // as given; the lab's directory
	cacheDir       string // as given; the builds'
	symbolDir      string // as given; with files of debug symbols; "": none
}

// terminal returns the width of standard output, and false where it is no terminal.
func (e *env) terminal() (width int, ok bool) { return terminal(e.stdout) }

func terminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	return width, err == nil
}

// color reports whether to colour standard output.
func (e *env) color() bool {
	_, ok := e.terminal()
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// openLab opens the lab, making it if need be.
func (e *env) openLab() (*store.Store, error) {
	return store.Open(e.labDir)
}

// existingLab opens a lab that must be there.
func (e *env) existingLab() (*store.Store, error) {
	if _, err := os.Stat(filepath.Join(e.labDir, store.Database)); err != nil {
		return nil, fmt.Errorf("no lab in %s: run an experiment first, or name its directory with --lab", e.labDir)
	}
	return e.openLab()
}

func envOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func defaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ".backslide"
	}
	return filepath.Join(dir, "backslide")
}
