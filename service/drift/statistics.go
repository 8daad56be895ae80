package drift

import "math"

// The tolerance. A run of a collector whose rows are drawn at random as before is called drift in at most one of a
// hundred: each run has falseAlarm to spend, in equal parts on its tests. See history for what is held
// against what, and alike for runs that differ by more.
//
// A test is on one side: of n rows a have a property (filled, of the usual type, above the usual median), and of m
// rows of the good runs b. If nothing has changed, this much or less is seen with the probability chance. What is significant
// has to be worth a word as well: leastDrop for shares, leastFactor for sizes.
const (
	falseAlarm  = 0.01
	testsAField = 9 // present, filled, and type, by two tests each; flat; and size either way
	leastDrop   = 0.05
	leastFactor = 3.0
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

// wilsonLow is the lower end of Wilson's interval for a share that a of n rows show, with z standard
// deviations to either side:
//
//	(p + z²/2n - z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), with p = a/n
func wilsonLow(a, n int, z float64) float64 {
	if n <= 0 {
		return 0
	}
	p, size := float64(a)/float64(n), float64(n)
	return max((p+z*z/(2*size)-z*math.Sqrt(p*(1-p)/size+z*z/(4*size*size)))/(1+z*z/size), 0)
}
