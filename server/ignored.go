package server

import "backslide/lab"

// Ignored returns the options that a server accepted but that have no effect or another
// than asked, a sentence each.
func Ignored(asked []lab.Option, settings map[string]string, log string) []string { return nil }
