package load

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"backslide/lab"
)

// Workload is a data set and ordered steps, as a file describes them. It is not yet
// bound to a server or to parameters.
type Workload struct {
	Name   string
	About  string
	Chain  bool    // steps build on each other's data: one number of clients
	Params []Param // sorted by name
	Steps  []StepInfo

	file string
	text string
	f    workloadFile
}

// Param is something about a workload that an experiment can set.
type Param struct {
	Name    string
	Default string // as written
}

// Parse reads a workload. Everything wrong with it, for any server and with the default
// parameters, is a *lab.SyntaxError. file is only for errors.
func Parse(file, text string) (*Workload, error) {
	w := &Workload{file: file, text: text}
	if err := lab.DecodeTOML(file, text, &w.f); err != nil {
		return nil, err
	}
	if err := w.check(); err != nil {
		return nil, syntaxError(file, text, err)
	}
	w.Name, w.About, w.Chain = w.f.Name, w.f.About, w.f.Chain
	for _, k := range keys(w.f.Params) {
		w.Params = append(w.Params, Param{k, w.f.Params[k].text})
	}
	for i := range w.f.Step {
		info, err := w.info(i)
		if err != nil {
			return nil, syntaxError(file, text, err)
		}
		w.Steps = append(w.Steps, info)
	}
	if err := w.checkSubsets(); err != nil {
		return nil, syntaxError(file, text, err)
	}
	// Choices for other servers are resolved, though not chosen, by every Bind.
	t := Target{Family: lab.MariaDB, Version: [3]int{10, 11, 0}, Engine: "InnoDB", Schema: "test", Clients: 1}
	if _, err := w.Bind(nil, t); err != nil {
		return nil, err
	}
	return w, nil
}

// check looks at names, and replaces steps that are like others.
func (w *Workload) check() error {
	f := &w.f
	if f.Name == "" {
		return bad(path{"name"}, "the workload has no name")
	}
	if len(f.Step) == 0 {
		return bad(path{}, "the workload has no [[step]]")
	}
	names := map[string]bool{}
	for i, s := range f.Step {
		at := path{nth("step", i), "name"}
		switch {
		case s.Name == "":
			return bad(at[:1], "step number %d has no name", i+1)
		case strings.ContainsAny(s.Name, "/ \t,"):
			return bad(at, "step %q: a name holds no blanks, commas or slashes", s.Name)
		case names[s.Name]:
			return bad(at, "step %q is there twice", s.Name)
		}
		names[s.Name] = true
	}
	settles := map[string]bool{}
	for i, s := range f.Settle {
		at := path{nth("settle", i)}
		switch {
		case s.Name == "":
			return bad(at, "settle number %d has no name", i+1)
		case settles[s.Name]:
			return bad(at.add("name"), "settle %q is there twice", s.Name)
		}
		settles[s.Name] = true
		for key, d := range map[string]string{"every": s.Every, "limit": s.Limit} {
			if v, err := time.ParseDuration(d); d != "" && (err != nil || v <= 0) {
				return bad(at.add(key), "%s = %q is not a time such as 200ms or 2m", key, d)
			}
		}
	}
	for i := range f.Step {
		if err := w.inherit(i, nil); err != nil {
			return err
		}
	}
	return nil
}

// inherit gives step i what the step that it is like has and itself does not say.
func (w *Workload) inherit(i int, below []string) error {
	s := &w.f.Step[i]
	if s.Like == "" {
		return nil
	}
	at := path{nth("step", i), "like"}
	if slices.Contains(below, s.Name) {
		return bad(at, "step %q is like itself", s.Name)
	}
	j := slices.IndexFunc(w.f.Step, func(o stepFile) bool { return o.Name == s.Like })
	if j < 0 {
		return bad(at, "step %q is like %q, which is no step%s", s.Name, s.Like, lab.Suggest(s.Like, w.stepNames()))
	}
	if err := w.inherit(j, append(below, s.Name)); err != nil {
		return err
	}
	*s = s.over(w.f.Step[j])
	return nil
}

// over returns s with what it does not say taken from o. Statements are replaced as a
// whole; parameters and arguments one by one.
func (s stepFile) over(o stepFile) stepFile {
	r := o
	r.Name, r.Like = s.Name, ""
	first := func(to *string, from string) {
		if from != "" {
			*to = from
		}
	}
	first(&r.About, s.About)
	first(&r.Group, s.Group)
	if s.Read != nil {
		r.Read = s.Read
	}
	if s.Warm != nil {
		r.Warm = s.Warm
	}
	if s.Tool != nil {
		r = r.forTool(s.Tool)
	}
	r.Tool = s.Tool.over(o.Tool)
	if s.Connect != nil {
		r.Connect = s.Connect
	}
	if s.SQL != "" || s.Choose != nil || s.Statement != nil || s.Transaction != nil || s.Role != nil {
		r.SQL, r.Choose, r.Statement, r.Transaction, r.Role = s.SQL, s.Choose, s.Statement, s.Transaction, s.Role
		r.Rows, r.Each = s.Rows, s.Each
	}
	r.Params, r.Args = overlay(o.Params, s.Params), overlay(r.Args, s.Args)
	r.Begin, r.Prepared = s.Begin.or(r.Begin), s.Prepared.or(o.Prepared)
	r.Counts, r.Rate = s.Counts.or(o.Counts), s.Rate.or(r.Rate)
	if s.Before != nil {
		r.Before = s.Before
	}
	if s.After != nil {
		r.After = s.After
	}
	r.Ops, r.Catchup = s.Ops.or(r.Ops), s.Catchup.or(r.Catchup)
	first(&r.Limit, s.Limit)
	if s.Retry != nil {
		r.Retry = s.Retry
	}
	if s.Ignore != nil {
		r.Ignore = s.Ignore
	}
	r.Settle, r.Side = s.Settle, s.Side // what surrounds a step is its own
	return r
}

