package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"backslide/lab"
	"backslide/probe"
	"backslide/run"
	"backslide/server"
)

func newCheck(e *env) *cobra.Command {
	var f experimentFlags
	cmd := &cobra.Command{
		Use:   "check [EXPERIMENT.toml]",
		Short: "Check an experiment and print its plan: cells, blocks, time, memory, disk",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := f.file(args)
			if err != nil {
				return err
			}
			x, err := f.experiment(file)
			if err != nil {
				return err
			}
			s, err := e.setup(cmd.Context(), x)
			if err != nil {
				return err
			}
			if err := s.forecast().print(harmless{e.stdout}, s, probe.Free(e.labDir)); err != nil {
				return err
			}
			return s.checkOptions(cmd.Context())
		},
	}
	f.add(cmd)
	return cmd
}

// checkOptions has each build check the options of its configs, before hours of loading for
// those whose turn comes first.
func (s *setup) checkOptions(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "backslide-check-")
	if err != nil {
		return fmt.Errorf("check options: %w", err)
	}
	defer os.RemoveAll(dir)
	for _, v := range s.Variants() {
		if v.Copy > 0 {
			continue
		}
		c, _ := s.Config(v.Config)
		if err := server.Check(ctx, server.Spec{
			Build: s.builds[v.Build], Config: c, Engine: v.Engine,
			DataDir: filepath.Join(dir, "data"), RunDir: "/tmp", LogFile: filepath.Join(dir, "log"), // nothing is started: no socket
		}); err != nil {
			return fmt.Errorf("config %s: %w", v.Config, err)
		}
	}
	return nil
}

// forecast is what an experiment will need.
type forecast struct {
	run.Forecast
	cells    int
	unknown  int      // long steps of which nobody knows how long they take
	rows     int64    // in the data set of one variant
	bytes    int64    // of one variant's data set, about
	disk     int64    // all data sets and one block's clones
	memory   int64    // of all servers together
	most     int64    // of the largest server
	memories []string // why
}

// together returns how many servers may be up at once within limit bytes; 0: all.
func (f forecast) together(limit int64) int {
	if limit <= 0 || f.memory <= limit || f.most == 0 {
		return 0
	}
	return int(max(1, limit/f.most))
}

// memoryLimit is what servers may use together: the plan's, or most of what is free.
func memoryLimit(p lab.Plan, free probe.Room) int64 {
	if p.Memory > 0 {
		return p.Memory
	}
	return free.Memory * 7 / 10
}

// Rough sizes of a server beside its data and its biggest caches.
const (
	serverDisk   = 250 << 20 // system tables, redo and undo logs of a fresh server
	serverMemory = 250 << 20
	connMemory   = 1 << 20
)

func (s *setup) forecast() forecast {
	var f forecast
	variants := s.Variants()
	f.cells = len(variants) * len(s.levels)
	for _, p := range s.programs[variants[0]] {
		rows, bytes := p.Estimate()
		f.rows += rows
		f.bytes += bytes
	}
	f.disk = 2 * int64(len(variants)) * (f.bytes + serverDisk)
	f.Forecast = run.Foresee(s.Plan, len(variants), s.levels)
	for _, l := range s.levels {
		if l.Whole() && l.Slice == 0 {
			f.unknown++
		}
	}
	most := 0
	for _, c := range s.Clients {
		most = max(most, c)
	}
	for _, v := range variants {
		m := serverMemory + int64(most)*connMemory
		cfg, _ := s.Config(v.Config)
		pool := caches(cfg.For(s.builds[v.Build].Family))
		f.memory += m + pool
		f.most = max(f.most, m+pool)
		f.memories = append(f.memories, fmt.Sprintf("%s: caches of %s and about %s", v, size(pool), size(m)))
	}
	return f
}

// caches returns the bytes of the caches that options set, with the servers' defaults
// for those they leave out.
func caches(opts []lab.Option) int64 {
	of := map[string]int64{"innodb_buffer_pool_size": 128 << 20, "key_buffer_size": 128 << 20}
	for _, o := range opts {
		switch name := lab.NormalName(o.Name); name {
		case "innodb_buffer_pool_size", "key_buffer_size", "rocksdb_block_cache_size", "aria_pagecache_buffer_size", "max_heap_table_size":
			if v, err := lab.ParseBytes(o.Value); err == nil {
				of[name] = v
			}
		}
	}
	var sum int64
	for _, v := range of {
		sum += v
	}
	return sum
}

