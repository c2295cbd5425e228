package stat

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// How the boundary is computed.
//
// Let S be the sum of n differences and R² the sum of their squares plus those of the
// prior's Prior pseudo-differences. When nothing differs all of them are independent
// normal with one variance, so (R², direction) are independent and u = S/R is a Markov
// chain of one dimension: with the next difference at angle θ to what came before,
//
//	u' = u·cos θ + sin θ,   density of θ proportional to cos^(Prior+n−1) θ on ±π/2,
//
// and t is a function of u: with w = u/√n and ν = Prior+n−1, t = √ν·w/√(1−w²). So the
// probability of surviving every look is followed exactly on a grid of |u|, look by look,
// as Armitage, McPherson and Rowe (1969) did for known variance. Simulated paths would
// say the same with an error that is largest at the first looks, where a boundary rests
// on the last few paths in a hundred thousand; this has no seed and no such error.

// Solve returns the boundary that spends exactly what the rule allows at each look.
// The rule has to pass Check.
func (r Rule) Solve() Boundary { return r.solve(1) }

// solve is Solve on a grid that is so many times finer.
func (r Rule) solve(finer int) Boundary {
	b := Boundary{Rule: r}
	if r.Open {
		for n := r.First; n <= r.Max; n++ {
			b.c = append(b.c, eBound(n, r.df(n), r.Alpha))
		}
		return b
	}
	if r.Max < r.First {
		return b
	}
	n := r.First
	c := tQuantile(r.Spent(n), r.df(n))
	b.c = append(b.c, c)
	g := r.start(c, finer*cells)
	for n < r.Max {
		turn := newTurn(float64(r.Prior + n))
		n++
		k := g.edge(turn, r.Spent(n)-r.Spent(n-1), math.Sqrt(float64(n)))
		b.c = append(b.c, r.t(k, n))
		g = g.next(turn, spread(k, n, finer*cells), finer*cells)
	}
	return b
}

// t returns |t| at n blocks for |u|.
func (r Rule) t(u float64, n int) float64 {
	w2 := u * u / float64(n)
	return math.Sqrt(r.df(n) * w2 / (1 - w2))
}

// u returns |u| at n blocks for |t|.
func (r Rule) u(t float64, n int) float64 {
	return math.Sqrt(float64(n)*t*t) / math.Sqrt(r.df(n)+t*t)
}

// cells is how many cells a grid has. A step's standard deviation is about 1/√n and |u|
// stays under about 3, so that a cell is a twentieth of a step at 10 blocks and half of one
// at 1000. Boundaries are then good to 0.25 %, after the tenth block to 0.1 %, for levels
// down to 1e-4 or so; of smaller ones those at the first looks, where |t| is in the hundreds,
// to some percent.
const cells = 160

// spread returns |u| at a number of cells from 0, the last of which ends at k after n
// blocks. Cells are of equal width in the angle whose sine is u/√n, so that they are small
// where |u| comes close to its largest value, and t grows beyond all bounds.
func spread(k float64, n, count int) func(cell float64) float64 {
	most := math.Sqrt(float64(n))
	width := math.Asin(math.Min(1, k/most)) / float64(count)
	return func(cell float64) float64 { return most * math.Sin(cell*width) }
}

// grid holds the probability of having survived all looks so far, by |u|.
type grid []point

// point is a cell's middle with the probability of being there.
type point struct {
	u, r, at float64 // (1, u) in polar coordinates too: r·sin at = 1, r·cos at = u
	mass     float64
	weight   float64 // in sums over points that stand for integrals over cells: see weigh
}

func newPoint(u, mass float64) point {
	return point{u: u, r: math.Sqrt(1 + u*u), at: math.Atan2(1, u), mass: mass}
}

// weigh sets the weights with which a sum of a function's values at the points is its
// integral over the grid's probability. Were it all in the middle of its cell, the error
// would be of the second order in the cells' width: from here on F is the function, m the
// masses, and a cell's integral is
//
//	m·F + F'·m'/12 + F"·m/24        (derivatives by cell, central differences)
//
// up to the fourth order. Both are even functions of u; beyond the last cell they go on as
// the parabola through the last three.
func (g grid) weigh() {
	n := len(g)
	// value returns what the value at i is made of: points and their factors.
	type part struct {
		i int
		f float64
	}
	value := func(i int) []part {
		switch {
		case i < 0:
			return []part{{-1 - i, 1}}
		case i >= n:
			return []part{{n - 1, 3}, {n - 2, -3}, {n - 3, 1}}
		}
		return []part{{i, 1}}
	}
	mass := func(i int) float64 {
		sum := 0.0
		for _, p := range value(i) {
			sum += p.f * g[p.i].mass
		}
		return sum
	}
	for i := range g {
		g[i].weight = g[i].mass
	}
	for i, p := range g {
		slope, bend := (mass(i+1)-mass(i-1))/48, p.mass/24
		for _, q := range value(i + 1) {
			g[q.i].weight += q.f * (bend + slope)
		}
		for _, q := range value(i - 1) {
			g[q.i].weight += q.f * (bend - slope)
		}
		g[i].weight -= 2 * bend
	}
}

