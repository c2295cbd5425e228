package explain

import (
	"math"
	"slices"

	"backslide/lab"
	"backslide/stat"
)

// clientCause blames the client for its turnaround, unless others had more of the CPUs
// and it did not use more of them itself.
func (x *evidence) clientCause(turnaround lab.Component) lab.Cause {
	c := lab.Cause{Kind: lab.ClientCause, What: "the client, and the way to it", Amount: turnaround}
	used := 0.0
	if known(x.all, clientUser) {
		blocks := telling(x.all, clientUser, clientSystem)
		own := component("client, CPU", "sec/op", of(blocks, clientUser).plus(of(blocks, clientSystem)), stat.Prior{})
		used = own.Diff
		if own.Holds() {
			c.Evidence = append(c.Evidence, "CPU of the client: "+amounts(own))
		}
	}
	if busy, ok := x.others(turnaround); ok && math.Abs(used) < math.Abs(turnaround.Diff)/2 {
		c.Kind, c.What = lab.HostCause, othersDid
		c.Evidence = append(c.Evidence, "the client waited for a CPU; "+busy)
	}
	return c
}

const othersDid = "not the server: other processes had the CPUs that were waited for"

// others says that other processes had more CPUs on the side that needed more of something.
func (x *evidence) others(than lab.Component) (string, bool) {
	if !known(x.all, hostBusy) {
		return "", false
	}
	busy := component("CPUs busy with other processes", "CPUs", of(x.all, hostBusy), stat.Prior{})
	if !busy.Holds() || busy.Diff*than.Diff <= 0 || math.Abs(busy.Diff) < disturbing {
		return "", false
	}
	return busy.Name + ": " + amounts(busy), true
}

// mergeHost makes one cause of all that other processes are to blame for. Its parts may go
// together, so that half-widths add up.
func mergeHost(causes []lab.Cause) []lab.Cause {
	at := -1
	var out []lab.Cause
	for _, c := range causes {
		if c.What != othersDid {
			out = append(out, c)
			continue
		}
		c.Evidence = append([]string{c.Amount.Name + ": " + amounts(c.Amount)}, c.Evidence...)
		if at < 0 {
			at, out = len(out), append(out, c)
			continue
		}
		all := &out[at]
		for _, e := range c.Evidence {
			if !slices.Contains(all.Evidence, e) {
				all.Evidence = append(all.Evidence, e)
			}
		}
		a, b := &all.Amount, c.Amount
		a.Name = "waiting for CPUs that others had"
		a.Base, a.Candidate, a.Diff, a.Share = a.Base+b.Base, a.Candidate+b.Candidate, a.Diff+b.Diff, a.Share+b.Share
		a.Lo, a.Hi, a.N = a.Lo+b.Lo, a.Hi+b.Hi, min(a.N, b.N)
	}
	return out
}

// stolen names the hypervisor where the CPU time that it took is most of what threads
// were neither running nor waiting in.
func (x *evidence) stolen(rest lab.Component) (lab.Cause, bool) {
	if !known(x.all, steal) {
		return lab.Cause{}, false
	}
	c := component("CPUs taken by the hypervisor", "CPUs", of(x.all, steal), stat.Prior{})
	// A CPU that is taken keeps one client at most from going on.
	lost := (c.Candidate*mean(of(x.all, period).cand) - c.Base*mean(of(x.all, period).base)) / float64(x.Comparison.Level.Clients)
	if !c.Holds() || c.Diff*rest.Diff <= 0 || math.Abs(lost) < math.Abs(rest.Diff)/2 {
		return lab.Cause{}, false
	}
	return lab.Cause{Kind: lab.HostCause, What: "not the server: the hypervisor took CPU time", Amount: rest, Evidence: []string{c.Name + ": " + amounts(c)}}, true
}

// runqCauses says who had the CPUs that threads waited for.
func (x *evidence) runqCauses() []lab.Cause {
	if x.runqPart == nil {
		return nil
	}
	q := x.component(runqLine, *x.runqPart)
	if !q.Holds() {
		return nil
	}
	c := lab.Cause{Kind: lab.RunqCause, What: "waiting for a CPU", Amount: q}
	if busy, ok := x.others(q); ok {
		c.Kind, c.What, c.Evidence = lab.HostCause, othersDid, []string{busy}
		return []lab.Cause{c}
	}
	if known(x.all, steal) {
		took := component("CPUs taken by the hypervisor", "CPUs", of(x.all, steal), stat.Prior{})
		if took.Holds() && took.Diff*q.Diff > 0 && math.Abs(took.Diff) > disturbing {
			c.Kind, c.What, c.Evidence = lab.HostCause, "not the server: the hypervisor took the CPUs that it waited for", []string{took.Name + ": " + amounts(took)}
			return []lab.Cause{c}
		}
	}
	if busy := component("CPUs busy with other processes", "CPUs", of(x.all, hostBusy), stat.Prior{}); max(busy.Base, busy.Candidate) > disturbing {
		c.Evidence = append(c.Evidence, busy.Name+" on both sides: "+amounts(busy))
	}
	if s, ok := x.background(); ok && c.Kind == lab.RunqCause {
		b := component("background threads, CPU", "sec/op", s, stat.Prior{})
		// That much CPU per operation is used by all clients' operations together.
		if b.Holds() && b.Diff*q.Diff > 0 && math.Abs(b.Diff)*float64(x.Comparison.Level.Clients) > math.Abs(q.Diff)/10 {
			c.Kind, c.What = lab.OverheadCause, "waiting for a CPU that background threads of the server had"
			c.Evidence = append(c.Evidence, b.Name+": "+amounts(b))
		}
	}
	return []lab.Cause{c}
}

const disturbing = 0.05 // CPUs of others from which on they are a disturbance
