package server

import (
	"fmt"
	"path/filepath"
	"strings"

	"backslide/lab"
)

// apart says of an option that it would have the server keep files outside its data
// directory. Those are not cloned with the data, and all servers of an experiment, each
// block's anew, would write to the same ones: nil if there are none.
func (s Spec) apart(o lab.Option) error {
	for _, path := range kept(o) {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(s.DataDir, path)
		}
		rel, err := filepath.Rel(s.DataDir, full)
		if path == "" || strings.HasPrefix(full, "/dev/") || err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			continue
		}
		return fmt.Errorf("%s: %s would keep files outside the data directory, where every server of the experiment would write to the same ones: leave it out or give a path below the data directory; to have them on another disk, put the lab there",
			s.Build.Name, o)
	}
	return nil
}

// kept returns the files and directories that an option names, in which a server keeps
// data or logs.
func kept(o lab.Option) []string {
	switch lab.NormalName(o.Name) {
	case "innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory", "innodb_doublewrite_dir",
		"innodb_temp_tablespaces_dir", "aria_log_dir_path", "rocksdb_datadir", "rocksdb_wal_dir", "binlog_directory",
		"log_bin", "log_bin_index", "relay_log", "relay_log_index", "general_log_file", "slow_query_log_file":
		return []string{o.Value}
	case "innodb_data_file_path", "innodb_temp_data_file_path":
		var files []string
		for _, f := range strings.Split(o.Value, ";") {
			file, _, _ := strings.Cut(f, ":") // its size and how it grows follow
			files = append(files, file)
		}
		return files
	}
	return nil
}
