package compare

import (
	"fmt"
	"math"

	"backslide/lab"
	"backslide/stat"
)

const (
	// redLevel is the chance of even one false red in a whole report.
	redLevel = 0.05
	// redSecondary is the share of it that metrics other than throughput may use up: they
	// are six times as many and decide nothing, and are not to cost throughput its power.
	redSecondary = 0.2
)

// family counts the tests that the run was going to make, before its first block: what it
// then could measure does not change their levels.
func (j *judge) family() lab.Lamps {
	candidates := 0
	for _, v := range j.candidates {
		if !j.monitor(v) {
			candidates++
		}
	}
	f := lab.Lamps{
		Tests:     candidates * (len(j.levels) + len(j.groupings())),
		Secondary: candidates * len(j.levels) * firstLatency,
		Alpha:     j.plan.Alpha, Level: redLevel,
	}
	for _, l := range j.levels {
		if l.Open {
			f.Secondary += candidates * (perOp - firstLatency)
		}
	}
	f.AlphaRed = min(f.Alpha, stat.RedAlpha(redLevel*(1-redSecondary), f.Tests))
	f.AlphaRedSecondary = min(f.Alpha, stat.RedAlpha(redLevel*redSecondary, f.Secondary))
	f.FalseAmbers = f.Alpha * float64(f.Tests)
	return f
}

// monitor reports whether v is a copy of the base, whose alarms are all false.
func (j *judge) monitor(v lab.Variant) bool {
	b := j.run.Base
	b.Copy = v.Copy
	return v.Copy > 0 && v == b && j.plan.Inject == 0
}

func (j *judge) alphaRed(m lab.Metric) float64 {
	if m == lab.QPS {
		return j.lamps.AlphaRed
	}
	return j.lamps.AlphaRedSecondary
}

// goOn follows a comparison that was called at the look l, after n blocks, until its red
// lamp is lit: a test with a boundary of its own on the same blocks. The look that lights
// it is then the one that counts. Else it is l, or if the plan asked for blocks on purpose
// the last one that says what l says: intervals hold at all looks at once.
func (j *judge) goOn(d []float64, n int, l look, prior stat.Prior, alpha float64) (int, look, bool) {
	lastN, last := n, l
	for k := n; k <= len(d); k++ {
		at := l
		if k > n {
			at = j.look(d[:k], prior)
			at.call = l.call
		}
		if (at.est.Mean > 0) != (l.call == stat.Higher) {
			continue
		}
		if math.Abs(at.est.T()) >= j.critical(at.est, alpha) {
			return k, at, true
		}
		if j.plan.Stop == lab.UntilRed && (at.rci.Lo > 0 || at.rci.Hi < 0) {
			lastN, last = k, at
		}
	}
	return lastN, last, false
}

// light sets the lamps of a comparison whose test for red has called or not.
func (j *judge) light(c *lab.Comparison, p *pair, red bool) {
	if c.Metric == lab.QPS {
		if note := j.clientBound(p); note != "" {
			c.Notes = append(c.Notes, note+": the ratio is a lower bound, and never red")
			c.Bound, c.Held, red = true, red, false
		}
	}
	c.Red = red
}

// hold puts out all red lamps of a run whose two copies of the base differ.
func hold(cs []lab.Comparison, groups []lab.GroupSummary) {
	one := func(c *lab.Comparison) {
		if c.Red {
			c.Red, c.Held = false, true
			c.Notes = append(c.Notes, "red is held: the base and its copy are called different more often than chance allows")
		}
	}
	for i := range cs {
		one(&cs[i])
	}
	for i := range groups {
		one(&groups[i].Test)
	}
}

// Thresholds of being bound by the client, as shares of the CPUs that a side may use and
// has threads for.
const (
	fullyBusy = 0.85 // from which on there is no more to be had
	idling    = 0.70 // under which a server with CPUs of its own waits for the client
)

// clientBound says that the client, and not the server, decides how many operations a
// pair, or any member of a summary, does in a second; "" if it does not, or nobody can tell.
func (j *judge) clientBound(p *pair) string {
	if p.members != nil {
		n := 0
		for _, m := range p.members {
			if j.clientBound(m) != "" {
				n++
			}
		}
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("client-bound in %d of %d", n, len(p.members))
	}
	for _, v := range []lab.Variant{j.run.Base, p.candidate} {
		client, server, bound := j.busy(j.of(v, p.plan.Level).use, p.plan.Level.Clients)
		if bound {
			return fmt.Sprintf("client-bound with %s (client busy %.0f %%, server %.0f %%)", v, 100*client, 100*server)
		}
	}
	return ""
}

// busy returns how busy client and server are, as shares of the CPUs that they may use and
// have threads for, negative where the host does not tell, and whether the client is what
// limits. Where both work in turns, one client alone or all on the same CPUs, it limits
// when little time is left over and it takes more than the server.
func (j *judge) busy(u use, clients int) (client, server float64, bound bool) {
	if u.wall == 0 || u.client < 0 || u.server < 0 {
		return -1, -1, false
	}
	forClient, forServer := j.cpus(clients)
	client, server = u.client/u.wall/forClient, u.server/u.wall/forServer
	if j.plan.Placement == lab.Split && clients > 1 {
		return client, server, client >= fullyBusy && server < idling
	}
	return client, server, client+server >= fullyBusy && client > server
}

// cpus returns how many CPUs so many clients, and the threads that serve them, can use.
func (j *judge) cpus(clients int) (client, server float64) {
	all := max(1, j.run.Host.CPUs)
	forClient, forServer := all, all
	switch j.plan.Placement {
	case lab.OneCore:
		forClient, forServer = 1, 1
	case lab.Split:
		forServer = max(1, all/2)
		forClient = max(1, all-forServer)
	}
	return float64(min(forClient, max(1, clients))), float64(min(forServer, max(1, clients)))
}
