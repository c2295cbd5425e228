package stacks

import (
	"bytes"
	"strings"
)

// parseFrame reads what follows the address of a frame: the function with or without its
// offset, and in parentheses the file. Functions and files may contain spaces and
// parentheses; the file is in the last group of them that is balanced.
func parseFrame(b []byte, high bool) (f Frame, offset bool) {
	b = bytes.TrimSpace(b)
	name, dso := cutDSO(b)
	name, offset = cutOffset(name)
	f = Frame{Name: string(name), DSO: string(dso)}
	if f.Name == "" {
		f.Name = Unknown
	}
	switch {
	case strings.HasPrefix(f.DSO, "[kernel") || strings.HasPrefix(f.DSO, "[guest.kernel") || strings.HasSuffix(f.DSO, ".ko") || strings.Contains(f.DSO, ".ko."):
		f.Kernel = true
	case f.DSO == "[vsyscall]":
	default:
		f.Kernel = high
	}
	return f, offset
}

func cutDSO(b []byte) (name, dso []byte) {
	if len(b) == 0 || b[len(b)-1] != ')' {
		return b, nil
	}
	depth := 0
	for i := len(b) - 1; i >= 0; i-- {
		switch b[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth == 0 {
			if i == 0 || b[i-1] == ' ' {
				return bytes.TrimRight(b[:i], " "), trimMapOffset(b[i+1 : len(b)-1])
			}
			return b, nil // the parameters of a function: there is no file
		}
	}
	// A path with parentheses that do not match: it begins at its first slash.
	if i := bytes.LastIndex(b, []byte(" (/")); i >= 0 {
		return bytes.TrimRight(b[:i], " "), trimMapOffset(b[i+2 : len(b)-1])
	}
	return b, nil
}

// trimMapOffset takes off the offset within the file that the field dsoff adds.
func trimMapOffset(dso []byte) []byte {
	dso, _ = cutOffset(dso)
	return dso
}

// cutOffset takes +0x1f off the end.
func cutOffset(b []byte) ([]byte, bool) {
	i := len(b)
	for i > 0 && isHex(b[i-1]) {
		i--
	}
	if i == len(b) || !bytes.HasSuffix(b[:i], []byte("+0x")) {
		return b, false
	}
	return b[:i-len("+0x")], true
}
