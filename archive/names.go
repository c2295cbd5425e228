package archive

import (
	"path"
	"regexp"
	"strings"

	"backslide/lab"
)

// place is what the path of a file says of what is in it.
type place struct {
	dir     string // folder, below the root
	stem    string // name without an extension
	variant Variant
	test    Test
	known   bool // the test comes from the name of the file
	client  int  // of an insert benchmark: which client's file it is, from 1; 0: not said
}

// patterns are compiled once per import.
type patterns struct {
	folder, config, test, step, client, time, rate *regexp.Regexp
}

func newPatterns() *patterns {
	return &patterns{
		// x.my8044_rel_o2nofp.z12a_c8r32.pk1
		folder: regexp.MustCompile(`^x\.([^.]+)\.(.+)\.pk(\d+)$`),
		// z12a_c8r32, cx6d, za1: a letter before a digit, unlike the versions of 10.11 and mysql-8.0
		config: regexp.MustCompile(`^[A-Za-z]+[0-9]+[A-Za-z0-9]*(_[A-Za-z0-9_+-]*)?$`),
		// sb.met.point-query.pre.range100.pk1.dop40, and what the reference's tables call it
		test: regexp.MustCompile(`^(?:sb\.)?(prepare\.)?(?:(?:o|met|vm|io|ps|mo)\.)?([A-Za-z][A-Za-z0-9._-]*?)[._]range=?(\d{1,9})(?:\.pk(\d{1,3}))?(?:\.dop(\d{1,6}))?$`),
		// the folders of the insert benchmark
		step: regexp.MustCompile(`^(l\.i[0-2]|l\.x|q[rp]?[0-9]+(\.L?[0-9]+)?)$`),
		// o.ib.dop8.3
		client: regexp.MustCompile(`\.dop(\d{1,6})\.(\d{1,6})$`),
		// of people's own tables: what says that figures are times, or rates
		time: regexp.MustCompile(`(?i)\b(sec(ond)?s?|m(illi)?sec(ond)?s?|ms|(u|µ|micro)sec(ond)?s?|latency|latencies|(response|elapsed|run|wall|query|load|execution)[ _-]?times?|p(50|90|95|99|999))\b`),
		rate: regexp.MustCompile(`(?i)\b(q|t|i|r)ps\b|\bop(eration)?s?\b|\b(quer(y|ies)|transactions?|rows?) ?(/|per) ?s|\brates?\b|\bthroughput\b`),
	}
}

// variant reads a label: build.config with the decoration of the reference's folders, or
// any other name, which is then the build's. pk is the number behind .pk; empty: none.
func (p *patterns) variant(s string) (v Variant, pk string) {
	s = strings.TrimSpace(s)
	if m := p.folder.FindStringSubmatch(path.Base(s)); m != nil {
		m[1], m[2] = clean(m[1]), clean(m[2])
		return Variant{Build: m[1], Config: m[2]}, m[3]
	}
	s = clean(s)
	if build, config, ok := strings.Cut(s, "."); ok && build != "" && p.config.MatchString(config) {
		return Variant{Build: build, Config: config}, ""
	}
	return Variant{Build: s}, ""
}

// reference reads the name of a test as the reference scripts write it: with the range
// behind ".range" or "_range=". The load is the step "prepare".
func (p *patterns) reference(s string) (t Test, pk string, ok bool) {
	m := p.test.FindStringSubmatch(s)
	if m == nil {
		return Test{}, "", false
	}
	t = Test{Workload: "sysbench", Step: clean(m[2])}
	t.Range, _ = count(m[3])
	t.Clients, _ = count(m[5])
	if m[1] != "" {
		t = Test{Workload: "sysbench", Step: "prepare"}
	}
	return t, m[4], true
}

// row reads the name of a table's row, which may be a reference test or anything else.
func (p *patterns) row(s string) Test {
	if t, pk, ok := p.reference(strings.TrimSpace(s)); ok {
		return t.on(pk)
	}
	return Test{Step: clean(s)}
}

