package load

import (
	"math"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"backslide/lab"
)

func TestHistogram(t *testing.T) {
	// Every bucket begins where the one before ends, and holds its own bounds.
	var h Histogram
	end := int64(0)
	for i := range buckets {
		low, width := h.bounds(i)
		if low != end || bucket(low) != i || bucket(low+width-1) != i {
			t.Fatalf("bucket %d: %d wide from %d, the last ended at %d; its ends fall into %d and %d", i, width, low, end, bucket(low), bucket(low+width-1))
		}
		if low >= 1000 && float64(width)/float64(low) > 1.0/subs {
			t.Fatalf("bucket %d: %d wide from %d", i, width, low)
		}
		end = low + width
	}
	if bucket(-1) != 0 || bucket(math.MaxInt64) != buckets-1 {
		t.Errorf("the ends: %d, %d", bucket(-1), bucket(math.MaxInt64))
	}

	var all []int64
	var a, b Histogram
	for i, v := range values(t, "zipf(1000, 50000000, 1.1)", 20000) {
		all = append(all, v)
		if i%3 == 0 {
			a.Add(time.Duration(v))
		} else {
			b.Add(time.Duration(v))
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	a.Merge(&b)
	d, err := DecodeHistogram(a.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, *d, cmp.AllowUnexported(Histogram{})); diff != "" {
		t.Errorf("decoded histogram differs:\n%s", diff)
	}
	for _, q := range []float64{0.01, 0.25, 0.5, 0.9, 0.99, 0.999} {
		want := float64(all[int(q*float64(len(all)))])
		if got := float64(d.Quantile(q)); math.Abs(got-want) > want/subs+1 {
			t.Errorf("quantile %g: %g, of the values themselves %g", q, got, want)
		}
	}
	if d.Max() != time.Duration(all[len(all)-1]) || d.N() != 20000 || d.Quantile(1) != d.Max() {
		t.Errorf("max %d, n %d, last quantile %d", d.Max(), d.N(), d.Quantile(1))
	}
	if n := len(a.Encode()); n > 4000 {
		t.Errorf("encoded in %d bytes", n)
	}
	if e, err := DecodeHistogram(nil); err != nil || e.N() != 0 || e.Quantile(0.5) != 0 || e.Mean() != 0 {
		t.Errorf("an empty histogram: %v, %v", e.N(), err)
	}
}

func FuzzDecodeHistogram(f *testing.F) {
	var h Histogram
	h.Add(time.Millisecond)
	h.Add(time.Hour)
	f.Add(h.Encode())
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := DecodeHistogram(b)
		if err != nil {
			return
		}
		again, err := DecodeHistogram(h.Encode())
		if err != nil || again.N() != h.N() || again.Quantile(0.5) != h.Quantile(0.5) {
			t.Errorf("decoded, encoded and decoded: %v", err)
		}
	})
}

func BenchmarkHistogram(b *testing.B) {
	var h Histogram
	v := uint64(1)
	for range b.N {
		v = mix(v)
		h.add(int64(v >> 40))
	}
}

func TestBins(t *testing.T) {
	var h Histogram
	if got := h.Bins(); got != nil {
		t.Errorf("bins of nothing: %v", got)
	}
	// 16 ns to a bin below 256 ns, then four to an octave: 1000 ns lies in 896 to 1024, and
	// 1100 in 1024 to 1280.
	for _, v := range []int64{1000, 1000, 1100, 2000} {
		h.add(v)
	}
	want := []lab.LatencyBin{{To: 1024e-9, Count: 2}, {To: 1280e-9, Count: 1}, {To: 1536e-9}, {To: 1792e-9}, {To: 2048e-9, Count: 1}}
	if d := cmp.Diff(want, h.Bins(), cmpopts.EquateApprox(1e-9, 0)); d != "" {
		t.Errorf("bins (-want +got):\n%s", d)
	}
}
