package lab

// Names of load tools that can drive a step in place of our client.
const (
	Sysbench  = "sysbench"
	Mysqlslap = "mysqlslap"
)

// Tool is how another program drives a step, with everything put in that the workload's
// parameters and the server decide.
type Tool struct {
	Program string   // Sysbench or Mysqlslap
	Script  string   // of Sysbench: one that comes with it, or the path of a Lua file from where the workload lies
	Query   string   // of Mysqlslap
	Queries bool     // operations are the statements that sysbench counts, not its events
	Text    bool     // sysbench sends text; false: prepared statements. mysqlslap always sends text
	Options []Option // more, by name without dashes, sorted
}
