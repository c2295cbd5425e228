package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

func TestWriteOnce(t *testing.T) {
	ctx := context.Background()
	s := openLab(t, t.TempDir())
	id, r := newRun(t, s)
	sl := filledSlice(r, 0)
	side := filledSide("x")
	v := r.Variants[0]
	for range 2 { // the same again is accepted
		if err := s.AddSlice(ctx, id, sl); err != nil {
			t.Fatal(err)
		}
		if err := s.SetSide(ctx, id, v, side); err != nil {
			t.Fatal(err)
		}
		if err := s.EndRun(ctx, id, r.Started.Add(1)); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(*lab.Slice){
		"ops":      func(s *lab.Slice) { s.Ops++ },
		"position": func(s *lab.Slice) { s.Position++ },
		"usage":    func(s *lab.Slice) { s.Usage.RSS++ },
		"unread":   func(s *lab.Slice) { s.Usage.HostBusy = -1 },
		"errors":   func(s *lab.Slice) { s.Errors = s.Errors[:1] },
		"hist":     func(s *lab.Slice) { s.Hist = nil },
		"start":    func(s *lab.Slice) { s.Start = s.Start.Add(1) },
	} {
		other := sl
		change(&other)
		if err := s.AddSlice(ctx, id, other); !errors.Is(err, ErrDiffers) {
			t.Errorf("another %s: %v, want ErrDiffers", name, err)
		}
	}
	other := side
	other.Settings = map[string]string{"version": "other"}
	if err := s.SetSide(ctx, id, v, other); !errors.Is(err, ErrDiffers) {
		t.Errorf("another side: %v, want ErrDiffers", err)
	}
	if err := s.EndRun(ctx, id, r.Started.Add(2)); !errors.Is(err, ErrDiffers) {
		t.Errorf("another end: %v, want ErrDiffers", err)
	}
	if _, err := s.Keep(ctx, id, "log", "a", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if err := s.AddEvent(ctx, id, 0, v, "x"); err != nil {
		t.Fatal(err)
	}
	// Nor does SQL get around it, that of an INSERT OR REPLACE included.
	for _, table := range []string{"run", "variant", "level", "build", "config", "setting", "slice", "slice_error", "slice_histogram", "event", "file"} {
		column := map[string]string{"run": "name", "setting": "value", "variant": "engine", "slice": "ops", "slice_error": "count",
			"slice_histogram": "hist", "event": "text", "level": "step", "build": "version", "config": "name", "file": "digest"}[table]
		for _, q := range []string{"DELETE FROM " + table, "UPDATE " + table + " SET " + column + " = " + column} {
			if _, err := s.write.Exec(q); err == nil || !strings.Contains(err.Error(), "write-once") && !strings.Contains(err.Error(), "FOREIGN KEY") {
				t.Errorf("%s: %v, want a refusal", q, err)
			}
		}
	}
	if _, err := s.write.Exec("INSERT OR REPLACE INTO slice SELECT * FROM slice"); err == nil || !strings.Contains(err.Error(), "write-once") {
		t.Errorf("INSERT OR REPLACE: %v, want a refusal", err)
	}
}

func TestRefused(t *testing.T) {
	ctx := context.Background()
	s := openLab(t, t.TempDir())
	id, r := newRun(t, s)
	for name, change := range map[string]func(*lab.Slice){
		"variant": func(s *lab.Slice) { s.Cell.Variant.Build = "other" },
		"level":   func(s *lab.Slice) { s.Cell.Clients = 99 },
	} {
		sl := filledSlice(r, 0)
		change(&sl)
		if err := s.AddSlice(ctx, id, sl); !errors.Is(err, ErrUnknown) {
			t.Errorf("unknown %s: %v, want ErrUnknown", name, err)
		}
	}
	for name, change := range map[string]func(*lab.Slice){
		"steal": func(s *lab.Slice) { s.Usage.Steal = math.NaN() },
		"rate":  func(s *lab.Slice) { s.Offered = math.Inf(1) },
	} {
		sl := filledSlice(r, 0)
		change(&sl)
		if err := s.AddSlice(ctx, id, sl); err == nil || !strings.Contains(err.Error(), "not finite") {
			t.Errorf("a %s that is no number: %v", name, err)
		}
	}
	_, errKeep := s.Keep(ctx, 99, "log", "a", strings.NewReader("x"))
	_, errRun := s.Run(ctx, 99)
	_, errSlices := s.Slices(ctx, 99, Filter{})
	_, errEvents := s.Events(ctx, 99)
	for name, err := range map[string]error{
		"AddSlice": s.AddSlice(ctx, 99, filledSlice(r, 0)), "SetSide": s.SetSide(ctx, 99, r.Base, lab.Side{}), "EndRun": s.EndRun(ctx, 99, time.Now()),
		"AddEvent": s.AddEvent(ctx, 99, 0, r.Base, "x"), "Keep": errKeep, "Run": errRun, "Slices": errSlices, "Events": errEvents,
	} {
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%s of no run: %v, want ErrUnknown", name, err)
		}
	}
	r.Base.Build = "other"
	if _, err := s.NewRun(ctx, r); err == nil || !strings.Contains(err.Error(), "none of its variants") {
		t.Errorf("run without its base: %v", err)
	}
	r = filledRun()
	r.Variants = append(r.Variants, r.Variants[0])
	if _, err := s.NewRun(ctx, r); err == nil {
		t.Error("a run with a variant twice is stored")
	}
	if runs, err := s.Runs(ctx); err != nil || len(runs) != 1 {
		t.Errorf("%d runs, %v; want the one that was stored", len(runs), err)
	}
}

func TestEvents(t *testing.T) {
	ctx := context.Background()
	s := openLab(t, t.TempDir())
	id, r := newRun(t, s)
	before := time.Now()
	want := []lab.Event{
		{Block: -1, Text: "freezer: cgroup is missing, servers are stopped instead"},
		{Block: 0, Variant: r.Variants[1], Text: "the server died: signal 11"},
		{Block: 2, Text: "resumed"},
	}
	for _, e := range want {
		if err := s.AddEvent(ctx, id, e.Block, e.Variant, e.Text); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Events(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i].At.Before(before.Truncate(0).Add(-time.Second)) || got[i].At.After(time.Now().Add(time.Second)) {
			t.Errorf("event at %s", got[i].At)
		}
		got[i].At = time.Time{}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestMigrate(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := openLab(t, dir)
	id, want := newRun(t, s)
	want.ID = id

	broken := append(schemas(), "CREATE TABLE half (x); CREATE TABLE nonsense nonsense")
	if s, err := open(dir, broken, ""); err == nil {
		s.Close()
		t.Error("a broken step is taken")
	} else if !strings.Contains(err.Error(), fmt.Sprintf("from version %d to %d", len(schemas()), len(schemas())+1)) {
		t.Errorf("a broken step: %v", err)
	}
	s = openLab(t, dir) // still the version before
	var half int
	if err := s.read.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").Scan(&half); err != nil || half != 0 {
		t.Errorf("half a step is left: %d, %v", half, err)
	}

	next, err := open(dir, append(schemas(), "ALTER TABLE event ADD COLUMN level TEXT", "CREATE TABLE later (x TEXT) STRICT"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	got, err := next.Run(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b map[string]*lab.Side) bool { return len(a) == len(b) })); d != "" {
		t.Errorf("run after two steps (-want +got):\n%s", d)
	}
	_, err = Open(dir)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint("schema version ", len(schemas())+2)) || !strings.Contains(err.Error(), "use a newer backslide") {
		t.Errorf("a newer database: %v", err)
	}
}

func TestOpenRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	text := filepath.Join(t.TempDir(), "text")
	folder := filepath.Join(t.TempDir(), "folder")
	foreign := filepath.Join(t.TempDir(), "foreign")
	for _, err := range []error{
		os.WriteFile(file, nil, 0o666),
		os.MkdirAll(filepath.Join(folder, Database), 0o777),
		os.Mkdir(text, 0o777),
		os.WriteFile(filepath.Join(text, Database), []byte(strings.Repeat("no database ", 1000)), 0o666),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(foreign, 0o777); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", filepath.Join(foreign, Database))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec("CREATE TABLE other (x)"); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		filepath.Join(file, "lab"): "name a directory that can be written",
		"/proc/no/lab":             "name a directory that can be written",
		folder:                     "cannot be written",
		text:                       "is no SQLite database",
		foreign:                    "the database of another program",
	} {
		s, err := Open(dir)
		if err == nil {
			s.Close()
			t.Errorf("%s is opened", dir)
			continue
		}
		if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v\nwant %q", dir, err, want)
		}
	}
}

