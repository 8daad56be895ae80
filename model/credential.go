package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// errUsername is wrapped by every refusal of a proxy username.
var errUsername = errors.New("proxy username")

// UsernameError says which part of a proxy username is wrong. Part is "prefix",
// "account", "zone", "username" or the name of a parameter ("country").
type UsernameError struct {
	Part string
	Err  error
}

// Error names the part and what is wrong with it.
func (e *UsernameError) Error() string {
	if e.Part == "username" {
		return fmt.Sprintf("%v: %v", errUsername, e.Err)
	}
	return fmt.Sprintf("%v: %s: %v", errUsername, e.Part, e.Err)
}

// Unwrap gives ErrUsername and the cause.
func (e *UsernameError) Unwrap() []error { return []error{errUsername, e.Err} }

// Param is one parameter after the zone in a proxy username: "-country-de", or
// "-raw" with an empty Value. Parameters are not shown by the contract: they
// belong to a dialect (see UsernameParams).
type Param struct {
	Name  string
	Value string
}

// Credential is the login of native access without its password (service.md
// 5.2). The zero value is an empty login that Username refuses.
type Credential struct {
	// Prefix is the fixed service-specific word.
	Prefix  string
	Account AccountID
	Zone    ZoneName
	// Params follow the zone in this order.
	Params []Param
}

// The fixed words of the grammar.
const (
	wordCustomer = "customer"
	wordZone     = "zone"
)

// Username writes <prefix>-customer-<ACCOUNT_ID>-zone-<ZONE_NAME> and the
// parameters (service.md 5.2 rules 1 and 2). The error is a *UsernameError for
// the first part that is wrong.
func (c Credential) Username() (string, error) {
	for _, p := range c.Parts() {
		if p.Problem != nil {
			return "", &UsernameError{Part: p.Name, Err: p.Problem}
		}
	}
	return c.join(), nil
}

// join writes the username unchecked.
func (c Credential) join() string {
	var b strings.Builder
	b.WriteString(c.Prefix + "-" + wordCustomer + "-" + string(c.Account) + "-" + wordZone + "-" + string(c.Zone))
	for _, p := range c.Params {
		b.WriteString("-" + p.Name)
		if p.Value != "" {
			b.WriteString("-" + p.Value)
		}
	}
	return b.String()
}

// PartKind tells the parts of a username apart.
type PartKind string

// The kinds of parts. PartWord is one of the grammar's fixed words.
const (
	PartPrefix  PartKind = "prefix"
	PartWord    PartKind = "word"
	PartAccount PartKind = "account"
	PartZone    PartKind = "zone"
	PartParam   PartKind = "parameter"
	PartValue   PartKind = "value"
)

// UsernamePart is one piece of a username between two of its separating "-".
// The texts of all parts joined by "-" are the username.
type UsernamePart struct {
	Text string
	Kind PartKind
	// Name is what the part belongs to: its kind, or the name of its parameter.
	Name string
	// Problem is why the part cannot stand as it is, or nil.
	Problem error
}

// Parts takes the credential apart for an explanation. It works on one that is
// still being written: a part that is missing has an empty Text and a Problem.
func (c Credential) Parts() []UsernamePart {
	_, accountErr := ParseAccountID(string(c.Account), OlderAccount)
	_, zoneErr := ParseZoneName(string(c.Zone))
	parts := []UsernamePart{
		{Text: c.Prefix, Kind: PartPrefix, Problem: checkWord(c.Prefix)},
		{Text: wordCustomer, Kind: PartWord},
		{Text: string(c.Account), Kind: PartAccount, Problem: accountErr},
		{Text: wordZone, Kind: PartWord},
		{Text: string(c.Zone), Kind: PartZone, Problem: zoneErr},
	}
	for i := range parts {
		parts[i].Name = string(parts[i].Kind)
	}
	for _, p := range c.Params {
		parts = append(parts, p.parts()...)
	}
	return parts
}

