package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseBytes reads a size as server options write it: 4096, 512K, 128M, 2G, 1T, with an
// optional B or iB behind; powers of 1024.
func ParseBytes(s string) (int64, error) {
	t := strings.ToUpper(strings.TrimSpace(s))
	t = strings.TrimSuffix(strings.TrimSuffix(t, "B"), "I")
	shift := 0
	if n := len(t); n > 0 {
		if i := strings.IndexByte("KMGT", t[n-1]); i >= 0 {
			shift, t = 10*(i+1), t[:n-1]
		}
	}
	v, err := strconv.ParseFloat(t, 64)
	if err != nil || v < 0 || v*math.Pow(2, float64(shift)) > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not a size", s)
	}
	return int64(v * math.Pow(2, float64(shift))), nil
}

// ParseShare reads 5%, 5 % or 0.05 as 0.05.
func ParseShare(s string) (float64, error) {
	t := strings.TrimSpace(s)
	num, percent := strings.CutSuffix(t, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a share", s)
	}
	if percent {
		v /= 100
	}
	return v, nil
}

// sharePercent writes a share as people write it: 0.05 is 5%.
func sharePercent(v float64) string { return strconv.FormatFloat(100*v, 'g', 6, 64) + "%" }
