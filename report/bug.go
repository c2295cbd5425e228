package report

import (
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"backslide/lab"
)

// Bug is what a bug report is made of beside the summary of the run.
type Bug struct {
	Candidate lab.Variant
	Level     lab.Level
	Recipe    *lab.Recipe // how to repeat it; nil: NoRecipe says why there is none
	NoRecipe  string
	// Explanation is where the time went, if somebody asked; nil: the report says how to.
	Explanation *lab.Explanation
	// Private keeps paths, host names and values of options that look secret.
	Private bool
}

// bugReport writes one; everything that comes from outside goes through its redactor.
type bugReport struct {
	*printer
	v *view
	b Bug
	c *lab.Comparison
}

// WriteBug writes what a maintainer needs to repeat and judge a difference, as Markdown:
// summary, versions, how to repeat, expected and actual with intervals, evidence,
// environment. The first block of it that is marked sh is a whole script.
func WriteBug(w io.Writer, s lab.Summary, b Bug) error {
	v := newView(s, lab.QPS)
	e, ok := v.entry(b.Candidate, b.Level, lab.QPS)
	if !ok || !e.judged() {
		return fmt.Errorf("bug report on %s with %s: it has no result in run %d", b.Level, b.Candidate, s.Run.ID)
	}
	r := &bugReport{printer: &printer{w: w}, v: v, b: b, c: e.comp}
	r.summary()
	r.versions()
	r.repeat()
	r.expected()
	r.evidence()
	r.environment()
	return r.err
}

// text makes what comes from users and servers fit for Markdown, without what is theirs.
func (r *bugReport) text(s string) string { return markdown(r.plain(s)) }

// plain leaves out paths, unless they are asked for: only their last element is kept.
func (r *bugReport) plain(s string) string {
	s = clean(s)
	if r.b.Private {
		return s
	}
	return regexp.MustCompile(`(^|[\s=:'",(])(?:~|\.{1,2})?/[^\s,'":;)]+`).ReplaceAllStringFunc(s, func(m string) string {
		i := strings.IndexByte(m, '/')
		lead := strings.TrimRight(m[:i], "~.")
		return lead + "…/" + path.Base(m[i:])
	})
}

// option returns an option as the report may show it.
func (r *bugReport) option(o lab.Option) string {
	name := lab.NormalName(o.Name)
	if !r.b.Private && (secret(name) || strings.Contains(name, "host") || name == "bind_address") {
		return "--" + o.Name + "=<left out>"
	}
	return r.plain(o.String())
}

func secret(name string) bool {
	return slices.ContainsFunc([]string{"password", "passwd", "secret", "token", "key_file", "ssl_key", "credential"}, func(part string) bool { return strings.Contains(name, part) })
}

func (r *bugReport) side(x lab.Variant) lab.Side {
	if s := r.v.Run.Sides[x.String()]; s != nil {
		return *s
	}
	return lab.Side{Build: lab.Build{Name: x.Build}, Config: lab.Config{Name: x.Config}}
}

// versionOf names a build by what its server says of itself.
func (r *bugReport) versionOf(x lab.Variant) string {
	s := r.side(x)
	name := r.plain(s.Build.Name)
	if s.Build.Version != "" {
		name = string(s.Build.Family) + " " + r.plain(s.Build.Version)
	}
	if base := r.v.Run.Base; x.Build == base.Build && x != base || r.c.Candidate.Build == base.Build {
		name += " with config " + r.plain(x.Config)
	}
	return name
}

// slower says how a candidate differs, as people say it.
func slower(c *lab.Comparison) string {
	word := "slower"
	if c.LogRatio > 0 {
		word = "faster"
	}
	return strings.TrimPrefix(strings.TrimPrefix(percent(c.LogRatio), minus), "+") + " " + word
}

func isCall(v lab.Verdict) bool { return v == lab.Regressed || v == lab.Improved }

