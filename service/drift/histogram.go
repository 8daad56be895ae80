package drift

import (
	"maps"
	"math"
	"slices"
)

// perDecade is how many buckets a factor of ten has, so that a Histogram knows a value to within 7 %.
const perDecade = 16

// The range of the buckets: from 1e-12 to 1e15, of either sign. Numbers outside count as its nearest end.
const (
	lowest  = -12 * perDecade
	highest = 15 * perDecade
	offset  = 1 - lowest // the bucket of 1e-12 is 1, that of -1e-12 is -1, and 0 that of zero
)

// Histogram counts numbers in buckets on a logarithmic scale. At most 866 buckets hold any.
type Histogram map[int]int

func bucket(x float64) int {
	size := math.Abs(x)
	if size == 0 {
		return 0
	}
	b := offset + min(max(int(math.Round(math.Log10(size)*perDecade)), lowest), highest)
	if x < 0 {
		return -b
	}
	return b
}

// value is a number of a bucket.
func value(b int) float64 {
	switch {
	case b == 0:
		return 0
	case b < 0:
		return -value(-b)
	default:
		return math.Pow(10, float64(b-offset)/perDecade)
	}
}

// count is how many numbers it holds.
func (h Histogram) count() (n int) {
	for _, k := range h {
		n += k
	}
	return n
}

// median is the bucket of the middle number, the lower of two; false without any.
func (h Histogram) median() (int, bool) {
	half := (h.count() + 1) / 2
	for _, b := range slices.Sorted(maps.Keys(h)) {
		if half -= h[b]; half <= 0 {
			return b, true
		}
	}
	return 0, false
}

// Median is about the middle number; false without any.
func (h Histogram) Median() (float64, bool) {
	b, ok := h.median()
	return value(b), ok
}

// upTo is how many numbers lie in the bucket or below.
func (h Histogram) upTo(b int) (n int) {
	for at, k := range h {
		if at <= b {
			n += k
		}
	}
	return n
}

func (h Histogram) add(others Histogram) {
	for b, k := range others {
		h[b] += k
	}
}
