package explain

import "slices"

// facts lists what is known of variables, from the manuals of MySQL 5.6 to 9.x and
// MariaDB 10.5 to 11.8.
func facts() []fact {
	return slices.Concat(durability(), innodb(), memory(), sql(), threads(), observers(), otherEngines())
}

// durability: what a commit waits for.
func durability() []fact {
	return []fact{
		{"innodb_flush_log_at_trx_commit", "at 1 each commit waits until the redo log is on storage, at 0 and 2 it does not", usually, false},
		{"sync_binlog", "at 1 each group of commits waits until the binary log is on storage, if there is one", usually, false},
		{"log_bin", "with a binary log each commit writes its changes twice and commits in two phases", usually, false},
		{"innodb_doublewrite", "each page is written to a second place first", usually, false},
		{"innodb_flush_method", "O_DIRECT keeps data files out of the system's page cache; fsync caches them twice", usually, false},
		{"binlog_format", "rows or statements are logged: it decides the bytes per commit, and some locks", often, false},
		{"binlog_row_image", "how many columns of a changed row are logged", often, false},
		{"gtid_mode", "each commit gets a global id that is logged and kept", often, false},
		{"binlog_group_commit_sync_delay binlog_commit_wait_usec", "commits wait this many microseconds for others to sync with", usually, false},
		{"binlog_commit_wait_count binlog_group_commit_sync_no_delay_count", "how many commits end that wait", often, false},
		{"binlog_transaction_compression log_bin_compress", "log events are compressed before they are written", often, false},
		{"binlog_checksum", "each log event gets a checksum", seldom, false},
		{"binlog_order_commits", "engines commit in the order of the binary log", seldom, false},
		{"binlog_encryption encrypt_binlog", "the binary log is encrypted", often, false},
		{"binlog_cache_size", "larger transactions go through a temporary file", seldom, true},
		{"wsrep_on", "each commit is certified by a cluster", usually, false},
		{"innodb_use_native_aio", "without it reads and writes in the background block a thread each", often, false},
		{"innodb_log_file_size innodb_redo_log_capacity", "with a small redo log pages have to be flushed sooner and more often", usually, true},
		{"innodb_log_files_in_group", "the redo log is this many files large", often, false},
		{"innodb_log_buffer_size", "transactions larger than it wait for the log to be written", seldom, true},
		{"innodb_log_writer_threads", "on, threads of their own write the redo log and commits wait to be woken", usually, false},
		{"innodb_log_file_buffering", "whether the redo log goes through the system's page cache", often, false},
		{"innodb_log_write_ahead_size", "smaller than the storage's block, log writes read first", seldom, false},
		{"innodb_checksum_algorithm", "pages are checked by it when read and written; the oldest one is not done by the CPU's instructions", often, false},
	}
}

