package load_test

import (
	"testing"

	"backslide/lab"
	"backslide/load"
	"backslide/workloads"
)

func TestBuiltIn(t *testing.T) {
	for _, name := range workloads.Names() {
		file, text, _ := workloads.Text(name)
		w, err := load.Parse(file, text)
		if err != nil {
			t.Error(err)
			continue
		}
		steps, err := w.Select(nil)
		if err != nil || len(steps) == 0 {
			t.Errorf("%s: default steps: %v, %v", name, steps, err)
		}
		p, err := w.Bind(nil, load.Target{Family: lab.MySQL, Version: [3]int{9, 7, 4}, Engine: "MEMORY"})
		if err != nil {
			t.Error(err)
			continue
		}
		rows, bytes := p.Estimate()
		t.Log(name, rows, bytes, p.DataID(1), len(w.Steps), len(steps))
	}
}
