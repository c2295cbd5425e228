package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"backslide/lab"
)

// builds describes each variant's build and config, a line each.
func (v *view) builds() []string {
	var out []string
	for _, x := range v.variants {
		s := v.Run.Sides[x.String()]
		if s == nil {
			out = append(out, v.labelled(x)+": nothing known; it has not been started")
			continue
		}
		parts := []string{clean(s.Build.Version)}
		if short := shortBuilds(v.variants)[x.Build]; short != x.Build {
			parts = append(parts, clean(x.Build))
		}
		for _, p := range [][2]string{{"from ", s.Build.Origin}, {"id ", shortID(s.Build.ID)}, {"built with ", s.Build.Flags}, {"engine ", s.Engine}} {
			if p[1] != "" {
				parts = append(parts, p[0]+clean(p[1]))
			}
		}
		if o := configText(s.Config, s.Build.Family); o != "" {
			parts = append(parts, "config "+o)
		}
		for _, i := range s.Ignored {
			parts = append(parts, "no effect: "+clean(i))
		}
		out = append(out, v.labelled(x)+": "+strings.Join(parts, ", "))
	}
	return out
}

func shortID(id string) string { return id[:min(len(id), 12)] }

// configText returns a config as a command line would give it.
func configText(c lab.Config, f lab.Family) string {
	var parts []string
	for _, o := range c.For(f) {
		parts = append(parts, o.String())
	}
	if c.Preload != "" {
		parts = append(parts, "preload "+c.Preload)
	}
	if len(c.Launcher) > 0 {
		parts = append(parts, "launcher "+strings.Join(c.Launcher, " "))
	}
	return clean(strings.Join(append(parts, c.Env...), " "))
}

// measured describes plan, placement and host, a line each.
func (v *view) measured() []string {
	p := v.plan
	out := []string{
		v.blocksLine(),
		fmt.Sprintf("slices: %s; seed %d", v.slicesLine(), p.Seed),
		fmt.Sprintf("placement: %s; idle servers: %s", placementText(p.Placement), clean(orUnknown(v.Run.Freezer))),
		"host: " + v.hostLine(),
	}
	for _, r := range v.Run.Raised {
		budget := "without a limit in time"
		if r.Budget > 0 {
			budget = "in at most " + r.Budget.String()
		}
		out = append(out, fmt.Sprintf("raised to %s, %s, on %s", count(r.Blocks, "block"), budget, r.At.UTC().Format("2006-01-02 15:04:05 UTC")))
	}
	out = append(out, v.pilots()...)
	for _, w := range v.Run.Host.Warnings {
		out = append(out, "host warning: "+clean(w))
	}
	if !v.Run.Started.IsZero() {
		when := "started " + v.Run.Started.UTC().Format("2006-01-02 15:04:05 UTC")
		if v.Run.Ended.IsZero() {
			when += ", not ended: it can be resumed"
		} else {
			when += ", took " + v.Run.Ended.Sub(v.Run.Started).Round(time.Second).String()
		}
		out = append(out, when)
	}
	return out
}

// blocksLine says how many blocks the comparisons rest on.
func (v *view) blocksLine() string {
	low, high := -1, 0
	for _, c := range v.Comparisons {
		if c.Metric != lab.QPS {
			continue // a secondary metric may have fewer
		}
		n := len(c.Blocks)
		if low < 0 {
			low = n
		}
		low, high = min(low, n), max(high, n)
	}
	if low < 0 && len(v.candidates) == 0 {
		return fmt.Sprintf("blocks: at most %d; the server is started afresh in each", v.plan.BlocksMax)
	}
	low = max(low, 0)
	have := fmt.Sprint(high)
	if low != high {
		have = fmt.Sprintf("%d to %d", low, high)
	}
	return fmt.Sprintf("blocks: %s per comparison, of at most %d; every server is started afresh in each", have, v.plan.BlocksMax)
}

func placementText(p lab.Placement) string {
	switch p {
	case lab.OneCore:
		return "one-core (server and client share one CPU)"
	case lab.Split:
		return "split (server on one CPU, client on another)"
	case lab.Unpinned:
		return "unpinned (left to the kernel)"
	}
	return clean(string(p))
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// fact is one thing known of host, run or plan.
type fact struct{ Name, Value string }

// host returns what is known of the host.
func (v *view) host() []fact {
	h := v.Run.Host
	cpus := ""
	if h.CPUs > 0 {
		cpus = fmt.Sprintf("%d × ", h.CPUs)
	}
	memory := ""
	if h.Memory > 0 {
		memory = bytesOf(h.Memory)
	}
	governor := h.Governor
	if governor == "" && h.Kernel != "" {
		governor = "not told by the host"
	}
	cycles := ""
	if h.Kernel != "" {
		cycles = "no"
		if h.HardwareCycles {
			cycles = "yes"
		}
	}
	all := []fact{
		{"CPU", cpus + h.CPU}, {"memory", memory}, {"kernel", h.Kernel}, {"governor", governor},
		{"hypervisor", h.Virtual}, {"clock", h.ClockSource}, {"huge pages", h.THP}, {"swappiness", h.Swappiness},
		{"file system", h.FileSystem}, {"hardware cycle counter", cycles}, {"backslide", h.Client},
	}
	for i := range all {
		all[i].Value = clean(all[i].Value)
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" })
}

func (v *view) hostLine() string {
	var parts []string
	for _, f := range v.host() {
		if f.Name == "CPU" {
			parts = append(parts, f.Value)
			continue
		}
		parts = append(parts, f.Name+" "+f.Value)
	}
	return orUnknown(strings.Join(parts, ", "))
}

// failures returns what broke, the same thing in several blocks once.
func (v *view) failures() []string {
	var out []string
	for _, f := range v.brokenCells() {
		lines := strings.Split(strings.TrimSpace(f.reason), "\n")
		for i := range lines {
			lines[i] = clean(lines[i])
		}
		out = append(out, fmt.Sprintf("%s, %s, %s: %s", v.name(f.cell.Variant), v.at(f.cell.Level()), blockNumbers(f.blocks), strings.Join(lines, "\n")))
	}
	return out
}

// failure is one reason that broke a cell, in one or more blocks.
type failure struct {
	cell   lab.Cell
	reason string
	blocks []int
}

func (v *view) brokenCells() []failure {
	type key struct {
		cell   lab.Cell
		reason string
	}
	at := map[key]int{}
	var out []failure
	for _, f := range v.Summary.Failures {
		k := key{f.Cell, f.Err}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, failure{cell: f.Cell, reason: f.Err})
		}
		out[i].blocks = append(out[i].blocks, f.Block+1)
	}
	return out
}

// blockNumbers returns "block 3", "blocks 3, 5 and 7", or only the ends of a long list.
func blockNumbers(n []int) string {
	slices.Sort(n)
	n = slices.Compact(n)
	var s []string
	for _, b := range n {
		s = append(s, fmt.Sprint(b))
	}
	switch {
	case len(s) == 1:
		return "block " + s[0]
	case len(s) > 8:
		return fmt.Sprintf("%d blocks from %s to %s", len(s), s[0], s[len(s)-1])
	}
	return "blocks " + strings.Join(s[:len(s)-1], ", ") + " and " + s[len(s)-1]
}
