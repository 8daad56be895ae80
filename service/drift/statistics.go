package drift

import "math"

// The tolerance. A run of a collector whose rows are drawn at random as before is called drift in at most one of a
// hundred: each run has falseAlarm to spend, in equal parts on its tests. See history for what is held
// against what, and alike for runs that differ by more.
//
// A test is on one side: of n rows a have a property (filled, of the usual type), and of m
// rows of the good runs b. If nothing has changed, this much or less is seen with the probability chance. What is significant
// has to be worth a word as well: leastDrop.
const (
	falseAlarm  = 0.01
	testsAField = 7 // present, filled, and type, by two tests each; and flat
	leastDrop   = 0.05
)

// chance is the probability that a or fewer of n rows have a property which b of m others have, by Fisher's exact test:
// the a+b rows with the property are spread over the n+m at random, so that
//
//	P(X <= a) = sum for k = 0..a of C(n,k) * C(m,a+b-k) / C(n+m,a+b)
//
// which holds for any size. For none of n, and all of m, another bound is sharper, and that is all there is where runs
// have a row each: if the share is p, the probability is p^m (1-p)^n, which is at its highest for p = m/(n+m).
func chance(a, n, b, m int) float64 {
	have := a + b
	least := max(0, have-m)
	if n <= 0 || m <= 0 || a >= min(n, have) {
		return 1
	}
	sum := 0.0
	for k := a; k >= least; k-- {
		p := math.Exp(choose(n, k) + choose(m, have-k) - choose(n+m, have))
		sum += p
		if p < sum*1e-12 { // below the mode the terms fall; above it they do not end this early
			break
		}
	}
	if a == 0 && b == m {
		x, y := float64(n), float64(m)
		sum = min(sum, math.Exp(x*math.Log(x/(x+y))+y*math.Log(y/(x+y))))
	}
	return min(sum, 1)
}

// choose is the logarithm of the binomial coefficient.
func choose(n, k int) float64 {
	whole, _ := math.Lgamma(float64(n + 1))
	left, _ := math.Lgamma(float64(k + 1))
	right, _ := math.Lgamma(float64(n - k + 1))
	return whole - left - right
}
