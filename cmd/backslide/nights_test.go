package main

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"backslide/lab"
	"backslide/store"
)

// nights is a command of scripts: nights LAB NAME FROM RUNS RATIO… stores runs of an
// experiment without servers. From run FROM on the candidate does RATIO times as much at
// each level; slices have noise of 1 %.
func nights(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: nights LAB NAME FROM RUNS RATIO…")
	}
	from, err := strconv.Atoi(args[2])
	ts.Check(err)
	runs, err := strconv.Atoi(args[3])
	ts.Check(err)
	var ratios []float64
	for _, a := range args[4:] {
		r, err := strconv.ParseFloat(a, 64)
		ts.Check(err)
		ratios = append(ratios, r)
	}
	st, err := store.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer st.Close()
	rng := rand.New(rand.NewPCG(4, uint64(len(args[1]))))
	for i := range runs {
		now := make([]float64, len(ratios))
		for k, r := range ratios {
			if i+1 >= from {
				now[k] = math.Log(r)
			}
		}
		ts.Check(storeNight(st, args[1], i, now, rng))
	}
}

// storeNight stores one run of 5 blocks.
func storeNight(st *store.Store, name string, night int, off []float64, rng *rand.Rand) error {
	ctx := context.Background()
	base := lab.Variant{Build: "mariadb@10.11", Config: "default", Engine: "InnoDB"}
	cand := lab.Variant{Build: "nightly", Config: "default", Engine: "InnoDB"}
	start := time.Date(2026, 11, 1+night, 2, 0, 0, 0, time.UTC)
	r := lab.Run{
		Name: name, Started: start, Plan: lab.Plan{Slices: 4, Slice: time.Second}.WithDefaults(), Base: base, Variants: []lab.Variant{base, cand},
		Host: lab.Host{CPU: "Xeon", CPUs: 2},
	}
	for i := range off {
		l := lab.Level{Step: lab.Step{Workload: "sysbench", Name: "step" + strconv.Itoa(i)}, Clients: 1}
		r.Levels = append(r.Levels, lab.LevelPlan{Level: l, Group: lab.Point, Read: true, Slice: time.Second, Slices: 4})
	}
	id, err := st.NewRun(ctx, r)
	if err != nil {
		return err
	}
	for block := range 5 {
		position := 0
		for i, l := range r.Levels {
			for seq := range 4 {
				for k := range 2 {
					v := []lab.Variant{base, cand}[(k+seq)%2]
					ln := math.Log(10_000) + 0.01*rng.NormFloat64()
					if v == cand {
						ln += off[i]
					}
					err := st.AddSlice(ctx, id, lab.Slice{
						SliceKey: lab.SliceKey{Block: block, Cell: lab.Cell{Variant: v, Step: l.Level.Step, Clients: 1}, Seq: seq, Kind: lab.Measured},
						Position: position, Start: start.Add(time.Duration(position) * time.Second), Wall: 1, Ops: int64(math.Exp(ln)),
					})
					if err != nil {
						return err
					}
					position++
				}
			}
		}
	}
	return st.EndRun(ctx, id, start.Add(time.Hour))
}
