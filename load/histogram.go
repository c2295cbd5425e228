package load

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"time"

	"backslide/lab"
)

// Buckets of a histogram are log-linear: 64 to an octave, so a bucket is at most 1/64 of
// its values wide; below 128 ns every nanosecond has its own. There is no ceiling short
// of 2^46 ns, some 19 hours.
const (
	subBits = 6
	subs    = 1 << subBits
	topBit  = 46
	buckets = (topBit - subBits + 1) * subs
)

// Histogram counts latencies. Its zero value is empty. It is a large value: use a pointer.
type Histogram struct {
	counts  [buckets]int64
	n       int64
	sum     int64 // nanoseconds
	longest int64
}

func bucket(v int64) int {
	if v < 2*subs {
		return int(max(v, 0))
	}
	shift := bits.Len64(uint64(v)) - subBits - 1
	return min(shift*subs+int(v>>shift), buckets-1)
}

// lowest value that falls into a bucket, and how many do.
func (Histogram) bounds(i int) (low, width int64) {
	if i < 2*subs {
		return int64(i), 1
	}
	shift := i/subs - 1
	return int64(subs+i%subs) << shift, 1 << shift
}

// Add counts one latency.
func (h *Histogram) Add(d time.Duration) { h.add(int64(d)) }

func (h *Histogram) add(v int64) {
	h.counts[bucket(v)]++
	h.n++
	h.sum += v
	if v > h.longest {
		h.longest = v
	}
}

// N returns how many latencies were counted.
func (h *Histogram) N() int64 { return h.n }

// Max returns the longest latency, exactly.
func (h *Histogram) Max() time.Duration { return time.Duration(h.longest) }

// Mean returns the mean latency, exactly; 0 when empty.
func (h *Histogram) Mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return time.Duration(h.sum / h.n)
}

// Quantile returns the latency below which a share q, 0 to 1, of all latencies lies, as a
// straight line through its bucket has it; at most 1/64 off. 0 when empty.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := math.Min(math.Max(q, 0), 1) * float64(h.n)
	below := 0.0
	for i, c := range h.counts {
		if c == 0 {
			continue
		}
		if below+float64(c) >= rank {
			low, width := h.bounds(i)
			v := float64(low) + float64(width)*(rank-below)/float64(c)
			return time.Duration(math.Min(v, float64(h.longest)))
		}
		below += float64(c)
	}
	return h.Max()
}

// Within returns how many latencies were d at most; those of the bucket that d lies in
// count by its share of it.
func (h *Histogram) Within(d time.Duration) float64 {
	at := bucket(int64(d))
	n := 0.0
	for _, c := range h.counts[:at] {
		n += float64(c)
	}
	if int64(d) >= h.longest {
		return float64(h.n)
	}
	low, width := h.bounds(at)
	return n + float64(h.counts[at])*float64(int64(d)-low)/float64(width)
}

// Bins returns the counts in four bins to an octave, from the first that has any to the
// last; nil for an empty histogram.
func (h *Histogram) Bins() []lab.LatencyBin {
	const width = subs / 4 // buckets of a bin; nanoseconds below 2*subs
	var out []lab.LatencyBin
	waiting := 0
	for from := 0; from < buckets; from += width {
		var n int64
		for _, c := range h.counts[from : from+width] {
			n += c
		}
		low, w := h.bounds(from + width - 1)
		out = append(out, lab.LatencyBin{To: time.Duration(low + w).Seconds(), Count: n})
		switch {
		case n > 0:
			waiting = 0
		case len(out) == 1: // nothing yet
			out = out[:0]
		default:
			waiting++
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out[:len(out)-waiting]
}

// Merge adds the latencies of o to h.
func (h *Histogram) Merge(o *Histogram) {
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.sum += o.sum
	h.longest = max(h.longest, o.longest)
}

// Reset empties h.
func (h *Histogram) Reset() { *h = Histogram{} }

// encodedVersion is the first byte of an encoded histogram.
const encodedVersion = 1

// Encode returns h in a form for DecodeHistogram, some hundred bytes: a version, the sum
// and the longest in nanoseconds, then gaps and counts of the buckets that are not empty,
// all as varints.
func (h *Histogram) Encode() []byte {
	b := []byte{encodedVersion}
	b = binary.AppendUvarint(b, uint64(h.sum))
	b = binary.AppendUvarint(b, uint64(h.longest))
	last := 0
	for i, c := range h.counts {
		if c != 0 {
			b = binary.AppendUvarint(b, uint64(i-last))
			b = binary.AppendUvarint(b, uint64(c))
			last = i
		}
	}
	return b
}

// DecodeHistogram reads what Encode wrote. No bytes are an empty histogram.
func DecodeHistogram(b []byte) (*Histogram, error) {
	h := new(Histogram)
	if len(b) == 0 {
		return h, nil
	}
	if b[0] != encodedVersion {
		return nil, fmt.Errorf("read histogram: unknown version %d", b[0])
	}
	b = b[1:]
	var bad bool
	number := func() int64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > math.MaxInt64 {
			bad = true
			return 0
		}
		b = b[n:]
		return int64(v)
	}
	h.sum, h.longest = number(), number()
	i := int64(0)
	for len(b) > 0 && !bad {
		gap, count := number(), number()
		if gap >= buckets || i+gap >= buckets || h.n+count < 0 {
			bad = true
			break
		}
		i += gap
		h.counts[i] += count
		h.n += count
	}
	if bad {
		return nil, fmt.Errorf("read histogram: it is damaged")
	}
	return h, nil
}
