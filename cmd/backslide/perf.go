package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"backslide/lab"
	"backslide/probe/stacks"
	"backslide/proc"
)

// sampler records call stacks of servers with perf.
type sampler struct {
	dir       string // for recordings; they are read and removed
	event     string
	callGraph string // as stacks.Record has it
	guard     *proc.Guard
}

// How long a recording may take beside the slice.
const (
	attachTime = 10 * time.Second // for perf to find all threads
	scriptTime = 5 * time.Minute  // for perf to write it as text
	// recordingMax keeps a recording of many threads from filling the disk.
	recordingMax = 1 << 30
)

// stackSamples is what a recording held.
type stackSamples struct {
	profiles []*stacks.Profile // one for each selection of threads
	notes    []string          // what makes them doubtful
}

// start starts perf on a process and returns once it records. What it returns ends it and
// reads the recording, as often as told: once for each selection of threads.
func (s *sampler) start(ctx context.Context, pid int) (func(context.Context, ...stacks.Select) (stackSamples, error), error) {
	dir, err := os.MkdirTemp(s.dir, "perf")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "data")
	var complaint strings.Builder
	p, err := proc.Start(proc.Spec{
		Args: stacks.Record{PID: pid, Event: s.event, CallGraph: s.callGraph, Frequency: s.frequency(), Output: file, MaxSize: recordingMax}.Args(), Env: stacks.Env(os.Environ()),
		Stderr: &complaint, Guard: s.guard, Remove: []string{dir},
	})
	if err != nil {
		os.RemoveAll(dir)
		if errors.Is(err, proc.ErrMissing) {
			return nil, fmt.Errorf("no stacks: %w; install linux-perf", err)
		}
		return nil, err
	}
	if err := recording(ctx, p); err != nil {
		p.Kill()
		os.RemoveAll(dir)
		return nil, explained(err, complaint.String())
	}
	return func(ctx context.Context, selections ...stacks.Select) (stackSamples, error) {
		defer os.RemoveAll(dir)
		ctx, cancel := context.WithTimeout(ctx, scriptTime)
		defer cancel()
		err := p.Stop(ctx)
		if _, statErr := os.Stat(file); err != nil || statErr != nil {
			return stackSamples{}, explained(errors.Join(err, statErr), complaint.String())
		}
		return s.read(ctx, file, selections)
	}, nil
}

// frequency is how many samples a second of CPU time gives: as many as short slices need to
// tell functions apart, or perf's usual number where each carries a copy of the stack.
func (s *sampler) frequency() int {
	if s.callGraph == stacks.Dwarf {
		return 0
	}
	return 997
}

// recording waits until perf has opened its events. It says nothing of that, so we look
// at its open files.
func recording(ctx context.Context, p *proc.Process) error {
	ctx, cancel := context.WithTimeout(ctx, attachTime)
	defer cancel()
	seen := 0
	for {
		select {
		case <-p.Done():
			return errors.Join(p.Err(), errors.New("perf ended by itself"))
		case <-ctx.Done():
			return fmt.Errorf("perf did not record after %s", attachTime)
		case <-time.After(20 * time.Millisecond):
		}
		n := perfEvents(p.PID())
		if n > 0 && n == seen {
			return nil // it has stopped opening more
		}
		seen = n
	}
}

// perfEvents counts the events that a process has open.
func perfEvents(pid int) int {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return 0
	}
	n := 0
	for _, f := range files {
		if to, err := os.Readlink(f); err == nil && to == "anon_inode:[perf_event]" {
			n++
		}
	}
	return n
}

// explained puts what perf wrote to its error output into an error.
func explained(err error, complaint string) error {
	if why := stacks.Explain(complaint); why != nil {
		return fmt.Errorf("no stacks: %w", why)
	}
	lines := strings.Split(strings.TrimSpace(complaint), "\n")
	return fmt.Errorf("no stacks: %w: %s", err, lines[len(lines)-1])
}

// read has perf write a recording as text, and reads that once for each selection.
func (s *sampler) read(ctx context.Context, file string, selections []stacks.Select) (stackSamples, error) {
	text, err := os.Create(file + ".txt")
	if err != nil {
		return stackSamples{}, err
	}
	defer text.Close()
	var complaint strings.Builder
	script := proc.Command{Args: stacks.Script{Input: file}.Args(), Env: stacks.Env(os.Environ()), Stdout: text, Stderr: &complaint}
	if _, err := proc.Output(ctx, script); err != nil {
		return stackSamples{}, explained(err, err.Error())
	}
	var out stackSamples
	if lost := stacks.Losses(complaint.String()); lost != "" {
		out.notes = append(out.notes, lost)
	}
	for i, sel := range selections {
		if _, err := text.Seek(0, 0); err != nil {
			return stackSamples{}, err
		}
		rec, err := stacks.Parse(text, sel)
		if err != nil {
			return stackSamples{}, fmt.Errorf("read perf's stacks: %w", err)
		}
		if i == 0 { // the others read the same text
			out.notes = append(out.notes, rec.Doubts()...)
		}
		p := &stacks.Profile{Event: s.event}
		if len(rec.Profiles) > 0 {
			p = rec.Profiles[0]
		}
		out.profiles = append(out.profiles, p)
	}
	return out, nil
}

// kernelMark stands behind the names of the kernel's functions.
const kernelMark = " [kernel]"

// amounts returns the CPU time of a profile's functions, in seconds per operation, when
// all of it is cpu.
func amounts(p *stacks.Profile, cpu float64) []lab.Amount {
	total := p.Total().Weight
	if total <= 0 || cpu <= 0 {
		return nil
	}
	var out []lab.Amount
	at := map[string]int{}
	for _, f := range p.Flat() {
		if f.Self.Samples == 0 {
			continue
		}
		name := stacks.Short(f.Name)
		if f.Kernel {
			name += kernelMark
		}
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name], out = i, append(out, lab.Amount{Name: name})
		}
		out[i].Value += cpu * f.Self.Weight / total
	}
	return out
}