func (r *bugReport) summary() {
	what := r.v.at(r.b.Level)
	if isCall(r.c.Verdict) {
		r.printf("# %s: %s is %s than %s\n\n", r.text(what), r.text(r.versionOf(r.c.Candidate)), slower(r.c), r.text(r.versionOf(r.c.Base)))
	} else { // a title is read alone, so it must not say what the run has not shown
		r.printf("# %s: no difference shown between %s and %s\n\n", r.text(what), r.text(r.versionOf(r.c.Candidate)), r.text(r.versionOf(r.c.Base)))
	}
	r.printf("| | |\n|:---|:---|\n")
	r.printf("| Category | %s |\n| Severity | performance |\n| Version | %s |\n| Operating system | Linux %s |\n| CPU | %s |\n\n",
		r.text(r.c.Candidate.Engine), r.text(r.side(r.c.Candidate).Build.Version), r.text(orUnknown(r.v.Run.Host.Kernel)), r.text(orUnknown(r.v.Run.Host.CPU)))
	r.printf("## Description\n\n")
	r.printf("%s makes %s op/s where %s makes %s: a ratio of %s, %s interval %s over %s, in each of which both servers were started afresh and measured in turns.\n\n",
		r.text(r.versionOf(r.c.Candidate)), amount(r.c.CandidateValue), r.text(r.versionOf(r.c.Base)), amount(r.c.BaseValue),
		ratio(r.c.LogRatio), share(1-r.v.plan.Alpha), ratioSpan(r.c.Lo, r.c.Hi), count(len(r.c.Blocks), "block"))
	switch verdict := r.c.Verdict; {
	case verdict == lab.Regressed && r.c.Red:
		r.printf("It holds at the level of the whole report, of %s.\n\n", count(r.v.Lamps.Tests, "test"))
	case verdict == lab.Regressed:
		r.printf("It holds for itself, at %s; of many comparisons some are called by chance.\n\n", share(r.v.plan.Alpha))
	default:
		r.printf("The verdict is %s: this is not a regression that the run has shown.\n\n", verdict)
	}
	if x := r.b.Explanation; x != nil && x.Headline != "" {
		r.printf("%s\n\n", r.text(x.Headline))
	}
}

func (r *bugReport) versions() {
	r.printf("## Versions and builds\n\n| | base | candidate |\n|:---|:---|:---|\n")
	row := func(name string, of func(lab.Side) string) {
		a, b := of(r.side(r.c.Base)), of(r.side(r.c.Candidate))
		if a != "" || b != "" {
			r.printf("| %s | %s | %s |\n", name, r.text(orUnknown(a)), r.text(orUnknown(b)))
		}
	}
	row("version", func(s lab.Side) string { return s.Build.Version })
	row("origin", func(s lab.Side) string { return s.Build.Origin })
	row("digest", func(s lab.Side) string { return shortID(s.Build.ID) })
	row("built with", func(s lab.Side) string { return s.Build.Flags })
	row("engine", func(s lab.Side) string { return s.Engine })
	row("allocator", func(s lab.Side) string { return s.Config.Preload })
	row("launcher", func(s lab.Side) string { return strings.Join(s.Config.Launcher, " ") })
	row("options", func(s lab.Side) string {
		var out []string
		for _, o := range s.Config.For(s.Build.Family) {
			out = append(out, r.option(o))
		}
		return strings.Join(out, " ")
	})
	r.line("")
}

// expected says what should be seen and what is, at every number of clients.
func (r *bugReport) expected() {
	r.printf("## Expected and actual\n\nExpected: at least what %s makes. Measured, %s interval:\n\n", r.text(r.versionOf(r.c.Base)), share(1-r.v.plan.Alpha))
	r.printf("| clients | %s, op/s | %s, op/s | ratio | interval | verdict |\n|---:|---:|---:|---:|:---|:---|\n", r.text(r.versionOf(r.c.Base)), r.text(r.versionOf(r.c.Candidate)))
	for _, n := range r.v.clients {
		e, ok := r.v.entry(r.b.Candidate, lab.Level{Step: r.b.Level.Step, Clients: n}, lab.QPS)
		if !ok {
			continue
		}
		if !e.judged() {
			r.printf("| %d | %s | %s | %s | | %s |\n", n, none, none, none, r.text(e.word()))
			continue
		}
		r.printf("| %d | %s | %s | %s | %s | %s |\n", n, amount(e.comp.BaseValue), amount(e.comp.CandidateValue), ratio(e.comp.LogRatio), ratioSpan(e.comp.Lo, e.comp.Hi), e.word())
	}
	r.line("")
	if e, _ := r.v.entry(r.b.Candidate, r.b.Level, lab.QPS); len(e.notes()) > 0 {
		for _, note := range e.notes() {
			r.printf("- %s\n", r.text(note))
		}
		r.line("")
	}
}

