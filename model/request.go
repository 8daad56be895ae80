package model

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Sends says what a dialect sends of a request. The contract shows a zone,
// an address and format raw (service.md 4.1), and a list of addresses (4.2); the
// rest needs a dialect that knows it.
type Sends struct {
	// Target is what goes on to the target by API: format, method, headers, body.
	Target bool
	// Exit is what chooses the exit: country, session and further parameters of
	// the username.
	Exit bool
	// AnyNative addresses every product through the proxy, and leaves it to the
	// service to refuse; else only those that the contract lists (service.md 5.2).
	AnyNative bool
	// Dataset names the dataset of a job, InputFields are fields of an input besides
	// its url.
	Dataset, InputFields bool
	// NotShown makes the refusal of what is not sent.
	NotShown func(what string) error
}

// problems gathers what is wrong with a request.
type problems []FieldProblem

func (ps *problems) add(field string, err error) {
	if err != nil {
		*ps = append(*ps, FieldProblem{Field: field, Err: err})
	}
}

// Problems is everything that keeps a fetch from being sent, in the order of the
// form's fields: what it asks for as such, and what the dialect does not send.
// What depends on a profile or on a key is not among it.
func (r FetchRequest) Problems(c Sends) []FieldProblem {
	var ps problems
	if _, err := ParseZoneName(string(r.Zone.Name)); err != nil {
		ps.add("zone", err)
	}
	if _, err := ParseTarget(r.URL); err != nil {
		ps.add("url", err)
	}
	ps.add("method", checkMethod(r.Method))
	ps.add("headers", checkHeader(r.Header))
	switch r.Format {
	case "", FormatRaw, FormatJSON:
	default:
		ps.add("format", fmt.Errorf("%q is not one of raw, json", r.Format))
	}
	if r.Country != "" && !ValidCountry(r.Country) {
		ps.add("country", fmt.Errorf("%q: write two small letters, such as de", Cut(r.Country, 20)))
	}
	ps = append(ps, r.NotSent(c)...)
	switch r.Via {
	case "", ViaAPI:
	case ViaNative:
		if !c.AnyNative && !r.Zone.Product.NativeAccess() {
			ps.add("via", fmt.Errorf("%s has no native access (contract 5.2): use API", r.Zone.Product.Label()))
		}
		if r.Zone.Password == "" {
			ps.add("password", fmt.Errorf("no password is configured for zone %s: add a reference to the profile (env:, keyring:, file:, cmd:)", r.Zone.Name))
		}
	default:
		ps.add("via", fmt.Errorf("%q is not one of api, native", string(r.Via)))
	}
	return ps
}

// NotSent is what the dialect does not send of a fetch. What goes to the target
// through a proxy is the caller's own, so by native access only the parameters of
// the username count.
func (r FetchRequest) NotSent(c Sends) []FieldProblem {
	var ps problems
	refuse := func(known, asked bool, field, what string) {
		if asked && !known {
			ps.add(field, c.NotShown(what))
		}
	}
	refuse(c.Exit, r.Country != "", "country", "a country")
	refuse(c.Exit, r.Session != "", "session", "a session")
	if r.Via == ViaNative {
		return ps
	}
	method := strings.ToUpper(r.Method)
	refuse(c.Target, r.Format != "" && r.Format != FormatRaw, "format", fmt.Sprintf("format %q", r.Format))
	refuse(c.Target, method != "" && method != http.MethodGet, "method", "method "+method)
	refuse(c.Target, len(r.Header) > 0, "headers", "a header for the target")
	refuse(c.Target, r.Body != "", "body", "a body for the target")
	return ps
}

// Params are the parameters of the username that a fetch asks for.
func (r FetchRequest) Params() []Param {
	var out []Param
	if r.Country != "" {
		out = append(out, Param{Name: "country", Value: r.Country})
	}
	if r.Session != "" {
		out = append(out, Param{Name: "session", Value: r.Session})
	}
	return out
}

