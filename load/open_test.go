package load

import (
	"strings"
	"testing"
)

// A step is an open loop if it has a rate of its own, makes up for stalls, and ends by time.
func TestOpen(t *testing.T) {
	for step, want := range map[string]bool{
		"read = true\nsql = 'SELECT 1'":                                      false,
		"read = true\nsql = 'SELECT 1'\nrate = 50":                           true,
		"read = true\nsql = 'SELECT 1'\nrate = 50\ncatchup = false":          false,
		"read = true\nsql = 'SELECT 1'\nrate = '$r'":                         true,
		"read = true\nsql = 'SELECT 1'\nrate = '$none'":                      false,
		"read = true\nsql = 'SELECT 1'\nrate = 50\nops = 100":                false,
		"read = true\n[[step.role]]\nname = 'a'\nrate = 5\nsql = 'SELECT 1'": false,
	} {
		w, err := Parse("x.toml", "name = 'x'\n[params]\nr = 7\nnone = 0\n[[step]]\nname = 's'\ngroup = 'point'\n"+step)
		if err != nil {
			t.Errorf("%q: %v", step, err)
			continue
		}
		p, err := w.Bind(nil, Target{Family: "mariadb", Version: [3]int{10, 11, 0}, Engine: "InnoDB", Schema: "x"})
		if err != nil {
			t.Errorf("%q: %v", step, err)
			continue
		}
		if can := strings.HasSuffix(step, "SELECT 1'") && !strings.Contains(step, "role"); p.Pacable("s") != can {
			t.Errorf("%q: pacable is %t, want %t", step, !can, can)
		}
		if got := p.Open("s"); got != want {
			t.Errorf("%q: open is %t, want %t", step, got, want)
		}
	}
}
