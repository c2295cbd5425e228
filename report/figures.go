package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strconv"

	"backslide/lab"
)

const (
	inlineFigures = 2 << 20 // bytes of JSON up to which figures stand in the page as they are
	packedFigures = 4 << 20 // bytes of the compressed form up to which blocks of all metrics are kept
)

// figures is the summary in JSON within the page, for whoever wants to compute with it.
type figures struct {
	Name   string       // of the file to save
	Inline template.JS  // JSON; < > and & are escaped in its strings
	Packed template.URL // data: URL of compressed JSON, where Inline would be too large
	Size   string
	Less   string // what was left out
}

// newFigures rounds to seven digits, and leaves out blocks where there are too many.
func newFigures(s lab.Summary) (figures, error) {
	f := figures{Name: fmt.Sprintf("backslide-run-%d.json", s.Run.ID)}
	if len(s.Comparisons) <= manyRows {
		text, err := json.Marshal(documentOf(rounded(s, func(lab.Metric) bool { return true })))
		if err != nil {
			return f, err
		}
		if len(text) <= inlineFigures {
			f.Inline, f.Size = template.JS(text), bytesOf(int64(len(text)))
			return f, nil
		}
	}
	f.Name += ".gz"
	for _, keep := range []struct {
		less string
		of   func(lab.Metric) bool
	}{
		{"", func(lab.Metric) bool { return len(s.Comparisons) <= 4*manyRows }},
		{"blocks of other metrics than QPS are left out", func(m lab.Metric) bool { return m == lab.QPS }},
		{"blocks are left out", func(lab.Metric) bool { return false }},
	} {
		if keep.less == "" && len(s.Comparisons) > 4*manyRows {
			continue
		}
		packed, err := pack(rounded(s, keep.of))
		if err != nil {
			return f, err
		}
		f.Packed = template.URL("data:application/gzip;base64," + base64.StdEncoding.EncodeToString(packed))
		f.Size, f.Less = bytesOf(int64(len(packed))), keep.less
		if len(packed) <= packedFigures {
			break
		}
	}
	return f, nil
}

func pack(s lab.Summary) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(documentOf(s)); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// rounded returns a copy whose comparisons have seven digits, with the blocks of some
// metrics only.
func rounded(s lab.Summary, blocks func(lab.Metric) bool) lab.Summary {
	out := s
	out.Comparisons = make([]lab.Comparison, len(s.Comparisons))
	for i, c := range s.Comparisons {
		for _, x := range []*float64{&c.BaseValue, &c.CandidateValue, &c.LogRatio, &c.Lo, &c.Hi, &c.EqLo, &c.EqHi, &c.SD, &c.DF, &c.MDE, &c.Critical} {
			*x = round(*x)
		}
		old := c.Blocks
		c.Blocks = make([]lab.BlockDiff, 0, len(old))
		for _, d := range old {
			if blocks(c.Metric) {
				d.Diff, d.Base, d.Candidate = round(d.Diff), round(d.Base), round(d.Candidate)
				c.Blocks = append(c.Blocks, d)
			}
		}
		out.Comparisons[i] = c
	}
	return out
}

func round(x float64) float64 {
	if !finite(x) || x == 0 {
		return x
	}
	scale := math.Pow(10, 6-math.Floor(math.Log10(math.Abs(x))))
	y, err := strconv.ParseFloat(strconv.FormatFloat(math.Round(x*scale)/scale, 'g', 7, 64), 64)
	if err != nil || !finite(y) {
		return x
	}
	return y
}