// innodb: how the engine caches, flushes and locks.
func innodb() []fact {
	return []fact{
		{"innodb_buffer_pool_size", "how much of the data is cached", usually, true},
		{"innodb_buffer_pool_instances", "threads share the mutexes and lists of one instance", often, false},
		{"innodb_adaptive_hash_index", "on, lookups by equal key find their row by a hash, under a latch; off, each descends the tree", usually, false},
		{"innodb_adaptive_hash_index_parts", "the latches of the adaptive hash index are this many", seldom, false},
		{"innodb_change_buffering", "changes to pages of secondary indexes that are not cached are kept for later, or the page is read at once", often, false},
		{"innodb_change_buffer_max_size", "how much of the cache such changes may take", seldom, false},
		{"innodb_io_capacity innodb_io_capacity_max", "pages per second that flushing in the background aims at", often, false},
		{"innodb_flush_neighbors", "dirty pages beside one that is flushed are written too", often, false},
		{"innodb_max_dirty_pages_pct innodb_max_dirty_pages_pct_lwm", "from this share of dirty pages on, flushing starts or speeds up", seldom, false},
		{"innodb_adaptive_flushing innodb_flush_sync", "how flushing follows the growth of the redo log", seldom, false},
		{"innodb_page_cleaners", "threads that flush dirty pages", seldom, false},
		{"innodb_lru_scan_depth", "how many pages are kept free for reads", seldom, true},
		{"innodb_read_io_threads innodb_write_io_threads", "threads that finish reads and writes in the background", seldom, false},
		{"innodb_purge_threads", "threads that remove deleted rows for good", seldom, false},
		{"innodb_undo_tablespaces innodb_undo_log_truncate", "where undo logs are, and whether they shrink while the server runs", seldom, false},
		{"innodb_spin_wait_delay innodb_sync_spin_loops innodb_spin_wait_pause_multiplier", "how long a thread burns CPU for a latch before it sleeps", often, false},
		{"innodb_sync_array_size", "sleeping threads share the mutexes of this many arrays", seldom, false},
		{"innodb_thread_concurrency", "how many threads may be inside InnoDB at once; 0 is no limit", often, false},
		{"innodb_concurrency_tickets", "how often a thread may come back in before it queues again", seldom, false},
		{"innodb_autoinc_lock_mode", "at 2 no insert holds the table's lock for new keys to its end", often, false},
		{"innodb_snapshot_isolation", "on, changing a row that changed since the snapshot is error 1020, and the operation is lost or repeated", often, false},
		{"innodb_deadlock_detect", "each wait for a row lock looks for a cycle", often, false},
		{"innodb_page_size", "rows per page, depth of trees and bytes per write depend on it", usually, false},
		{"innodb_default_row_format", "how new tables store their rows", often, false},
		{"innodb_compression_default", "pages of new tables are compressed", often, false},
		{"innodb_encrypt_tables innodb_encrypt_log innodb_redo_log_encrypt innodb_undo_log_encrypt", "pages or log records are encrypted when written and decrypted when read", often, false},
		{"innodb_stats_persistent innodb_stats_auto_recalc innodb_stats_persistent_sample_pages", "where the optimizer's estimates come from, and when they change", often, false},
		{"innodb_random_read_ahead innodb_read_ahead_threshold", "when pages are read before they are asked for", seldom, false},
		{"innodb_dedicated_server", "the server sizes its memory and log by the machine", usually, false},
		{"innodb_numa_interleave", "memory of the cache is spread over all nodes", seldom, false},
	}
}

// memory: caches and buffers of the server.
func memory() []fact {
	return []fact{
		{"query_cache_type", "on, each SELECT looks for a stored answer under one mutex, and each write drops some", usually, false},
		{"query_cache_size", "at 0 there is no query cache", often, false},
		{"table_open_cache table_cache", "when too small for all connections, tables are opened again and again", often, true},
		{"table_open_cache_instances", "connections share the mutex of one part of the table cache", often, false},
		{"table_definition_cache", "when too small, definitions of tables are read again and again", seldom, true},
		{"join_buffer_size", "joins without an index read the inner table once for each full buffer", often, true},
		{"sort_buffer_size", "larger sorts go through files", often, true},
		{"read_rnd_buffer_size mrr_buffer_size", "how many rows are fetched in the order of their keys at a time", seldom, true},
		{"read_buffer_size", "buffer for scans of MyISAM and Aria tables, and for some inserts", seldom, true},
		{"tmp_table_size max_heap_table_size tmp_memory_table_size", "larger temporary tables go to storage", often, true},
		{"internal_tmp_mem_storage_engine", "the engine of temporary tables in memory", often, false},
		{"temptable_max_ram temptable_max_mmap", "larger temporary tables go to storage", seldom, true},
		{"large_pages", "memory in large pages needs fewer look-ups of addresses", often, false},
	}
}

