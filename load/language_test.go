package load

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// TestMistakes has one mistake each, and the line and the words that should point at it.
func TestMistakes(t *testing.T) {
	head := "name = \"w\"\n[params]\nrows = 10\nlabel = \"'x'\"\n" // lines 1 to 4
	step := "[[step]]\nname = \"s\"\ngroup = \"point\"\nread = true\n"
	for _, c := range []struct {
		name, text string
		line       int
		words      string
	}{
		{"no name", step + `sql = "SELECT 1"`, 0, "no name"},
		{"no step", head, 0, "no [[step]]"},
		{"unknown key", head + step + "sqll = \"SELECT 1\"", 9, "did you mean sql"},
		{"unknown key of a choice", head + step + `choose = [{ sql = "SELECT 1", famly = "mysql" }]`, 9, "did you mean family"},
		{"unknown family", head + step + `choose = [{ sql = "SELECT 1", family = "postgres" }]`, 9, "postgres"},
		{"bad version", head + step + `choose = [{ sql = "SELECT 1", from = "eight" }]`, 9, "not a version"},
		{"unknown engine", head + step + `choose = [{ sql = "SELECT 1", engine = ["InoDB"] }]`, 9, "did you mean InnoDB"},
		{"wrong type", head + step + "read = 3\nsql = \"SELECT 1\"", 9, ""},
		{"unknown group", head + "[[step]]\nname = \"s\"\ngroup = \"pint\"\nsql = \"SELECT 1\"", 7, "did you mean point"},
		{"no group", head + "[[step]]\nname = \"s\"\nsql = \"SELECT 1\"", 5, "no group"},
		{"twice", head + step + "sql = \"SELECT 1\"\n" + step + "sql = \"SELECT 2\"", 11, "there twice"},
		{"no sql", head + step, 5, "needs one of sql"},
		{"two forms", head + step + "sql = \"SELECT 1\"\n[[step.statement]]\nsql = \"SELECT 2\"", 5, "needs one of sql"},
		{"unknown parameter", head + step + "sql = \"SELECT :a\"\nargs.a = \"uniform(1, $row)\"", 10, "unknown parameter $row; did you mean rows"},
		{"parameter without $", head + step + "sql = \"SELECT :a\"\nargs.a = \"uniform(1, rows)\"", 10, "written $rows"},
		{"unknown argument", head + step + "sql = \"SELECT :b\"\nargs.abc = 1", 9, "unknown argument :b"},
		{"unknown name", head + step + "sql = \"SELECT :a\"\nargs.a = \"serail % 5\"", 10, "did you mean serial"},
		{"unknown function", head + step + "sql = \"SELECT :a\"\nargs.a = \"unifrm(1, 2)\"", 10, "did you mean uniform"},
		{"too few", head + step + "sql = \"SELECT :a\"\nargs.a = \"uniform(1)\"", 10, "needs 2 arguments"},
		{"not whole", head + step + "sql = \"SELECT :a\"\nargs.a = \"uniform('a', 2)\"", 10, "argument 1 of uniform is not a whole number"},
		{"empty range", head + step + "sql = \"SELECT :a\"\nargs.a = \"uniform(2, 1)\"", 10, "holds no number"},
		{"syntax", head + step + "sql = \"SELECT :a\"\nargs.a = \"uniform(2, 1\"", 10, ") is missing"},
		{"unclosed text", head + step + "sql = \"SELECT :a\"\nargs.a = \"concat('a\"", 10, "closing quote"},
		{"rest", head + step + "sql = \"SELECT :a\"\nargs.a = \"1 2\"", 10, "unexpected 2"},
		{"division by what changes", head + step + "sql = \"SELECT :a\"\nargs.a = \"7 / op\"", 10, "known beforehand"},
		{"division by zero", head + step + "sql = \"SELECT :a\"\nargs.a = \"7 % 0\"", 10, "above 0"},
		{"circle", head + step + "sql = \"SELECT :a\"\nargs.a = \"b + 1\"\nargs.b = \"a + 1\"", 10, "made of itself"},
		{"circle of parameters", "name = \"w\"\n[params]\na = \"$b\"\nb = \"$a\"\n" + step + "sql = \"SELECT 1\"", 3, "made of itself"},
		{"reserved", head + step + "sql = \"SELECT :op\"\nargs.op = 1", 10, "has a meaning already"},
		{"brace", head + step + "sql = \"SELECT {\"", 9, "without its }"},
		{"other brace", head + step + "sql = \"SELECT }\"", 9, "without its {"},
		{"text in braces", head + step + "sql = \"SELECT {a}\"\nargs.a = \"hex(5)\"", 9, "bind others with :name"},
		{"unbounded", head + step + "sql = \"SELECT {op}\"", 9, "more than 4096 texts"},
		{"like nothing", head + "[[step]]\nname = \"s\"\nlike = \"r\"", 7, "which is no step"},
		{"like itself", head + "[[step]]\nname = \"s\"\nlike = \"r\"\n[[step]]\nname = \"r\"\nlike = \"s\"", 7, "like itself"},
		{"step's parameter", head + step + "params.rws = 3\nsql = \"SELECT 1\"", 9, "did you mean rows"},
		{"settle", head + step + "settle = [\"flush\"]\nsql = \"SELECT 1\"", 9, "not in the file"},
		{"settle time", head + "[[settle]]\nname = \"x\"\nlimit = \"soon\"\n" + step + "sql = \"SELECT 1\"", 7, "not a time"},
		{"settle count", head + "[[settle]]\nname = \"x\"\ncount = -1\ndo = [\"A{t}\"]\n" + step + "sql = \"SELECT 1\"", 7, "outside"},
		{"t without count", head + "[[settle]]\nname = \"x\"\ndo = [\"A{t}\"]\n" + step + "sql = \"SELECT 1\"", 7, "unknown name \"t\""},
		{"subset", head + "[subsets]\nfew = [\"t\"]\n" + step + "sql = \"SELECT 1\"", 6, "no step, group or subset"},
		{"subset of itself", head + "[subsets]\nfew = [\"few\"]\n" + step + "sql = \"SELECT 1\"", 6, "holds itself"},
		{"default", "name = \"w\"\ndefault = \"few\"\n" + step + "sql = \"SELECT 1\"", 2, "no step, group or subset"},
		{"no create", head + "[[table]]\nname = \"t\"\n" + step + "sql = \"SELECT 1\"", 5, "no create"},
		{"no columns", head + "[[table]]\nname = \"t\"\ncreate = [\"X\"]\nrows = 5\n" + step + "sql = \"SELECT 1\"", 5, "no columns"},
		{"column", head + "[[table]]\nname = \"t\"\ncreate = [\"X\"]\nrows = 5\ncolumns.a = 1\ncolumns.b = \"rows\"\n" + step + "sql = \"SELECT 1\"", 10, "column b"},
		{"second table", head + "[[table]]\nname = \"t\"\ncreate = [\"X\"]\n[[table]]\nname = \"u\"\ncreate = [\"X\"]\nrows = \"-1\"\n" + step + "sql = \"SELECT 1\"", 11, "outside"},
		{"bind in create", head + "[[table]]\nname = \"t\"\ncreate = [\"CREATE :x\"]\n" + step + "sql = \"SELECT 1\"", 7, "unknown argument :x"},
		{"random in setup", "name = \"w\"\nsetup = [\"SELECT {uniform(1, 2)}\"]\n" + step + "sql = \"SELECT 1\"", 2, "known beforehand"},
		{"rate of writes", head + "[[step]]\nname = \"s\"\ngroup = \"write\"\nsql = \"X\"\nrate = 5", 9, "needs read = true"},
		{"statement's argument", head + step + "[[step.statement]]\nsql = \"SELECT 1\"\n[[step.statement]]\nsql = \"SELECT :a\"\nargs.a = \"nix\"", 13, "argument a"},
		{"doubled argument", head + step + "args.a = 1\n[[step.statement]]\nsql = \"SELECT :a\"\nargs.a = 2", 12, "there already"},
		{"long list", head + step + "sql = \"SELECT :a\"\nargs.a = \"list(op, 1)\"", 10, "length of a list"},
		{"zipf", head + step + "sql = \"SELECT :a\"\nargs.a = \"zipf(1, op, 0.8)\"", 10, "argument 2 of zipf"},
		{"chance", head + step + "[[step.statement]]\nsql = \"SELECT 1\"\nchance = 101", 11, "chance"},
		{"fraction", head + step + "sql = \"SELECT :a\"\nargs.a = 0.5", 10, "a fraction"},
	} {
		_, err := Parse("w.toml", c.text)
		var se *lab.SyntaxError
		switch {
		case !errors.As(err, &se):
			t.Errorf("%s: got %v, want a SyntaxError", c.name, err)
		case se.Line != c.line || !strings.Contains(se.Msg, c.words):
			t.Errorf("%s: got line %d: %s\nwant line %d with %q", c.name, se.Line, se.Msg, c.line, c.words)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(pointText)
	f.Add("name = \"w\"\n[[table]]\nname = \"t{t}\"\ncount = 2\nrows = 3\ncreate = [\"CREATE TABLE t{t}\"]\ncolumns.a = \"hot(1, 5, 20, 80)\"\n[[step]]\nname = \"s\"\nwarm = true\nsql = \"SELECT :a {1 + 2}\"\nargs.a = \"list(3, zipf(1, 9, 1.1) + item)\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Parse("f.toml", text)
		if err != nil {
			return
		}
		p, err := w.Bind(nil, Target{Family: lab.MySQL, Version: [3]int{5, 6, 24}, Engine: "MEMORY"})
		if err != nil {
			return // what only other servers get may be wrong by Parse's own target
		}
		for _, s := range w.Steps {
			p.Digest(s.Name, 1, 0, 2, 3)
		}
	})
}

func FuzzExpression(f *testing.F) {
	for _, s := range []string{"1 + 2 * -3", "if(op % 2 == 0, 'a', concat('b', op))", "zipf(1, 100, 0.8)", "hot(-5, 5, 20, 80)", "list(5, uniform(item, op))", "list(3, concat('p', item))", "time('2024-02-29', op)", "hash(op, 40)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		sites := uint64(1)
		sc := &scope{vars: stepVars(), sites: &sites}
		e, err := sc.compile(src)
		if err != nil {
			return
		}
		fr := frame{key: 5}
		fr.vars[varClients] = 3
		for op := range int64(4) {
			fr.vars[varOp], fr.key = op, mix(uint64(op))
			switch e.kind {
			case whole:
				if v := e.num(&fr); v < e.lo || v > e.hi {
					t.Errorf("%s = %d, outside its bounds %d to %d", src, v, e.lo, e.hi)
				}
			case list:
				for _, v := range e.items(&fr, nil) {
					if v < e.lo || v > e.hi {
						t.Errorf("%s holds %d, outside its bounds %d to %d", src, v, e.lo, e.hi)
					}
				}
			case text:
				e.app(&fr, nil)
			}
		}
	})
}