func TestDiskFull(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := open(dir, schemas(), "&_pragma=max_page_count(120)")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id, r := newRun(t, s)
	n := 0
	for ; err == nil; n++ {
		if n > 1000 {
			t.Fatal("the database does not fill up")
		}
		sl := filledSlice(r, n)
		sl.Hist = make([]byte, 5000)
		err = s.AddSlice(ctx, id, sl)
	}
	n-- // the last was not stored
	if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "disk full") || !strings.Contains(err.Error(), dir) {
		t.Errorf("full: %v", err)
	}
	again := openLab(t, dir) // and room
	got, err := again.Slices(ctx, id, Filter{})
	if err != nil || len(got) != n || n < 5 {
		t.Errorf("%d slices, %v; %d were stored", len(got), err, n)
	}
	if err := again.AddSlice(ctx, id, filledSlice(r, n)); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// Several processes may make the same lab at once.
func TestOpenTogether(t *testing.T) {
	for range 2 {
		dir := filepath.Join(t.TempDir(), "lab")
		errs := make(chan error)
		for range 8 {
			go func() {
				s, err := Open(dir)
				if err == nil {
					_, err = s.NewRun(context.Background(), filledRun())
					err = errors.Join(err, s.Close())
				}
				errs <- err
			}()
		}
		for range 8 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		runs, err := openLab(t, dir).Runs(context.Background())
		if err != nil || len(runs) != 8 {
			t.Errorf("%d runs, %v; 8 were stored", len(runs), err)
		}
	}
}

func TestCancelled(t *testing.T) {
	s := openLab(t, t.TempDir())
	id, r := newRun(t, s)
	if err := s.AddSlice(context.Background(), id, filledSlice(r, 0)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, errSlices := s.Slices(ctx, id, Filter{})
	_, errRun := s.Run(ctx, id)
	for name, err := range map[string]error{"Slices": errSlices, "Run": errRun, "AddSlice": s.AddSlice(ctx, id, filledSlice(r, 1))} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want Canceled", name, err)
		}
	}
	if got, err := s.Slices(context.Background(), id, Filter{}); err != nil || len(got) != 1 {
		t.Errorf("%d slices, %v; one was stored before", len(got), err)
	}
}
