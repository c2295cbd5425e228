package stacks

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

var update = flag.Bool("update", false, "rewrite golden files")

// pair is a base and a candidate of another version: a function was renamed, one is gone,
// one is new, one spins, one has a name that is no markup.
func pair(t *testing.T) (base, cand Side) {
	base = Side{of(t, "cpu-clock", map[string]int64{
		"clone;do_command;dispatch_command;mysql_parse;mysql_execute_command;ha_innobase::general_fetch;row_search_for_mysql;btr_cur_search_to_nth_level": 900,
		"clone;do_command;dispatch_command;mysql_parse;mysql_execute_command;ha_innobase::general_fetch;row_search_for_mysql":                             300,
		"clone;do_command;dispatch_command;mysql_parse;mysql_execute_command;query_cache_store":                                                           400,
		"clone;do_command;my_net_read;[unknown];do_syscall_64_[k]":                                                                                        400,
		"clone;srv_master_thread": 2,
	}), 80e-6}
	cand = Side{of(t, "cpu-clock", map[string]int64{
		"clone3;[unknown];do_command;dispatch_command;dispatch_sql_command;mysql_execute_command;ha_innobase::general_fetch;row_search_mvcc;btr_cur_search_to_nth_level": 900,
		"clone3;[unknown];do_command;dispatch_command;dispatch_sql_command;mysql_execute_command;ha_innobase::general_fetch;row_search_mvcc":                             200,
		"clone3;[unknown];do_command;dispatch_command;dispatch_sql_command;mysql_execute_command;ha_innobase::general_fetch;row_search_mvcc;ut_delay":                    500,
		"clone3;[unknown];do_command;dispatch_command;dispatch_sql_command;mysql_execute_command;std::f<int, \"&'>::operator()(int)":                                     60,
		"clone3;[unknown];do_command;my_net_read;do_syscall_64_[k]":                                                                                                      340,
	}), 120e-6}
	return base, cand
}

func TestOverlay(t *testing.T) {
	base, cand := pair(t)
	root, err := Overlay(base, cand, Spinners(lab.MySQL), Anchors())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(f *Flame, indent string)
	walk = func(f *Flame, indent string) {
		mark := ""
		switch {
		case f.Gone():
			mark = " gone"
		case f.New():
			mark = " new"
		}
		if f.Total.Noise() {
			mark += " noise"
		}
		if f.Spin {
			mark += " spin"
		}
		fmt.Fprintf(&b, "%s%s %.1f %.1f%s\n", indent, f.Name, f.Total.Base, f.Total.Cand, mark)
		for _, c := range f.Calls {
			walk(c, indent+" ")
		}
	}
	walk(root, "")
	// A sample is 80/2002 µs of the base and 120/2000 µs of the candidate.
	want := `all 80.0 120.0
 clone 0.1 0.0 gone noise
  srv_master_thread 0.1 0.0 gone noise
 do_command 79.9 120.0
  dispatch_command 63.9 99.6
   mysql_execute_command 63.9 99.6
    ha_innobase::general_fetch 48.0 96.0
     btr_cur_search_to_nth_level 36.0 54.0
     row_search_for_mysql 12.0 0.0 gone
     row_search_mvcc 0.0 42.0 new
      ut_delay 0.0 30.0 new spin
    query_cache_store 16.0 0.0 gone
    std::f::operator() 0.0 3.6 new
  my_net_read 16.0 20.4
   do_syscall_64 16.0 20.4
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestSVG compares with a drawing that was looked at in a browser, and holds that it is
// one well-formed element without scripts.
func TestSVG(t *testing.T) {
	base, cand := pair(t)
	root, err := Overlay(base, cand, Spinners(lab.MySQL), Anchors())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []Width{ByCandidate, ByBase} {
		var b strings.Builder
		o := SVG{Width: w, ID: "1", Base: "mysql@5.6 <old>", Candidate: "mysql@9.7", Event: "cpu-clock", Floor: 0.2}
		if err := o.Write(&b, root); err != nil {
			t.Fatal(err)
		}
		golden := "testdata/" + string(w) + ".svg"
		if *update {
			if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", golden, d)
		}
		checkXML(t, b.String())
		for _, must := range []string{"The candidate was never seen here.", "The base was never seen here.", "waiting that burns CPU", "within noise", "mysql@5.6 &lt;old&gt;", "std::f&lt;int, &quot;&amp;&#39;&gt;"} {
			if !strings.Contains(b.String(), must) {
				t.Errorf("%s lacks %q", golden, must)
			}
		}
	}
	if err := (SVG{}).Write(io.Discard, &Flame{}); err == nil {
		t.Error("nothing was drawn, without an error")
	}
}

func checkXML(t *testing.T, text string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(text))
	roots, depth := 0, 0
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			if depth == 0 {
				roots++
			}
			depth++
			if e.Name.Local == "script" {
				t.Error("it has a script")
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || strings.HasPrefix(a.Value, "http") && a.Name.Local != "xmlns" {
					t.Errorf("attribute %s=%q", a.Name.Local, a.Value)
				}
			}
		case xml.EndElement:
			depth--
		}
	}
	if roots != 1 {
		t.Errorf("%d elements, want one", roots)
	}
}

// FuzzSVG: no name breaks out of the drawing.
func FuzzSVG(f *testing.F) {
	f.Add("</title><script>alert(1)</script>", "\x00\xff\ufffe", int64(3))
	f.Add("a\"b'c&d", "[unknown]", int64(0))
	f.Fuzz(func(t *testing.T, a, b string, n int64) {
		base, cand := &Profile{}, &Profile{}
		base.Add([]Frame{{Name: a, DSO: b}, {Name: b}}, Amount{1, 1, 1})
		cand.Add([]Frame{{Name: a}, {Name: a + b}}, Amount{Weight: float64(n&0xff) + 1, Samples: 5, Squares: 1})
		root, err := Overlay(Side{base, 1e-6}, Side{cand, 1e-6}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := (SVG{Base: a, Candidate: b}).Write(&out, root); err != nil {
			t.Fatal(err)
		}
		checkXML(t, out.String())
	})
}
