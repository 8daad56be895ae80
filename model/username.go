package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxUsername bounds what ReadUsername looks at, in bytes. Usernames are typed
// and pasted by people; a longer one is a mistake.
const maxUsername = 1024

// Reading is one way to take a username apart.
type Reading struct {
	Credential Credential
	Notes      []string
}

// ReadUsername takes a proxy username apart (service.md 5.2). "-" separates the
// parts and may stand inside a zone's name, so that a username can have several
// readings: all are returned, likeliest first. A zone that is in known makes a
// reading likelier; beyond that the zone's name ends at the first known
// parameter, which is how clients of a service of this kind read it. The error
// is a *UsernameError.
func ReadUsername(s string, known []ZoneName) ([]Reading, error) {
	if len(s) > maxUsername {
		return nil, usernameError("username", fmt.Errorf("it has %d bytes, more than %d", len(s), maxUsername))
	}
	if err := checkPiece(s); err != nil {
		return nil, usernameError("username", err)
	}
	tokens := strings.Split(s, "-")
	if err := checkFrame(tokens); err != nil {
		return nil, err
	}
	base := Credential{Prefix: tokens[0], Account: AccountID(tokens[2])}
	rest := tokens[4:]
	var likely, others []Reading
	for end := range len(rest) + 1 {
		c := base
		c.Zone = ZoneName(strings.Join(rest[:end], "-"))
		isKnown := slices.Contains(known, c.Zone)
		if !isKnown && end < len(rest) {
			if _, param := paramSpec(rest[end]); !param {
				continue
			}
		}
		if _, err := ParseZoneName(string(c.Zone)); err != nil {
			continue
		}
		params, ok := readParams(rest[end:])
		if !ok {
			continue
		}
		c.Params = params
		if isKnown {
			likely = append(likely, Reading{Credential: c})
		} else {
			others = append(others, Reading{Credential: c})
		}
	}
	readings := append(likely, others...)
	if len(readings) == 0 {
		return nil, usernameError("zone", errors.New("no zone name follows \"-zone-\""))
	}
	for i := range readings {
		readings[i].Notes = readingNotes(readings, i, len(likely), known)
	}
	return readings, nil
}

func usernameError(part string, err error) error { return &UsernameError{Part: part, Err: err} }

// checkFrame checks the fixed beginning: prefix, "customer", account, "zone".
func checkFrame(tokens []string) error {
	if len(tokens) < 2 || tokens[1] != wordCustomer {
		if len(tokens) >= 2 && strings.EqualFold(tokens[1], wordCustomer) {
			return usernameError("username", fmt.Errorf("%q must be written %q: the username is case-sensitive", tokens[1], wordCustomer))
		}
		return usernameError("username", errors.New("it must begin with <prefix>-customer-"))
	}
	if tokens[0] == "" {
		return usernameError("prefix", errors.New("it is empty"))
	}
	if len(tokens) < 3 {
		return usernameError("account", errors.New("nothing follows \"-customer-\""))
	}
	if _, err := ParseAccountID(tokens[2], OlderAccount); err != nil {
		return usernameError("account", err)
	}
	if len(tokens) < 4 || tokens[3] != wordZone {
		if len(tokens) >= 4 && strings.EqualFold(tokens[3], wordZone) {
			return usernameError("zone", fmt.Errorf("%q must be written %q: the username is case-sensitive", tokens[3], wordZone))
		}
		return usernameError("zone", errors.New("\"-zone-\" must follow the account id"))
	}
	return nil
}

// readParams reads name-value pairs: a flag stands alone, any other name takes
// the next piece, and the pieces up to the next known name join it.
func readParams(tokens []string) ([]Param, bool) {
	var params []Param
	for i := 0; i < len(tokens); {
		p := Param{Name: tokens[i]}
		if p.Name == "" {
			return nil, false
		}
		i++
		spec, known := paramSpec(p.Name)
		if known && spec.Flag {
			params = append(params, p)
			continue
		}
		first := i
		for i < len(tokens) {
			_, next := paramSpec(tokens[i])
			// The piece right after a known name is its value, whatever it says; an
			// unknown name may stand alone.
			if next && (i > first || !known) {
				break
			}
			i++
		}
		p.Value = strings.Join(tokens[first:i], "-")
		if p.Value == "" && (known || i > first) {
			return nil, false // a value is missing behind the name, or behind its "-"
		}
		params = append(params, p)
	}
	return params, true
}

// suggestion asks whether a mistyped parameter was meant to be another one, or is "".
func suggestion(name string) string {
	var known []string
	for _, s := range UsernameParams() {
		known = append(known, s.Name)
	}
	if near := Nearest(name, known); changes(name, near) <= len(near)/3 {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}

// readingNotes says why a reading stands where it stands.
func readingNotes(all []Reading, i, likely int, known []ZoneName) []string {
	c := all[i].Credential
	notes := c.valueNotes()
	for _, p := range c.Params {
		if _, ok := paramSpec(p.Name); !ok {
			notes = append(notes, fmt.Sprintf("%q is not a parameter that the console knows%s", p.Name, suggestion(p.Name)))
		}
	}
	if len(all) == 1 {
		if len(known) > 0 && likely == 0 {
			notes = append(notes, fmt.Sprintf("zone %q is not one of the profile's zones", c.Zone))
		}
		return notes
	}
	switch {
	case i < likely && likely == 1:
		notes = append(notes, fmt.Sprintf("%d readings: \"-\" can belong to the zone's name; zone %q is one of the profile's zones", len(all), c.Zone))
	case i < likely:
		notes = append(notes, fmt.Sprintf("%d readings: \"-\" can belong to the zone's name; %d of them name a zone of the profile, so this is a guess", len(all), likely))
	case likely > 0:
		notes = append(notes, fmt.Sprintf("unlikely: zone %q is not one of the profile's zones", c.Zone))
	default:
		notes = append(notes, fmt.Sprintf("%d readings: \"-\" can belong to the zone's name, and no known zone decides", len(all)))
	}
	return notes
}
