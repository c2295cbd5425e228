package servertest

import (
	"testing"
	"time"

	"backslide/proc"
)

// TestInject: what is injected takes the time that it says, and where it says.
func TestInject(t *testing.T) {
	_, s := Start(t, "mariadb@11.8", nil, nil)
	db, err := s.DB("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	do := func(sql string) time.Duration {
		t.Helper()
		began := time.Now()
		if _, err := db.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	cpu := func(pid int) time.Duration {
		t.Helper()
		d, err := proc.CPUTime(pid)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}

	const d = 100 * time.Millisecond
	expression := Busy(t, s, d)
	before := cpu(s.PID())
	took := do("DO " + expression)
	if used := cpu(s.PID()) - before; used < d/3 || used > 3*d || took < used/2 {
		t.Errorf("%s took %v and %v of CPU time, want about %v", expression, took, used, d)
	}

	do("create database x")
	do("create table x.t (id int primary key, a int) engine=innodb")
	do("insert into x.t values (1, 1), (2, 2)")
	stop := Lock(t, s, "x", "update t set a = a + 1 where id = 1", 200*time.Millisecond, time.Hour)
	if took := do("update x.t set a = 0 where id = 2"); took > 100*time.Millisecond {
		t.Logf("a row that is not locked took %v", took)
	}
	before = cpu(s.PID())
	if took := do("update x.t set a = 0 where id = 1"); took < 50*time.Millisecond {
		t.Errorf("a row that is locked took %v", took)
	}
	if used := cpu(s.PID()) - before; used > 100*time.Millisecond {
		t.Errorf("waiting took %v of CPU time", used)
	}
	stop()

	hogs := Hog(t, 0)
	used := time.Duration(0)
	for end := time.Now().Add(10 * time.Second); used < 20*time.Millisecond && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		used = cpu(hogs[0].PID())
	}
	if on, err := proc.Affinity(hogs[0].PID()); used < 20*time.Millisecond || err != nil || len(on) != 1 || on[0] != 0 {
		t.Errorf("the hog used %v on CPUs %v: %v", used, on, err)
	}
}
