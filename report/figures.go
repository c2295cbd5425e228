package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"backslide/lab"
)

const (
	inlineFigures = 2 << 20 // bytes of JSON up to which figures stand in the page as they are
	packedFigures = 2 << 20 // bytes of the compressed form, over which details are left out
)

// figures is the summary in JSON within the page, for whoever wants to compute with it.
type figures struct {
	Name   string       // of the file to save
	Inline template.JS  // JSON; < > and & are escaped in its strings
	Packed template.URL // data: URL of compressed JSON, where Inline would be too large
	Size   string
	Less   string // what was left out
}

// detail is how much of a summary the figures keep.
type detail struct {
	less        string // what is left out
	comparisons func(lab.Metric) bool
	blocks      func(lab.Metric) bool
}

func details() []detail {
	all := func(lab.Metric) bool { return true }
	qps := func(m lab.Metric) bool { return m == lab.QPS }
	return []detail{
		{"", all, all},
		{"blocks of other metrics than QPS, spreads of slices and latency histograms are left out", all, qps},
		{"other metrics than QPS, spreads of slices and latency histograms are left out", qps, qps},
		{"other metrics than QPS, single blocks, spreads of slices and latency histograms are left out", qps, func(lab.Metric) bool { return false }},
	}
}

// newFigures rounds to six digits, and leaves out what would make the page too large.
func newFigures(s lab.Summary) (figures, error) {
	f := figures{Name: fmt.Sprintf("backslide-run-%d.json", s.Run.ID)}
	levels := details()
	if len(s.Comparisons) <= 4*manyRows {
		text, err := json.Marshal(document{Schema, levels[0].of(s)})
		if err != nil {
			return f, err
		}
		if len(text) <= inlineFigures {
			f.Inline, f.Size = template.JS(text), bytesOf(int64(len(text)))
			return f, nil
		}
	} else {
		levels = levels[2:] // it would take seconds to find out that the others are too much
	}
	f.Name += ".gz"
	for _, l := range levels {
		packed, err := pack(document{Schema, l.of(s)})
		if err != nil {
			return f, err
		}
		f.hold(packed)
		f.Less = l.less
		if len(packed) <= packedFigures {
			break
		}
	}
	return f, nil
}

// hold has the page offer compressed figures.
func (f *figures) hold(packed []byte) {
	f.Packed = template.URL("data:application/gzip;base64," + base64.StdEncoding.EncodeToString(packed))
	f.Size = bytesOf(int64(len(packed)))
}

// estimateFigures are those of an import, whole.
func estimateFigures(e lab.Estimates) (figures, error) {
	f := figures{Name: "backslide-import.json"}
	text, err := json.Marshal(e)
	if err != nil {
		return f, err
	}
	if len(text) <= inlineFigures {
		f.Inline, f.Size = template.JS(text), bytesOf(int64(len(text)))
		return f, nil
	}
	packed, err := pack(e)
	if err != nil {
		return f, err
	}
	f.Name += ".gz"
	f.hold(packed)
	return f, nil
}

// pack returns a value as compressed JSON.
func pack(v any) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(v); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// of returns a copy of a summary that holds no more than the detail, in six digits.
func (l detail) of(s lab.Summary) lab.Summary {
	out := s
	out.Comparisons = make([]lab.Comparison, 0, len(s.Comparisons))
	for _, c := range s.Comparisons {
		if !l.comparisons(c.Metric) {
			continue
		}
		out.Comparisons = append(out.Comparisons, l.comparison(c))
	}
	out.Groups = slices.Clone(s.Groups)
	for i := range out.Groups {
		g := &out.Groups[i]
		roundAll(&g.Min, &g.Max, &g.Average, &g.Median)
		g.Test = l.comparison(g.Test)
	}
	if !l.blocks(lab.ServerCPU) {
		out.Cells = slices.Clone(s.Cells)
		for i := range out.Cells { // as bulky as blocks, and quantiles remain
			c := &out.Cells[i]
			c.Rates, c.Latency = nil, nil
			values := map[lab.Metric]float64{}
			for m, x := range c.Values {
				if l.comparisons(m) {
					values[m] = round(x)
				}
			}
			c.Values = values
			roundAll(&c.P50, &c.P95, &c.P99, &c.Max)
		}
	}
	out.Noise.Pairs = slices.Clone(s.Noise.Pairs)
	for i := range out.Noise.Pairs {
		p := &out.Noise.Pairs[i]
		roundAll(&p.Mirrors, &p.SliceSD, &p.RestartSD, &p.DriftSD, &p.Order, &p.OrderP, &p.IAT, &p.Overhead, &p.Measured, &p.Best,
			&p.Steal, &p.HostBusy, &p.Runq, &p.MajorFaults, &p.ClientBusy, &p.ServerBusy)
	}
	return out
}

// comparison returns a comparison in six digits, without its blocks where they are left out.
func (l detail) comparison(c lab.Comparison) lab.Comparison {
	roundAll(&c.BaseValue, &c.CandidateValue, &c.LogRatio, &c.Lo, &c.Hi, &c.EqLo, &c.EqHi, &c.SD, &c.DF, &c.MDE, &c.Critical)
	old := c.Blocks
	c.Blocks = make([]lab.BlockDiff, 0, len(old))
	for _, d := range old {
		if l.blocks(c.Metric) {
			roundAll(&d.Diff, &d.Base, &d.Candidate)
			c.Blocks = append(c.Blocks, d)
		}
	}
	return c
}

func roundAll(all ...*float64) {
	for _, x := range all {
		*x = round(*x)
	}
}

// round returns x to six digits.
func round(x float64) float64 { return roundTo(x, 6) }

func roundTo(x float64, digits int) float64 {
	if !finite(x) {
		return x
	}
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x // cannot be: it was written the line before
	}
	return y
}
