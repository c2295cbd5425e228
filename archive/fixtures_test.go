package archive

import "backslide/archive/archivetest"

// Small files of each kind, made up or shortened, so that readers are tested everywhere.
const (
	sysbenchText = archivetest.Sysbench

	metText = archivetest.Met

	iostatText = archivetest.Iostat

	psText = archivetest.Ps

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

func vmstatText() string { return archivetest.Vmstat() }
