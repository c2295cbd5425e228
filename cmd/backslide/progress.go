package main

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"backslide/lab"
	"backslide/run"
)

// progress tells how a run goes: a bar on a terminal, plain lines elsewhere.
type progress struct {
	w      io.Writer
	blocks int
	bars   *mpb.Progress // nil: no terminal
	bar    *mpb.Bar
	what   string // right of the bar
	loaded time.Time
}

func newProgress(w io.Writer, blocks int) *progress {
	p := &progress{w: w, blocks: blocks}
	if width, ok := terminal(w); ok {
		p.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(min(width, 100)), mpb.WithRefreshRate(200*time.Millisecond))
	}
	return p
}

// events returns the conductor's events as this progress.
func (p *progress) events() run.Events {
	return run.Events{
		Phase: func(text string) { p.line("%s", text) },
		Note:  func(text string) { p.line("note: %s", text) },
		Load: func(v lab.Variant, done, total int64) {
			if time.Since(p.loaded) > 2*time.Second && done < total {
				p.loaded = time.Now()
				p.line("  %d of %d rows", done, total)
			}
		},
		Block: p.block,
		Slice: p.slice,
	}
}

func (p *progress) block(block, open int, left, most time.Duration) {
	p.end()
	p.what = fmt.Sprintf("%d open, at most %s left", open, most.Round(time.Second))
	if left < most {
		p.what = fmt.Sprintf("%d open, about %s left, at most %s", open, left.Round(time.Second), most.Round(time.Second))
	}
	if p.bars == nil {
		p.line("block %d of at most %d: %s", block+1, p.blocks, p.what)
		return
	}
	name := fmt.Sprintf("block %d/%d ", block+1, p.blocks)
	p.bar = p.bars.AddBar(0, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(name)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + p.what })))
}

func (p *progress) slice(s lab.Slice, done, turns int, left time.Duration) {
	if s.Err != "" {
		p.line("note: block %d: %s: %s", s.Block+1, s.Cell, s.Err)
	}
	if p.bar != nil {
		p.what = fmt.Sprintf("%s/%d  block ends in %s", harmlessText(s.Cell.Step.Name), s.Cell.Clients, left.Round(time.Second))
		p.bar.SetTotal(int64(turns), false)
		p.bar.SetCurrent(int64(done))
	}
}

// line prints a line above the bar.
func (p *progress) line(format string, args ...any) {
	w := p.w
	if p.bars != nil {
		w = p.bars
	}
	fmt.Fprintf(harmless{w}, format+"\n", args...)
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bar = nil
	}
}

// close takes everything away and waits until the terminal is ours again.
func (p *progress) close() {
	p.end()
	if p.bars != nil {
		p.bars.Wait()
	}
}
