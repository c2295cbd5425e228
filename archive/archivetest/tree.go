// Package archivetest makes results of others for tests: small files of the kinds that the
// reference scripts leave behind, and trees of many.
package archivetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// What tools print, made up or shortened: an output of sysbench, averages of a script, raw
// samples of iostat and of ps.
const (
	Sysbench = `/opt/sysbench --db-driver=mysql --table-size=10000000 --tables=8 --threads=2 --time=60 /opt/share/oltp_scan.lua run --mysql-password=pw
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

	Met = `iostat, vmstat normalized by operation rate
samp	r/s	rMB/s	w/s	wMB/s	r/o	rKB/o	wKB/o	o/s
935	0.7	0.0	7814.0	330.5	0.000	0.000	3.585	94391.35

samp	cs/s	cpu/s	cs/o	cpu/o
979	599368	38.6	6.350	0.000409
`

	Iostat = `Linux 5.15.0 (host) 	03/04/2025 	_x86_64_	(8 CPU)


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

	Ps = `Tue Mar  4 07:55:37 PM UTC 2025
me 1 0.0 1.5 1000 900 pts/3 S 19:14 0:01 /d/bin/postgres
me 2 8.9 17.6 2000 700 ?  Ss 19:14 3:39 postgres: checkpointer
Tue Mar  4 07:55:47 PM UTC 2025
me 1 0.0 1.5 1000 900 pts/3 S 19:14 0:01 /d/bin/postgres
me 2 8.9 17.6 2000 800 ?  Ss 19:14 3:39 postgres: checkpointer
`
)

// Vmstat has the counts of the reference's fixture: a row since boot, 634 samples, 31
// headings.
func Vmstat() string {
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

// Figures is how many figures a test of a tree has: 8 of the output, 12 of averages, 6 of
// raw samples, 5 of those per operation, 1 of ps.
const Figures = 8 + 12 + 6 + 5 + 1

// Tests is how many tests each build of a tree has, of five files each.
const Tests = 50

// Tree writes result folders of builds with Tests tests each: an output, averages, and raw
// samples of vmstat, iostat and ps, in all about a hundred kilobytes a file on average. It
// returns the number of files and of bytes.
func Tree(dir string, builds int) (files int, bytes int64, err error) {
	fill := func(block string, n int) string { return strings.Repeat(block, n/len(block)) }
	vmBlock := strings.Join(strings.SplitAfter(Vmstat(), "\n")[:23], "")
	ioHead, ioBlock, _ := strings.Cut(Iostat, "\n\n\n")
	texts := map[string]string{
		"o": Sysbench, "met": Met,
		"vm": vmBlock + fill(vmBlock, 60<<10), "io": ioHead + "\n\n\n" + fill(ioBlock+"\n\n", 300<<10), "ps": fill(Ps, 140<<10),
	}
	for b := range builds {
		folder := filepath.Join(dir, fmt.Sprintf("x.my80%02d_rel.z12a_c8r32.pk1", b))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return 0, 0, err
		}
		for i := range Tests {
			for kind, text := range texts {
				name := filepath.Join(folder, fmt.Sprintf("sb.%s.read-only.range%d.pk1.dop2", kind, i+1))
				if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
					return 0, 0, err
				}
				files++
				bytes += int64(len(text))
			}
		}
	}
	return files, bytes, nil
}
