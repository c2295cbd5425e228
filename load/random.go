package load

import (
	"math"
	"math/bits"
)

// Randomness is counter-based: a draw is a hash of a key (seed, block, step, client,
// operation) and of its place in the operation. No state is carried from one draw to the
// next, so any operation can be made at any time, in any process.

const golden = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio, made odd

// mix is the output function of SplitMix64 (Steele, Lea, Flood 2014, with Stafford's
// variant 13 of the constants): a bijection whose every output bit depends on every
// input bit.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xBF58476D1CE4E5B9
	x ^= x >> 27
	x *= 0x94D049BB133111EB
	return x ^ x>>31
}

// key returns a new key made of key and a number.
func subkey(key, n uint64) uint64 { return mix(key + (n+1)*golden) }

// keyOf returns a key made of a text.
func keyOf(key uint64, s string) uint64 {
	for i := range len(s) {
		key = subkey(key, uint64(s[i]))
	}
	return subkey(key, uint64(len(s)))
}

// below scales 64 random bits to 0…n-1. Its bias is under n/2^64.
func below(r, n uint64) uint64 {
	hi, _ := bits.Mul64(r, n)
	return hi
}

func unit(r uint64) float64 { return float64(r>>11) / (1 << 53) } // [0, 1)

// zipf draws k from 1…n with a chance in proportion to k^-s, as sysbench's zipfian
// distribution does: small numbers are hot. The method is rejection-inversion (Hörmann and
// Derflinger, "Rejection-inversion to generate variates from monotone discrete
// distributions", 1996), which needs no table.
type zipf struct {
	n, s                float64
	hFirst, hLast, near float64
}

func newZipf(n int64, s float64) *zipf {
	z := &zipf{n: float64(n), s: s}
	z.hFirst = z.integral(1.5) - 1
	z.hLast = z.integral(z.n + 0.5)
	z.near = 2 - z.inverse(z.integral(2.5)-z.density(2))
	return z
}

func (z *zipf) density(x float64) float64 { return math.Exp(-z.s * math.Log(x)) }

// integral is the integral of density, (x^(1-s) - 1)/(1-s), log x at s = 1.
func (z *zipf) integral(x float64) float64 {
	l := math.Log(x)
	return expm1Over((1-z.s)*l) * l
}

func (z *zipf) inverse(y float64) float64 {
	t := max(y*(1-z.s), -1) // rounding must not leave the domain
	return math.Exp(log1pOver(t) * y)
}

// expm1Over is (e^x - 1)/x, and log1pOver log(1+x)/x, by their series near 0.
func expm1Over(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2*(1+x/3)
}

func log1pOver(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x*(0.5-x/3)
}

// draw takes its bits from key and place; more than one draw is rarely needed.
func (z *zipf) draw(key, place uint64) int64 {
	for range 1000 {
		u := z.hLast + unit(mix(key+place*golden))*(z.hFirst-z.hLast)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.near || u >= z.integral(k+0.5)-z.density(k) {
			return int64(k)
		}
		place++
	}
	return 1 // not reached in practice: each draw is taken with a chance over one half
}
