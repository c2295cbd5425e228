package server

import "backslide/lab"

// mysqlFamily holds for MySQL 5.6 to 9.x, and for those made from it.
func mysqlFamily() family {
	return family{
		engines:    []string{"InnoDB", "MyISAM", "MEMORY", "MyRocks"},
		defaults:   mysqlDefaults,
		initialise: initialise,
		examine: func(b lab.Build) []string {
			if b.AtLeast(8, 0, 16) {
				return []string{"--validate-config"}
			}
			return []string{"--verbose", "--help"}
		},
		// Up to 5.6 the data of the system tables has root at four hosts and an anonymous user.
		onlyLocal: func(lab.Build) []string {
			return []string{"DELETE FROM mysql.user WHERE Host <> 'localhost' OR User = ''", "DELETE FROM mysql.db WHERE User = ''"}
		},
	}
}

func mysqlDefaults(b lab.Build) []lab.Option {
	// The directory that the build was configured with does not exist here, and 5.7 and
	// later refuse to start without it.
	o := []lab.Option{{Name: "secure-file-priv", Value: ""}}
	if b.AtLeast(8, 0, 11) {
		o = append(o, lab.Option{Name: "mysqlx", Value: "OFF"}) // a second port and socket, the same for all servers
	}
	return o
}