func overlay[V any](under, over map[string]V) map[string]V {
	out := map[string]V{}
	for k, v := range under {
		out[k] = v
	}
	for k, v := range over {
		out[k] = v
	}
	return out
}

func (w *Workload) stepNames() []string {
	var out []string
	for _, s := range w.f.Step {
		out = append(out, s.Name)
	}
	return out
}

// info describes step i.
func (w *Workload) info(i int) (StepInfo, error) {
	s := w.f.Step[i]
	at := path{nth("step", i)}
	info := StepInfo{Name: s.Name, About: s.About, Group: lab.Group(s.Group), Unit: "transaction", Rate: s.Rate.set}
	if s.Read != nil {
		info.Read = *s.Read
	}
	if s.Warm != nil {
		info.Warm = *s.Warm
	}
	counts := s.Counts
	finite := s.Ops.set
	for i, r := range s.Role {
		finite = finite || r.Ops.set
		if i == 0 {
			info.Rate = r.Rate.set
			counts = r.Counts.or(counts)
		}
	}
	if counts.set {
		info.Unit = counts.text
	}
	if finite && w.f.Chain {
		info.Limit, _ = s.limit() // checked by step
	}
	if s.Tool != nil {
		info.Tool = s.Tool.Program
	}
	if err := s.checkTool(at); err != nil {
		return info, err
	}
	groups := lab.Groups()
	switch {
	case info.Warm && s.Group == "":
	case info.Warm:
		info.Group = ""
	case s.Group == "":
		return info, bad(at, "step %q has no group; it is one of %s", s.Name, join(groups))
	case !slices.Contains(groups, info.Group):
		return info, bad(at.add("group"), "step %q: unknown group %q%s", s.Name, s.Group, lab.Suggest(s.Group, strings.Split(join(groups), ", ")))
	}
	return info, nil
}

func join[S ~string](list []S) string {
	var out []string
	for _, s := range list {
		out = append(out, string(s))
	}
	return strings.Join(out, ", ")
}

func (w *Workload) checkSubsets() error {
	for _, name := range keys(w.f.Subsets) {
		if slices.Contains(w.stepNames(), name) || slices.Contains(lab.Groups(), lab.Group(name)) {
			return bad(path{"subsets", name}, "subset %q has the name of a step or a group", name)
		}
		if _, err := w.pick(w.f.Subsets[name], []string{name}); err != nil {
			return bad(path{"subsets", name}, "subset %s: %v", name, err)
		}
	}
	if w.f.Default != "" {
		if _, err := w.pick([]string{w.f.Default}, nil); err != nil {
			return bad(path{"default"}, "default: %v", err)
		}
	}
	return nil
}

// Select returns the steps with these names, of these groups, or in these named subsets
// of the file, once each and in the file's order; of a chain all up to the last. No names mean the file's default, or
// all steps.
func (w *Workload) Select(names []string) ([]StepInfo, error) {
	if len(names) == 0 && w.f.Default != "" {
		names = []string{w.f.Default}
	}
	if len(names) == 0 {
		return slices.Clone(w.Steps), nil
	}
	chosen, err := w.pick(names, nil)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	var out []StepInfo
	last := 0
	for i, s := range w.Steps {
		if chosen[s.Name] {
			out = append(out, s)
			last = i
		}
	}
	if w.Chain { // what a step finds is what all before it have left
		return slices.Clone(w.Steps[:last+1]), nil
	}
	return out, nil
}

// selectable returns the names that Select knows.
func (w *Workload) selectable() []string {
	known := append(w.stepNames(), keys(w.f.Subsets)...)
	for _, s := range w.Steps {
		if s.Group != "" && !slices.Contains(known, string(s.Group)) {
			known = append(known, string(s.Group))
		}
	}
	return known
}

// Has reports whether the workload has a step, group or subset of that name.
func (w *Workload) Has(name string) bool {
	known := w.selectable()
	return slices.Contains(known, lab.Spelled(name, known))
}

// pick resolves names; within are the subsets that are being resolved.
func (w *Workload) pick(names, within []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, name := range names {
		name = lab.Spelled(name, w.selectable())
		found := false
		for _, s := range w.Steps {
			if s.Name == name || s.Group != "" && string(s.Group) == name {
				out[s.Name], found = true, true
			}
		}
		subset, ok := w.f.Subsets[name]
		switch {
		case found:
		case !ok:
			return nil, fmt.Errorf("no step, group or subset is called %q%s", name, lab.Suggest(name, w.selectable()))
		case slices.Contains(within, name):
			return nil, fmt.Errorf("subset %q holds itself", name)
		default:
			inner, err := w.pick(subset, append(slices.Clone(within), name))
			if err != nil {
				return nil, err
			}
			for s := range inner {
				out[s] = true
			}
		}
	}
	return out, nil
}