// sql: what a statement means, and how it is planned.
func sql() []fact {
	return []fact{
		{"transaction_isolation tx_isolation", "it decides how long locks are held and when snapshots are made", usually, false},
		{"autocommit", "whether each statement commits", usually, false},
		{"character_set_server character_set_database", "new tables get it: bytes per character, lengths of keys, how strings compare", usually, false},
		{"collation_server collation_database", "new tables get it: Unicode collations compare and sort slower than those of latin1 or binary ones", usually, false},
		{"character_set_collations", "the collation that a character set stands for: Unicode collations compare slower", often, false},
		{"default_storage_engine storage_engine", "the engine of tables that do not name one", usually, false},
		{"sql_mode", "which statements and values are refused", seldom, false},
		{"foreign_key_checks unique_checks check_constraint_checks", "what each change of a row is checked against", often, false},
		{"eq_range_index_dive_limit", "with more values in IN than this, rows are estimated from statistics and not looked up", often, false},
		{"use_stat_tables optimizer_use_condition_selectivity", "whether the optimizer's estimates use statistics of columns", often, false},
		{"histogram_type histogram_size", "how well the optimizer knows the values of columns", seldom, false},
		{"optimizer_adjust_secondary_key_costs optimizer_join_limit_pref_ratio", "it changes which index is chosen", often, false},
		{"optimizer_disk_read_cost optimizer_disk_read_ratio optimizer_key_lookup_cost optimizer_row_lookup_cost optimizer_where_cost optimizer_scan_setup_cost optimizer_index_block_copy_cost optimizer_key_copy_cost optimizer_key_compare_cost optimizer_row_copy_cost optimizer_key_next_find_cost optimizer_row_next_find_cost optimizer_rowid_copy_cost optimizer_rowid_compare_cost",
			"plans are chosen by this cost", seldom, false},
		{"optimizer_prune_level optimizer_search_depth optimizer_max_sel_args optimizer_max_sel_arg_weight range_optimizer_max_mem_size", "how many plans are considered, and how long that takes", seldom, false},
		{"join_cache_level", "which kinds of join buffers may be used", often, false},
		{"optimizer_trace", "on, the optimizer writes down all it does", often, false},
	}
}

// threads: how connections are served.
func threads() []fact {
	return []fact{
		{"thread_handling", "a thread for each connection, or a pool of threads", usually, false},
		{"thread_pool_size", "how many groups of threads serve the connections", often, false},
		{"thread_cache_size", "threads kept for new connections", seldom, false},
		{"require_secure_transport", "connections have to be encrypted", often, false},
		{"have_ssl", "whether connections can be encrypted; clients that can do so often choose it", seldom, false},
		{"skip_name_resolve", "off, the names of hosts that connect are looked up", seldom, false},
	}
}

// observers: what the server does to be watched.
func observers() []fact {
	return []fact{
		{"performance_schema", "on, its instruments take CPU time in every statement", usually, false},
		{"userstat", "on, work is counted by user, table and index", often, false},
		{"general_log", "every statement is written to a log", usually, false},
		{"slow_query_log log_slow_query", "statements slower than long_query_time are written to a log", often, false},
		{"long_query_time log_slow_query_time min_examined_row_limit log_slow_verbosity log_slow_extra log_queries_not_using_indexes", "how much is written to the log of slow statements", seldom, false},
		{"log_output", "logs go to files or tables", seldom, false},
		{"server_audit_logging", "every statement is written to an audit log", usually, false},
		{"innodb_monitor_enable", "more of InnoDB's metrics are counted", seldom, false},
		{"profiling", "on, each statement notes the time of its stages", often, false},
		{"debug debug_dbug", "only debug builds have it, and they check themselves all the time", usually, false},
	}
}

// otherEngines: MyISAM, Aria and MyRocks.
func otherEngines() []fact {
	return []fact{
		{"key_buffer_size", "cache for indexes of MyISAM", often, true},
		{"aria_pagecache_buffer_size", "cache of Aria, and of temporary tables on storage in MariaDB", often, true},
		{"delay_key_write concurrent_insert", "when MyISAM writes its indexes, and whether inserts wait for reads", seldom, false},
		{"rocksdb_flush_log_at_trx_commit", "at 1 each commit waits until MyRocks' log is on storage", usually, false},
		{"rocksdb_block_cache_size", "how much of MyRocks' data is cached", usually, true},
		{"rocksdb_use_direct_reads rocksdb_use_direct_io_for_flush_and_compaction", "whether MyRocks' files go through the system's page cache", often, false},
		{"rocksdb_max_background_jobs rocksdb_default_cf_options rocksdb_db_write_buffer_size", "how fast and how often MyRocks flushes and compacts", often, false},
		{"rocksdb_perf_context_level", "how much MyRocks counts and times", often, false},
	}
}
