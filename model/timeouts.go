package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Timeouts are how long one attempt may take, by the product of its zone. What is not in it is the console's to choose
// (exchange.Timeout). Each is from MinTimeout to MaxTimeout.
type Timeouts map[Product]time.Duration

// The bounds of a product's timeout.
const (
	MinTimeout = time.Second
	MaxTimeout = time.Hour
)

// TimedProducts are the products that a timeout can be set for, ProductUnknown the last: many zones name none.
func TimedProducts() []Product { return append(Products(), ProductUnknown) }

// String is what Set reads: "unlocker=4m0s, browser=6m0s".
func (t Timeouts) String() string {
	var out []string
	for _, p := range TimedProducts() {
		if d, ok := t[p]; ok {
			out = append(out, p.String()+"="+d.String())
		}
	}
	return strings.Join(out, ", ")
}

// Set is t with what is named, as in "unlocker=4m browser=360s", with spaces or commas between them. Errors repeat
// nothing that may be a secret.
func (t Timeouts) Set(s string) (Timeouts, error) {
	out := maps.Clone(t)
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, text, _ := strings.Cut(word, "=")
		i := slices.IndexFunc(TimedProducts(), func(p Product) bool { return p.String() == name })
		if i < 0 {
			return t, errors.New("write each as a product and a time, as in unlocker=4m; unknown is for zones without a product")
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < MinTimeout || d > MaxTimeout {
			return t, fmt.Errorf("the timeout of %s is a time from %v to %v, as in %[1]s=4m", name, MinTimeout, MaxTimeout)
		}
		if out == nil {
			out = Timeouts{}
		}
		out[TimedProducts()[i]] = d
	}
	return out, nil
}
