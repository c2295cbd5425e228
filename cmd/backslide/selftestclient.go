package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"backslide/lab"
	"backslide/proc"
	"backslide/run"
)

func newClientBench(e *env) *cobra.Command {
	b := clientBench{build: "mariadb@10.11", rows: 100_000, rounds: 7, slice: time.Second, clients: []int{1, 4, 32}}
	for _, p := range []lab.Placement{lab.OneCore, lab.Unpinned, lab.CoLocated} {
		b.placements = append(b.placements, string(p))
	}
	for _, r := range rivals() {
		b.steps = append(b.steps, r.step)
	}
	cmd := &cobra.Command{
		Use:   "client",
		Short: "Compare what our client costs with sysbench and mysqlslap, on one server",
		Long: "client runs the same statements with our client, sysbench and mysqlslap in turn, round after\n" +
			"round, and prints medians of the ratios of each round. CPU is user and system time of the\n" +
			"client process per query, less what a process costs to start.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return b.run(cmd.Context(), e) },
	}
	fl := cmd.Flags()
	fl.StringVar(&b.build, "build", b.build, "`build` of the server")
	fl.IntVar(&b.rows, "rows", b.rows, "rows of the table")
	fl.IntVar(&b.rounds, "rounds", b.rounds, "rounds; medians want 7 or more")
	fl.DurationVar(&b.slice, "time", b.slice, "`time` that each tool runs in a round; whole seconds for sysbench")
	fl.IntSliceVar(&b.clients, "clients", b.clients, "`numbers` of clients")
	fl.StringSliceVar(&b.placements, "placement", b.placements, "`placements` of server and clients")
	fl.StringSliceVar(&b.steps, "steps", b.steps, "`steps` to compare")
	return cmd
}

// clientBench compares clients. Everything it starts it ends.
type clientBench struct {
	build   string
	rows    int
	rounds  int
	slice   time.Duration
	clients []int

	placements, steps []string
}

// benchWorkload has the statements that all three clients can send.
const benchWorkload = `
name = "clientbench"
[params]
rows = 100000
[[table]]
name = "sbtest1"
rows = "$rows"
create = ["CREATE TABLE sbtest1 (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '') ENGINE={engine}"]
columns.id = "row"
columns.k = "uniform(1, $rows)"
columns.c = "pattern('###########-###########-###########-###########-###########-###########-###########-###########-###########-###########')"
columns.pad = "pattern('###########-###########-###########-###########-###########')"
after = ["CREATE INDEX k_1 ON sbtest1 (k)", "ANALYZE TABLE sbtest1"]
[[step]]
name = "point"
group = "point"
read = true
sql = "SELECT c FROM sbtest1 WHERE id = :id"
args.id = "uniform(1, $rows)"
[[step]]
name = "point-sysbench"
like = "point"
[step.tool]
program = "sysbench"
script = "oltp_point_select"
options = { tables = 1, table-size = "{$rows}", rand-type = "uniform" }
[[step]]
name = "range"
group = "range"
read = true
sql = "SELECT c FROM sbtest1 WHERE id BETWEEN :id AND :to"
args.id = "uniform(1, $rows - 99)"
args.to = "id + 99"
[[step]]
name = "range-sysbench"
like = "range"
[step.tool]
program = "sysbench"
script = "oltp_read_only"
options = { tables = 1, table-size = "{$rows}", rand-type = "uniform", range-size = 100, skip-trx = true, point-selects = 0, sum-ranges = 0, order-ranges = 0, distinct-ranges = 0 }
[[step]]
name = "update-index"
group = "write"
sql = "UPDATE sbtest1 SET k = k + 1 WHERE id = :id"
args.id = "uniform(1, $rows)"
[[step]]
name = "update-index-sysbench"
like = "update-index"
[step.tool]
program = "sysbench"
script = "oltp_update_index"
options = { tables = 1, table-size = "{$rows}", rand-type = "uniform" }
[[step]]
name = "point-text"
group = "point"
read = true
prepared = false
sql = "SELECT c FROM sbtest1 WHERE id = 500"
[[step]]
name = "point-text-mysqlslap"
like = "point-text"
[step.tool]
program = "mysqlslap"
[[step]]
name = "range-text"
group = "range"
read = true
prepared = false
sql = "SELECT c FROM sbtest1 WHERE id BETWEEN 500 AND 599"
[[step]]
name = "range-text-mysqlslap"
like = "range-text"
[step.tool]
program = "mysqlslap"
`

// rival is another tool, and the step of the bench's that both run.
type rival struct {
	step, tool string
}

func rivals() []rival {
	return []rival{{"point", lab.Sysbench}, {"range", lab.Sysbench}, {"update-index", lab.Sysbench}, {"point-text", lab.Mysqlslap}, {"range-text", lab.Mysqlslap}}
}

// cost is what one round of one client came to.
type cost struct {
	qps    float64
	client float64 // CPU seconds of the client per query
	server float64 // CPU seconds of the server per query
}

func (b *clientBench) run(ctx context.Context, e *env) error {
	for _, s := range b.steps {
		if !slices.ContainsFunc(rivals(), func(r rival) bool { return r.step == s }) {
			return fmt.Errorf("there is no step %q to compare clients by; see --help for those there are", s)
		}
	}
	t := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(e.stdout, "Our client against other tools: medians of %d paired rounds, ratios ours/theirs; less is better for CPU, more for QPS.\n\n", b.rounds)
	fmt.Fprintln(t, "placement\tstep\tclients\tagainst\tour CPU µs/query\ttheirs\tclient CPU\tQPS\tserver CPU\t")
	for _, p := range b.placements {
		if err := b.placed(ctx, e, lab.Placement(p), t); err != nil {
			return err
		}
	}
	fmt.Fprintln(t, "\t\t\t\t\t\t\t\t\t")
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(e.stdout, "co-located: our server threads run beside their clients, the other tool's run unpinned. What that gains is the scheduler's, not the client's.")
	return err
}

