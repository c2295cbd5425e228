package waits

import (
	"fmt"
	"strings"

	"backslide/lab"
)

// Options returns the options that a server must be started with for its waits to be
// timed: most instruments cannot be switched on later, because a mutex made before is not
// watched. engine is named as in lab.Engines, or empty.
//
// Only what fills the summary tables is switched on. The tables of single events need
// more consumers, cost more, and are not read.
func Options(b lab.Build, engine string) []lab.Option {
	o := []lab.Option{
		{Name: "performance_schema", Value: "ON"},
		{Name: "performance_schema_instrument", Value: "wait/%=ON"},
		{Name: "performance_schema_instrument", Value: "idle=ON"},
		{Name: "performance_schema_instrument", Value: "stage/%=ON"},
		{Name: "performance_schema_instrument", Value: "statement/%=ON"},
		{Name: "performance_schema_consumer_global_instrumentation", Value: "ON"},
		{Name: "performance_schema_consumer_thread_instrumentation", Value: "ON"},
		{Name: "performance_schema_consumer_statements_digest", Value: "ON"},
	}
	return append(append(o, sizes(b)...), EngineOptions(engine)...)
}

// EngineOptions returns the options with which an engine counts by itself what Take and
// TakeCounters read. None are needed for InnoDB.
func EngineOptions(engine string) []lab.Option {
	if !strings.EqualFold(engine, "rocksdb") && !strings.EqualFold(engine, "myrocks") {
		return nil
	}
	// 3 counts and times all but mutexes; 4 and 5 time those too, which costs a call of the
	// clock for each.
	return []lab.Option{{Name: "rocksdb_perf_context_level", Value: "3"}}
}

// sizes are those of tables that do not grow by themselves: what does not fit is counted
// as lost and never seen. Counted on servers of these versions, with the plug-ins of
// their packages.
func sizes(b lab.Build) []lab.Option {
	var o []lab.Option
	add := func(name, value string) {
		o = append(o, lab.Option{Name: "performance_schema_max_" + name, Value: value})
	}
	if b.Family == lab.MySQL && b.AtLeast(8, 0, 0) {
		return nil // its own sizes hold what its packages have
	}
	add("mutex_classes", "400")
	add("rwlock_classes", "150")
	add("cond_classes", "200")
	add("file_classes", "150")
	add("stage_classes", "300")
	add("thread_classes", "150")
	return o
}

// Supported returns nil if a server with these settings times waits, as SHOW GLOBAL
// VARIABLES says them. Where it does not, waits are unknown and not zero.
func Supported(settings map[string]string) error {
	v, ok := settings["performance_schema"]
	switch {
	case !ok:
		return fmt.Errorf("read waits: this server is built without the Performance Schema: use a build that has it")
	case !isOn(v):
		return fmt.Errorf("read waits: performance_schema is %s, and then its tables are there and empty: start the server with performance_schema=ON", v)
	}
	return nil
}

func isOn(v string) bool {
	switch strings.ToUpper(v) {
	case "ON", "YES", "1", "TRUE", "ENABLED":
		return true
	}
	return false
}
