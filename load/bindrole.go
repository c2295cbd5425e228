package load

import (
	"fmt"
	"slices"
	"time"

	"backslide/lab"
)

// maxRoles bounds the connections that one client may have.
const maxRoles = 16

// limit returns how long a slice of the step may take that has ops.
func (f stepFile) limit() (time.Duration, error) {
	if f.Limit == "" {
		return time.Hour, nil
	}
	d, err := time.ParseDuration(f.Limit)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("limit = %q is not a time such as 90s or 12h", f.Limit)
	}
	return d, nil
}

// roles resolves what each connection of a client does.
func (b *stepBinder) roles() error {
	f := b.f
	if f.SQL != "" || f.Choose != nil || f.Statement != nil || f.Transaction != nil || f.Ops.set || f.Rate.set || f.Catchup.set || f.Counts.set || f.Connect != nil {
		return bad(b.at, "step %q has roles: sql, statements, counts, ops and rate are theirs, and they keep their connections", f.Name)
	}
	b.s.static, b.s.weigh, b.s.per = true, false, 1
	var names []string
	for i, rf := range f.Role {
		at := b.at.add(nth("role", i))
		switch {
		case rf.Name == "":
			return bad(at, "role number %d of step %q has no name", i+1, f.Name)
		case slices.Contains(names, rf.Name):
			return bad(at.add("name"), "step %q: role %q is there twice", f.Name, rf.Name)
		}
		when, err := b.constant(b.sc, rf.When, 1, at.add("when"))
		if err != nil {
			return err
		}
		r, err := b.role(rf, at)
		if err != nil {
			return err
		}
		if r.follows = slices.Index(names, rf.Follows); rf.Follows != "" && r.follows < 0 {
			return bad(at.add("follows"), "step %q: role %q follows %q, which is no role before it%s", f.Name, rf.Name, rf.Follows, lab.Suggest(rf.Follows, names))
		}
		if r.follows >= 0 && r.ops > 0 {
			return bad(at.add("ops"), "step %q: role %q has as many operations as %q, which it follows", f.Name, rf.Name, rf.Follows)
		}
		if when != 0 {
			names = append(names, rf.Name)
			b.s.roles = append(b.s.roles, r)
		}
	}
	if n := len(b.s.roles); n == 0 || n > maxRoles {
		return bad(b.at, "step %q has %d roles; there are 1 to %d", f.Name, n, maxRoles)
	}
	b.s.per = b.s.roles[0].per
	return nil
}

// role resolves one role as if it were a step.
func (b *stepBinder) role(rf roleFile, at path) (role, error) {
	sc := *b.sc
	sc.args = map[string]*expr{}
	sf := stepFile{
		Name: b.f.Name + " " + rf.Name, SQL: rf.SQL, Choose: rf.Choose, Statement: rf.Statement, Transaction: rf.Transaction,
		Args: overlay(b.f.Args, rf.Args), Begin: rf.Begin.or(b.f.Begin), Prepared: rf.Prepared.or(b.f.Prepared), Counts: rf.Counts,
		Ops: rf.Ops, Rate: rf.Rate, Catchup: rf.Catchup, Rows: rf.Rows, Each: rf.Each,
	}
	inner := &stepBinder{binder: b.binder, f: sf, sc: &sc, at: at, s: &step{
		name: sf.Name, read: b.s.read, retry: b.s.retry, ignore: b.s.ignore, static: true,
	}}
	r := role{step: inner.s, follows: -1, lead: 1}
	var err error
	if r.args, err = inner.args(inner.sc, sf.Args, at); err != nil {
		return r, err
	}
	if err := inner.operations(); err != nil {
		return r, err
	}
	r.static = true
	if r.lead, err = b.constant(b.sc, rf.Lead, 1, at.add("lead")); err != nil {
		return r, err
	}
	switch {
	case rf.Lead.set && rf.Follows == "":
		return r, bad(at.add("lead"), "step %q: role %q has a lead and follows none", b.f.Name, rf.Name)
	case r.lead < 1:
		return r, bad(at.add("lead"), "step %q: a lead is 1 at least", b.f.Name)
	}
	if r.unfit != nil && b.s.unfit == nil {
		b.s.unfit = r.unfit
	}
	return r, nil
}

// ends sees to it that a slice of the step has an end.
func (b *stepBinder) ends() error {
	switch finite := b.s.finite(); {
	case b.f.Limit != "" && !(finite && b.w.f.Chain):
		return bad(b.at.add("limit"), "step %q has a limit; it is for steps of a chain that have ops", b.f.Name)
	case !finite && b.s.roles != nil && !b.s.read:
		return bad(b.at, "step %q: no role has ops; one at least has to end, or the step needs read = true", b.f.Name)
	case !finite && b.s.rate != nil && !b.s.read:
		return bad(b.at.add("rate"), "step %q has a rate; it needs read = true to end by time, or ops", b.f.Name)
	}
	return nil
}
