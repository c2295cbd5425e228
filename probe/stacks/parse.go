package stacks

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Select says which samples of a recording count. The zero value takes all. Threads are
// selected by number: their names may be anything, and the process of a server that was
// started through a loader bears the loader's name.
type Select struct {
	PID  int   // 0: any process
	TIDs []int // nil: any thread

	// Name names functions without a symbol by their file and offset in it, as Files.Name
	// does; it returns "" if it cannot. Nil: they stay Unknown.
	Name func(file string, offset uint64) string
}

// Recording is what perf script's text held.
type Recording struct {
	Profiles  []*Profile // one per event, that with most samples first
	Samples   int64      // read, selected or not
	Malformed int64      // headers and frames that could not be read
	Cut       int64      // samples whose stack was cut, because there were too many different ones
	Threads   []Thread   // selected, that with most samples first
}

// Thread is one thread's part in a recording.
type Thread struct {
	PID, TID int
	Comm     string // the name it had when it was last seen
	Samples  int64
}

// ErrUnreadable means that a text is not what perf script writes, or has fields that are
// not understood, so that its stacks are not to be trusted.
var ErrUnreadable = errors.New("not readable as perf script's text")

const (
	maxLine   = 64 << 10 // bytes; what is longer is cut
	maxDepth  = 4096     // frames of a stack
	maxNodes  = 4 << 20  // different stacks with all their callers; about 100 B each
	maxFrames = 1 << 20  // different functions
	enough    = 500      // samples from which on it can be told whether the text made sense
	tooMany   = "[too many different stacks]"
)

// Parse reads what perf script writes with the fields comm, pid, tid, cpu, time, period,
// event, ip, sym, dso and symoff, of which only one of pid and tid, event and ip must be
// there. It reads r once and keeps nothing but the different stacks, up to a bound. A
// sample weighs its period, or 1 if periods are not there.
//
// The recording is returned with the error too, as far as it was read. An error that is
// ErrUnreadable says that most of the text made no sense.
func Parse(r io.Reader, sel Select) (*Recording, error) {
	p := parser{sel: sel, events: map[string]*eventParser{}, threads: map[[2]int]*Thread{}}
	br := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := br.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if n := len(line); n > 0 && line[n-1] == '\n' {
			line = line[:n-1]
		}
		if len(line) > 0 || err == nil {
			p.line(line)
		}
		for long {
			_, err = br.ReadSlice('\n')
			long = errors.Is(err, bufio.ErrBufferFull)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return p.recording(), fmt.Errorf("read perf script's output: %w", err)
		}
	}
	p.end()
	return p.recording(), p.check()
}

type parser struct {
	sel     Select
	events  map[string]*eventParser
	threads map[[2]int]*Thread

	open bool         // frames of a sample are being read
	ev   *eventParser // that sample's; nil: it does not count
	a    Amount
	ids  []int32 // its frames, innermost first

	samples, headers, bad, badFrames, frames, cut, unpaired int64
}

// eventParser adds the samples of one event to its profile. It remembers what a line says
// behind the address, so that most lines are looked up and not read again.
type eventParser struct {
	prof *Profile
	seen [2]map[string]int32 // by whether the address is the kernel's

	files   map[string]int32 // what stands behind the addresses of functions without symbols
	unnamed map[place]int32
}

// place is an address in a file.
type place struct {
	file   int32
	offset uint64
}

func (p *parser) line(b []byte) {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	switch {
	case len(b) == 0:
		p.end()
	case p.open && (b[0] == '\t' || b[0] == ' '):
		if p.ev != nil {
			p.frame(b)
		}
	default:
		p.end()
		p.header(b)
	}
}

func (p *parser) header(b []byte) {
	h, ok := parseHeader(b)
	if !ok {
		if b[0] != '#' {
			p.headers++
			p.bad++
			p.open, p.ev = true, nil
		}
		return
	}
	p.headers++
	p.samples++
	p.open, p.ev, p.ids = true, nil, p.ids[:0]
	if !h.pair {
		p.unpaired++
	}
	if p.selected(h) {
		p.begin(h)
	}
	if startsFrame(h.rest) { // no call chain: one line is the sample
		if p.ev != nil {
			p.frame(h.rest)
		}
		p.end()
	}
}

