package lab

import "strings"

// ownVariables lists variables that differ between any two servers of one run, or say
// what the build's name says already. They are no difference.
func ownVariables() []string {
	return []string{
		"admin_port", "aria_log_dir_path", "basedir", "bind_address", "character_sets_dir", "datadir", "error_count", "extra_port", "gtid_binlog_pos",
		"gtid_binlog_state", "gtid_current_pos", "gtid_executed", "gtid_purged", "gtid_slave_pos", "hostname", "identity", "init_file",
		"innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_redo_log_archive_dirs", "innodb_temp_tablespaces_dir", "innodb_tmpdir",
		"innodb_undo_directory", "innodb_version", "insert_id", "last_insert_id", "lc_messages_dir", "license", "log_bin_basename", "log_bin_index",
		"log_error", "mysqlx_port", "mysqlx_socket", "pid_file", "plugin_dir", "port", "protocol_version", "proxy_user", "pseudo_thread_id",
		"rand_seed1", "rand_seed2", "relay_log", "relay_log_basename", "relay_log_index", "replica_load_tmpdir", "report_host", "report_port", "server_id", "server_uid",
		"server_uuid", "slave_load_tmpdir", "socket", "ssl_ca", "ssl_cert", "ssl_key", "statement_id", "timestamp", "tls_version", "tmpdir", "version",
		"version_comment", "version_compile_machine", "version_compile_os", "version_compile_zlib", "version_malloc_library",
		"version_source_revision", "version_ssl_library", "wsrep_data_home_dir", "general_log_file", "slow_query_log_file", "innodb_buffer_pool_filename",
	}
}

// Asked returns the names of options that the two sides' configs set differently: what
// differs because of them is what the experiment is about.
func Asked(base, cand *Side) map[string]bool {
	a, b := set(base), set(cand)
	out := map[string]bool{}
	for name, v := range a {
		if w, ok := b[name]; !ok || !SameValue(v, w) {
			out[name] = true
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			out[name] = true
		}
	}
	return out
}

// set returns the values that a side's options give to variables, by variable.
func set(s *Side) map[string]string {
	out := map[string]string{}
	for _, o := range s.Config.For(s.Build.Family) {
		name, value := NormalName(o.Name), o.Value
		if o.Bare {
			value = "ON"
		}
		for _, prefix := range []string{"skip_", "disable_", "enable_"} {
			if rest, ok := strings.CutPrefix(name, prefix); ok && name != "skip_name_resolve" && name != "skip_networking" {
				name = rest
				if prefix != "enable_" {
					value = "OFF"
				}
			}
		}
		out[name] = value
		if name == "log_bin" && !Off(value) { // the option takes a file name, the variable says ON
			out[name] = "ON"
		}
	}
	return out
}

// Variables returns the server's variables by normal name, without those that differ
// between any two servers of one run, such as ports and directories.
func (s *Side) Variables() map[string]string {
	out := make(map[string]string, len(s.Settings))
	for name, v := range s.Settings {
		out[NormalName(name)] = v
	}
	for _, name := range ownVariables() {
		delete(out, name)
	}
	return out
}

// SameValue reports whether two values of a variable mean the same.
func SameValue(a, b string) bool { return word(a) == word(b) }

// Off reports whether a value is that of something switched off, or not there.
func Off(v string) bool {
	switch word(v) {
	case "", "0", "none", "off_permissive":
		return true
	}
	return false
}

// word returns a value with the ways to say yes and no made one.
func word(v string) string {
	switch v = strings.ToLower(strings.TrimSpace(v)); v {
	case "on", "yes", "true":
		return "1"
	case "off", "no", "false":
		return "0"
	}
	return v
}