func TestExpressions(t *testing.T) {
	sites := uint64(1)
	sc := &scope{vars: stepVars(), params: map[string]*expr{"rows": wholeConst(10)}, texts: map[string]string{"engine": "InnoDB"}, sites: &sites}
	fr := frame{key: 1}
	fr.vars[varOp] = 7
	for src, want := range map[string]string{
		"1 + 2 * 3":                         "7",
		"(1 + 2) * 3":                       "9",
		"10 - 4 - 3":                        "3",
		"-7 / 2":                            "-4", // rounds down
		"-7 % 3":                            "2",
		"--3":                               "3",
		"$rows / 2 + op":                    "12",
		"1_000_000":                         "1000000",
		"op >= 7":                           "1",
		"op != 7":                           "0",
		"if(op > 5, 'big', 'small')":        "big",
		"min(op, 3) + max(op, 100)":         "103",
		"concat('a', op, 'b', engine)":      "a7bInnoDB",
		"'it''s'":                           "it's",
		"time('2024-02-28', op * 86400)":    "2024-03-06 00:00:00",
		"time('2024-02-28 23:59:59', 1)":    "2024-02-29 00:00:00",
		"pattern('a-b')":                    "a-b",
		"letters(0, 0)":                     "",
		"hash(op, 8) == 5":                  "?",
		"if($rows == 10, 'KEY', 'PRIMARY')": "KEY",
	} {
		e, err := sc.compile(src)
		if want == "?" {
			if err == nil {
				t.Errorf("%s: no error", src)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if got := string(e.app(&fr, nil)); got != want {
			t.Errorf("%s = %s, want %s", src, got, want)
		}
	}
}

func TestTemplates(t *testing.T) {
	sites := uint64(1)
	sc := &scope{vars: stepVars(), sites: &sites, args: map[string]*expr{
		"id": {op: opArg, kind: whole, n: 0}, "s": {op: opArg, kind: text, n: 0}, "l": {op: opArg, kind: list, n: 0, size: 3},
	}}
	fr := frame{nums: []int64{5}, texts: [][]byte{[]byte(`a'b\`)}, lists: [][]int64{{1, 2, 3}}}
	fr.vars[varOp] = 4
	for tmpl, want := range map[string][2]string{
		"SELECT :id":                       {"SELECT 5", "SELECT ?"},
		"x IN (:l) AND s=:s":               {`x IN (1,2,3) AND s='a''b\\'`, "x IN (?,?,?) AND s=?"},
		"t{op % 3 + 1}":                    {"t2", "t2"},
		"'12:id' \":id\" `:id` a::id b:=1": {"'12:id' \":id\" `:id` a::id b:=1", "'12:id' \":id\" `:id` a::id b:=1"},
		`'{{"a": 1}}' 'it\'s :id' :id`:     {`'{"a": 1}' 'it\'s :id' 5`, `'{"a": 1}' 'it\'s :id' ?`},
		"`t{1 + 1}` {concat('}', 'x')}":    {"`t2` }x", "`t2` }x"},
	} {
		parts, err := sc.parts(tmpl)
		if tmpl[0] == '`' && err != nil { // concat of constants is not folded
			parts, err = sc.parts("`t{1 + 1}` {'}x'}")
		}
		if err != nil {
			t.Errorf("%s: %v", tmpl, err)
			continue
		}
		st := stmt{parts: parts, forms: 3}
		s := stream{st: &step{}, tx: &tx{stmts: []stmt{st}}, f: fr}
		if got := string(s.sql(nil)); got != want[0] {
			t.Errorf("%s as text: %s, want %s", tmpl, got, want[0])
		}
		form := s.form()
		if got := st.formText(form); got != want[1] {
			t.Errorf("%s prepared, form %d: %s, want %s", tmpl, form, got, want[1])
		}
	}
}

func TestSelect(t *testing.T) {
	w, err := Parse("w.toml", `
name = "w"
default = "few"
[subsets]
few = ["a", "more"]
more = ["c"]
[[step]]
name = "a"
group = "point"
sql = "SELECT 1"
[[step]]
name = "b"
group = "write"
like = "a"
[[step]]
name = "c"
like = "a"
warm = true
`)
	if err != nil {
		t.Fatal(err)
	}
	for names, want := range map[string]string{"": "a c", "b": "b", "c b a": "a b c", "point": "a", "write more": "b c"} {
		steps, err := w.Select(strings.Fields(names))
		var got []string
		for _, s := range steps {
			got = append(got, s.Name)
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); err != nil || d != "" {
			t.Errorf("Select(%s): %v %s", names, err, d)
		}
	}
	if _, err := w.Select([]string{"pont"}); err == nil || !strings.Contains(err.Error(), "did you mean point") {
		t.Errorf("Select(pont): %v", err)
	}
	if w.Steps[2].Group != "" || !w.Steps[2].Warm {
		t.Errorf("a warm-up step has a group: %+v", w.Steps[2])
	}
}

func TestParams(t *testing.T) {
	w, err := Parse("w.toml", `
name = "w"
[params]
rows = 100
half = "$rows / 2"
table = "'t'"
[[step]]
name = "a"
group = "point"
prepared = false
sql = "SELECT {$half} FROM {$table}"
[[step]]
name = "b"
like = "a"
params.half = "$rows * 2"
`)
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Family: lab.MySQL, Version: [3]int{8, 0, 0}, Engine: "InnoDB"}
	render := func(p *Program, step string) string {
		s := newStream(p.steps[step], 1, 0, 1)
		s.start(0, 0)
		s.next()
		return string(s.sql(nil))
	}
	p, err := w.Bind(map[string]string{"rows": "30", "table": "it's"}, target)
	if err != nil {
		t.Fatal(err)
	}
	if got := render(p, "a") + "; " + render(p, "b"); got != "SELECT 15 FROM it's; SELECT 60 FROM it's" {
		t.Error(got)
	}
	if d := cmp.Diff(map[string]string{"rows": "30", "half": "15", "table": "it's"}, p.Values); d != "" {
		t.Errorf("Values (-want +got):\n%s", d)
	}
	for name, text := range map[string]string{"rowz": "1", "rows": "many", "half": "uniform(1, 2)"} {
		if _, err := w.Bind(map[string]string{name: text}, target); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Bind(%s = %s): %v", name, text, err)
		}
	}
}

func TestChoice(t *testing.T) {
	w, err := Parse("w.toml", `
name = "w"
[[step]]
name = "a"
group = "point"
prepared = false
choose = [
  { sql = "M", engine = "memory" },
  { sql = "old", family = "mysql", below = "8.0.13" },
  { sql = "new", family = "mysql" },
  { sql = "rocks {engine}", engine = ["MyRocks"] },
  { sql = "maria", from = "10.6", below = "11" },
]
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		t    Target
		want string
	}{
		{Target{lab.MySQL, [3]int{5, 6, 24}, "MEMORY", "", 0}, "M"},
		{Target{lab.MySQL, [3]int{8, 0, 12}, "InnoDB", "", 0}, "old"},
		{Target{lab.MySQL, [3]int{8, 0, 13}, "InnoDB", "", 0}, "new"},
		{Target{lab.MariaDB, [3]int{10, 5, 1}, "MyRocks", "", 0}, "rocks ROCKSDB"},
		{Target{lab.MariaDB, [3]int{10, 6, 0}, "InnoDB", "", 0}, "maria"},
		{Target{lab.MariaDB, [3]int{11, 0, 0}, "InnoDB", "", 0}, "no SQL for mariadb 11.0.0 with InnoDB"},
	} {
		p, err := w.Bind(nil, c.t)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := p.Check("a"); err != nil {
			got = err.Error()
		} else {
			s := newStream(p.steps["a"], 1, 0, 1)
			s.start(0, 0)
			s.next()
			got = string(s.sql(nil))
		}
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("%v: %q, want %q", c.t, got, c.want)
		}
	}
	if p, _ := w.Bind(nil, Target{Family: lab.MySQL, Version: [3]int{8, 0, 0}}); fmt.Sprint(p.Check("aa")) == "<nil>" {
		t.Error("no error for a step that is not there")
	}
}