func (p *parser) selected(h header) bool {
	return (p.sel.PID == 0 || h.pid == p.sel.PID || !h.pair && slices.Contains(p.sel.TIDs, h.tid)) &&
		(p.sel.TIDs == nil || slices.Contains(p.sel.TIDs, h.tid))
}

func (p *parser) begin(h header) {
	p.a = Amount{Weight: 1, Samples: 1, Squares: 1}
	if h.hasPeriod {
		p.a.Weight, p.a.Squares = h.period, h.period*h.period
	}
	if p.ev = p.events[string(h.event)]; p.ev == nil {
		name := string(h.event)
		p.ev = &eventParser{prof: &Profile{Event: name, Unit: unit(name, h.hasPeriod)}, files: map[string]int32{}, unnamed: map[place]int32{}}
		p.ev.seen = [2]map[string]int32{{}, {}}
		p.events[name] = p.ev
	}
	who := [2]int{h.pid, h.tid}
	t := p.threads[who]
	if t == nil {
		t = &Thread{PID: h.pid, TID: h.tid}
		p.threads[who] = t
	}
	t.Samples++
	if t.Comm != string(h.comm) {
		t.Comm = string(h.comm)
	}
}

// unit returns what an event's periods count. The clocks of the kernel count nanoseconds.
func unit(event string, periods bool) string {
	base, _, _ := bytes.Cut([]byte(event), []byte(":"))
	switch {
	case !periods:
		return "samples"
	case string(base) == "cpu-clock" || string(base) == "task-clock":
		return "nanoseconds"
	case len(base) == 0:
		return "periods"
	}
	return string(base)
}

// frame reads one line below the header: address, function, file.
func (p *parser) frame(b []byte) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	start := i
	for i < len(b) && isHex(b[i]) {
		i++
	}
	p.frames++
	if i == start || i < len(b) && b[i] != ' ' {
		p.badFrames++
		return
	}
	high := 0
	if i-start == 16 && b[start] >= '8' { // the kernel has the upper half of the addresses
		high = 1
	}
	for i < len(b) && b[i] == ' ' {
		i++
	}
	if len(p.ids) < maxDepth {
		if p.sel.Name != nil && high == 0 && bytes.HasPrefix(b[i:], []byte(Unknown)) {
			p.ids = append(p.ids, p.unnamed(b[start:i], b[i:]))
			return
		}
		p.ids = append(p.ids, p.ev.id(b[i:], high))
	}
}

// unnamed returns the id of a frame without a symbol: it may be named by its address.
func (p *parser) unnamed(addr, text []byte) int32 {
	offset, err := strconv.ParseUint(string(bytes.TrimRight(addr, " ")), 16, 64)
	if err != nil {
		return p.ev.id(text, 0)
	}
	file, ok := p.ev.files[string(text)]
	if !ok {
		file = int32(len(p.ev.files))
		p.ev.files[string(text)] = file
	}
	at := place{file, offset}
	if id, ok := p.ev.unnamed[at]; ok {
		return id
	}
	f, _ := parseFrame(text, false)
	if strings.HasPrefix(f.DSO, "/") {
		if name := p.sel.Name(f.DSO, offset); name != "" {
			f.Name = name
		}
	}
	id := p.ev.intern(f)
	if len(p.ev.unnamed) < maxFrames {
		p.ev.unnamed[at] = id
	}
	return id
}