// evidence shows what an operation costs on both sides and, if somebody asked, why.
func (r *bugReport) evidence() {
	r.printf("## Evidence\n\n")
	head := fmt.Sprintf("Per operation, at %s:\n\n| | base | candidate | ratio | interval |\n|:---|---:|---:|---:|:---|\n", count(r.b.Level.Clients, "client"))
	for _, m := range lab.Metrics()[1:] {
		e, ok := r.v.entry(r.b.Candidate, r.b.Level, m)
		if !ok || !e.judged() || !finite(e.comp.LogRatio) {
			continue
		}
		sc := scaleOf(m)
		r.printf("%s", head)
		head = ""
		r.printf("| %s, %s | %s | %s | %s | %s |\n", sc.name, sc.unit, amount(e.comp.BaseValue*sc.factor), amount(e.comp.CandidateValue*sc.factor), ratio(e.comp.LogRatio), ratioSpan(e.comp.Lo, e.comp.Hi))
	}
	if head == "" {
		r.line("")
	}
	x := r.b.Explanation
	if x == nil {
		r.printf("No stacks, waits or plans were taken: `backslide explain %d %s` does that.\n\n", r.v.Run.ID, r.text(r.b.Level.Step.Name))
		return
	}
	r.components("Causes, the largest share of the difference first", causesOf(x))
	r.components("Time of an operation and client", x.Budget)
	r.components("CPU by function", x.Functions)
	r.components("Waits that burn CPU", x.Spins)
	r.components("Waits", x.Events)
	r.plans(x.Plans)
	for _, d := range x.Doubts {
		r.printf("- %s\n", r.text(d))
	}
	if len(x.Doubts) > 0 {
		r.line("")
	}
}

func causesOf(x *lab.Explanation) []lab.Component {
	var out []lab.Component
	for _, c := range x.Causes {
		a := c.Amount
		a.Name = c.What
		out = append(out, a)
	}
	return out
}

// components lists amounts on both sides, those that differ most first as they come.
func (r *bugReport) components(title string, cs []lab.Component) {
	const most = 15
	if len(cs) == 0 {
		return
	}
	r.printf("%s:\n\n| | base | candidate | difference | 99 %% interval |\n|:---|---:|---:|---:|:---|\n", title)
	for i, c := range cs {
		if i == most {
			r.printf("| and %d more | | | | |\n", len(cs)-most)
			break
		}
		factor, unit := 1.0, c.Unit
		if c.Unit == "sec/op" {
			factor, unit = 1e6, "µs/op"
		}
		span := none
		if finite(c.Lo) && finite(c.Hi) {
			span = "[" + signed(c.Lo*factor) + ", " + signed(c.Hi*factor) + "]"
		}
		r.printf("| %s, %s | %s | %s | %s | %s |\n", r.text(c.Name), r.text(unit), amount(c.Base*factor), amount(c.Candidate*factor), signed(c.Diff*factor), span)
	}
	r.line("")
}

func signed(x float64) string {
	if x > 0 {
		return "+" + amount(x)
	}
	return sign(amount(math.Abs(x) * -1))
}

func (r *bugReport) plans(changes []lab.PlanChange) {
	for _, c := range changes {
		if c.Base == c.Candidate {
			r.printf("Plan of\n\n%s\non both sides:\n\n%s\n", r.block("sql", c.Statement), r.block("", c.Base))
			continue
		}
		r.printf("Plans of\n\n%s\non the base:\n\n%s\nand on the candidate:\n\n%s\n", r.block("sql", c.Statement), r.block("", c.Base), r.block("", c.Candidate))
	}
}

// block is text as it is, in a fence that it cannot end.
func (r *bugReport) block(kind, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = r.plain(lines[i])
	}
	return fence + kind + "\n" + strings.Join(lines, "\n") + "\n" + fence + "\n"
}

func (r *bugReport) environment() {
	r.printf("## Environment\n\n")
	for _, f := range r.v.host() {
		if f.Value != "" {
			r.printf("- %s: %s\n", f.Name, r.text(f.Value))
		}
	}
	r.printf("- placement: %s; idle servers: %s\n", r.text(placementText(r.v.plan.Placement)), r.text(orUnknown(r.v.Run.Freezer)))
	for _, w := range r.v.Run.Host.Warnings {
		r.printf("- warning: %s\n", r.text(w))
	}
	for _, n := range r.v.Footnotes {
		r.printf("- %s\n", r.text(n))
	}
	r.line("")
}
