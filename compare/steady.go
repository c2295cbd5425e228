package compare

import (
	"fmt"
	"math"

	"backslide/stat"
)

// steadyFrom is the number of blocks from which on they are looked at as a series.
const steadyFrom = 8

// steady says what is not stationary in a pair: its blocks as a series, the level of the
// host as one, and what happens within blocks, with blocks as the replicates.
func steady(p *pair, diffs, levels [][]float64) []string {
	d, host := values(p.series[0].diffs), means(levels)
	if len(d) < steadyFrom {
		return nil
	}
	blocks := make([]int, len(d))
	for i, b := range p.series[0].diffs {
		blocks[i] = b.Block
	}
	out := shape("the difference", d, blocks)
	if two := modes(d); two != "" {
		out = append(out, two)
	}
	out = append(out, shape("the speed of both sides", host, blocks)...)
	if rise, q := stat.Zero(rises(levels)); q < oddP {
		out = append(out, fmt.Sprintf("not warm: both sides change by %s from the first to the second half of a block", signed(rise)))
	}
	if rise, q := stat.Zero(rises(diffs)); q < oddP {
		out = append(out, fmt.Sprintf("the difference changes by %s from the first to the second half of a block: one side is not warm", signed(rise)))
	}
	return out
}

// shape names what is odd about a series of blocks: a spike, else the surer of a shift and
// a trend, which resemble each other.
func shape(what string, x []float64, blocks []int) []string {
	if at, size, p := stat.Outlier(x); p < oddP {
		return []string{fmt.Sprintf("spike: %s in block %d is off by %s", what, blocks[at]+1, signed(size))}
	}
	slope, pTrend := stat.Trend(x)
	at, size, pShift := stat.Shift(x)
	switch {
	case min(pTrend, pShift) >= oddP:
		return nil
	case pShift <= pTrend:
		return []string{fmt.Sprintf("level shift: %s changes by %s after block %d", what, signed(size), blocks[at-1]+1)}
	}
	return []string{fmt.Sprintf("trend: %s changes by %s over the blocks", what, signed(slope*float64(len(x)-1)))}
}

func modes(x []float64) string {
	low, high, share, two := stat.Modes(x)
	if !two {
		return ""
	}
	return fmt.Sprintf("two modes: the difference is about %s in %.0f %% of the blocks and %s in the others; the mean of all stands", signed(low), 100*share, signed(high))
}

// rises returns, for every block with two mirrored groups or more, the mean of its later
// half less that of its earlier half.
func rises(blocks [][]float64) []float64 {
	var out []float64
	for _, b := range blocks {
		if h := len(b) / 2; h > 0 {
			sum := 0.0
			for i := range h {
				sum += b[len(b)-1-i] - b[i]
			}
			out = append(out, sum/float64(h))
		}
	}
	return out
}

// signed returns a log-ratio as a percentage with its sign.
func signed(x float64) string { return fmt.Sprintf("%+.1f %%", 100*math.Expm1(x)) }
