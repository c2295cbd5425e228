package server

import "backslide/lab"

// mariadbFamily holds for MariaDB 10.5 to 11.x.
func mariadbFamily() family {
	return family{
		engines:    []string{"InnoDB", "MyISAM", "Aria", "MEMORY", "MyRocks"},
		defaults:   func(lab.Build) []lab.Option { return nil },
		initialise: initialise,
		examine:    func(lab.Build) []string { return []string{"--verbose", "--help"} },
		onlyLocal: func(b lab.Build) []string {
			table := "mysql.user"
			if b.AtLeast(10, 4, 0) {
				table = "mysql.global_priv" // mysql.user is a view of it
			}
			return []string{"DELETE FROM " + table + " WHERE Host <> 'localhost' OR User = ''", "DELETE FROM mysql.db WHERE User = ''"}
		},
	}
}
