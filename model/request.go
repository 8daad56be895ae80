package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"
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
	// Option says why an option of a product cannot be sent as the request asks, or nil;
	// nil for a dialect that sends none.
	Option func(o Option, r FetchRequest) error
	// Browser opens the remote browser's address with the zone's login.
	Browser bool
	// PageTool is the tool by which agent access fetches a page, "" where none is known.
	PageTool string
	// Dataset names the dataset of a job, InputFields are fields of an input besides
	// its url.
	Dataset, InputFields bool
	// JobSettings are discoveries, limits, notifications and deliveries of a job.
	JobSettings bool
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
	if _, err := ParseZoneName(string(r.Zone.Name)); err != nil && r.Via != ViaAgent {
		ps.add("zone", err)
	}
	if _, err := ParseTarget(r.URL); err != nil && (r.Via != ViaAgent || r.Tool == "") {
		ps.add("url", err)
	}
	ps = append(ps, r.optionProblems()...)
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
	ps.add("session", CheckSession(r.Session))
	ps = append(ps, r.NotSent(c)...)
	ps.add("via", r.viaProblem(c))
	if r.Via.Login() && r.Zone.Password == "" {
		ps.add("password", fmt.Errorf("no password is configured for zone %s: add a reference to the profile (env:, keyring:, file:, cmd:)", r.Zone.Name))
	}
	if !r.Via.Login() {
		r.MapTexts(func(field, text string) string {
			if !utf8.ValidString(text) && !slices.ContainsFunc(ps, func(p FieldProblem) bool { return p.Field == field }) {
				ps.add(field, errors.New("it has bytes that are not UTF-8, which a call of the API cannot carry: send them by native access"))
			}
			return text
		})
	}
	return ps
}

// maxSession bounds a session's name, in bytes. The contract shows no limit; public clients stay below it.
const maxSession = 64

// CheckSession says why a name, unless it is empty, cannot be one of a session: in a proxy's username "-" begins another
// parameter, and services of this kind take letters, digits and "_" alone.
func CheckSession(name string) error {
	other := func(r rune) bool { return r > 0x7f || !isWordByte(byte(r)) }
	if len(name) > maxSession || strings.ContainsFunc(name, other) {
		return fmt.Errorf("%q: write at most %d letters, digits and _, such as s1", Cut(name, 20), maxSession)
	}
	return nil
}

// viaProblem says why the request cannot go the way it names, or nil.
func (r FetchRequest) viaProblem(c Sends) error {
	product := r.Zone.Product
	switch r.Via {
	case "", ViaAPI:
		return nil
	case ViaNative:
		if !product.NativeAccess() {
			return fmt.Errorf("%s has no native access (contract 5.2): use API", product.Label())
		}
		return nil
	case ViaAgent:
		if r.Tool == "" && c.PageTool == "" {
			return c.NotShown("the tool that fetches a page by agent access")
		}
		return nil
	case ViaBrowser:
		if product != ProductBrowser && product != ProductUnknown {
			return fmt.Errorf("zone %s is of product %s: the remote browser needs a browser zone", r.Zone.Name, product)
		}
		if !c.Browser {
			return c.NotShown("how the remote browser is opened")
		}
		return nil
	default:
		_, err := ParseVia(string(r.Via))
		return err
	}
}

// argsProblem says why the arguments of a tool cannot stand, or nil.
func (r FetchRequest) argsProblem() error {
	var args map[string]json.RawMessage
	switch {
	case r.Args == "":
		return nil
	case r.Tool == "":
		return errors.New("name the tool that takes them")
	case len(r.Args) > maxArgs:
		return fmt.Errorf("%d bytes are too long; at most %d", len(r.Args), maxArgs)
	case json.Unmarshal([]byte(r.Args), &args) != nil || args == nil:
		return errors.New(`write a JSON object, such as {"url":"https://example.com/"}`)
	default:
		return nil
	}
}

// maxArgs bounds the arguments of a tool, in bytes.
const maxArgs = 1 << 20

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
	switch r.Via {
	case ViaAgent:
		return append(ps, r.notByTool()...)
	case ViaBrowser:
		ps = append(ps, r.notByBrowser()...)
	}
	refuse(c.Exit, r.Country != "", "country", "a country")
	refuse(c.Exit, r.Session != "", "session", "a session")
	ps = append(ps, r.notAsOption(c)...)
	if r.Via.Login() {
		return ps
	}
	method := strings.ToUpper(r.Method)
	refuse(c.Target, r.Format != "" && r.Format != FormatRaw, "format", fmt.Sprintf("format %q", r.Format))
	refuse(c.Target, method != "" && method != http.MethodGet, "method", "method "+method)
	refuse(c.Target, len(r.Header) > 0, "headers", "a header for the target")
	refuse(c.Target, r.Body != "", "body", "a body for the target")
	return ps
}

// notAsOption is what the dialect does not send of the options.
func (r FetchRequest) notAsOption(c Sends) problems {
	var ps problems
	for _, o := range options {
		switch value := o.Value(r.Options); {
		case value == "" || o.Choices != nil && value == o.Choices[0]:
		case c.Option == nil:
			ps.add(o.Name, c.NotShown("the option "+strings.ToLower(o.Label)))
		default:
			ps.add(o.Name, c.Option(o, r))
		}
	}
	return ps
}

// notByTool is what a call of a tool has no place for.
func (r FetchRequest) notByTool() problems {
	ps := r.notBeside("a tool takes its arguments alone")
	if r.Country != "" {
		ps.add("country", errors.New("a tool takes its arguments alone"))
	}
	if r.Session != "" {
		ps.add("session", errors.New("a tool takes its arguments alone"))
	}
	ps.add("args", r.argsProblem())
	for _, o := range options {
		if o.Value(r.Options) != "" && !o.Search() {
			ps.add(o.Name, errors.New("a tool takes its arguments alone"))
		}
	}
	return ps
}

// notByBrowser is what a navigation in the remote browser has no place for.
func (r FetchRequest) notByBrowser() problems {
	return r.notBeside("the remote browser only navigates to the URL")
}

// notBeside refuses what belongs to an HTTP request of the operator's own.
func (r FetchRequest) notBeside(why string) problems {
	var ps problems
	for field, asked := range map[string]bool{
		"format": r.Format != "" && r.Format != FormatRaw, "method": r.Method != "" && !strings.EqualFold(r.Method, http.MethodGet),
		"headers": len(r.Header) > 0, "body": r.Body != "",
	} {
		if asked {
			ps.add(field, errors.New(why))
		}
	}
	slices.SortFunc(ps, func(a, b FieldProblem) int { return strings.Compare(a.Field, b.Field) })
	return ps
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
	ps = append(ps, r.Settings.problems(c)...)
	if !(r.MaxCost >= 0) || math.IsInf(r.MaxCost, 0) {
		ps.add("max_cost", fmt.Errorf("it cannot be %v: give dollars, more than 0, or none for no cap", r.MaxCost))
	}
	for i, in := range r.Inputs {
		row := in.Row
		if row == 0 {
			row = i + 1
		}
		if _, err := ParseTarget(in.URL); err != nil && (in.URL != "" || !c.InputFields || len(in.Extra) == 0) {
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

// ComparedBy reports whether a comparison of the request takes a zone unless the operator chooses others: the request's own,
// and those whose product returns the page that is asked for.
func (r FetchRequest) ComparedBy(z Zone) bool {
	p := z.Product
	return z.Name == r.Zone.Name || p.Network() || p == ProductUnlocker || p == ProductBrowser || p == ProductUnknown
}
