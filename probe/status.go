package probe

import (
	"context"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"backslide/lab"
)

// status holds counters of a server by name, in lower case. One that it does not have is
// absent.
type status map[string]float64

func (s status) get(name string) float64 {
	if v, ok := s[name]; ok {
		return v
	}
	return -1
}

// Counters that servers name differently, under one name.
const (
	history       = "innodb_history_list_length"
	checkpointLSN = "innodb_lsn_last_checkpoint"
)

// gauge is something that a server has more or less of from second to second.
type gauge struct{ name, unit, key string }

func gauges() []gauge {
	return []gauge{
		{"dirty pages", "B", "innodb_buffer_pool_bytes_dirty"},
		{"history length", "transactions", history},
		{lab.Accounted, "B", accounted},
		{"memtables", "B", "cur_size_all_mem_tables"},
		{"compactions pending", "column families", "compaction_pending"},
	}
}

// readStatus reads the counters that are wanted; what cannot be read is left out.
func readStatus(ctx context.Context, l Long) status {
	if l.DB == nil {
		return nil
	}
	out := status{}
	queries := []string{`SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_buffer_pool_bytes_dirty', 'Innodb_history_list_length', 'Innodb_lsn_last_checkpoint',
		'Innodb_redo_log_checkpoint_lsn', 'Innodb_os_log_written', 'Innodb_data_written', 'Innodb_data_read', 'Innodb_data_reads', 'Innodb_data_writes', 'Innodb_data_fsyncs',
		'Innodb_dblwr_pages_written', 'Innodb_page_size', 'Rocksdb_compact_read_bytes', 'Rocksdb_compact_write_bytes', 'Rocksdb_flush_write_bytes', 'Rocksdb_wal_bytes', 'Rocksdb_wal_synced',
		'Rocksdb_block_cache_miss', ` + memoryNames + `)`}
	switch l.Engine {
	case "InnoDB":
		queries = append(queries, "SELECT 'innodb_history_list_length', count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'")
	case "MyRocks":
		queries = append(queries, "SELECT stat_type, SUM(value) FROM information_schema.rocksdb_cfstats WHERE stat_type IN ('COMPACTION_PENDING', 'CUR_SIZE_ALL_MEM_TABLES') GROUP BY stat_type")
	}
	for _, q := range queries {
		out.read(ctx, l, q)
	}
	out.account(ctx, l)
	if v, ok := out["innodb_redo_log_checkpoint_lsn"]; ok { // as MySQL calls it from 8.0.30 on
		out[checkpointLSN] = v
	}
	return out
}

func (s status) read(ctx context.Context, l Long, query string) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	rows, err := l.DB.QueryContext(ctx, query)
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		var name, value string
		if rows.Scan(&name, &value) != nil {
			return
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			s[strings.ToLower(name)] = v
		}
	}
}

// sizes are bytes allocated on disk, below a data directory.
type sizes struct{ all, tables, binlog int64 }

// sizesOf adds up the files of a data directory: tables are what lies in directories of
// databases and of RocksDB.
func sizesOf(dir string) sizes {
	var s sizes
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // files come and go meanwhile
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		bytes := info.Size()
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			bytes = st.Blocks * 512
		}
		s.all += bytes
		below, _ := filepath.Rel(dir, path)
		top, _, nested := strings.Cut(below, string(filepath.Separator))
		switch {
		case nested && top != "mysql" && top != "performance_schema" && top != "sys" && !(strings.HasPrefix(top, "#") && top != "#rocksdb"):
			s.tables += bytes
		case strings.Contains(filepath.Base(path), "binlog") || strings.Contains(filepath.Base(path), "-bin."):
			s.binlog += bytes
		}
		return nil
	})
	return s
}

// amplified adds the redo log (or WAL) that was written, and what the server sent to
// storage in all for each byte of it: the log itself, pages, compactions, the binlog.
func (f *follower) amplified(redo float64, add func(name, unit string, v float64)) {
	add("redo", "B", redo)
	if u := Between(f.start, f.at, nil); redo > 0 && u.WriteBytes >= 0 {
		add("write amplification", "B/B", float64(u.WriteBytes)/redo)
	}
}

// readings returns what was added to counters in a slice, and sizes at its end.
func (f *follower) readings(took time.Duration) []lab.Reading {
	var out []lab.Reading
	add := func(name, unit string, v float64) {
		if v >= 0 {
			out = append(out, lab.Reading{Name: name, Unit: unit, Value: v})
		}
	}
	grown := func(key string) float64 {
		a, b := f.first.get(key), f.last.get(key)
		if a < 0 || b < a {
			return -1
		}
		return b - a
	}
	if f.DataDir != "" {
		after := sizesOf(f.DataDir)
		add("tables", "B", float64(after.tables))
		add("data directory", "B", float64(after.all))
		if after.binlog > 0 {
			add("binlog", "B", float64(max(0, after.binlog-f.sizes.binlog)))
		}
	}
	switch f.Engine {
	case "InnoDB":
		f.amplified(grown("innodb_os_log_written"), add)
		add(lab.EngineWrites, "B", grown("innodb_data_written"))
		add(lab.PageReads, "1", grown("innodb_data_reads"))
		add(lab.EngineReads, "B", grown("innodb_data_read"))
		add(lab.PageWrites, "1", grown("innodb_data_writes"))
		add(lab.Fsyncs, "1", grown("innodb_data_fsyncs"))
		if pages := grown("innodb_dblwr_pages_written"); pages >= 0 {
			add(lab.Doublewrite, "B", pages*f.last.get("innodb_page_size"))
		}
		if f.first.get(checkpointLSN) >= 0 {
			add("checkpoints", "1", float64(f.checkpoints))
		}
	case "MyRocks":
		flushed, compacted := grown("rocksdb_flush_write_bytes"), grown("rocksdb_compact_write_bytes")
		f.amplified(grown("rocksdb_wal_bytes"), add)
		if flushed >= 0 && compacted >= 0 {
			add(lab.EngineWrites, "B", flushed+compacted)
		}
		add(lab.BlockReads, "1", grown("rocksdb_block_cache_miss"))
		add(lab.CompactionReads, "B", grown("rocksdb_compact_read_bytes"))
		add(lab.Fsyncs, "1", grown("rocksdb_wal_synced"))
	}
	add(lab.Accounted, "B", f.last.get(accounted))
	add("observed", "sec", took.Seconds())
	return out
}
