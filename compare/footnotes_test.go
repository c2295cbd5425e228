package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

func side(family lab.Family, settings string, options ...lab.Option) *lab.Side {
	s := &lab.Side{Build: lab.Build{Family: family, ID: "one"}, Config: lab.Config{Options: options}, Settings: map[string]string{}}
	for _, line := range strings.Split(settings, "; ") {
		name, value, _ := strings.Cut(line, "=")
		s.Settings[name] = value
	}
	return s
}

// Defaults as MySQL 9.7, MariaDB 10.5, 10.11 and 11.8 have them.
func TestSettings(t *testing.T) {
	const (
		mysql97 = "log_bin=ON; sync_binlog=1; gtid_mode=ON; innodb_redo_log_capacity=104857600; performance_schema=ON; " +
			"character_set_server=utf8mb4; innodb_flush_method=O_DIRECT; innodb_adaptive_hash_index=OFF; port=3306; datadir=/a"
		maria118 = "log_bin=OFF; sync_binlog=0; innodb_log_file_size=100663296; performance_schema=OFF; innodb_snapshot_isolation=ON; " +
			"character_set_server=utf8mb4; innodb_flush_method=O_DIRECT; innodb_adaptive_hash_index=OFF; port=3307; datadir=/b; aria_sort_buffer_size=1"
		maria1011 = "log_bin=OFF; sync_binlog=0; innodb_log_file_size=100663296; performance_schema=OFF; innodb_snapshot_isolation=OFF; " +
			"character_set_server=latin1; innodb_flush_method=O_DIRECT; innodb_adaptive_hash_index=OFF"
		maria105 = "log_bin=OFF; sync_binlog=0; innodb_log_file_size=100663296; performance_schema=OFF; " +
			"character_set_server=latin1; innodb_flush_method=fsync; innodb_adaptive_hash_index=OFF; innodb_buffer_pool_instances=1; some_new=2"
	)
	for _, tt := range []struct {
		name       string
		base, cand *lab.Side
		want       string
	}{
		{"across families: the binary log is named", side(lab.MariaDB, maria118), side(lab.MySQL, mysql97),
			"differs from the base in what nobody asked for: log_bin ON, OFF in the base; " +
				"innodb_redo_log_capacity 104857600, innodb_log_file_size 100663296 in the base; " +
				"innodb_snapshot_isolation unknown to it, ON in the base; performance_schema ON, OFF in the base; " +
				"sync_binlog 1, 0 in the base; gtid_mode ON, unknown to the base; and in 1 variable not known to matter"},
		{"across versions: flush method, and off is the same as unknown", side(lab.MariaDB, maria105), side(lab.MariaDB, maria1011),
			"differs from the base in what nobody asked for: innodb_flush_method O_DIRECT, fsync in the base; and in 2 variables not known to matter"},
		{"character set and snapshot isolation", side(lab.MariaDB, maria1011), side(lab.MariaDB, maria118),
			"differs from the base in what nobody asked for: innodb_snapshot_isolation ON, OFF in the base; " +
				"character_set_server utf8mb4, latin1 in the base; and in 1 variable not known to matter"},
		{"what was asked for is not named",
			side(lab.MySQL, "log_bin=ON; sync_binlog=1; innodb_buffer_pool_size=1", lab.Option{Name: "innodb-buffer-pool-size", Value: "1"}),
			side(lab.MySQL, "log_bin=OFF; sync_binlog=1; innodb_buffer_pool_size=2", lab.Option{Name: "innodb_buffer_pool_size", Value: "2"}, lab.Option{Name: "skip-log-bin", Bare: true}),
			""},
		{"asked for by another server's name", side(lab.MariaDB, "transaction_isolation=A"),
			side(lab.MariaDB, "tx_isolation=B", lab.Option{Name: "transaction-isolation", Value: "B"}), ""},
		{"what both were asked for and one did not take is named",
			side(lab.MySQL, "innodb_doublewrite=ON", lab.Option{Name: "innodb_doublewrite", Value: "OFF"}),
			side(lab.MySQL, "innodb_doublewrite=0", lab.Option{Name: "innodb_doublewrite", Value: "OFF"}),
			"differs from the base in what nobody asked for: innodb_doublewrite 0, ON in the base"},
		{"the binary log's options do not matter without it", side(lab.MariaDB, "log_bin=OFF; sync_binlog=0"), side(lab.MariaDB, "log_bin=OFF; sync_binlog=1"), ""},
		{"ways to say yes", side(lab.MariaDB, "innodb_doublewrite=ON"), side(lab.MariaDB, "innodb_doublewrite=1"), ""},
		{"only unknown ones", side(lab.MariaDB, "a=1; b=2; c=3"), side(lab.MariaDB, "a=2; b=2"),
			"differs from the base in 2 variables that nobody asked for, none of them known to matter"},
		{"where a server lives", side(lab.MariaDB, "datadir=/a; socket=/a/s; server_id=1; version=10.5"), side(lab.MariaDB, "datadir=/b; socket=/b/s; server_id=2; version=11.8"), ""},
		{"a side that never started", side(lab.MariaDB, "a=1"), &lab.Side{}, ""},
		{"a long value", side(lab.MariaDB, "key_buffer_size="+strings.Repeat("1", 60)), side(lab.MariaDB, "key_buffer_size=1"),
			"differs from the base in what nobody asked for: key_buffer_size 1, a long value in the base"},
		{"a long list", side(lab.MariaDB, "optimizer_switch=index_merge=on,mrr=off,engine_condition_pushdown=off,derived_merge=on"),
			side(lab.MariaDB, "optimizer_switch=index_merge=on,mrr=on,derived_merge=on,cset_narrowing=on"),
			"differs from the base in what nobody asked for: optimizer_switch adds mrr=on, cset_narrowing=on, lacks engine_condition_pushdown=off (against the base)"},
	} {
		if d := cmp.Diff(tt.want, settingsNote(tt.base, tt.cand)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestFootnotes(t *testing.T) {
	ignored := lab.Option{Name: "innodb_change_buffering", Value: "none"}
	for _, tt := range []struct {
		name  string
		run   func(*lab.Run)
		slice func(lab.Run, *lab.Slice)
		want  []string // parts of the footnotes, one each
	}{
		{"nothing to say", nil, nil, nil},
		{"options without effect, the only difference",
			func(r *lab.Run) {
				r.Sides[r.Base.String()] = side(lab.MariaDB, "a=1")
				r.Sides[r.Variants[1].String()] = side(lab.MariaDB, "a=1", ignored)
				r.Sides[r.Variants[1].String()].Ignored = []string{"innodb_change_buffering: asked none, got none of it"}
			}, nil,
			[]string{"server@1/default/InnoDB is the same as the base", "options that had no effect: innodb_change_buffering"}},
		{"compiled otherwise",
			func(r *lab.Run) {
				r.Sides[r.Base.String()] = side(lab.MariaDB, "a=1")
				r.Sides[r.Variants[1].String()] = side(lab.MariaDB, "a=1")
				r.Sides[r.Variants[1].String()].Build.Flags = "-O3"
			}, nil, []string{"was compiled otherwise than the base: -O3; the base: flags unknown"}},
		{"the base broke", nil, func(r lab.Run, s *lab.Slice) {
			if s.Cell.Variant == r.Base {
				s.Err = "start mysqld: exit status 1"
			}
		}, []string{"the base server@0/default/InnoDB broke at every level, so nothing can be compared: start mysqld: exit status 1"}},
		{"the base broke at one level", nil, func(r lab.Run, s *lab.Slice) {
			if s.Cell.Variant == r.Base && s.Cell.Step.Name == "step1" {
				s.Err = "deadlock"
			}
		}, []string{"broke at w/step1/1, where nothing can be compared: deadlock"}},
		{"steal", nil, func(r lab.Run, s *lab.Slice) {
			if s.Seq == 0 && s.Cell.Variant == r.Base {
				s.Usage.Steal = 0.2 * s.Wall // of 2 CPUs: 10 %
			}
		}, []string{"took more than 5 % of the CPU time in 4 of 16 slices: server@0/default/InnoDB 50 %, server@1/default/InnoDB 0 %"}},
		{"server errors", nil, func(r lab.Run, s *lab.Slice) {
			if s.Cell.Variant != r.Base {
				s.Errors = []lab.ErrorCount{{Code: 1213, Count: 2}, {Code: 1205, Count: 1}}
			}
		}, []string{"server@1/default/InnoDB answered with errors: 8 × error 1205, 16 × error 1213"}},
	} {
		s := sim{blocks: 2, slices: 2, levels: 2, clients: 1, candidates: 1, seed: 1}
		run := s.run()
		if tt.run != nil {
			tt.run(&run)
		}
		got := summary(t, run, change(s.measure(), func(s *lab.Slice) {
			if tt.slice != nil {
				tt.slice(run, s)
			}
		})).Footnotes
		ok := len(got) == len(tt.want)
		for i := range min(len(got), len(tt.want)) {
			ok = ok && strings.Contains(got[i], tt.want[i])
		}
		if !ok {
			t.Errorf("%s: footnotes %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestList(t *testing.T) {
	var names []string
	for i := range 7 {
		names = append(names, fmt.Sprint(i))
	}
	if got, want := list(names), "0, 1, 2, 3, 4 and 2 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A level that only warms up has no verdict and is not missed.
func TestWarmLevel(t *testing.T) {
	s := sim{blocks: 2, slices: 2, levels: 2, clients: 1, candidates: 1, seed: 1}
	run := s.run()
	run.Levels[1].Warm = true
	sum := summary(t, run, s.measure())
	for _, c := range sum.Comparisons {
		if c.Level == run.Levels[1].Level {
			t.Errorf("%s is compared", c.Level)
		}
	}
	if len(sum.Footnotes) > 0 || len(sum.Cells) != 2 {
		t.Errorf("footnotes %q, %d cells", sum.Footnotes, len(sum.Cells))
	}
}

// Doubts of the client about single slices are summed up: which cells, how many slices.
func TestWarningsBecomeFootnotes(t *testing.T) {
	s := sim{blocks: 2, slices: 2, levels: 2, clients: 1, candidates: 1}
	all := s.measure()
	late, n := "the tool ended late", 0
	for i := range all {
		if all[i].Cell.Variant == variant(1) {
			if n++; n <= 3 {
				all[i].Warnings = []string{late}
			}
		}
	}
	all[0].Warnings = append(all[0].Warnings, "another doubt")
	var got []string
	for _, f := range summary(t, s.run(), all).Footnotes {
		if strings.Contains(f, "slices: ") || strings.Contains(f, "slice: ") {
			got = append(got, f)
		}
	}
	want := []string{
		"1 slice: another doubt: w/step0/1 with " + all[0].Cell.Variant.String() + " (1 of 4)",
		"3 slices: the tool ended late: w/step0/1 with server@1/default/InnoDB (2 of 4), w/step1/1 with server@1/default/InnoDB (1 of 4)",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("footnotes (-want +got):\n%s", d)
	}
}

// What several candidates have in common is said once, with their names.
func TestFootnotesInCommon(t *testing.T) {
	s := sim{blocks: 2, slices: 2, levels: 1, clients: 1, candidates: 3, seed: 1}
	run := s.run()
	for i, v := range run.Variants {
		run.Sides[v.String()] = side(lab.MariaDB, []string{"a=1", "a=2", "a=2", "a=1; b=1; c=1"}[i])
	}
	want := []string{
		"server@1/default/InnoDB, server@2/default/InnoDB: each differs from the base in 1 variable that nobody asked for, none of them known to matter",
		"server@3/default/InnoDB differs from the base in 2 variables that nobody asked for, none of them known to matter",
	}
	if d := cmp.Diff(want, summary(t, run, s.measure()).Footnotes); d != "" {
		t.Errorf("footnotes (-want +got):\n%s", d)
	}
}
