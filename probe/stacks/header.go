package stacks

import "bytes"

// header is the first line of a sample.
type header struct {
	comm, event []byte
	pid, tid    int
	pair        bool // pid and tid were both there; a single number is taken for both
	period      float64
	hasPeriod   bool
	rest        []byte // what follows the event: a frame, where samples have no call chain
}

// parseHeader reads
//
//	comm pid/tid [cpu] seconds.fraction: period event:
//
// of which pid or tid, the CPU, the time and the period may be missing. A thread may call
// itself anything, digits, brackets and colons included, so the line is read from the
// right: what is left of the number of the thread is the name. Without a time, a number
// before the event is the period only if another number stands before it.
func parseHeader(b []byte) (h header, ok bool) {
	left, right, timed := cutTime(b)
	if timed {
		h.parseEvent(right)
	} else if left, ok = h.parseUntimed(b); !ok {
		return h, false
	}
	tok, before := lastToken(left)
	if isCPU(tok) {
		left = before
		tok, before = lastToken(left)
	}
	pid, tid, pair := bytes.Cut(tok, []byte("/"))
	var ok2 bool
	if h.pid, ok = number(pid); !ok {
		return h, false
	}
	h.tid = h.pid
	if pair {
		if h.tid, ok2 = number(tid); !ok2 {
			return h, false
		}
	}
	h.pair = pair
	h.comm = bytes.Trim(before, " ")
	return h, true
}

// cutTime splits the line at its last word that reads as a time.
func cutTime(b []byte) (left, right []byte, ok bool) {
	for end := len(b); end > 0; {
		i := bytes.LastIndexByte(b[:end], ':')
		if i < 0 {
			return nil, nil, false
		}
		if i+1 == len(b) || b[i+1] == ' ' {
			start := bytes.LastIndexByte(b[:i], ' ') + 1
			if isTime(b[start:i]) {
				return b[:start], b[i+1:], true
			}
		}
		end = i
	}
	return nil, nil, false
}

// parseEvent reads what stands right of the time: the period, the event, a frame.
func (h *header) parseEvent(b []byte) {
	tok, rest := firstToken(b)
	if v, ok := number(tok); ok {
		h.period, h.hasPeriod = float64(v), true
		b = rest
		tok, rest = firstToken(b)
	}
	if n := len(tok); n > 0 && tok[n-1] == ':' {
		h.event, b = tok[:n-1], rest
	}
	h.rest = bytes.TrimSpace(b)
}

// parseUntimed finds the event in a line without a time, and returns what stands left of
// the period.
func (h *header) parseUntimed(b []byte) (left []byte, ok bool) {
	for end := len(b); end > 0; {
		tok, before := lastToken(b[:end])
		if n := len(tok); n > 1 && tok[n-1] == ':' {
			h.event = tok[:n-1]
			h.rest = bytes.TrimSpace(b[end:])
			left = before
			break
		}
		end = len(before)
	}
	if h.event == nil {
		return nil, false
	}
	tok, before := lastToken(left)
	prev, _ := lastToken(before)
	if v, isNum := number(tok); isNum && (isCPU(prev) || isThread(prev)) {
		h.period, h.hasPeriod = float64(v), true
		return before, true
	}
	return left, true
}

// lastToken returns the last word of b and what stands before it.
func lastToken(b []byte) (tok, before []byte) {
	b = bytes.TrimRight(b, " ")
	i := bytes.LastIndexByte(b, ' ') + 1
	return b[i:], b[:i]
}

func firstToken(b []byte) (tok, rest []byte) {
	b = bytes.TrimLeft(b, " ")
	i := bytes.IndexByte(b, ' ')
	if i < 0 {
		return b, nil
	}
	return b[:i], b[i:]
}

// isTime reports whether b reads as seconds with a fraction of 6 or 9 digits.
func isTime(b []byte) bool {
	i := bytes.IndexByte(b, '.')
	if i < 1 || len(b)-i-1 != 6 && len(b)-i-1 != 9 {
		return false
	}
	_, whole := number(b[:i])
	_, fraction := number(b[i+1:])
	return whole && fraction
}

func isCPU(b []byte) bool {
	if len(b) < 3 || b[0] != '[' || b[len(b)-1] != ']' {
		return false
	}
	_, ok := number(b[1 : len(b)-1])
	return ok
}

func isThread(b []byte) bool {
	pid, tid, pair := bytes.Cut(b, []byte("/"))
	_, ok := number(pid)
	if pair && ok {
		_, ok = number(tid)
	}
	return ok
}

// number reads a decimal number of at most 18 digits, or -1, which stands for no thread.
func number(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	if string(b) == "-1" {
		return -1, true
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