// placed runs all comparisons at one placement of server and clients.
func (b *clientBench) placed(ctx context.Context, e *env, p lab.Placement, out io.Writer) (err error) {
	bench, err := b.open(ctx, e, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bench.close()) }()
	for _, r := range rivals() {
		if !slices.Contains(b.steps, r.step) {
			continue
		}
		for _, n := range b.clients {
			fmt.Fprintf(e.stderr, "%s, %s, %d clients against %s\n", p, r.step, n, r.tool)
			ours, theirs, err := bench.compare(ctx, r, n)
			if err != nil {
				return fmt.Errorf("%s with %d clients: %w", r.step, n, err)
			}
			ratio := func(of func(cost) float64) float64 {
				var rs []float64
				for i := range ours {
					rs = append(rs, of(ours[i])/of(theirs[i]))
				}
				return median(rs)
			}
			client := func(c cost) float64 { return c.client }
			fmt.Fprintf(out, "%s\t%s\t%d\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", p, r.step, n, r.tool,
				1e6*median(apply(ours, client)), 1e6*median(apply(theirs, client)), ratio(client),
				ratio(func(c cost) float64 { return c.qps }), ratio(func(c cost) float64 { return c.server }))
		}
	}
	return nil
}

func apply(cs []cost, of func(cost) float64) []float64 {
	var out []float64
	for _, c := range cs {
		out = append(out, of(c))
	}
	return out
}

func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	if n := len(x); n%2 == 0 {
		return (x[n/2-1] + x[n/2]) / 2
	}
	return x[len(x)/2]
}

// bench is a server with data, and our client beside it.
type bench struct {
	*clientBench
	*rig
	v      lab.Variant
	server run.Server
	client run.Client
	data   string // directory of the server's data
}

// open starts a server and our client, and loads the table.
func (b *clientBench) open(ctx context.Context, e *env, p lab.Placement) (_ *bench, err error) {
	x, err := lab.Experiment{
		Builds: []string{b.build}, Workloads: []lab.WorkloadUse{{Name: "clientbench", Text: benchWorkload, Params: map[string]string{"rows": strconv.Itoa(b.rows)}}},
		Configs: []lab.Config{{Name: "bench", Options: []lab.Option{{Name: "innodb_flush_log_at_trx_commit", Value: "2"}, {Name: "innodb_buffer_pool_size", Value: "256M"}}}},
		Plan:    lab.Plan{Placement: p},
	}.Resolve()
	if err != nil {
		return nil, err
	}
	s, err := e.setup(ctx, x)
	if err != nil {
		return nil, err
	}
	out := &bench{clientBench: b, v: x.Variants()[0]}
	if out.rig, err = e.rig(ctx, s, nil); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.close())
		}
	}()
	if out.data, err = os.MkdirTemp(e.cacheDir, "bench-"); err != nil {
		return nil, err
	}
	data := filepath.Join(out.data, "data")
	if data, err = filepath.Abs(data); err != nil {
		return nil, err
	}
	if err := out.host.Init(ctx, out.v, data); err != nil {
		return nil, err
	}
	if out.server, err = out.host.Start(ctx, out.v, data, ""); err != nil {
		return nil, err
	}
	out.client = &tooled{out.rig.client, s, out.cpus, out.guard}
	return out, out.client.Load(ctx, out.v, out.server.Socket(), func(int64, int64) {})
}

func (b *bench) close() error {
	if b.server != nil {
		b.server.Kill()
	}
	err := b.rig.close()
	if b.data != "" {
		err = errors.Join(err, os.RemoveAll(b.data))
	}
	return err
}

// compare runs our client and a rival in turn.
func (b *bench) compare(ctx context.Context, r rival, clients int) (ours, theirs []cost, err error) {
	var sessions [2]run.Session
	for i, step := range []string{r.step, r.step + "-" + r.tool} {
		level := lab.Level{Step: lab.Step{Workload: "clientbench", Name: step}, Clients: clients}
		sess, err := b.client.Open(ctx, b.v, b.server.Socket(), run.Work{Level: level, Seed: 1})
		if err != nil {
			return nil, nil, err
		}
		defer sess.Close()
		sessions[i] = sess
	}
	for round := range b.rounds + 1 {
		mine, err := b.round(ctx, sessions[0], round)
		if err != nil {
			return nil, nil, err
		}
		other, err := b.round(ctx, sessions[1], round)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", r.tool, err)
		}
		if round > 0 { // the first warms up
			ours, theirs = append(ours, mine), append(theirs, other)
		}
	}
	return ours, theirs, nil
}

// round runs one slice. What the server does before a tool's clock starts does not count.
func (b *bench) round(ctx context.Context, sess run.Session, seq int) (cost, error) {
	var before time.Duration
	var failed error
	out, err := sess.Slice(ctx, run.Spec{Seq: seq, Discard: 20 * time.Millisecond, Duration: b.slice}, func() {
		before, failed = proc.CPUTime(b.server.PID())
	})
	if err = errors.Join(err, failed); err != nil {
		return cost{}, err
	}
	after, err := proc.CPUTime(b.server.PID())
	if err != nil {
		return cost{}, err
	}
	ops := float64(out.Ops)
	return cost{qps: ops / out.Wall, client: (out.ClientUser + out.ClientSys) / ops, server: (after - before).Seconds() / ops}, nil
}
