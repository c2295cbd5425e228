package archive

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"backslide/extern"
	"backslide/lab"
	"backslide/report"
)

// tools wires the parsers as the command does.
func tools() Tools {
	return Tools{
		Sysbench: func(r io.Reader) (Sysbench, error) {
			run, err := extern.ParseSysbench(extern.Output{Stdout: r})
			if err != nil {
				return Sysbench{}, err
			}
			s := Sysbench{Threads: run.Threads, Warnings: run.Warnings, Invalid: run.Invalid, Queries: -1, Events: -1, Errors: -1, Reconnects: -1, Min: -1, Avg: -1, Max: -1}
			if sum := run.Summary; sum != nil {
				p, computed := sum.Printed, sum.Rates()
				if p.Queries < 0 { // sysbench 0.4 and 0.5 print two parts of it
					p.Queries = computed.Queries
				}
				s.Queries, s.Events, s.Errors, s.Reconnects = p.Queries, p.Events, p.Errors, p.Reconnects
				s.Min, s.Avg, s.Max, s.Percent, s.P = sum.Latency.Min, sum.Latency.Avg, sum.Latency.Max, sum.Latency.Percentile.P, sum.Latency.Percentile.Value
			}
			return s, nil
		},
		Slap: func(r io.Reader) (Slap, error) {
			run, err := extern.ParseSlap(extern.Output{Stdout: r})
			s := Slap{Invalid: run.Invalid, Warnings: run.Warnings}
			for _, row := range run.Rows {
				s.Rows = append(s.Rows, SlapRow{Engine: row.Engine, Label: row.Label, Avg: row.Avg, Min: row.Min, Max: row.Max, Clients: row.Clients, Queries: row.Queries()})
			}
			return s, err
		},
		Summary: func(r io.Reader) (lab.Summary, error) { return report.ReadJSON(r) },
	}
}

// data returns a folder of published results beside the checkout, or skips the test.
func data(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{"..", "..", "shared"}, elem...)...)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("published results to test with are missing: %v", err)
	}
	return dir
}

// imported reads a folder.
func imported(t *testing.T, dir string, o Options) Result {
	t.Helper()
	o.Root, o.Tools = dir, tools()
	r, err := Read(t.Context(), os.DirFS(dir), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.ReplaceAll(b, []byte("\r"), nil))
}
