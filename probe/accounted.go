package probe

import (
	"context"

	"backslide/lab"
)

// accounted is the bytes that a server itself says it holds, under one name.
const accounted = "accounted"

// memoryNames are counters of what a server holds: MariaDB's of its own allocations, and
// what engines have in their caches and dictionaries.
const memoryNames = `'Memory_used', 'Innodb_buffer_pool_bytes_data', 'Innodb_mem_dictionary', 'Innodb_mem_adaptive_hash'`

// account adds up what a server says it holds, from counters that were read and, where
// these do not say, from its Performance Schema. Buffer pools count with the pages that
// are in use, as nothing else of them is resident.
func (s status) account(ctx context.Context, l Long) {
	var parts []string
	if s.get("memory_used") >= 0 {
		parts = []string{"memory_used", "innodb_mem_dictionary", "innodb_mem_adaptive_hash"}
	} else {
		s.read(ctx, l, "SELECT 'instrumented', SUM(current_number_of_bytes_used) FROM performance_schema.memory_summary_global_by_event_name WHERE event_name <> 'memory/innodb/buf_buf_pool'")
		parts = []string{"instrumented"}
	}
	sum := s.get(parts[0])
	if sum <= 0 {
		return
	}
	parts = append(parts, "innodb_buffer_pool_bytes_data")
	if l.Engine == "MyRocks" {
		s.read(ctx, l, "SELECT 'block_cache', SUM(value) FROM information_schema.rocksdb_dbstats WHERE stat_type = 'DB_BLOCK_CACHE_USAGE'")
		parts = append(parts, "block_cache", "cur_size_all_mem_tables")
	}
	for _, p := range parts[1:] {
		sum += max(0, s.get(p))
	}
	s[accounted] = sum
}

// Account returns what a server says it holds in memory, as a reading; none where it does
// not tell. It takes a query or two.
func Account(ctx context.Context, l Long) []lab.Reading {
	if v := readStatus(ctx, l).get(accounted); v > 0 {
		return []lab.Reading{{Name: lab.Accounted, Unit: "B", Value: v}}
	}
	return nil
}
