package batch

import (
	"fmt"
	"strconv"
	"strings"

	"zonedeck/model"
)

// mostAtOnce bounds how many fetches of a batch are in flight: each has a connection.
const mostAtOnce = 1000

// CheckAtOnce says why a number of fetches cannot be in flight at once, or is nil.
func CheckAtOnce(n int) error {
	if n < 0 || n > mostAtOnce {
		return fmt.Errorf("%d: write a number from 0 to %d; 0 is what the product allows", n, mostAtOnce)
	}
	return nil
}

// ParseAtOnce reads how many fetches may be in flight at once; "" is 0.
func ParseAtOnce(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%q: write a number from 0 to %d; 0 is what the product allows", model.Cut(s, 20), mostAtOnce)
	}
	return n, CheckAtOnce(n)
}

// ParseRate reads how many items begin in a second, such as 20/s; "" and 0 have no bound.
func ParseRate(s string) (float64, error) {
	return amount(strings.TrimSuffix(s, "/s"), 1e6, s, "items in a second, such as 20/s")
}

// ParseCap reads an amount in dollars, such as $5; "" and 0 are none.
func ParseCap(s string) (float64, error) {
	return amount(strings.TrimPrefix(s, "$"), 1e9, s, "an amount in dollars, such as 5")
}

func amount(number string, most float64, typed, example string) (float64, error) {
	if typed == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(n >= 0) || n > most {
		return 0, fmt.Errorf("%q: write %s", model.Cut(typed, 20), example)
	}
	return n, nil
}
