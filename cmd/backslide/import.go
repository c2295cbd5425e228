package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"backslide/archive"
	"backslide/lab"
	"backslide/report"
)

type importOptions struct {
	host, build, config, device, name string
	look                              look
}

func newImport(e *env) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import DIR|FILE…",
		Short: "Read what others measured: sysbench, mysqlslap, insert benchmark, tables",
		Long: "import reads results of other tools into the lab: folders of the reference scripts (sb.o.*, sb.met.*, sb.vm.*, sb.io.*, tables),\n" +
			"single outputs of sysbench and mysqlslap, interval files of the insert benchmark, CSV and TSV of name × build, Go benchmarks, and JSON that\n" +
			"backslide wrote. Files are recognised by what is in them; what cannot be read is named with file and line, and the rest goes in.\n" +
			"Imported figures have no blocks, so they never become verdicts. Several figures of one cell are its replicates.",
		Example: "  backslide import results/\n  backslide import --build mysql@8.4 sysbench.out",
		Args:    atLeastOne("folders or files to read"),
		RunE:    func(cmd *cobra.Command, args []string) error { return e.importResults(cmd.Context(), o, args) },
	}
	cmd.Flags().StringVar(&o.host, "host", "", "`name` of the host that was measured; tables have a column for each")
	cmd.Flags().StringVar(&o.build, "build", "", "`name` of the build, for files whose place and name tell none")
	cmd.Flags().StringVar(&o.config, "config", "", "`name` of the config, likewise")
	cmd.Flags().StringVar(&o.device, "device", "", "`device` of iostat to take; else the one that moved the most bytes")
	cmd.Flags().StringVar(&o.name, "name", "", "`name` of the import; else that of the first folder or file")
	o.look.flags(cmd)
	return cmd
}

// importResults reads, stores and shows what others measured.
func (e *env) importResults(ctx context.Context, o importOptions, args []string) error {
	var results []archive.Result
	for _, arg := range args {
		if _, err := os.Stat(arg); err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	for _, s := range sources(args) {
		r, err := archive.Read(ctx, os.DirFS(s.dir), archive.Options{
			Root: s.dir, Files: s.files, Host: o.host, Build: o.build, Config: o.config, Device: o.device, Tools: archiveTools(),
		})
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	r := archive.Join(results...)
	if len(r.Records) == 0 {
		e.importNotes(r)
		return fmt.Errorf("import %s: there are no figures of a known kind in it", strings.Join(args, " "))
	}
	im := lab.Import{Name: o.name, At: time.Now(), Sources: args, Files: r.Files, Problems: texts(r.Problems), Doubts: texts(r.Doubts)}
	if im.Name == "" {
		if abs, err := filepath.Abs(args[0]); err == nil {
			im.Name = filepath.Base(abs)
		}
	}
	for _, rec := range r.Records {
		im.Figures = append(im.Figures, figureOf(rec))
	}
	st, err := e.openLab()
	if err != nil {
		return err
	}
	defer st.Close()
	id, err := st.AddImport(ctx, im)
	if err != nil {
		return err
	}
	fmt.Fprintf(harmless{e.stdout}, "import i%d, %s: %s from %s\n", id, oneLine(im.Name), plural(len(r.Records), "figure"), plural(r.Files, "file"))
	e.importNotes(r)
	fmt.Fprintln(e.stdout)
	for _, s := range r.Summaries {
		fmt.Fprintf(harmless{e.stdout}, "It holds run %d of another lab, %s, with verdicts of its own:\n\n", s.Run.ID, oneLine(s.Run.Name))
		if err := report.Text(e.stdout, s, report.Options{View: report.Brief}); err != nil {
			return err
		}
		fmt.Fprintln(e.stdout)
	}
	est, err := estimates([]lab.Import{im}, o.look.base)
	if err != nil {
		return err
	}
	return report.Estimates(e.stdout, "text", est, o.look.options(e))
}

// importNotes says what was passed over.
func (e *env) importNotes(r archive.Result) {
	if r.Again > 0 {
		fmt.Fprintf(e.stdout, "  %s left out: another table of the same folder has them\n", plural(r.Again, "cell"))
	}
	for i, name := range r.Ignored {
		if i == 5 {
			fmt.Fprintf(e.stdout, "  and %s more that hold no results of a known kind\n", plural(len(r.Ignored)-i, "file"))
			break
		}
		fmt.Fprintf(harmless{e.stdout}, "  left out: %s\n", oneLine(name))
	}
	if len(r.Records) > 0 {
		return // the report lists what could not be read
	}
	for i, p := range r.Problems {
		if i == 5 {
			fmt.Fprintf(e.stderr, "  and %s more of that kind\n", plural(len(r.Problems)-i, "problem"))
			break
		}
		fmt.Fprintf(harmless{e.stderr}, "  not read: %s\n", oneLine(p.Error()))
	}
}

// source is a folder to read, or files of it.
type source struct {
	dir   string
	files []string
}

// sources sorts arguments into folders and files by folder, in their order.
func sources(args []string) []source {
	var out []source
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			out = append(out, source{dir: arg})
			continue
		}
		dir, file := filepath.Dir(arg), filepath.Base(arg)
		i := slices.IndexFunc(out, func(s source) bool { return s.dir == dir && len(s.files) > 0 })
		if i < 0 {
			i = len(out)
			out = append(out, source{dir: dir})
		}
		out[i].files = append(out[i].files, file)
	}
	return out
}

func texts(ps []archive.Problem) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Error())
	}
	return out
}

// oneLine keeps a name that a user or a file gave from looking like lines of ours.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "\ufffd", "\t", "\ufffd").Replace(s)
}

// figureOf returns a record as the lab keeps it.
func figureOf(r archive.Record) lab.Figure {
	return lab.Figure{
		Host: r.Host, Build: r.Build, Config: r.Config, Engine: r.Engine, Workload: r.Workload, Step: r.Step, Range: r.Range, Clients: r.Clients,
		Metric: r.Metric, Unit: r.Unit, Value: r.Value, Runs: r.Runs, Base: r.Base, Origin: string(r.Origin), Replicate: r.Replicate, File: r.File, Line: r.Line,
	}
}

// recordOf is the inverse of figureOf.
func recordOf(f lab.Figure) archive.Record {
	return archive.Record{
		Cell: archive.Cell{
			Variant: archive.Variant{Host: f.Host, Build: f.Build, Config: f.Config, Engine: f.Engine},
			Test:    archive.Test{Workload: f.Workload, Step: f.Step, Range: f.Range, Clients: f.Clients},
		},
		Metric: f.Metric, Unit: f.Unit, Value: f.Value, Runs: f.Runs, Base: f.Base, Origin: archive.Origin(f.Origin), Replicate: f.Replicate, File: f.File, Line: f.Line,
	}
}
