package store

import (
	"database/sql"
	"fmt"
	"syscall"
	"testing"
	"time"

	"backslide/compare"
	"backslide/lab"
	"backslide/stat"
)

// TestSpeed reads and judges 42 steps × 3 numbers of clients × 4 variants × 40 blocks of 2
// slices, with boundaries known: in a second on two cores that have nothing else to do.
// What is held is CPU time, two seconds of it, since this machine may have.
func TestSpeed(t *testing.T) {
	const most = 2 * time.Second
	s := openLab(t, t.TempDir())
	id := fillLarge(t, s, 2)
	ctx := t.Context()
	r, err := s.Run(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	b := new(stat.Boundaries)
	var took, wall time.Duration
	for range 3 { // the first computes the boundaries
		began, before := time.Now(), cpuUsed(t)
		all, err := s.Slices(ctx, id, Filter{Kind: lab.Measured})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := compare.Compare(r, all, b)
		if err != nil {
			t.Fatal(err)
		}
		if want := 42 * 3 * 3; len(all) != 42*3*4*largeBlocks*2 || len(sum.Comparisons) < want {
			t.Fatalf("%d slices, %d comparisons; want %d at least", len(all), len(sum.Comparisons), want)
		}
		if took, wall = cpuUsed(t)-before, time.Since(began); took <= most {
			break
		}
	}
	t.Logf("%s of CPU, %s", took, wall)
	if took > most && largeBlocks == 40 {
		t.Errorf("reading and judging took %s of CPU, want at most %s", took, most)
	}
}

// fillLarge stores the slices of a large run, so many for each cell and block.
func fillLarge(t testing.TB, s *Store, slices int) int64 {
	t.Helper()
	ctx := t.Context()
	r := filledRun()
	r.Plan = lab.Plan{BlocksMax: 40}.WithDefaults()
	r.Variants, r.Levels, r.Sides = nil, nil, nil
	for i := range 4 {
		r.Variants = append(r.Variants, lab.Variant{Build: fmt.Sprintf("mariadb@10.%d", i), Config: "default", Engine: "InnoDB"})
	}
	groups := lab.Groups()
	for i := range 42 {
		for _, clients := range []int{1, 4, 32} {
			l := lab.Level{Step: lab.Step{Workload: "sysbench", Name: fmt.Sprintf("step-%d", i)}, Clients: clients}
			r.Levels = append(r.Levels, lab.LevelPlan{Level: l, Group: groups[i%len(groups)], Read: true, Slices: slices})
		}
	}
	r.Base = r.Variants[0]
	id, err := s.NewRun(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := s.idsOf(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	like := filledSlice(filledRun(), 1)
	like.Set, like.Restart, like.Err, like.Hist, like.Errors, like.Warnings, like.Offered, like.Wall = 0, 0, "", nil, nil, nil, 0, 0.2
	err = s.inWrite(ctx, "fill", func(tx *sql.Tx) error {
		n := 0
		for block := range largeBlocks {
			for i, l := range r.Levels {
				for seq := range slices {
					for k := range r.Variants {
						at := k
						if seq%2 == 1 {
							at = len(r.Variants) - 1 - k
						}
						sl := like
						sl.Cell = lab.Cell{Variant: r.Variants[at], Step: l.Level.Step, Clients: l.Level.Clients}
						sl.Block, sl.Seq = block, seq
						sl.Position = i*slices*4 + seq*4 + k
						sl.Ops = int64(1000 + n%37 + 10*((block*7+at*3+i)%5))
						sl.Usage.ServerUser, sl.Usage.Steal, sl.Usage.HostBusy = 0.1+0.001*float64(n%7), 0, 0
						n++
						if err := s.insertSlice(ctx, tx, append([]any{id, ids.variants[sl.Cell.Variant], ids.levels[l.Level]}, sliceValues(sl)...), sl); err != nil {
							return err
						}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// cpuUsed is the CPU time of this process so far.
func cpuUsed(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
