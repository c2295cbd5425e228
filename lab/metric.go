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
)

// Unit returns the unit in which values of m are stored and printed, in the notation of
// Go's benchmark format.
func (m Metric) Unit() string {
	switch m {
	case QPS:
		return "op/sec"
	case ServerCPU, ClientCPU:
		return "cpu-sec/op"
	case Runq:
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
	return []Metric{QPS, ServerCPU, ClientCPU, Runq, Switches, WriteIO, ReadIO}
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