// start returns the grid of those who survive the first look, which is Student's t.
func (r Rule) start(c float64, count int) grid {
	dist := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: r.df(r.First)}
	g := make(grid, count)
	at := spread(r.u(c, r.First), r.First, count)
	last := 0.5
	for i := range g {
		p := dist.CDF(r.t(at(float64(i+1)), r.First))
		g[i], last = newPoint(at(float64(i)+0.5), 2*(p-last)), p
	}
	g.weigh()
	return g
}

// beyond returns the probability of having survived so far and of |u'| > y one block on.
func (g grid) beyond(turn *turn, y float64) float64 {
	sum := 0.0
	for _, p := range g {
		sum += p.weight * turn.beyond(p, y)
	}
	return sum
}

// edge returns y at which beyond is p, by bisection below limit, the largest |u'|.
func (g grid) edge(turn *turn, p, limit float64) float64 {
	lo, hi := 0.0, limit
	for range 48 {
		if mid := (lo + hi) / 2; g.beyond(turn, mid) > p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// next returns the grid one block on, of those who stay at or below k.
func (g grid) next(turn *turn, at func(float64) float64, count int) grid {
	h := make(grid, count)
	last := 0.0
	for _, p := range g {
		last += p.mass
	}
	for j := range h {
		p := g.beyond(turn, at(float64(j+1)))
		h[j], last = newPoint(at(float64(j)+0.5), last-p), p
	}
	h.weigh()
	return h
}

// turn is the distribution of θ with density proportional to cos^(m−1) θ: Student's T
// with m degrees of freedom is √m·tan θ.
type turn struct {
	scale float64   // table steps per radian
	above []float64 // P(θ > i/scale), i from 0
	slope []float64 // density there, per table step

	reachCos, reachSin float64 // of the angle that is passed with a probability under 1e-14
}

const turnSteps = 2048 // over a quarter circle; cubic interpolation is then good to 1e-12

func newTurn(m float64) *turn {
	h := math.Pi / 2 / turnSteps
	t := &turn{scale: 1 / h, above: make([]float64, turnSteps+2), slope: make([]float64, turnSteps+2)}
	density := func(x float64) float64 { return math.Pow(math.Max(math.Cos(x), 0), m-1) }
	t.slope[turnSteps] = density(math.Pi / 2)
	for i := turnSteps - 1; i >= 0; i-- { // Simpson's rule, from the thin end
		a := float64(i) * h
		t.slope[i] = density(a)
		t.above[i] = t.above[i+1] + (t.slope[i]+4*density(a+h/2)+t.slope[i+1])/6
	}
	norm := 0.5 / t.above[0]
	for i := range t.above {
		t.above[i] *= norm
		t.slope[i] *= norm
	}
	far := sort.Search(turnSteps, func(i int) bool { return t.above[i] < 1e-14 })
	t.reachSin, t.reachCos = math.Sincos(float64(far) * h)
	return t
}

// tail returns P(θ > x).
func (t *turn) tail(x float64) float64 {
	if x < 0 {
		return 1 - t.tail(-x)
	}
	x *= t.scale
	i := int(x)
	if i >= turnSteps {
		return 0
	}
	f := x - float64(i)
	d := t.above[i] - t.above[i+1]
	p, q := t.slope[i], t.slope[i+1]
	// Hermite's cubic: falls from above[i] to above[i+1] with these slopes.
	return t.above[i] - f*(p+f*((3*d-2*p-q)+f*(p+q-2*d)))
}

// beyond returns P(|u'| > y) for one who is at ±p.u, with y not negative.
func (t *turn) beyond(p point, y float64) float64 {
	if y >= p.r || y > p.u+t.reachSin { // u' is at most u·cos θ + sin θ
		return 0
	}
	if y < p.u*t.reachCos-t.reachSin {
		return 1
	}
	// u' = r·cos(θ − at) is over y within a of at; for −u, at is on the other side.
	a := math.Acos(y / p.r)
	return t.tail(p.at-a) - t.tail(p.at+a) + t.tail(math.Pi-p.at-a) - t.tail(math.Pi-p.at+a)
}