// ValidCountry reports whether a country code is two lower-case letters.
func ValidCountry(s string) bool { return len(s) == 2 && isLower(s[0]) && isLower(s[1]) }

func isLower(b byte) bool { return b >= 'a' && b <= 'z' }

func checkMethod(m string) error {
	switch {
	case m == "":
		return nil
	case !ValidToken(m) || len(m) > 20:
		return fmt.Errorf("%q is not a method", m)
	case strings.EqualFold(m, http.MethodConnect), strings.EqualFold(m, http.MethodTrace):
		return fmt.Errorf("%s cannot be sent to a target", strings.ToUpper(m))
	default:
		return nil
	}
}

// framing are the headers that the console alone writes: they frame the message
// or carry the proxy's login.
var framing = []string{
	"Content-Length", "Transfer-Encoding", "Trailer", "Connection", "Upgrade", "Keep-Alive", "Te",
	"Proxy-Authorization", "Proxy-Connection", "Expect",
}

func checkHeader(h http.Header) error {
	var all []error
	for name, values := range h {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !ValidToken(name):
			all = append(all, fmt.Errorf("%q is not a header's name", name))
		case slices.Contains(framing, canonical):
			all = append(all, fmt.Errorf("%s is written by the console itself", canonical))
		case slices.ContainsFunc(values, func(v string) bool { return !ValidHeaderValue(v) }):
			all = append(all, fmt.Errorf("the value of %s holds a line break or a control character", name))
		}
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}

// ValidToken reports whether s is a token of RFC 9110, which a method and a
// header's name must be.
func ValidToken(s string) bool {
	for i := range len(s) {
		b := s[i]
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' {
			continue
		}
		if strings.IndexByte("!#$%&'*+-.^_`|~", b) < 0 {
			return false
		}
	}
	return s != ""
}

// ValidHeaderValue reports whether s can be sent as a header's value: it holds no
// control character but a tab.
func ValidHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// checkHost refuses host names that no resolver takes. Addresses pass as they are.
func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("%s is not a host name", host)
		}
	}
	return nil
}

// MaxInputs bounds the inputs of one job. The contract shows no limit on a payload
// (service.md 8); public documentation speaks of 1 GB for one job, and this is the
// console's own, which a person's file does not meet.
const MaxInputs = 100_000

// maxProblems bounds the rows of a trigger that are reported one by one.
const maxProblems = 200

// CheckDataset reports why a dataset cannot have a name. Where it is not sent, it
// is the operator's own word for the job, and may be left out.
func CheckDataset(name string, c Sends) error {
	switch {
	case name == "" && c.Dataset:
		return errors.New("name the dataset, for example gd_products")
	case c.Dataset && strings.ContainsAny(name, " /?&#"):
		return errors.New("an identifier has no spaces and none of / ? & #")
	case Line(name, 200) != name:
		return fmt.Errorf("%q is not a dataset's name", Cut(name, 60))
	default:
		return nil
	}
}

// Problems is everything that keeps a trigger from being sent.
func (r TriggerRequest) Problems(c Sends) []FieldProblem {
	var ps problems
	ps.add("dataset", CheckDataset(r.Dataset, c))
	switch {
	case len(r.Inputs) == 0:
		ps.add("inputs", errors.New("there are none"))
	case len(r.Inputs) > MaxInputs:
		ps.add("inputs", fmt.Errorf("%d are more than %d; split them into several jobs", len(r.Inputs), MaxInputs))
	}
	for i, in := range r.Inputs {
		row := in.Row
		if row == 0 {
			row = i + 1
		}
		if _, err := ParseTarget(in.URL); err != nil {
			ps.add("inputs", fmt.Errorf("row %d: %q: %w", row, Cut(in.URL, 60), err))
		}
		if !c.InputFields && len(in.Extra) > 0 {
			ps.add("inputs", fmt.Errorf("row %d: %w", row, c.NotShown("a field besides url")))
		}
		if len(ps) >= maxProblems {
			break
		}
	}
	return ps
}
