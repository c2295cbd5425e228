package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"backslide/lab"
	"backslide/report"
)

func newQuickstart(e *env) *cobra.Command {
	var out string
	var budget time.Duration
	cmd := &cobra.Command{
		Use:   "quickstart",
		Short: "Compare two real MariaDB releases: a handful of steps, verdicts, an HTML page",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			x, err := lab.ParseExperiment("quickstart", quickstart, nil)
			if err != nil {
				return err
			}
			x.Plan.Budget = budget
			s, err := e.setup(cmd.Context(), x)
			if err != nil {
				return err
			}
			sum, err := e.execute(cmd.Context(), s, nil)
			if err != nil {
				return err
			}
			if out == "" {
				out = filepath.Join(e.labDir, "quickstart.html")
			}
			if err := writeFile(out, func(f *os.File) error { return report.Write(f, "html", sum, report.Options{}) }); err != nil {
				return err
			}
			fmt.Fprintf(e.stdout, "\nThe page: %s\nThese verdicts again: backslide compare%[2]s\nWhy one differs: backslide explain%[2]s\n", out, e.labFlag())
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "HTML `file` to write; in the lab unless given")
	cmd.Flags().DurationVar(&budget, "budget", 2*time.Minute, "wall `time` for all blocks")
	return cmd
}

// quickstart is the experiment of that verb: releases of different generations, options
// that take the disk and changed defaults out of the comparison.
const quickstart = `
name = "quickstart"
builds = ["mariadb@10.5", "mariadb@11.8"]
clients = [1, 4]

[[config]]
name = "quick"
[config.options]
innodb_buffer_pool_size = "256M"
innodb_flush_log_at_trx_commit = 2
innodb_flush_method = "O_DIRECT"
innodb_doublewrite = false
character_set_server = "latin1"
collation_server = "latin1_swedish_ci"
skip-log-bin = ""

[[workload]]
name = "sysbench"
steps = ["point-query", "range-covered-si", "range-notcovered-si", "update-index"]
params = { tables = 1, rows = 50000 }

[plan]
placement = "one-core"
blocks = 10
stop = "amber"
slice = "100ms"
slices = 4
warm = "100ms"
`
