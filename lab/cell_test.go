package lab

import "testing"

func TestAtShare(t *testing.T) {
	s := Step{Workload: "sysbench", Name: "point-query"}
	for share, want := range map[float64]string{0.7: "point-query@70%", 0.055: "point-query@5.5%"} {
		got := s.AtShare(share)
		if got.Name != want || got.Closed() != s {
			t.Errorf("AtShare(%v) is %q, and closed %q; want %q and %q", share, got.Name, got.Closed().Name, want, s.Name)
		}
	}
	for _, name := range []string{"plain", "user@host", "@70%"} {
		if got := (Step{Name: name}).Closed().Name; got != name {
			t.Errorf("%q closed is %q; want it as it is", name, got)
		}
	}
}
