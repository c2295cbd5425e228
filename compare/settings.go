package compare

import (
	"fmt"
	"slices"
	"strings"

	"backslide/lab"
)

// known is a server variable that is known to change what is measured, so that a
// difference in it that nobody asked for is named.
type known struct {
	names  []string // the same thing by other servers' names; values in the first's terms
	binlog bool     // matters only where a binary log is written
}

// longest is how many bytes of a value a footnote prints.
const longest = 40

// knownVariables lists what footnotes name, in their order. All other variables that
// differ are counted.
func knownVariables() []known {
	var out []known
	for _, names := range []string{
		"log_bin", // MySQL 8.0 and later write a binary log unless told not to, MariaDB does not
		"innodb_flush_log_at_trx_commit",
		"innodb_flush_method",
		"innodb_doublewrite",
		"innodb_use_native_aio",
		"innodb_buffer_pool_size",
		"innodb_log_file_size innodb_redo_log_capacity",
		"innodb_log_buffer_size",
		"innodb_page_size",
		"innodb_checksum_algorithm",
		"innodb_compression_default",
		"innodb_default_row_format",
		"innodb_adaptive_hash_index",
		"innodb_change_buffering",
		"innodb_snapshot_isolation",
		"innodb_purge_threads",
		"innodb_io_capacity",
		"innodb_io_capacity_max",
		"innodb_flush_neighbors",
		"innodb_max_dirty_pages_pct",
		"innodb_spin_wait_delay",
		"innodb_sync_spin_loops",
		"innodb_thread_concurrency",
		"innodb_autoinc_lock_mode",
		"innodb_stats_persistent",
		"innodb_encrypt_tables",
		"transaction_isolation tx_isolation",
		"autocommit",
		"performance_schema",
		"userstat",
		"query_cache_type",
		"query_cache_size",
		"thread_handling",
		"thread_cache_size",
		"table_open_cache",
		"key_buffer_size",
		"aria_pagecache_buffer_size",
		"character_set_server",
		"collation_server",
		"sql_mode",
		"optimizer_switch",
		"join_buffer_size",
		"sort_buffer_size",
		"read_rnd_buffer_size",
		"tmp_table_size",
		"internal_tmp_mem_storage_engine",
		"general_log",
		"slow_query_log",
		"large_pages",
	} {
		out = append(out, known{names: strings.Fields(names)})
	}
	for _, name := range []string{"sync_binlog", "gtid_mode", "binlog_format", "binlog_row_image", "log_slave_updates log_replica_updates", "binlog_checksum"} {
		out = append(out, known{names: strings.Fields(name), binlog: true})
	}
	return out
}

// settingsNote names what differs between two sides' variables though their configs do
// not say so; "" if nothing does.
func settingsNote(base, cand *lab.Side) string {
	a, b := base.Variables(), cand.Variables()
	if len(a) == 0 || len(b) == 0 {
		return ""
	}
	skip := lab.Asked(base, cand)
	binlog := !lab.Off(a["log_bin"]) || !lab.Off(b["log_bin"])
	var named []string
	for _, k := range knownVariables() {
		av, an := k.value(a)
		bv, bn := k.value(b)
		wanted := slices.ContainsFunc(k.names, func(n string) bool { return skip[n] })
		for _, n := range k.names {
			skip[n] = true
		}
		if wanted || k.binlog && !binlog || lab.SameValue(av, bv) || an == "" && lab.Off(bv) || bn == "" && lab.Off(av) {
			continue
		}
		named = append(named, difference(an, av, bn, bv))
	}
	rest := unlike(a, b, skip)
	switch {
	case len(named) == 0 && rest == 0:
		return ""
	case len(named) == 0:
		return fmt.Sprintf("differs from the base in %s that nobody asked for, none of them known to matter", variables(rest))
	}
	note := "differs from the base in what nobody asked for: " + strings.Join(named, "; ")
	if rest > 0 {
		note += fmt.Sprintf("; and in %s not known to matter", variables(rest))
	}
	return note
}

// value returns the value and name under which a side has the variable; "" for neither.
func (k known) value(settings map[string]string) (value, name string) {
	for _, n := range k.names {
		if v, ok := settings[n]; ok {
			return v, n
		}
	}
	return "", ""
}

// difference words one variable of which base and candidate have different values.
func difference(baseName, base, candName, cand string) string {
	switch {
	case candName == "":
		return fmt.Sprintf("%s unknown to it, %s in the base", baseName, shown(base))
	case baseName == "":
		return fmt.Sprintf("%s %s, unknown to the base", candName, shown(cand))
	case strings.Contains(base+cand, ",") && max(len(base), len(cand)) > longest:
		return candName + " " + listDifference(base, cand)
	case baseName != candName:
		return fmt.Sprintf("%s %s, %s %s in the base", candName, shown(cand), baseName, shown(base))
	}
	return fmt.Sprintf("%s %s, %s in the base", candName, shown(cand), shown(base))
}

// shown returns a value as a footnote prints it.
func shown(v string) string {
	switch {
	case v == "":
		return "empty"
	case len(v) > longest:
		return "a long value"
	}
	return v
}

// listDifference says which items of a comma-separated value the candidate adds to the
// base's, and which it lacks. An item name=value is lacking only if there is no other value.
func listDifference(base, cand string) string {
	theirs, ours := strings.Split(base, ","), strings.Split(cand, ",")
	names := map[string]bool{}
	var added, lacks, out []string
	for _, item := range ours {
		name, _, _ := strings.Cut(item, "=")
		names[name] = true
		if item != "" && !slices.Contains(theirs, item) {
			added = append(added, item)
		}
	}
	for _, item := range theirs {
		name, _, pair := strings.Cut(item, "=")
		if item != "" && !slices.Contains(ours, item) && !(pair && names[name]) {
			lacks = append(lacks, item)
		}
	}
	if len(added) > 0 {
		out = append(out, "adds "+list(added))
	}
	if len(lacks) > 0 {
		out = append(out, "lacks "+list(lacks))
	}
	if len(out) == 0 {
		return "in another order than in the base"
	}
	return strings.Join(out, ", ") + " (against the base)"
}

// unlike counts the variables, other than those to skip, that differ or that only one
// side has.
func unlike(a, b map[string]string, skip map[string]bool) int {
	n := 0
	for name, v := range a {
		if w, ok := b[name]; !skip[name] && (!ok || !lab.SameValue(v, w)) {
			n++
		}
	}
	for name := range b {
		if _, ok := a[name]; !skip[name] && !ok {
			n++
		}
	}
	return n
}

func variables(n int) string {
	if n == 1 {
		return "1 variable"
	}
	return fmt.Sprintf("%d variables", n)
}
