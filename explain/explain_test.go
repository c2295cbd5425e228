package explain

import (
	"testing"

	"backslide/lab"
)

func TestExplain(t *testing.T) {
	s := sim{base: plain(), cand: plain(), blocks: 5, rounds: 3, noise: 0.02, seed: 1}
	s.cand.user += 120e-6
	s.cand.functions = map[string]float64{"row_search_mvcc": 42e-6, "page_cur_search_with_match": 130e-6, "rec_get_offsets_func": 22e-6, "memcpy": 5e-6, "my_net_write": 5e-6, "lex_one_token": 8e-6}
	e := Explain(s.input(lab.Regressed))
	if want := lab.CPUCause; len(e.Causes) != 1 || e.Causes[0].Kind != want {
		t.Errorf("causes %+v, want one of kind %s", e.Causes, want)
	}
}
