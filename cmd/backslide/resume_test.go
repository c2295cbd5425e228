package main

import (
	"strings"
	"testing"
	"time"

	"backslide/lab"
)

func TestResumable(t *testing.T) {
	ended := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		rule   string
		ended  time.Time
		blocks int
		budget time.Duration
		want   string // of the error; empty: none
	}{
		{lab.GST, time.Time{}, 0, 0, ""},
		{lab.GST, ended, 0, 0, "nothing to resume"},
		{lab.GST, time.Time{}, 40, 0, "rule gst, whose false alarms are kept in bounds over the 20 planned blocks"},
		{lab.GST, ended, 40, 0, "--rule e"},
		{"", ended, 40, 0, "rule gst"},
		{lab.EValues, time.Time{}, 0, 0, ""},
		{lab.EValues, ended, 0, 0, "--blocks 40"},
		{lab.EValues, ended, 40, time.Hour, ""},
		{lab.EValues, time.Time{}, 30, 0, ""},
		{lab.EValues, ended, 20, 0, "would be no more"},
		{lab.EValues, ended, 0, time.Hour, "--budget comes with --blocks"},
	} {
		err := resumable(lab.Run{ID: 3, Ended: c.ended, Plan: lab.Plan{Rule: c.rule, BlocksMax: 20}}, lab.Raise{Blocks: c.blocks, Budget: c.budget})
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("rule %q, ended %v, --blocks %d: %v; want %q", c.rule, !c.ended.IsZero(), c.blocks, err, c.want)
		}
	}
}
