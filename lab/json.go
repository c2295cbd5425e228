package lab

import (
	"encoding/json"
	"math"
)

// JSON has no infinity, and an interval of too few blocks has no end: null stands for it.

// comparison is a Comparison without methods, with those fields shadowed that may be
// infinite.
type comparison struct {
	plainComparison
	Lo       *float64 `json:"lo"`
	Hi       *float64 `json:"hi"`
	EqLo     *float64 `json:"eq_lo"`
	EqHi     *float64 `json:"eq_hi"`
	SD       *float64 `json:"sd"`
	MDE      *float64 `json:"mde"`
	Critical *float64 `json:"critical"`
}

type plainComparison Comparison

// MarshalJSON writes null for what is infinite.
func (c Comparison) MarshalJSON() ([]byte, error) {
	return json.Marshal(comparison{
		plainComparison(c), finite(c.Lo), finite(c.Hi), finite(c.EqLo), finite(c.EqHi), finite(c.SD), finite(c.MDE), finite(c.Critical),
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Comparison) UnmarshalJSON(b []byte) error {
	var s comparison
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*c = Comparison(s.plainComparison)
	c.Lo, c.EqLo = orInf(s.Lo, -1), orInf(s.EqLo, -1)
	c.Hi, c.EqHi = orInf(s.Hi, 1), orInf(s.EqHi, 1)
	c.SD, c.MDE, c.Critical = orInf(s.SD, 1), orInf(s.MDE, 1), orInf(s.Critical, 1)
	return nil
}

// component is a Component without methods, with its interval shadowed.
type component struct {
	plainComponent
	Lo *float64 `json:"lo"`
	Hi *float64 `json:"hi"`
}

type plainComponent Component

// MarshalJSON writes null for what is infinite.
func (c Component) MarshalJSON() ([]byte, error) {
	return json.Marshal(component{plainComponent(c), finite(c.Lo), finite(c.Hi)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Component) UnmarshalJSON(b []byte) error {
	var s component
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*c = Component(s.plainComponent)
	c.Lo, c.Hi = orInf(s.Lo, -1), orInf(s.Hi, 1)
	return nil
}

func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

func orInf(x *float64, sign int) float64 {
	if x == nil {
		return math.Inf(sign)
	}
	return *x
}
