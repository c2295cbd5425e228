package explain

import (
	"strings"
	"testing"
	"unicode"
)

// TestKnownShape: facts are short sentences, and each variable has one.
func TestKnownShape(t *testing.T) {
	all := append(facts(), besides()...)
	if len(all) < 40 {
		t.Errorf("%d facts", len(all))
	}
	seen := map[string]bool{}
	for i, f := range all {
		names := strings.Fields(f.names)
		if i >= len(facts()) {
			names = []string{f.names}
		}
		for _, n := range names {
			if seen[n] {
				t.Errorf("%s is there twice", n)
			}
			seen[n] = true
			if n != strings.ToLower(n) || strings.Contains(n, "-") {
				t.Errorf("%s is no normal name", n)
			}
		}
		checkSentence(t, f.names, f.why)
		if f.weight < seldom || f.weight > usually {
			t.Errorf("%s has weight %d", f.names, f.weight)
		}
	}
	for _, m := range buildMarks() {
		checkSentence(t, m.word, m.why)
	}
}

func checkSentence(t *testing.T, name, s string) {
	t.Helper()
	first := []rune(s + " ")[0]
	if len(s) < 15 || len(s) > 140 || strings.HasSuffix(s, ".") || unicode.IsUpper(first) && !strings.HasPrefix(s, "IN") && !strings.HasPrefix(s, "O_") && !strings.HasPrefix(s, "INTERSECT") && !strings.HasPrefix(s, "Unicode") {
		t.Errorf("%s: %q", name, s)
	}
}

func TestKnown(t *testing.T) {
	for _, c := range []struct {
		name, base, candidate string
		why                   string // part of it; "": nothing known
		weight                int
	}{
		{"innodb_adaptive_hash_index", "ON", "OFF", "hash", usually},
		{"innodb_adaptive_hash_index", "ON", "1", "", 0},
		{"innodb_adaptive_hash_index", "ON", missing, "hash", often},
		{"performance_schema", "OFF", "ON", "instruments", usually},
		{"character_set_server", "latin1", "utf8mb4", "bytes per character", usually},
		{"tx_isolation", "REPEATABLE-READ", "READ-COMMITTED", "locks", usually},
		{"key_buffer_size", "134217728", "134216704", "", 0}, // the same but for rounding
		{"key_buffer_size", "8388608", "134217728", "MyISAM", often},
		{"sync_binlog", "0", "1", "binary log", usually},
		{"innodb_snapshot_isolation", "OFF", "ON", "1020", often},
		{"innodb_spin_wait_delay", "6", "4", "burns CPU", often}, // not a size: small numbers
		{"library malloc", "system", "jemalloc", "threads", usually},
		{"build flags", "-O2 -DNDEBUG", "-O2 -fsanitize=address", "only the candidate has -fsanitize", usually},
		{"build flags", "-O3 -flto", "-O3", "only the base has -flto", often},
		{"build flags", "GCC: (Debian 10.2.1-6) 10.2.1", "GCC: (Debian 14.2.0) 14.2.0", "compiler", often},
		{"build flags", "unknown", "GCC", "", 0},
		{"debug", missing, "d:t", "debug builds", often},
		{"innodb_ft_min_token_size", "3", "4", "", 0},
		{"", "", "x", "", 0},
	} {
		why, weight := Known(c.name, c.base, c.candidate)
		if weight != c.weight || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("Known(%q, %q, %q) = %q, %d, want …%s…, %d", c.name, c.base, c.candidate, why, weight, c.why, c.weight)
		}
	}
}

// Recorded from MariaDB 10.11 and 11.8 and MySQL 5.6, shortened.
func TestKnownFlags(t *testing.T) {
	const mariadb = "index_merge=on,mrr=off,mrr_cost_based=off,join_cache_hashed=on,"
	for _, c := range []struct {
		base, candidate string
		why             string
		weight          int
	}{
		{mariadb + "hash_join_cardinality=off,cset_narrowing=off", mariadb + "hash_join_cardinality=on,cset_narrowing=on,sargable_casefold=on",
			"cset_narrowing is on, was off: an index serves comparisons of utf8mb3 columns with utf8mb4 values; hash_join_cardinality is on, was off: estimates of joins with a buffer change, and with them the order of tables; 1 flag on that the other side does not have", often},
		// Only what differs, as SettingChange has it.
		{"mrr=off", "mrr=on", "mrr is on, was off: rows that an index found are fetched in the order of their keys", often},
		{"mrr=on,index_merge=on", "index_merge=on,mrr=on", "", 0}, // another order
		{"mrr=off", "mrr=off,new_thing=off", "", 0},
		{"mrr=off,new_thing=on", "mrr=off,new_thing=off", "1 flag more", seldom},
		{"", "new_thing=on", "1 flag on that the other side does not have", seldom},
		{"no flags at all", "x", "", 0},
	} {
		why, weight := Known("optimizer_switch", c.base, c.candidate)
		if why != c.why || weight != c.weight {
			t.Errorf("%s against %s:\n got %q, %d\nwant %q, %d", c.base, c.candidate, why, weight, c.why, c.weight)
		}
	}
}
