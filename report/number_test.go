package report

import (
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct{ got, want string }{
		// exp(−0.05) − 1 = −0.04877, exp(0.05) − 1 = 0.05127
		{percent(-0.05), "−4.9 %"}, {percent(0.05), "+5.1 %"}, {percent(0), "0.0 %"}, {percent(-0.0004), "0.0 %"}, {percent(inf), "–"},
		{percent(math.Log(2)), "+100.0 %"}, {percent(math.Log(0.5)), "−50.0 %"},
		{percentSpan(-0.05, 0.05), "[−4.9, +5.1]"}, {percentSpan(-inf, inf), "–"},
		{ratio(-0.05), "0.951"}, {ratio(0), "1.000"}, {ratio(math.NaN()), "–"}, {ratioSpan(-0.05, 0.05), "[0.951, 1.051]"}, {ratioSpan(-inf, 0), "–"},
		{size(0.05), "5.1 %"}, {size(-0.05), "5.1 %"}, {size(2.3), "897.4 %"}, {size(5), "over 1000 %"}, {size(inf), "–"},
		{amount(0), "0"}, {amount(0.0001), "<0.001"}, {amount(0.1234), "0.123"}, {amount(1.234), "1.23"}, {amount(12.34), "12.3"},
		{amount(123.4), "123"}, {amount(1234567.8), "1234568"}, {amount(-1.5), "−1.50"}, {amount(inf), "–"},
		{grouped(1234), "1234"}, {grouped(12345), "12\u202f345"}, {grouped(1234567.8), "1\u202f234\u202f568"}, {grouped(12.34), "12.3"},
		{micros(0), "–"}, {micros(41.3e-6), "41.3"}, {share(0.05), "5 %"}, {share(0.995), "99.5 %"}, {share(1 - 0.01), "99 %"},
		{count(1, "client"), "1 client"}, {count(4, "client"), "4 clients"}, {bytesOf(24 << 30), "24.0 GiB"}, {bytesOf(0), "–"}, {bytesOf(1023), "1023 B"},
		{superscript([]int{1, 20}), "¹ ²⁰"}, {blockNumbers([]int{5, 3, 3}), "blocks 3 and 5"}, {blockNumbers([]int{4}), "block 4"},
		{blockNumbers([]int{0, 1, 2, 3, 4, 5, 6, 7, 9}), "9 blocks from 0 to 9"},
		{csvNumber(inf), ""}, {csvNumber(0.1), "0.1"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
