package lab

// Metric names something that is measured per slice. Its unit travels with it.
type Metric string

// The metrics that comparisons are made of.
const (
	QPS       Metric = "qps"
	ServerCPU Metric = "server-cpu"
	ClientCPU Metric = "client-cpu"
	Runq      Metric = "runq-wait"
	Switches  Metric = "context-switches"
	WriteIO   Metric = "write-bytes"
	ReadIO    Metric = "read-bytes"

	// Quantiles of the time from when an operation of an open loop was due to its end. A
	// closed loop has none that could be compared: it stops asking while a server stalls.
	P50 Metric = "p50"
	P95 Metric = "p95"
	P99 Metric = "p99"
)

// Unit returns the unit in which values of m are stored and printed, in the notation of
// Go's benchmark format.
func (m Metric) Unit() string {
	switch m {
	case QPS:
		return "op/sec"
	case ServerCPU, ClientCPU:
		return "cpu-sec/op"
	case Runq, P50, P95, P99:
		return "sec/op"
	case Switches:
		return "switches/op"
	case WriteIO, ReadIO:
		return "B/op"
	}
	return "?"
}

// HigherIsBetter reports whether a larger value of m is an improvement.
func (m Metric) HigherIsBetter() bool { return m == QPS }

// Metrics lists the metrics in the order of reports; the first decides the verdict.
func Metrics() []Metric {
	return []Metric{QPS, ServerCPU, ClientCPU, Runq, Switches, WriteIO, ReadIO, P50, P95, P99}
}

// Latency reports whether m is a quantile of the latency: of a slice as a whole, and not
// an amount that operations add up to.
func (m Metric) Latency() bool { return m == P50 || m == P95 || m == P99 }

// beyond is how many of a slice's operations have to lie beyond a quantile at least.
const beyond = 1

// quantile returns a quantile of an open loop's latency. It is not known of a closed loop,
// nor where there are too few operations to tell it from the longest of all.
func (s Slice) quantile(share, v float64) (float64, bool) {
	return v, s.Offered > 0 && v > 0 && float64(s.Ops)*(1-share) >= beyond
}

// Value returns metric m of the slice, and false where the slice cannot say: it failed,
// holds no operations, or the host does not tell.
func (s Slice) Value(m Metric) (float64, bool) {
	if s.Err != "" || s.Ops <= 0 || s.Wall <= 0 {
		return 0, false
	}
	ops := float64(s.Ops)
	var v float64
	switch m {
	case QPS:
		return ops / s.Wall, true
	case P50:
		return s.quantile(0.5, s.P50)
	case P95:
		return s.quantile(0.95, s.P95)
	case P99:
		return s.quantile(0.99, s.P99)
	case ServerCPU:
		v = s.Usage.ServerUser + s.Usage.ServerSystem
		if s.Usage.ServerUser < 0 {
			return 0, false
		}
	case ClientCPU:
		v = s.Usage.ClientUser + s.Usage.ClientSystem
		if s.Usage.ClientUser < 0 {
			return 0, false
		}
	case Runq:
		v = s.Usage.ServerRunq
	case Switches:
		if s.Usage.CtxVoluntary < 0 || s.Usage.CtxForced < 0 {
			return 0, false
		}
		v = float64(s.Usage.CtxVoluntary + s.Usage.CtxForced)
	case WriteIO:
		v = float64(s.Usage.WriteBytes)
	case ReadIO:
		v = float64(s.Usage.ReadBytes)
	default:
		return 0, false
	}
	if v < 0 {
		return 0, false
	}
	return v / ops, true
}
