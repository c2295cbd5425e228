package main

import (
	"testing"
	"time"
)

func TestBetween(t *testing.T) {
	for want, of := range map[string][2]time.Duration{
		"45 s": {45 * time.Second, 45 * time.Second}, "45 to 90 s": {45 * time.Second, 90 * time.Second}, "12 to 30 min": {11*time.Minute + 50*time.Second, 30 * time.Minute}, "3 min": {150 * time.Second, 3 * time.Minute},
		"5 to 9 h": {4*time.Hour + 20*time.Minute, 9 * time.Hour}, "2 to 5 days": {30 * time.Hour, 100 * time.Hour},
	} {
		if got := between(of[0], of[1]); got != want {
			t.Errorf("from %s to %s is said as %q, want %q", of[0], of[1], got, want)
		}
	}
}
