package report

import (
	"fmt"
	"math"
	"strings"

	"backslide/lab"
)

// repeat writes how to repeat it: how each server is started, and one script.
func (r *bugReport) repeat() {
	r.printf("## How to repeat\n\n")
	if r.b.Recipe == nil {
		r.printf("%s\n\n", r.text(orUnknown(r.b.NoRecipe)))
		return
	}
	r.printf("Start each server on an empty data directory of its own:\n\n")
	for _, x := range []lab.Variant{r.c.Base, r.c.Candidate} {
		r.printf("%s\n", fenced("", r.startCommand(x)+"\n")) // its parts have been through the redactor
	}
	rec := *r.b.Recipe
	r.printf("Run this script against each in turn, several times: `SOCKET=/tmp/base.sock sh repeat.sh`. It makes the tables, has %s execute %s each%s, and prints how long they took.\n",
		count(len(rec.Clients), "client"), count(rec.Ops, "operation"), again(rec))
	r.printf("The `mysql` client adds its own time, the same to both sides, so the ratio will be nearer to 1 than the one that was measured.\n\n")
	// No redaction here: these are the statements themselves.
	r.printf("%s\n", fenced("sh", script(rec, r.times())))
	for _, n := range rec.Notes {
		r.printf("- %s\n", r.text(n))
	}
	r.line("")
}

func again(rec lab.Recipe) string {
	if rec.Read {
		return ", again and again"
	}
	return ""
}

// times is how often the operations of a read step fill about three seconds.
func (r *bugReport) times() int {
	rec := r.b.Recipe
	if !rec.Read || rec.Ops == 0 {
		return 1
	}
	n := 3 * r.c.BaseValue / float64(rec.Ops<<doublings(*rec)*len(rec.Clients))
	if !finite(n) {
		return 1
	}
	return int(math.Ceil(max(1, min(1000, n))))
}

// doublings is how often the files of clients that read are made twice as long, so that the
// shell has less to do than the server.
func doublings(rec lab.Recipe) int {
	k := 0
	for rec.Read && rec.Ops > 0 && rec.Ops<<k < 100 {
		k++
	}
	return k
}

// startCommand returns how a side's server is made and started.
func (r *bugReport) startCommand(x lab.Variant) string {
	s := r.side(x)
	name := "base"
	if x == r.c.Candidate {
		name = "candidate"
	}
	init := fmt.Sprintf("mysqld --no-defaults --initialize-insecure --datadir=/tmp/%s", name)
	server := "mysqld"
	switch {
	case s.Build.Family == lab.MariaDB:
		server = "mariadbd"
		init = fmt.Sprintf("mariadb-install-db --no-defaults --auth-root-authentication-method=normal --datadir=/tmp/%s", name)
	case s.Build.Version != "" && !s.Build.AtLeast(5, 7, 0):
		init = fmt.Sprintf("mysql_install_db --no-defaults --datadir=/tmp/%s", name)
	}
	words := []string{server, "--no-defaults", "--datadir=/tmp/" + name, "--socket=/tmp/" + name + ".sock", "--skip-networking"}
	if len(s.Config.Launcher) > 0 {
		words = append([]string{r.plain(strings.Join(s.Config.Launcher, " "))}, words...)
	}
	for _, o := range s.Config.For(s.Build.Family) {
		words = append(words, shellWord(r.option(o)))
	}
	return "# " + r.versionOf(x) + "\n" + init + "\n" + strings.Join(words, " ")
}

// shellWord quotes a word for the shell if it has to be.
func shellWord(s string) string {
	if strings.IndexFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_=./,:@%+", c))
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// fenced is text as it is, in a fence that it cannot end.
func fenced(kind, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + kind + "\n" + text + fence + "\n"
}

// script returns a recipe as a script for a POSIX shell and the mysql client.
func script(rec lab.Recipe, times int) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	force := ""
	if !rec.Read {
		force = " --force" // a deadlock ends one transaction, not the client
	}
	p("#!/bin/sh\n# Needs a server on $SOCKET and the mysql client. What it makes is in a new directory and in the database %s.\n", rec.Schema)
	p("set -e\nSOCKET=${SOCKET:-/tmp/mysql.sock} DBUSER=${DBUSER:-root} TIMES=${TIMES:-%d}\n", times)
	p("MYSQL=\"${MYSQL:-mysql} --no-defaults --socket=$SOCKET --user=$DBUSER\"\ndir=$(mktemp -d)\ncd \"$dir\"\n\n")
	here(&b, "schema.sql", append([]string{"DROP DATABASE IF EXISTS " + rec.Schema, "CREATE DATABASE " + rec.Schema, "USE " + rec.Schema}, rec.Setup...))
	for i, ops := range rec.Clients {
		here(&b, fmt.Sprintf("client%d.sql", i), ops)
	}
	surround(&b, "before", rec.Before)
	surround(&b, "after", rec.After)
	longer := doublings(rec)
	if longer > 0 {
		p("for f in client*.sql; do # %d times as long\n  i=0; while [ $i -lt %d ]; do cat \"$f\" \"$f\" > twice; mv twice \"$f\"; i=$((i + 1)); done\ndone\n", 1<<longer, longer)
	}
	p("$MYSQL < schema.sql > /dev/null\n")
	p("for f in before*.sql; do if [ -f \"$f\" ]; then $MYSQL %s < \"$f\"; fi; done\n", rec.Schema)
	p("start=$(date +%%s%%N)\npids=\nfor f in client*.sql; do\n")
	if rec.Connect {
		p("  ( i=0; while [ $i -lt $TIMES ]; do while IFS= read -r line; do printf '%%s\\n' \"$line\" | $MYSQL%s %s > /dev/null; done < \"$f\"; i=$((i + 1)); done ) &\n", force, rec.Schema)
	} else {
		p("  ( i=0; while [ $i -lt $TIMES ]; do cat \"$f\"; i=$((i + 1)); done | $MYSQL%s %s > /dev/null ) &\n", force, rec.Schema)
	}
	p("  pids=\"$pids $!\"\ndone\nfor p in $pids; do wait \"$p\"; done\nend=$(date +%%s%%N)\n")
	p("for f in after*.sql; do if [ -f \"$f\" ]; then $MYSQL %s < \"$f\"; fi; done\n", rec.Schema)
	p("echo \"$((TIMES * %d)) operations in $(((end - start) / 1000000)) ms\"\ncd /\nrm -r \"$dir\"\n", rec.Ops<<longer*len(rec.Clients))
	return b.String()
}

// surround writes the statements of each client that has any.
func surround(b *strings.Builder, name string, clients [][]string) {
	for i, s := range clients {
		if len(s) > 0 {
			here(b, fmt.Sprintf("%s%d.sql", name, i), s)
		}
	}
}

// here writes a file of statements as a here-document whose end none of them holds. A
// statement with a semicolon in it, as the body of a procedure has, gets another delimiter.
func here(b *strings.Builder, file string, statements []string) {
	var text strings.Builder
	for _, s := range statements {
		if strings.Contains(s, ";") {
			fmt.Fprintf(&text, "DELIMITER $$\n%s$$\nDELIMITER ;\n", s)
			continue
		}
		text.WriteString(s + ";\n")
	}
	end := "SQL"
	for strings.Contains("\n"+text.String(), "\n"+end+"\n") {
		end += "_"
	}
	fmt.Fprintf(b, "cat > %s <<'%s'\n%s%s\n\n", file, end, text.String(), end)
}
