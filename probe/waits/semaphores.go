package waits

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// readSemaphores reads what InnoDB counts of its latches in SHOW ENGINE INNODB STATUS.
// MariaDB 10.6 and later count nothing there.
func (c *counters) readSemaphores(ctx context.Context, query Query) error {
	_, rows, err := query(ctx, "SHOW ENGINE INNODB STATUS")
	if err != nil {
		return fmt.Errorf("SHOW ENGINE INNODB STATUS: %w", err)
	}
	for _, row := range rows {
		if len(row) == 3 && row[2] != nil {
			parseSemaphores(*row[2], c.engines)
		}
	}
	return nil
}

// parseSemaphores reads the section SEMAPHORES of InnoDB's status: lines such as
//
//	OS WAIT ARRAY INFO: reservation count 11
//	RW-shared spins 1, rounds 30, OS waits 1
//	Mutex spin waits 0, rounds 0, OS waits 0
//
// Averages and the list of threads that wait at the moment are left out.
func parseSemaphores(text string, out map[string]int64) {
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "SEMAPHORES":
			in = true
		case !in:
		case isHeading(line):
			return
		case strings.HasPrefix(line, "OS WAIT ARRAY INFO: "):
			readCount("innodb latches: OS wait array", strings.TrimPrefix(line, "OS WAIT ARRAY INFO: "), out)
		default:
			latch, counts, ok := strings.Cut(line, " spin")
			if !ok || !isLatch(latch) {
				continue
			}
			for part := range strings.SplitSeq("spin"+counts, ",") {
				readCount("innodb latches: "+latch, part, out)
			}
		}
	}
}

// isHeading reports whether a line is the title of the next section: in capitals.
func isHeading(line string) bool {
	return line == strings.ToUpper(line) && strings.ContainsAny(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

func isLatch(name string) bool {
	switch name {
	case "Mutex", "RW-shared", "RW-excl", "RW-sx":
		return true
	}
	return false
}

// readCount reads words that end in a number, as in "OS waits 4".
func readCount(of, text string, out map[string]int64) {
	text = strings.TrimSpace(text)
	i := strings.LastIndexByte(text, ' ')
	if i < 0 {
		return
	}
	if n, err := strconv.ParseInt(text[i+1:], 10, 64); err == nil && n >= 0 {
		out[of+" "+strings.TrimSpace(text[:i])] += n
	}
}
