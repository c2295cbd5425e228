package store

import (
	"context"
	"database/sql"
	"fmt"
	"syscall"
	"testing"
	"time"

	"backslide/lab"
)

// BenchmarkSlices reads 42 steps × 3 client counts × 4 variants × 40 blocks × 16 slices.
func BenchmarkSlices(b *testing.B) {
	ctx := context.Background()
	s, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := filledRun()
	r.Variants, r.Levels, r.Sides = nil, nil, nil
	for i := range 4 {
		r.Variants = append(r.Variants, lab.Variant{Build: fmt.Sprintf("mariadb@10.%d", i), Config: "default", Engine: "InnoDB"})
	}
	for i := range 42 {
		for _, clients := range []int{1, 4, 32} {
			l := lab.Level{Step: lab.Step{Workload: "sysbench", Name: fmt.Sprintf("step-%d", i)}, Clients: clients}
			r.Levels = append(r.Levels, lab.LevelPlan{Level: l})
		}
	}
	r.Base = r.Variants[0]
	id, err := s.NewRun(ctx, r)
	if err != nil {
		b.Fatal(err)
	}
	ids, err := s.idsOf(ctx, id)
	if err != nil {
		b.Fatal(err)
	}
	const total = 42 * 3 * 4 * 40 * 16
	err = s.inWrite(ctx, "fill", func(tx *sql.Tx) error {
		for n := range total {
			sl := filledSlice(filledRun(), n)
			l := r.Levels[n/64%126].Level
			sl.Cell = lab.Cell{Variant: r.Variants[n/16%4], Step: l.Step, Clients: l.Clients}
			sl.Block, sl.Seq, sl.Position, sl.Errors, sl.Hist, sl.Err, sl.Restart = n/8064, n%16, n%8064, nil, nil, "", 0
			if err := s.insertSlice(ctx, tx, append([]any{id, ids.variants[sl.Cell.Variant], ids.levels[l]}, sliceValues(sl)...), sl); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	level := r.Levels[5].Level
	for name, f := range map[string]Filter{"all": {}, "measured": {Kind: lab.Measured}, "one-level": {Level: &level}, "one-block": {Blocks: []int{7}}} {
		b.Run(name, func(b *testing.B) {
			before, n := cpuTime(b), 0
			for b.Loop() {
				got, err := s.Slices(ctx, id, f)
				if err != nil || len(got) == 0 {
					b.Fatal(len(got), err)
				}
				n++
			}
			// on a busy machine, what the other numbers do not tell
			b.ReportMetric((cpuTime(b)-before).Seconds()/float64(n), "cpu-sec/op")
		})
	}
}

// BenchmarkAddSlice stores slices with a histogram of 2 kB, one transaction each.
func BenchmarkAddSlice(b *testing.B) {
	ctx := context.Background()
	s, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := filledRun()
	id, err := s.NewRun(ctx, r)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		sl := filledSlice(r, n)
		sl.Hist = make([]byte, 2000)
		n++
		if err := s.AddSlice(ctx, id, sl); err != nil {
			b.Fatal(err)
		}
	}
}

// cpuTime is the CPU time of this process so far.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