func (f forecast) print(w io.Writer, s *setup, free probe.Room) error {
	fmt.Fprintf(w, "%s: %s × %s × clients %s = %s\n", s.Name, plural(len(s.Variants()), "variant"),
		plural(len(s.levels)/len(s.Clients), "step"), join(s.Clients), plural(f.cells, "cell"))
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	for i, v := range s.Variants() {
		role := ""
		if i == 0 {
			role = "base"
		}
		b := s.builds[v.Build]
		fmt.Fprintf(t, "  %s\t%s %s\t%s\n", v, b.Family, b.Version, role)
	}
	fmt.Fprintf(t, "blocks\tat most %d, about %s each\n", s.Plan.BlocksMax, between(f.Least, f.Most))
	if f.Least < f.Most {
		fmt.Fprintf(t, "slices\tas many per variant, level and block as a pilot of the noise asks for: fewer on a quiet host, up to four times %d on a noisy one\n", s.Plan.Slices)
	}
	if f.Calibrate > 0 {
		fmt.Fprintf(t, "pilots\tabout %s, once: speed and noise of every level on the base\n", between(f.Calibrate, f.Calibrate))
	}
	if f.unknown > 0 {
		fmt.Fprintf(t, "long steps\t%s of each variant and block take as long as they take, on top of that\n", plural(f.unknown, "step"))
	}
	least, most := f.Calibrate+f.Least*time.Duration(s.Plan.BlocksMax), f.Calibrate+f.Most*time.Duration(s.Plan.BlocksMax)
	if s.Plan.Budget > 0 && s.Plan.Budget < least {
		fmt.Fprintf(t, "time\tat most %s (the budget), and loading\n", s.Plan.Budget)
	} else {
		if s.Plan.Budget > 0 {
			most = min(most, s.Plan.Budget)
		}
		fmt.Fprintf(t, "time\tabout %s if all blocks are needed, and loading; decided cells stop earlier\n", between(least, most))
	}
	fmt.Fprintf(t, "data\t%d rows, about %s, for each variant\n", f.rows, size(f.bytes))
	fmt.Fprintf(t, "memory\tabout %s of %s free\n", size(f.memory), size(free.Memory))
	fmt.Fprintf(t, "disk\tabout %s of %s free\n", size(f.disk), size(free.Disk))
	fmt.Fprintf(t, "placement\t%s\n", s.Plan.Placement)
	if len(s.tools) > 0 {
		fmt.Fprintf(t, "clients\t%s\n", s.drivers())
	}
	fmt.Fprintf(t, "rules\tfalse alarm %g%% per test, margin %g%%, seed %d\n", 100*s.Plan.Alpha, 100*s.Plan.Margin, s.Plan.Seed)
	if err := t.Flush(); err != nil {
		return err
	}
	for _, note := range s.notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	if limit := memoryLimit(s.Plan, free); f.together(limit) > 0 {
		fmt.Fprintf(w, "warning: the servers need about %s together, and should use at most %s, or paging would be measured: %s; make caches smaller or compare fewer variants\n",
			size(f.memory), size(limit), atOnce(f.together(limit)))
		for _, m := range f.memories {
			fmt.Fprintf(w, "  %s\n", m)
		}
	}
	if free.Disk > 0 && f.disk > free.Disk {
		fmt.Fprintf(w, "warning: the lab needs about %s on its disk, %s are free\n", size(f.disk), size(free.Disk))
	}
	return nil
}

// between says from how long to how long something takes: 45 s, 12 to 30 min or 5 to 9 h.
func between(least, most time.Duration) string {
	unit, name := time.Hour, "h"
	switch {
	case most < 2*time.Minute:
		unit, name = time.Second, "s"
	case most < 3*time.Hour:
		unit, name = time.Minute, "min"
	case most >= 72*time.Hour:
		unit, name = 24*time.Hour, "days"
	}
	a, b := int(math.Ceil(float64(least)/float64(unit))), int(math.Ceil(float64(most)/float64(unit)))
	if a == b {
		return fmt.Sprintf("%d %s", a, name)
	}
	return fmt.Sprintf("%d to %d %s", a, b, name)
}

// atOnce says what it means that only n servers are up together.
func atOnce(n int) string {
	if n == 1 {
		return "servers take turns, one at a time, and are started twice a block, which cancels less of the noise"
	}
	return fmt.Sprintf("%d servers are up at once, the base and %s, with a fresh base for each", n, plural(n-1, "candidate"))
}

func join(ns []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(ns), " ", ","), "[]") }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size prints bytes with a binary unit.
func size(b int64) string {
	if b < 1<<20 {
		return fmt.Sprintf("%d KiB", (b+1023)>>10)
	}
	if b < 10<<30 {
		return fmt.Sprintf("%d MiB", b>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30))
}
