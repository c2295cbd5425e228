package proc

import "os/exec"

// Find returns the path of a program that Start would run by this name.
func Find(name string) (string, error) { return exec.LookPath(name) }