func (p Param) parts() []UsernamePart {
	spec, known := paramSpec(p.Name)
	name := UsernamePart{Text: p.Name, Kind: PartParam, Name: p.Name, Problem: checkWord(p.Name)}
	if name.Name == "" {
		name.Name = string(PartParam)
	}
	value := UsernamePart{Text: p.Value, Kind: PartValue, Name: name.Name}
	switch {
	case p.Value == "" && known && !spec.Flag:
		value.Problem = errors.New("it needs a value")
		if name.Problem == nil {
			name.Problem = value.Problem
		}
		return []UsernamePart{name}
	case p.Value == "":
		return []UsernamePart{name}
	case spec.Flag:
		value.Problem = fmt.Errorf("it takes no value, but has %q", p.Value)
	default:
		value.Problem = checkValue(p.Value)
	}
	return []UsernamePart{name, value}
}

// checkWord checks a piece that may not contain the separator.
func checkWord(s string) error {
	if strings.Contains(s, "-") {
		return fmt.Errorf("%q: \"-\" separates the parts of a username and cannot stand inside this one", s)
	}
	return checkPiece(s)
}

// checkPiece checks what service.md 5.2 demands of every piece: no spaces, no ":".
func checkPiece(s string) error {
	if s == "" {
		return errors.New("it is empty")
	}
	for _, r := range s {
		switch {
		case r == ':':
			return fmt.Errorf("%q: \":\" separates the username from the password and cannot stand here", s)
		case r == unicode.ReplacementChar || unicode.IsSpace(r) || !unicode.IsPrint(r):
			return fmt.Errorf("%q: spaces and invisible characters are not allowed", s)
		}
	}
	return nil
}

// checkValue allows "-" in a value, which is read back up to the next known
// parameter, unless what follows a "-" is itself the name of one.
func checkValue(s string) error {
	if err := checkPiece(s); err != nil {
		return err
	}
	for _, piece := range strings.Split(s, "-")[1:] {
		if _, known := paramSpec(piece); known {
			return fmt.Errorf("%q: what follows \"-\" would be read as the parameter %q", s, piece)
		}
	}
	return nil
}

// ParamSpec is what the console knows of one parameter of the username.
type ParamSpec struct {
	Name string
	// Flag says that the parameter stands alone, without a value.
	Flag    bool
	Meaning string
}

// paramSpecs is knowledge of a dialect (public facts about a service of this
// kind), not of the contract, which shows no parameter at all.
var paramSpecs = []ParamSpec{
	{Name: "country", Meaning: "country of the exit, two lower-case letters"},
	{Name: "state", Meaning: "state of the exit; needs a country"},
	{Name: "city", Meaning: "city of the exit, lower case; needs a country"},
	{Name: "zip", Meaning: "postal code of the exit"},
	{Name: "asn", Meaning: "autonomous system of the exit"},
	{Name: "os", Meaning: "operating system of the exit"},
	{Name: "carrier", Meaning: "mobile carrier of the exit"},
	{Name: "session", Meaning: "sticky session: the same exit while it lives"},
	{Name: "const", Flag: true, Meaning: "fail rather than change the exit of a session"},
	{Name: "ip", Meaning: "one allocated exit address"},
	{Name: "gip", Meaning: "one dedicated group of exits"},
	{Name: "dns", Meaning: "where names are resolved: local or remote"},
	{Name: "direct", Flag: true, Meaning: "leave from the proxy itself"},
	{Name: "route_err", Meaning: "what to do when no exit answers: pass_dyn or block"},
	{Name: "c_tag", Meaning: "a tag that the answer repeats"},
	{Name: "debug", Meaning: "debug headers in the answer: full or none"},
	{Name: "render", Flag: true, Meaning: "render the page in a browser"},
	{Name: "raw", Flag: true, Meaning: "the page as it came"},
	{Name: "info", Flag: true, Meaning: "describe the exit"},
	{Name: "unblocker", Flag: true, Meaning: "use the unlocker"},
	{Name: "ua", Meaning: "family of the user agent"},
	{Name: "mobile", Flag: true, Meaning: "a mobile user agent"},
	{Name: "vip", Meaning: "one dedicated group of exits, older spelling"},
	{Name: "cid", Meaning: "a connection's identifier"},
}