// on puts the data set into the workload where it is not the usual one, with a primary key.
func (t Test) on(pk string) Test {
	if pk != "" && pk != "1" && t.Workload != "" {
		t.Workload += "-pk" + pk
	}
	return t
}

// place reads a path. What it does not say, the options do.
func (p *patterns) place(name string, o Options) place {
	dir, file := path.Split(name)
	out := place{dir: strings.TrimSuffix(dir, "/"), stem: stem(file)}
	if out.dir == "" {
		out.dir = "."
	}
	folders := strings.Split(out.dir, "/")
	if out.dir == "." && o.Root != "" {
		// the user gave a folder of results itself: its name is all there is
		if base := path.Base(strings.ReplaceAll(o.Root, "\\", "/")); p.folder.MatchString(base) || p.step.MatchString(base) {
			folders = strings.Split(strings.ReplaceAll(o.Root, "\\", "/"), "/")
		}
	}
	t, pk, ok := p.reference(file)
	out.test, out.known = t, ok
	found := false
	for i := len(folders) - 1; i >= 0 && !found; i-- {
		if p.folder.MatchString(folders[i]) {
			var fpk string
			out.variant, fpk = p.variant(folders[i])
			if pk == "" {
				pk = fpk
			}
			found = true
		}
	}
	if last := folders[len(folders)-1]; !found && len(folders) > 1 && p.step.MatchString(last) {
		out.variant, _ = p.variant(folders[len(folders)-2])
		found = true
	}
	if last := folders[len(folders)-1]; p.step.MatchString(last) {
		out.test = Test{Workload: "ibench", Step: last}
		out.known = true
	}
	if m := p.client.FindStringSubmatch(file); m != nil {
		out.test.Clients, _ = count(m[1])
		out.client, _ = count(m[2])
	}
	out.test = out.test.on(pk)
	if !found {
		switch {
		case o.Build != "":
			out.variant.Build = o.Build
		case out.dir != ".":
			out.variant, _ = p.variant(folders[len(folders)-1])
		default:
			out.variant, _ = p.variant(out.stem)
		}
		if o.Config != "" {
			out.variant.Config = o.Config
		}
	}
	out.variant.Host = o.Host
	return out
}

// stem returns a file's name without the extensions that only say what a file is.
func stem(file string) string {
	for _, ext := range []string{".txt", ".out", ".log", ".csv", ".tsv", ".json", ".bench"} {
		if s, ok := strings.CutSuffix(file, ext); ok && s != "" {
			return clean(s)
		}
	}
	return clean(file)
}

// Warm reports whether a step of the reference scripts only warms up, so that its figures
// are no results.
func Warm(step string) bool {
	return strings.HasSuffix(step, ".warm") || strings.HasSuffix(step, ".warmpre")
}

// Group returns the group of a step of the reference scripts or the insert benchmark, and
// false for a warm-up and for a step that neither has. read-only-simple counts as an
// aggregate, as in the published tables, though it has none.
func Group(step string) (lab.Group, bool) {
	if Warm(step) {
		return "", false
	}
	s := strings.TrimSuffix(step, ".pre")
	switch s {
	case "prepare", "l.i0", "l.x":
		return lab.Load, true
	case "point-query", "hot-points", "random-points":
		return lab.Point, true
	case "scan":
		return lab.Range, true
	case "read-write", "write-only", "delete", "insert", "l.i1", "l.i2":
		return lab.Write, true
	}
	for _, g := range []struct {
		prefix string
		group  lab.Group
	}{
		{"points-", lab.Point}, {"range-", lab.Range}, {"read-only", lab.Aggregate},
		{"update-", lab.Write}, {"qp", lab.Point}, {"qr", lab.Range},
	} {
		if strings.HasPrefix(s, g.prefix) {
			return g.group, true
		}
	}
	return "", false
}
