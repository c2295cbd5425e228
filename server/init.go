package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"backslide/lab"
	"backslide/proc"
)

// Init makes an empty data directory with its system tables and the account User, cleanly
// shut down. It first has the build check all options of the spec, so that a refused one
// is known before anything is made. Nothing half-made is left behind.
func Init(ctx context.Context, s Spec) error {
	f, err := s.check()
	if err == nil {
		err = Check(ctx, s)
	}
	if err != nil {
		return err
	}
	fail := func(err error) error {
		return fmt.Errorf("make a data directory for %s in %s: %w", s.Build.Name, s.DataDir, err)
	}
	if err := os.MkdirAll(filepath.Dir(s.DataDir), 0o755); err != nil {
		return fail(err)
	}
	if err := os.Mkdir(s.DataDir, 0o700); err != nil {
		return fail(err)
	}
	if err := f.initialise(ctx, s); err != nil {
		return fail(errors.Join(err, os.RemoveAll(s.DataDir)))
	}
	return nil
}

// Check has the build itself check all options of the spec, without a data directory. The
// error quotes what it says. That an option is accepted does not mean that it has an
// effect: see Ignored.
func Check(ctx context.Context, s Spec) error {
	f, err := s.check()
	if err != nil {
		return err
	}
	engine, err := engineOptions(f, s.Build, s.Engine)
	if err != nil {
		return err
	}
	c := s.Config
	c.Launcher, c.Preload = nil, ""
	command, env, err := commandLine(s.Build, c)
	if err != nil {
		return err
	}
	options := append(append(engine, userOptions(s.Asked())...), append(treeOptions(s.Build), f.defaults(s.Build)...)...)
	options = append(options, lab.Option{Name: "datadir", Value: s.DataDir})
	out := &strings.Builder{}
	args := slices.Concat([]string{"/bin/sh", "-c", `exec "$@" 2>&1 >/dev/null`, "sh"}, command, arguments(options), f.examine(s.Build))
	_, err = proc.Output(ctx, proc.Command{Args: args, Env: env, Stdout: out, Timeout: time.Minute})
	// Servers of some versions report an error and exit with 0.
	lines := errorLines(out.String())
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("check the options of %s: %w", s.Build.Name, err)
	case len(lines) > 0:
		return fmt.Errorf("%s refuses its options:\n\t%s", s.Build.Name, strings.Join(lines, "\n\t"))
	case err != nil:
		return fmt.Errorf("check the options of %s: %w:\n\t%s", s.Build.Name, err, strings.ReplaceAll(tail(out.String(), quoteLines), "\n", "\n\t"))
	}
	return nil
}

// isLayout reports whether an option decides what a new data directory looks like. Others
// are left out when one is made: they may need what is not there yet.
func isLayout(name string) bool {
	switch lab.NormalName(name) {
	case "innodb_page_size", "innodb_data_file_path", "innodb_data_home_dir", "innodb_log_group_home_dir",
		"innodb_undo_directory", "innodb_undo_tablespaces", "innodb_file_per_table", "innodb_checksum_algorithm",
		"innodb_log_file_size", "innodb_log_files_in_group", "innodb_redo_log_capacity",
		"lower_case_table_names", "aria_log_dir_path", "aria_log_file_size":
		return true
	}
	return false
}

// initialise makes the system tables with the scripts of the build, or with its own
// --initialize-insecure where it has no scripts.
func initialise(ctx context.Context, s Spec) error {
	f := families()[s.Build.Family]
	options := slices.DeleteFunc(s.Asked(), func(o lab.Option) bool { return !isLayout(o.Name) })
	options = append(append(options, treeOptions(s.Build)...), f.defaults(s.Build)...)
	// A server removes what looks like temporary tables from its tmpdir when it starts: in
	// a shared one, also those of another that is being made.
	if err := s.makeTempDir(); err != nil {
		return err
	}
	defer os.RemoveAll(s.tempDir())
	options = append(options, lab.Option{Name: "datadir", Value: s.DataDir}, lab.Option{Name: "tmpdir", Value: s.tempDir()})
	s.Config.Launcher, s.Config.Preload, s.Freezer = nil, "", nil

	if len(s.Build.SystemSQL) == 0 {
		file := s.DataDir + ".init.sql"
		if err := os.WriteFile(file, []byte(script(accountSQL())), 0o600); err != nil {
			return err
		}
		defer os.Remove(file)
		options = append(options, lab.Option{Name: "init-file", Value: file}, lab.Option{Name: "initialize-insecure", Bare: true})
		return runInit(ctx, s, options, "")
	}
	sql, err := bootstrapSQL(f, s)
	if err != nil {
		return err
	}
	return runInit(ctx, s, append(options, lab.Option{Name: "bootstrap", Bare: true}), sql)
}

// bootstrapSQL returns what --bootstrap is fed with: the build's scripts, which know
// nothing of a database to be in, and the accounts. FLUSH PRIVILEGES comes before CREATE
// USER because a bootstrapping server starts without the tables of privileges.
func bootstrapSQL(f family, s Spec) (string, error) {
	var b strings.Builder
	// MySQL's bootstrap knows a database by its directory, MariaDB's may make one.
	if s.Build.Family == lab.MariaDB {
		b.WriteString("create database mysql;\n")
	} else if err := os.Mkdir(filepath.Join(s.DataDir, "mysql"), 0o700); err != nil {
		return "", err
	}
	b.WriteString("use mysql;\n")
	for _, path := range s.Build.SystemSQL {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("system tables: %w", err)
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	b.WriteString(script(f.onlyLocal(s.Build)))
	b.WriteString(script([]string{"FLUSH PRIVILEGES"}))
	b.WriteString(script(accountSQL()))
	return b.String(), nil
}

// runInit runs the server until it has made its data directory.
func runInit(ctx context.Context, s Spec, options []lab.Option, stdin string) error {
	p, log, err := launch(s, arguments(options), strings.NewReader(stdin))
	if err != nil {
		return err
	}
	if err := p.Wait(ctx); err != nil {
		p.Kill()
		return fmt.Errorf("%w%s", err, log.quoteErrors())
	}
	// A bootstrap goes on after a statement that failed, in some versions.
	if lines := errorLines(log.text()); len(lines) > 0 {
		return fmt.Errorf("the server reported errors%s", log.quoteErrors())
	}
	return nil
}
