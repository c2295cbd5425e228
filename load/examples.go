package load

// Examples returns one statement of each kind that a step executes, as text with the
// arguments of the operation that has it first: what EXPLAIN is to be asked about. BEGIN
// and COMMIT are not among them. An unknown step has none.
func (p *Program) Examples(name string, seed uint64, block, clients int) []string {
	const operations = 1000 // for rare transactions of a mix
	st, ok := p.steps[name]
	if !ok || clients < 1 || st.unfit != nil {
		return nil
	}
	type place struct{ role, kind, at, form int }
	seen := map[place]bool{}
	var out []string
	for role, st := range st.works() {
		s := newStream(st, seed, block, clients)
		for op := range int64(operations) {
			s.start(0, op)
			for s.next() {
				if s.stmt() == nil {
					continue
				}
				at := place{role, s.kind, s.at, s.form()}
				if !seen[at] && len(out) < maxExamples {
					seen[at] = true
					out = append(out, string(s.sql(nil)))
				}
			}
		}
	}
	return out
}

// maxExamples bounds how many forms of statements are worth a look.
const maxExamples = 40
