package lab

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const whole = `name = "first"
builds = ["mariadb@10.5", "mariadb@11.8"]
engines = ["innodb", "myrocks"]
clients = [1, 4]
base = "mariadb@11.8/nops"

[[config]]
name = "default"

[[config]]
name = "nops"
cnf = "my.cnf"
preload = "jemalloc"
launcher = ["taskset", "-c", "0"]
[config.options]
performance_schema = false
innodb_buffer_pool_size = "128M"
[config.mysql]
skip-log-bin = ""

[[workload]]
name = "slap"
steps = ["q1"]
params = { rows = 1000 }

[plan]
budget = "10m"
margin = "3%"
blocks = 40
`

func files(name string) (string, error) {
	if name == "my.cnf" {
		return "key_buffer_size = 200M # bytes\n[client]\nuser=x\n[mysqld]\nskip_log_bin\n", nil
	}
	return "", os.ErrNotExist
}

func TestParseExperiment(t *testing.T) {
	e, err := ParseExperiment("e.toml", whole, files)
	if err != nil {
		t.Fatal(err)
	}
	vs := e.Variants()
	if len(vs) != 8 {
		t.Fatalf("%d variants, want 2 builds × 2 configs × 2 engines", len(vs))
	}
	if want := (Variant{Build: "mariadb@11.8", Config: "nops", Engine: "InnoDB"}); vs[0] != want {
		t.Errorf("base is %v, want %v", vs[0], want)
	}
	e.Plan.AA = true
	if vs := e.Variants(); len(vs) != 9 || vs[1].Copy != 1 || vs[1].Build != vs[0].Build {
		t.Errorf("with A/A the variants are %v; want a copy of the base behind it", vs)
	}
	nops, _ := e.Config("nops")
	want := []Option{
		{Name: "key_buffer_size", Value: "200M"}, {Name: "skip_log_bin", Bare: true},
		{Name: "innodb_buffer_pool_size", Value: "128M"}, {Name: "performance_schema", Value: "OFF"},
		{Name: "skip-log-bin", Bare: true},
	}
	if d := cmp.Diff(want, nops.For(MySQL)); d != "" {
		t.Errorf("options for MySQL (-want +got):\n%s", d)
	}
	if got := len(nops.For(MariaDB)); got != 4 {
		t.Errorf("%d options for MariaDB, want 4: skip-log-bin is MySQL's", got)
	}
	if e.Plan.Budget != 10*time.Minute || e.Plan.Margin != 0.03 || e.Plan.BlocksMax != 40 || e.Plan.Alpha != 0.01 {
		t.Errorf("plan is %+v", e.Plan)
	}
}

