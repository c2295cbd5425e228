package waits

import (
	"context"
	"fmt"
	"strconv"
)

// Oldest returns for how many seconds the oldest open transaction of InnoDB has been open,
// clients' own left out; 0: there is none. What was deleted or changed since it began is kept
// for it, and readers step over that: it is the age that counts, since one large DELETE is a
// history of length one. conns are the clients' ids on the server.
func Oldest(ctx context.Context, query Query, conns []uint64) (float64, error) {
	sql := "SELECT MAX(TIMESTAMPDIFF(MICROSECOND, trx_started, NOW(6))) FROM information_schema.INNODB_TRX"
	if len(conns) > 0 {
		sql += " WHERE trx_mysql_thread_id NOT IN (" + join(conns) + ")"
	}
	_, rows, err := query(ctx, sql)
	switch {
	case err != nil && noTable(err):
		return 0, nil // a server without InnoDB
	case err != nil:
		return 0, fmt.Errorf("read information_schema.INNODB_TRX: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 1 || rows[0][0] == nil {
		return 0, nil
	}
	µs, err := strconv.ParseFloat(*rows[0][0], 64)
	if err != nil {
		return 0, fmt.Errorf("read information_schema.INNODB_TRX: the age of a transaction: %w", err)
	}
	return max(0, µs/1e6), nil
}
