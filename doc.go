// Package backslide finds where a database server got slower, and why. The module's
// packages are its folders; ARCHITECTURE.md is the map. This package holds only the test
// of which of them may import which.
package backslide
