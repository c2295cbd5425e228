package explain

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
)

// How likely a difference of set-up is to change what is measured.
const (
	seldom  = 1 // matters in special cases
	often   = 2 // matters for some kinds of statements
	usually = 3 // matters for every statement, or every commit, or every page
)

// Known says why a difference in a server variable, or in how a server was built or
// started, is known to matter, and how much for ranking: 0 and "" if nothing is known, or
// if the two values mean the same. Names are those that SettingChange has. Of
// optimizer_switch the flags that differ are named.
func Known(name, base, candidate string) (why string, weight int) {
	if lab.SameValue(base, candidate) {
		return "", 0
	}
	switch name {
	case "optimizer_switch":
		return knownFlags(base, candidate)
	case "build flags":
		return knownBuild(base, candidate)
	}
	for _, f := range facts() {
		if !slices.Contains(strings.Fields(f.names), name) {
			continue
		}
		if f.size && nearly(base, candidate) {
			return "", 0
		}
		if base == missing || candidate == missing {
			// The other server does the same by another name, or cannot do it.
			return f.why, max(seldom, f.weight-1)
		}
		return f.why, f.weight
	}
	for _, f := range besides() {
		if f.names == name {
			return f.why, f.weight
		}
	}
	return "", 0
}

// fact is what is known of variables.
type fact struct {
	names  string // separated by spaces
	why    string
	weight int
	size   bool // a number of bytes or things: what is nearly the same does not count
}

// nearly reports whether two numbers differ by less than 2 %: servers round sizes to
// their own units.
func nearly(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && math.Abs(x-y) < 0.02*max(math.Abs(x), math.Abs(y))
}

// besides are facts about what is not a variable.
func besides() []fact {
	return []fact{
		{"library malloc", "every statement allocates memory; allocators differ in speed with many threads and in how much memory stays resident", usually, false},
		{"library ssl", "it encrypts connections and hashes passwords", seldom, false},
		{"library zlib", "it compresses pages, log events and connections", seldom, false},
		{"compiled for", "all code is of another kind", usually, false},
		{"launcher", "it decides on which CPUs, and with memory of which node, the server runs", usually, false},
		{"environment", "it can change the memory allocator and the C library", often, false},
	}
}

// buildMark is a word in a build's flags.
type buildMark struct {
	word, why string
	weight    int
}

func buildMarks() []buildMark {
	return []buildMark{
		{"-fsanitize", "a sanitizer checks every access of memory: several times slower", usually},
		{"WITH_DEBUG", "a debug build checks itself all the time", usually},
		{"-O0", "nothing was optimised by the compiler", usually},
		{"-Og", "the compiler optimised for debugging", usually},
		{"-fprofile-use", "code was laid out by a profile of its use", usually},
		{"-flto", "functions were inlined across files", often},
		{"-O3", "the compiler inlined and unrolled more", often},
		{"-march", "the compiler used instructions of newer CPUs", often},
		{"_GLIBCXX_ASSERTIONS", "containers check their indexes", often},
		{"-fno-omit-frame-pointer", "each call saves a frame pointer", seldom},
		{"-fstack-protector", "functions with arrays check their stack", seldom},
		{"-fcf-protection", "jumps are checked", seldom},
		{"_FORTIFY_SOURCE", "copies of memory are checked", seldom},
	}
}

// knownBuild looks for marks that only one side has.
func knownBuild(base, candidate string) (string, int) {
	for _, m := range buildMarks() {
		b, c := strings.Contains(base, m.word), strings.Contains(candidate, m.word)
		switch {
		case b && !c:
			return fmt.Sprintf("only the base has %s: %s", m.word, m.why), m.weight
		case c && !b:
			return fmt.Sprintf("only the candidate has %s: %s", m.word, m.why), m.weight
		}
	}
	if base == "unknown" || candidate == "unknown" {
		return "", 0
	}
	return "another compiler or other flags of it: all code may be faster or slower", often
}
