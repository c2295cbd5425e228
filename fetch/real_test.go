package fetch

import (
	"context"
	"strings"
	"testing"

	"backslide/lab"
)

// shared returns the cache that every test of the project and every user of this machine
// account shares, so that builds are fetched once.
func shared(t *testing.T) *Cache {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real builds, from the network or the cache")
	}
	dir, err := DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	return &Cache{Dir: dir, Log: t.Logf}
}

func TestFiveBuilds(t *testing.T) {
	c := shared(t)
	for _, tt := range []struct {
		name     string
		family   lab.Family
		version  string // prefix of what the server says
		core     string // main package
		preloads string // allocator that must be there
		sql      []string
	}{
		{"mysql@5.6", lab.MySQL, "5.6.", npmPackage, "", []string{"mysql_system_tables.sql", "mysql_system_tables_data.sql"}},
		{"mysql@9.7", lab.MySQL, "9.7.", "mysql-server-core", "jemalloc", nil},
		{"mariadb@10.5", lab.MariaDB, "10.5.", "mariadb-server-core-10.5", "jemalloc", []string{"mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"}},
		{"mariadb@10.11", lab.MariaDB, "10.11.", "mariadb-server-core", "jemalloc", []string{"mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"}},
		{"mariadb@11.8", lab.MariaDB, "11.8.", "mariadb-server-core", "jemalloc", []string{"mariadb_system_tables.sql", "mariadb_performance_tables.sql", "mariadb_system_tables_data.sql"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := c.Build(context.Background(), tt.name)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", b)
			if b.Name != tt.name || b.Family != tt.family || !strings.HasPrefix(b.Version, tt.version) {
				t.Errorf("got %s %s %s", b.Name, b.Family, b.Version)
			}
		})
	}
}
