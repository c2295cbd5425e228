package archive

import (
	"fmt"
	"strings"
)

// Small files of each kind, made up or shortened, so that readers are tested everywhere.
const (
	sysbenchText = `/opt/sysbench --db-driver=mysql --table-size=10000000 --tables=8 --threads=2 --time=60 /opt/share/oltp_scan.lua run --mysql-password=pw
48 CPUs
sysbench 1.1.0-9072687 (using bundled LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 2
Initializing random number generator from current time


Threads started!

SQL statistics:
    queries performed:
        read:                            600
        write:                           0
        other:                           0
        total:                           600
    transactions:                        600    (10.00 per sec.)
    queries:                             600    (10.00 per sec.)
    ignored errors:                      3      (0.05 per sec.)
    reconnects:                          0      (0.00 per sec.)

Throughput:
    events/s (eps):                      10.0000
    time elapsed:                        60.0000s
    total number of events:              600

Latency (ms):
         min:                                  100.00
         avg:                                  200.00
         max:                                  300.00
         95th percentile:                      280.00
         sum:                               120000.00

Threads fairness:
    events (avg/stddev):           300.0000/0.00
    execution time (avg/stddev):   60.0000/0.00
`

	metText = `iostat, vmstat normalized by operation rate
samp	r/s	rMB/s	w/s	wMB/s	r/o	rKB/o	wKB/o	o/s
935	0.7	0.0	7814.0	330.5	0.000	0.000	3.585	94391.35

samp	cs/s	cpu/s	cs/o	cpu/o
979	599368	38.6	6.350	0.000409
`

	iostatText = `Linux 5.15.0 (host) 	03/04/2025 	_x86_64_	(8 CPU)


avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          26.17    0.00   48.86    0.02    0.00   24.95

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s
md2             18.00    208.00     0.00   0.00    0.00    11.56 2000.00 204800.00
nvme0n1         99.00   9999.00     0.00   0.00    0.00    11.56 2000.00 904800.00


avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          26.17    0.00   48.86    0.02    0.00   24.95

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s
md2              0.00      0.00     0.00   0.00    0.00     0.00 1000.00 102400.00
nvme0n1          0.00      0.00     0.00   0.00    0.00    11.56 2000.00 904800.00
`

	psText = `Tue Mar  4 07:55:37 PM UTC 2025
me 1 0.0 1.5 1000 900 pts/3 S 19:14 0:01 /d/bin/postgres
me 2 8.9 17.6 2000 700 ?  Ss 19:14 3:39 postgres: checkpointer
Tue Mar  4 07:55:47 PM UTC 2025
me 1 0.0 1.5 1000 900 pts/3 S 19:14 0:01 /d/bin/postgres
me 2 8.9 17.6 2000 800 ?  Ss 19:14 3:39 postgres: checkpointer
`

	metsText = `sb.prepare.met.point-query.warm.range100.pk1
--- absolute
cpu/o		cs/o	r/o	rKB/o	wKB/o	o/s	dbms
0.000021	0.060	0	0	1.217	122699	x.my5651_rel_o2nofp.z12a_c32r128.pk1
--- relative to first result

sb.met.point-query.pre.range100.pk1.dop40
--- absolute
cpu/o		cs/o	r/o	rKB/o	wKB/o	o/s	dbms
0.000169	2.548	0	0	0	481730	x.my5651_rel_o2nofp.z12a_c32r128.pk1
0.000089	2.452	0	x	0	938791	x.my5744_rel_o2nofp.z12a_c32r128.pk1
--- relative to first result
0.53		0.96	1	inf	1	1.95	x.my5744_rel_o2nofp.z12a_c32r128.pk1
`

	relText = `Relative to: x.my5651.z12a_c8r32.pk1
col-1 : x.my5744.z12a_c8r32.pk1
col-2 : x.my8043.z12a_c8r32.pk1

col-1	col-2
0.87	0.63	hot-points_range=100
0.88	point-query_range=100
`

	ibenchText = `python3 iibench.py --dbms=mysql --db_password=pw
i_sec	t_sec	i_ips	t_ips	i_dps	t_dps	i_qps	t_qps	max_i	max_d	max_q	t_ins	t_del	t_query	retry_i	retry_d	retry_q
1.0	1.0	100	100	50	50	900	900	2500	1500	700	100	50	900	0	0	0
1.0	2.0	100	100	50	50	1100	1000	3500	500	900	200	100	2000	0	0	0
Insert rt:     256us       1ms       4ms      16ms      64ms     256ms        1s        4s       16s        gt         max
Insert rt:         0         1         3         0         0         0         0         0         0         0    0.003500
Totals: 2.0 secs, 100.0 rows/sec, 200 rows, 0 0 0 insert-delete-query retry
Done
`

	clientsText = `update-index : QPS
1       2       concurrency/engine
5806    9837    inno5635
5270    8798    inno5717

Some prose of words

update-index : QPS relative to MySQL 5.6.35
1       2       concurrency/engine
.91     .89     inno5717
`

	stepsText = "ips\tqps\trps\tmaxop\ttag\n23148\t0\t954\t0.672\tmy5649.cx6d\n-\n24630\t0\tNA\t0.146\tpg1110.cx5\n"

	benchText = `cpu: some
BenchmarkPointQuery/workload=sysbench/build=mariadb@10.5/config=default/engine=InnoDB/clients=4 1 24803 op/sec 0.0001 client-cpu-sec/op
BenchmarkFib/n=3-8 100 200 ns/op
`

	slapText = `Benchmark
	Running for engine innodb
	Average number of seconds to run all queries: 2.000 seconds
	Minimum number of seconds to run all queries: 1.500 seconds
	Maximum number of seconds to run all queries: 2.500 seconds
	Number of clients running queries: 4
	Average number of queries per client: 25

`

	gridText = "\ufefftest,mariadb@10.5,\"a, \"\"b\"\"\"\r\npoint,100,110\r\nscan_range=100,-,90\r\nhalf,1\r\nbad,1,x\r\n"

	bareText = "scan_range=100,1.5,2\n"

	folderName = "x.my8044_rel_o2nofp.z12a_c32r128.pk1/"
	testName   = "update-index.range100.pk1.dop40"
)

// vmstatText has the counts of the reference's fixture: a row since boot, 634 samples, 31
// headings.
func vmstatText() string {
	var b strings.Builder
	for i := range 635 {
		if i%21 == 0 {
			b.WriteString("procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n")
			b.WriteString(" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n")
		}
		cs, us := 1000+i, 30
		if i == 0 {
			cs, us = 0, 16
		}
		fmt.Fprintf(&b, "43  0 104424 1110904 851652 125978456   10    9  3168  4075    7 %d %d 10 72  2  0\n", cs, us)
	}
	return b.String()
}
