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
	l, closed := x.long()
	end := probe.Follow(ctx, l)
	return func() ([]lab.Series, []lab.Reading) {
		defer closed()
		return end()
	}
}

// account asks a server what it holds in memory, for the conductor.
func account(ctx context.Context, s run.Server) []lab.Reading {
	x, ok := s.(*side)
	if !ok {
		return nil
	}
	l, closed := x.long()
	defer closed()
	return probe.Account(ctx, l)
}

// long returns a server as it is observed, with a connection of its own where it can be
// had; the func closes that.
func (s *side) long() (probe.Long, func()) {
	l := probe.Long{PID: s.PID(), Engine: s.engine, DataDir: s.dir}
	db, err := s.DB("")
	if err != nil {
		return l, func() {}
	}
	db.SetMaxOpenConns(1)
	l.DB = db
	return l, func() { db.Close() }
}