// UsernameParams lists the parameters that the console knows. They are not
// shown by the contract; say "dialect" for them, never "documented".
func UsernameParams() []ParamSpec { return slices.Clone(paramSpecs) }

func paramSpec(name string) (ParamSpec, bool) {
	for _, s := range paramSpecs {
		if s.Name == name {
			return s, true
		}
	}
	return ParamSpec{}, false
}

// OtherReadings are the other credentials that have the same username. Where zones,
// the account's own, has the credential's zone, only readings with one of zones count;
// with nil all do.
func (c Credential) OtherReadings(zones []ZoneName) []Reading {
	username, err := c.Username()
	if err != nil {
		return nil
	}
	readings, err := ReadUsername(username, append(slices.Clone(zones), c.Zone))
	if err != nil {
		return nil
	}
	ruled := slices.Contains(zones, c.Zone)
	return slices.DeleteFunc(readings, func(r Reading) bool {
		return r.Credential.Equal(c) || ruled && !slices.Contains(zones, r.Credential.Zone)
	})
}

// Notes says what an operator should know about the credential: other readings
// of the same username (see OtherReadings for zones), and values that a service of
// this kind is known to refuse. It is empty when there is nothing to say.
func (c Credential) Notes(zones []ZoneName) []string {
	username, err := c.Username()
	if err != nil {
		return nil
	}
	readings, err := ReadUsername(username, []ZoneName{c.Zone})
	if err != nil {
		return []string{fmt.Sprintf("the console could not read this username back: %v", err)}
	}
	var notes []string
	if !slices.ContainsFunc(readings, func(r Reading) bool { return r.Credential.Equal(c) }) {
		notes = append(notes, "the parameters cannot be read back as they are meant: an unknown parameter joins the value before it")
	}
	for _, r := range c.OtherReadings(zones) {
		notes = append(notes, fmt.Sprintf("ambiguous: \"-\" inside a name also allows the reading %s", r.Credential.describe()))
	}
	return append(notes, c.valueNotes()...)
}

// Equal reports whether both are the same login, parameters in the same order.
func (c Credential) Equal(o Credential) bool {
	return c.Prefix == o.Prefix && c.Account == o.Account && c.Zone == o.Zone && slices.Equal(c.Params, o.Params)
}

// describe is the zone and the parameters in words: zone "a", country "de".
func (c Credential) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "zone %q", c.Zone)
	for _, p := range c.Params {
		if p.Value == "" {
			fmt.Fprintf(&b, ", %s", p.Name)
			continue
		}
		fmt.Fprintf(&b, ", %s %q", p.Name, p.Value)
	}
	return b.String()
}

// valueNotes warns about values that a dialect is known to refuse.
func (c Credential) valueNotes() []string {
	var notes []string
	seen := map[string]string{}
	for _, p := range c.Params {
		if _, twice := seen[p.Name]; twice {
			notes = append(notes, fmt.Sprintf("%s is given twice: which one counts is not known", p.Name))
		}
		seen[p.Name] = p.Value
	}
	if v, ok := seen["country"]; ok && !ValidCountry(v) {
		notes = append(notes, fmt.Sprintf("country %q: two lower-case letters are expected, as in de", v))
	}
	if v, ok := seen["session"]; ok && (v == "" || CheckSession(v) != nil) {
		notes = append(notes, fmt.Sprintf("session %q: letters, digits and _ are expected", v))
	}
	_, hasCountry := seen["country"]
	for _, name := range []string{"state", "city"} {
		if _, ok := seen[name]; ok && !hasCountry {
			notes = append(notes, name+" needs a country beside it")
		}
	}
	_, hasSession := seen["session"]
	if _, ok := seen["const"]; ok && !hasSession {
		notes = append(notes, "const has no effect without a session")
	}
	return notes
}
