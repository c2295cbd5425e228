package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"backslide/lab"
)

const (
	minus = "−" // U+2212: as wide as a plus, and never a hyphen
	none  = "–" // where a number cannot be given
)

// scale is how people read values of a metric.
type scale struct {
	name   string  // of the metric, within a sentence
	unit   string  // that values are shown in
	factor float64 // from lab.Metric.Unit() to unit
}

// scaleOf returns the scale of a metric.
func scaleOf(m lab.Metric) scale {
	switch m {
	case lab.QPS:
		return scale{"QPS", "op/s", 1}
	case lab.ServerCPU:
		return scale{"server CPU", "µs/op", 1e6}
	case lab.ClientCPU:
		return scale{"client CPU", "µs/op", 1e6}
	case lab.Runq:
		return scale{"run-queue wait", "µs/op", 1e6}
	case lab.Switches:
		return scale{"context switches", "/op", 1}
	case lab.WriteIO:
		return scale{"written", "B/op", 1}
	case lab.ReadIO:
		return scale{"read", "B/op", 1}
	case lab.P50, lab.P95, lab.P99:
		return scale{string(m) + " at a set rate", "µs", 1e6}
	}
	return scale{string(m), m.Unit(), 1}
}

// relative names the ratio of a metric: relative QPS.
func (s scale) relative() string {
	if s.unit == "op/s" || s.unit == "µs" {
		return "relative " + s.name
	}
	return "relative " + s.name + " per op"
}

// finite reports whether x is a number that can be shown.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// sign replaces the ASCII minus of a formatted number, and drops that of a zero.
func sign(s string) string {
	digits, negative := strings.CutPrefix(s, "-")
	switch {
	case !negative:
		return s
	case strings.Trim(digits, "0.") == "":
		return digits
	}
	return minus + digits
}

// change returns a log-ratio as a signed percentage without its unit: −4.8.
func change(logRatio float64) string {
	s := strconv.FormatFloat(100*math.Expm1(logRatio), 'f', 1, 64)
	if strings.Trim(s, "-0.") == "" {
		return "0.0"
	}
	if !strings.HasPrefix(s, "-") {
		return "+" + s
	}
	return sign(s)
}

// percent returns a log-ratio as people say it: −4.8 %.
func percent(logRatio float64) string {
	if !finite(logRatio) {
		return none
	}
	return change(logRatio) + " %"
}

// size returns how large a difference of logarithms is, without a sign: 5.1 %.
func size(d float64) string {
	if !finite(d) {
		return none
	}
	percent := 100 * math.Expm1(math.Abs(d))
	if percent > 1000 {
		return "over 1000 %" // any figure would claim to know more than noise lets it
	}
	return strconv.FormatFloat(percent, 'f', 1, 64) + " %"
}

// percentSpan returns the interval of a log-ratio in percent: [−14.0, −10.5].
func percentSpan(lo, hi float64) string {
	if !finite(lo) || !finite(hi) {
		return none
	}
	return "[" + change(lo) + ", " + change(hi) + "]"
}

// ratio returns exp(logRatio) with three decimals: 0.952.
func ratio(logRatio float64) string {
	if !finite(logRatio) {
		return none
	}
	return strconv.FormatFloat(math.Exp(logRatio), 'f', 3, 64)
}

// ratio returns exp(logRatio) with the view's decimals.
func (v *view) ratio(logRatio float64) string {
	if !finite(logRatio) {
		return none
	}
	return decimals(math.Exp(logRatio), v.decimals)
}

// ratioSpan returns the interval of a ratio with the view's decimals.
func (v *view) ratioSpan(lo, hi float64) string {
	if !finite(lo) || !finite(hi) {
		return none
	}
	return "[" + v.ratio(lo) + ", " + v.ratio(hi) + "]"
}

// ratioSpan returns the interval of a ratio: [0.931, 0.973].
func ratioSpan(lo, hi float64) string {
	if !finite(lo) || !finite(hi) {
		return none
	}
	return "[" + ratio(lo) + ", " + ratio(hi) + "]"
}

// amount returns a value with at least three significant digits and no exponent.
func amount(v float64) string {
	switch a := math.Abs(v); {
	case !finite(v):
		return none
	case a == 0:
		return "0"
	case a < 0.0005:
		return "<0.001"
	case a < 1:
		return sign(strconv.FormatFloat(v, 'f', 3, 64))
	case a < 10:
		return sign(strconv.FormatFloat(v, 'f', 2, 64))
	case a < 100:
		return sign(strconv.FormatFloat(v, 'f', 1, 64))
	}
	return sign(strconv.FormatFloat(v, 'f', 0, 64))
}

// micros returns a latency in µs; zero means unknown.
func micros(sec float64) string {
	if sec <= 0 {
		return none
	}
	return amount(1e6 * sec)
}

// duration returns a time in the unit that leaves it short: 870 µs, 12.3 ms, 2.52 s.
func duration(sec float64) string {
	switch {
	case sec <= 0:
		return none
	case sec < 1e-3:
		return amount(1e6*sec) + " µs"
	case sec < 1:
		return amount(1e3*sec) + " ms"
	}
	return amount(sec) + " s"
}

// share returns a fraction as a percentage without needless digits: 99 %, 99.5 %.
func share(x float64) string { return strconv.FormatFloat(100*x, 'g', 4, 64) + " %" }

// count returns "1 client", "4 clients".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// bytesOf returns a size in the largest binary unit that leaves it at 1 or more.
func bytesOf(n int64) string {
	if n <= 0 {
		return none
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, u := float64(n), 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	return amount(v) + " " + units[u]
}

// superscript returns numbers as footnote marks: ¹ ².
func superscript(numbers []int) string {
	var b strings.Builder
	for i, n := range numbers {
		if i > 0 {
			b.WriteString(" ")
		}
		for _, d := range strconv.Itoa(n) {
			b.WriteRune([]rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[d-'0'])
		}
	}
	return b.String()
}
