package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/fetch"
)

// Rules are what an agent may do, as the operator said at start. An empty list allows all.
type Rules struct {
	// Profiles are those it may use, the usual one first; there is at least one.
	Profiles []string
	Zones    []string
	// Domains are hosts, or "*." and a host for those below it, as ParseDomain gives them and as
	// a profile spells its own.
	Domains []string
	// Cost is what its calls may cost in dollars by the rates of zones, when Capped.
	Cost   float64
	Capped bool
	// Unpriced allows calls under a cap although nobody knows what they cost.
	Unpriced bool
	// Inputs is how many inputs its jobs may have in all; 0 means that it starts none.
	Inputs int
}

// refusedError says which rule does not allow a call, by the flag that sets it. Nothing was sent.
type refusedError struct{ Rule, Reason string }

func (e *refusedError) Error() string {
	return "refused by the operator's rules: " + e.Reason + " (" + e.Rule + ")"
}

func refuse(rule, format string, args ...any) error {
	return &refusedError{rule, fmt.Sprintf(format, args...)}
}

// ParseDomain is a domain for Rules: a host, or "*." and one, in ASCII and lower case.
func ParseDomain(s string) (string, error) {
	name, below := strings.CutPrefix(s, "*.")
	host, err := hostOf("http://" + name + "/")
	odd := func(c rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-_", c) }
	if err != nil || strings.ContainsAny(name, "/:@?#*") || strings.ContainsFunc(host, odd) || strings.HasPrefix(host, "-") {
		return "", fmt.Errorf("%q: write a host, like shop.example, or *.shop.example for those below it", model.Line(s, 100))
	}
	if below {
		host = "*." + host
	}
	return host, nil
}

// hostOf is the host of an address, in ASCII and lower case, without a dot at its end.
func hostOf(target string) (string, error) {
	wire, err := fetch.WireURL(target)
	if err != nil {
		return "", err //nolint:wrapcheck // the caller names the address
	}
	u, err := url.Parse(wire)
	if err != nil {
		return "", err //nolint:wrapcheck // the caller names the address
	}
	if host := strings.TrimRight(u.Hostname(), "."); host != "" {
		return host, nil
	}
	return "", errors.New("the host is missing")
}

// profile is the place of a call's profile among those that are allowed: the usual one, 0, when it names none.
func (r Rules) profile(name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	if n := slices.Index(r.Profiles, name); n >= 0 {
		return n, nil
	}
	return 0, refuse("--profiles", "profile %q is not allowed; allowed: %s", model.Line(name, 60), strings.Join(r.Profiles, ", "))
}

// zone refuses a zone that is not allowed.
func (r Rules) zone(name string) error {
	if len(r.Zones) == 0 || slices.Contains(r.Zones, name) {
		return nil
	}
	return refuse("--zones", "zone %q is not allowed; allowed: %s", model.Line(name, 60), strings.Join(r.Zones, ", "))
}

// target refuses an address whose host is not allowed.
func (r Rules) target(address string) error {
	host, err := hostOf(address)
	if err != nil {
		return &model.RequestError{Problems: []model.FieldProblem{{Field: "url", Err: err}}}
	}
	for _, d := range r.Domains {
		if parent, below := strings.CutPrefix(d, "*."); below && strings.HasSuffix(host, "."+parent) || host == d {
			return nil
		}
	}
	if len(r.Domains) == 0 {
		return nil
	}
	return refuse("--allow-domain", "host %q is not allowed; allowed: %s", model.Line(host, 100), strings.Join(r.Domains, ", "))
}

// Text are the rules as an agent and the operator read them.
func (r Rules) Text() string {
	var b strings.Builder
	list := func(what string, names []string) {
		if len(names) == 0 {
			names = []string{"all"}
		}
		fmt.Fprintf(&b, "%s: %s. ", what, strings.Join(names, ", "))
	}
	list("Profiles", r.Profiles)
	list("Zones", r.Zones)
	list("Domains", r.Domains)
	switch {
	case !r.Capped:
		b.WriteString("No cap on cost. ")
	case r.Unpriced:
		fmt.Fprintf(&b, "Cost: at most %s by the zones' rates; calls without a known price are allowed and do not count. ", model.SmallDollars(r.Cost))
	default:
		fmt.Fprintf(&b, "Cost: at most %s by the zones' rates; calls without a known price are refused. ", model.SmallDollars(r.Cost))
	}
	if r.Inputs > 0 {
		fmt.Fprintf(&b, "Jobs: at most %d inputs in all; what they may cost at most is part of the cap. ", r.Inputs)
	} else {
		b.WriteString("Jobs cannot be started. ")
	}
	return strings.TrimSpace(b.String())
}
