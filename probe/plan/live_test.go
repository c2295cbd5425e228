package plan

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"backslide/lab"
	"backslide/server/servertest"
)

type query struct{ name, sql string }

// asked are what servers are asked about. The first joins two tables and sorts, the
// second cannot use an index for that; order-by-limit is the one whose plan changes between
// MariaDB 10.11 and 11.8; the rest is there for the ways of access.
var asked = []query{
	{"left-join", "select t1.id, t2.c from t1 left join t2 on t2.t1_id = t1.id where t1.a < 5 order by t2.c, t1.id"},
	{"no-index", "select t1.id, t3.e from t1 left join t3 on t3.d = t1.a where t1.a < 5 order by t3.e, t1.id"},
	{"order-by-limit", "select name from th where ticket_id = 1 and htype = 1 order by create_time, id limit 100"},
	{"group-by", "select count(*), t1.b from t1 join t2 on t1.id = t2.id where t2.c > 3 group by t1.b"},
	{"const", "select c from t1 where id = 5"},
	{"two-parts", "select b, c from t1 where b = 3 and c > 'c2'"},
	{"one-part", "select id, a from t1 where b = 3 order by a"},
	{"derived", "select d from (select d, count(*) n from t3 group by d) x where n > 1"},
	{"union", "select id from t1 where a = 1 union select id from t2 where c = 1"},
	{"union-all", "select id from t1 where a = 1 union all select id from t2 where c = 1"},
	{"in", "select id from t1 where id in (select t1_id from t2 where c = 5)"},
	{"nothing", "select max(a) from t1"},
	{"subquery", "select id, (select max(c) from t2 where t2.t1_id = t1.id) m from t1 where a = 5"},
	{"or", "select name from th where ticket_id = 77 or create_time = '2020-01-01 00:00:09'"},
	{"const-join", "select t2.id, t1.c from t1 join t2 on t2.t1_id = t1.id where t1.id = 5"},
	{"distinct", "select distinct a from t1"},
	{"distinct-sort", "select distinct e, d from t3 order by d limit 5"},
	{"loose-scan", "select a, min(id) from t1 group by a"},
	{"not-exists", "select id from t1 where a < 3 and not exists (select * from t2 where t2.t1_id = t1.id)"},
	{"exists", "select id from t3 where exists (select * from t2 where t2.t1_id = t3.d)"},
	{"three-tables", "select count(*) from t1 join t2 on t2.t1_id = t1.id join t3 on t3.id = t2.c where t1.a = 3"},
	{"group-sort", "select e, count(*) n from t3 group by e order by n desc limit 3"},
	{"left-constant", "select t1.id from t1 left join t3 on t3.id = 7 where t1.a = 4"},
	{"derived-union", "select max(id) from (select id from t1 where a = 1 union select id from t2 where c = 1) u"},
	{"scalar", "select id from t1 where a = (select max(d) from t3 where e = 5)"},
	{"descending", "select id from th order by create_time desc limit 3"},
	{"primary-range", "select sum(a) from t1 where id between 100 and 199"},
	{"not-in", "select id from t3 where d not in (select a from t1 where b = 2)"},
	{"impossible", "select id from t1 where 1 = 2"},
	{"update", "update t1 set b = b + 1 where a = 3"},
	{"delete", "delete from t3 where d = 1"},
	{"insert", "insert into t3 values (100000, 1, 1)"},
	{"insert-select", "insert into t3 select id + 200000, a, b from t1 where a = 7"},
}

// schema makes small tables with data from counting alone. th has 40,000 rows of many
// tickets in the order of time, and behind them 8,000 rows of one.
func schema() []string {
	var ten []string
	for i := range 1000 {
		ten = append(ten, fmt.Sprintf("(%d)", i))
	}
	s := []string{
		"create table seq (n int primary key) engine=innodb",
		"insert into seq values " + strings.Join(ten, ","),
		"create table t1 (id int primary key, a int, b int, c varchar(20), key a (a), key bc (b, c)) engine=innodb default charset=latin1",
		"create table t2 (id int primary key, t1_id int, c int, key t1_id (t1_id)) engine=innodb",
		"create table t3 (id int primary key, d int, e int) engine=innodb",
		"insert into t1 select n, n % 100, n % 10, concat('c', n % 50) from seq",
		"insert into t2 select n, n * 7 % 1000, n % 13 from seq",
		"insert into t3 select n, n * 3 % 1000, n % 13 from seq where n < 200",
		`create table th (id int primary key auto_increment, ticket_id int not null, htype int not null, create_time datetime not null, name varchar(50),
			key ticket_id (ticket_id), key htype (htype), key create_time (create_time)) engine=innodb`,
	}
	for k := 0; k < 40000; k += 1000 {
		s = append(s, fmt.Sprintf("insert into th (ticket_id, htype, create_time, name) select (%d + n) %% 5000 + 10, (%d + n) %% 30 + 1, date_add('2020-01-01', interval (%d + n) second), 'x' from seq", k, k, k))
	}
	for k := 0; k < 8000; k += 1000 {
		s = append(s, fmt.Sprintf("insert into th (ticket_id, htype, create_time, name) select 1, 1, date_add('2020-02-01', interval (%d + n) second), 'y' from seq", k))
	}
	return append(s, "analyze table t1", "analyze table t2", "analyze table t3", "analyze table th")
}

// TestLive asks real servers for plans in all their forms.
func TestLive(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	limit := map[string]*Node{}
	for _, name := range servers {
		t.Run(name, func(t *testing.T) {
			b, conn := start(t, name)
			var answers []answer
			for _, q := range asked {
				for _, st := range Statements(b.Family, b.VersionNumber(), q.sql) {
					a := ask(t, conn, q.name, st)
					answers = append(answers, a)
					if q.name == "order-by-limit" && st.Form == JSONAnalyze {
						p, err := Parse(a.columns, a.rows)
						if err != nil {
							t.Fatal(err)
						}
						limit[name] = p
					}
				}
			}
			if *update {
				save(t, name, answers)
			}
			checkForms(t, answers, nil)
		})
	}
	if was, is := limit["mariadb@10.11"], limit["mariadb@11.8"]; was != nil && is != nil {
		d := strings.Join(Diff(was, is), "\n")
		if !strings.Contains(d, "th: index_merge(intersect ticket_id, htype) + filesort -> index create_time") {
			t.Errorf("from 10.11 to 11.8: %s", d)
		}
		before, _ := was.RowsExamined()
		after, _ := is.RowsExamined()
		t.Logf("%s", d)
		if after < 4*before { // the matching rows stand at the end of the index
			t.Errorf("%v rows examined, then %v", before, after)
		}
	}
}

func start(t *testing.T, name string) (lab.Build, *sql.Conn) {
	t.Helper()
	b, s := servertest.Start(t, name, nil, nil)
	db, err := s.DB("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range append([]string{"create database x", "use x"}, schema()...) {
		if _, err := conn.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%.80s: %v", q, err)
		}
	}
	return b, conn
}

func ask(t *testing.T, conn *sql.Conn, name string, st Statement) answer {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, q := range st.Before {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	rows, err := conn.QueryContext(ctx, st.SQL)
	if err != nil {
		t.Fatalf("%s: %v", st.SQL, err)
	}
	defer rows.Close()
	a := answer{query: name, form: st.Form}
	if a.columns, err = rows.Columns(); err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row := make([]*string, len(a.columns))
		ptrs := make([]any, len(row))
		for i := range row {
			ptrs[i] = &row[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		a.rows = append(a.rows, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", st.SQL, err)
	}
	return a
}