func TestParseExperimentErrors(t *testing.T) {
	for _, tt := range []struct {
		name, from, to string // replaced in the text above
		line           int
		want           []string
	}{
		{"unknown key", "clients =", "client =", 4, []string{`unknown key "client"`, "did you mean clients?"}},
		{"unknown key in a table", "budget =", "budgte =", 27, []string{`unknown key "plan.budgte"`, "did you mean budget?"}},
		{"unknown key of a config", "preload =", "preloda =", 13, []string{`unknown key "config.preloda"`, "preload"}},
		{"syntax", `base = "mar`, `base = mar`, 5, nil},
		{"wrong type", "clients = [1, 4]", `clients = "1"`, 4, []string{`key "clients" is text, and should be a list, in brackets: clients = […]`}},
		{"number for text", `budget = "10m"`, `budget = 10`, 27, []string{`key "plan.budget" is a number, and should be text, in quotes`}},
		{"no blocks", "blocks = 40", "blocks = 0", 29, []string{"blocks = 0 would measure nothing"}},
		{"no slice", "blocks = 40", `slice = "0s"`, 29, []string{"slice = 0 would measure nothing"}},
		{"double build", `"mariadb@11.8"]`, `"mariadb@10.5"]`, 2, []string{`"mariadb@10.5" is there twice`}},
		{"double config", `name = "nops"`, `name = "default"`, 0, []string{`config: "default" is there twice`}},
		{"undefined base", `base = "mariadb@11.8/nops"`, `base = "mariadb@11.7"`, 5, []string{"no variant", "did you mean mariadb@11.8"}},
		{"empty matrix", `builds = ["mariadb@10.5", "mariadb@11.8"]`, `builds = []`, 2, []string{"builds: none given"}},
		{"no workload", "[[workload]]\nname = \"slap\"\nsteps = [\"q1\"]\nparams = { rows = 1000 }\n", "", 0, []string{"workload: none given"}},
		{"unknown engine", `"myrocks"`, `"myrokcs"`, 3, []string{"unknown engine", "MyRocks"}},
		{"clients", "[1, 4]", "[0, 4]", 4, []string{"clients: 0"}},
		{"budget", `"10m"`, `"ten"`, 27, []string{"budget", "not a time"}},
		{"rule", "blocks = 40", `rule = "bayes"`, 29, []string{"bayes", "gst, e"}},
		{"stop", "blocks = 40", `stop = "green"`, 29, []string{"green", "red, amber"}},
		{"blocks", "blocks = 40", "blocks = 4000", 29, []string{"4000", "outside 1 to 1000"}},
		{"missing cnf", `cnf = "my.cnf"`, `cnf = "nosuch.cnf"`, 0, []string{"number 2", "not exist"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(whole, tt.from, tt.to, 1)
			if text == whole {
				t.Fatalf("%q is not in the text", tt.from)
			}
			_, err := ParseExperiment("e.toml", text, files)
			var se *SyntaxError
			if !errors.As(err, &se) {
				t.Fatalf("error %v is no *SyntaxError", err)
			}
			if tt.line != 0 && se.Line != tt.line {
				t.Errorf("line %d, want %d: %v", se.Line, tt.line, err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}

func FuzzParseExperiment(f *testing.F) {
	f.Add(whole)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExperiment("e.toml", text, files)
		var se *SyntaxError
		if err != nil && !errors.As(err, &se) {
			t.Errorf("error %v is no *SyntaxError", err)
		}
		if err == nil && len(e.Variants()) == 0 {
			t.Error("no variants and no error")
		}
	})
}

func TestNearest(t *testing.T) {
	known := []string{"mariadb@10.5", "mariadb@10.11", "mysql@9.7", "mysql@5.6"}
	for name, want := range map[string]string{"mariadb@10.6": "mariadb@10.5", "mysql9.7": "mysql@9.7", "postgres@15": ""} {
		got := ""
		if n := Nearest(name, known); len(n) > 0 {
			got = n[0]
		}
		if got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestUnits(t *testing.T) {
	for in, want := range map[string]int64{"4096": 4096, "512K": 512 << 10, "128M": 128 << 20, "1.5G": 3 << 29, "2GiB": 2 << 30, "1tb": 1 << 40} {
		if got, err := ParseBytes(in); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1", "x", "1e30G", "M"} {
		if got, err := ParseBytes(in); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", in, got)
		}
	}
	for in, want := range map[string]float64{"5%": 0.05, "2.5 %": 0.025, "0.01": 0.01} {
		if got, err := ParseShare(in); err != nil || got != want {
			t.Errorf("ParseShare(%q) = %g, %v; want %g", in, got, err, want)
		}
	}
}

func TestVersion(t *testing.T) {
	b := Build{Version: "10.5.29-MariaDB-0+deb11u1"}
	if got := b.VersionNumber(); got != [3]int{10, 5, 29} {
		t.Errorf("VersionNumber() = %v", got)
	}
	for _, tt := range []struct {
		v    [3]int
		want bool
	}{{[3]int{10, 5, 0}, true}, {[3]int{10, 5, 29}, true}, {[3]int{10, 11, 0}, false}, {[3]int{9, 9, 99}, true}} {
		if got := b.AtLeast(tt.v[0], tt.v[1], tt.v[2]); got != tt.want {
			t.Errorf("AtLeast(%v) = %t, want %t", tt.v, got, tt.want)
		}
	}
}

func TestSliceValue(t *testing.T) {
	s := Slice{Ops: 100, Wall: 0.5, Usage: Usage{ServerUser: 0.3, ServerSystem: 0.1, CtxVoluntary: -1}}
	if v, ok := s.Value(QPS); !ok || v != 200 {
		t.Errorf("QPS = %v, %t; want 100/0.5", v, ok)
	}
	if v, ok := s.Value(ServerCPU); !ok || v != 0.004 {
		t.Errorf("ServerCPU = %v, %t; want (0.3+0.1)/100", v, ok)
	}
	if _, ok := s.Value(Switches); ok {
		t.Error("context switches that could not be read have a value")
	}
	for _, broken := range []Slice{{Wall: 1}, {Ops: 1}, {Ops: 1, Wall: 1, Err: "x"}} {
		if v, ok := broken.Value(QPS); ok {
			t.Errorf("%+v has a QPS of %v", broken, v)
		}
	}
	for _, m := range Metrics() {
		if m.Unit() == "?" {
			t.Errorf("%s has no unit", m)
		}
	}
}

func TestSpelled(t *testing.T) {
	known := []string{"point-query", "POINT", "one-core"}
	for in, want := range map[string]string{"one_core": "one-core", "OneCore": "one-core", "point": "POINT", "Point Query": "point-query", "split": "split"} {
		if got := Spelled(in, known); got != want {
			t.Errorf("Spelled(%q) = %q, want %q", in, got, want)
		}
	}
	e, err := Experiment{Builds: []string{"mysql@9.7"}, Workloads: []WorkloadUse{{Name: "slap"}}, Plan: Plan{Placement: "One_Core", Stop: "AMBER"}}.Resolve()
	if err != nil || e.Plan.Placement != OneCore || e.Plan.Stop != UntilAmber {
		t.Errorf("plan is %+v, %v", e.Plan, err)
	}
}
