package main

import (
	"context"

	"backslide/lab"
	"backslide/probe"
	"backslide/run"
)

// follow observes a server second by second, for the conductor.
func follow(ctx context.Context, _ lab.Variant, s run.Server) func() ([]lab.Series, []lab.Reading) {
	x, ok := s.(*side)
	if !ok {
		return func() ([]lab.Series, []lab.Reading) { return nil, nil }
	}
	l := probe.Long{PID: x.PID(), Engine: x.engine, DataDir: x.dir}
	db, err := x.DB("")
	if err == nil {
		db.SetMaxOpenConns(1)
		l.DB = db
	}
	end := probe.Follow(ctx, l)
	return func() ([]lab.Series, []lab.Reading) {
		defer func() {
			if db != nil {
				db.Close()
			}
		}()
		return end()
	}
}