// startsFrame tells a frame behind the event from the text of a tracepoint.
func startsFrame(b []byte) bool {
	i := 0
	for i < len(b) && isHex(b[i]) {
		i++
	}
	return i > 0 && (i == len(b) || b[i] == ' ')
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

func (e *eventParser) id(text []byte, high int) int32 {
	if id, ok := e.seen[high][string(text)]; ok {
		return id
	}
	f, offset := parseFrame(text, high == 1)
	id := e.intern(f)
	if !offset && len(e.seen[high]) < maxFrames { // with an offset, hardly a line comes twice
		e.seen[high][string(text)] = id
	}
	return id
}

func (e *eventParser) intern(f Frame) int32 {
	if len(e.prof.frames) >= maxFrames {
		if _, ok := e.prof.byName[f]; !ok {
			f = Frame{Name: tooMany}
		}
	}
	return e.prof.intern(f)
}

// end adds the sample that was being read.
func (p *parser) end() {
	if p.open && p.ev != nil {
		prof := p.ev.prof
		at := noParent
		for i := len(p.ids) - 1; i >= 0; i-- {
			if len(prof.nodes) >= maxNodes {
				if _, ok := prof.byEdge[edge{at, p.ids[i]}]; !ok {
					p.cut++
					break
				}
			}
			at = prof.child(at, p.ids[i])
		}
		prof.addAt(at, p.a)
	}
	p.open, p.ev = false, nil
}

func (p *parser) recording() *Recording {
	r := &Recording{Samples: p.samples, Malformed: p.bad + p.badFrames, Cut: p.cut}
	for _, e := range p.events {
		r.Profiles = append(r.Profiles, e.prof)
	}
	slices.SortFunc(r.Profiles, func(a, b *Profile) int {
		if a.total.Samples != b.total.Samples {
			return int(b.total.Samples - a.total.Samples)
		}
		return bytes.Compare([]byte(a.Event), []byte(b.Event))
	})
	for _, t := range p.threads {
		r.Threads = append(r.Threads, *t)
	}
	slices.SortFunc(r.Threads, func(a, b Thread) int {
		if a.Samples != b.Samples {
			return int(b.Samples - a.Samples)
		}
		return a.TID - b.TID
	})
	return r
}

// check says whether the text made sense on the whole.
func (p *parser) check() error {
	switch {
	case p.headers > 0 && p.bad*2 > p.headers:
		return fmt.Errorf("%w: %d of %d samples have no header that names thread and event; write it with: perf script -F %s", ErrUnreadable, p.bad, p.headers, scriptFields)
	case p.frames > 0 && p.badFrames*2 > p.frames:
		return fmt.Errorf("%w: %d of %d frames have no address; write it with: perf script -F %s", ErrUnreadable, p.badFrames, p.frames, scriptFields)
	case p.sel.PID != 0 && p.sel.TIDs == nil && p.unpaired*2 > p.samples:
		return fmt.Errorf("%w: samples name their thread but not its process, so those of process %d cannot be told; write it with: perf script -F %s", ErrUnreadable, p.sel.PID, scriptFields)
	}
	for name, e := range p.events {
		if n, single := e.prof.total.Samples, e.prof.single(); n >= enough && 2*single > n {
			return fmt.Errorf("%w: %d of %d samples of %s have a function of their own: something that changes with every sample was read as a function", ErrUnreadable, single, n, name)
		}
	}
	return nil
}

// single returns how many samples have a function that no other sample has. Stacks of
// their own are no sign of trouble, and neither are many functions: deep stacks of varied
// work differ, and have hundreds of functions of which many were met once.
func (p *Profile) single() int64 {
	met := make([]int64, len(p.frames)) // samples with the function somewhere
	last := make([]int, len(p.frames))  // stack in which it was counted last
	each := func(i int, do func(frame int32)) {
		for at := int32(i); at != noParent; at = p.nodes[at].parent {
			do(p.nodes[at].frame)
		}
	}
	for i := range p.nodes {
		n := p.nodes[i].self.Samples
		if n == 0 {
			continue
		}
		each(i, func(f int32) {
			if last[f] != i+1 { // it may call itself
				last[f] = i + 1
				met[f] += n
			}
		})
	}
	n := int64(0)
	for i := range p.nodes {
		own := false
		if p.nodes[i].self.Samples == 1 {
			each(i, func(f int32) { own = own || met[f] == 1 })
		}
		if own {
			n++
		}
	}
	return n
}
