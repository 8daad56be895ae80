package model

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// UserRule is a rule that the operator added to those of Diagnose. It is tried before
// them, and only on a whole answer: what broke, and an answer that ended early, stay what
// they are. An answer by which the service itself refused is never made ok by one, because
// no page came.
type UserRule struct {
	Name  string
	Place string // where it stands, as "rules.toml:12"
	Match Match
	Class Class
	// Cause is one of UserCauses(Class).
	Cause Cause
	// Reason is the verdict's summary: one sentence.
	Reason string
}

// Match is the condition of a UserRule: all that is set has to hold, and of a list one
// element. The zero Match holds for every answer.
type Match struct {
	// Statuses are of the answer: the target's or, where the service refused, that.
	Statuses []int
	// Domains are names in small letters, each with those below it.
	Domains []string
	URL     *regexp.Regexp // of the request
	// ContentTypes are media types without parameters, in small letters; "text/*" is all
	// of that kind.
	ContentTypes []string
	Headers      []HeaderMatch
	// MinSize and MaxSize bound the body, in bytes; MaxSize is ignored unless Bounded.
	MinSize, MaxSize int64
	Bounded          bool
	// Body is looked for in the first 256 KiB.
	Body *regexp.Regexp
}

// HeaderMatch holds when one of the header's values matches.
type HeaderMatch struct {
	Name  string
	Value *regexp.Regexp
}

// UserCauses are the causes that a UserRule of the class can give, the one that it gives
// unless it says otherwise first. What only the client can know, such as a certificate that
// is not trusted, is not among them.
func UserCauses(c Class) []Cause {
	switch c {
	case ClassAccessRestricted:
		return append([]Cause{CauseNone}, c.Causes()...)
	case ClassTimeout:
		return []Cause{CauseServiceTimeout}
	case ClassParsingDrift:
		return []Cause{CauseMissingFields}
	case ClassOutside:
		return []Cause{CauseTargetError, CauseUnrecognised, CauseServiceError, CauseRequestRefused, CauseKeyRejected, CauseLoginRejected, CauseEmptyBody}
	default:
		return []Cause{CauseNone}
	}
}

// decides reports whether the rule decides on an outcome, and what it saw.
func (r UserRule) decides(f *facts) (seen []Evidence, ok bool) {
	switch {
	case !f.answered || f.Broke != BreakNone || f.Incomplete || f.Job != "":
		return nil, false
	case r.Class == ClassOK && (f.refused != 0 || f.unreadStatus != 0 || f.reported):
		return nil, false
	}
	return r.Match.matches(f)
}

// matches tries the conditions, those that cost little first.
func (m Match) matches(f *facts) (seen []Evidence, ok bool) {
	status := cmp.Or(f.refused, f.unreadStatus, f.answer)
	kind, _, _ := strings.Cut(strings.ToLower(f.ContentType), ";")
	kind = strings.TrimSpace(kind)
	switch {
	case m.Statuses != nil && !slices.Contains(m.Statuses, status),
		f.BodySize < m.MinSize, m.Bounded && f.BodySize > m.MaxSize,
		m.ContentTypes != nil && !slices.ContainsFunc(m.ContentTypes, func(t string) bool {
			family, all := strings.CutSuffix(t, "*")
			return t == kind || all && strings.HasPrefix(kind, family)
		}),
		m.Domains != nil && !m.inDomain(f.URL),
		m.URL != nil && !m.URL.MatchString(f.URL):
		return nil, false
	}
	for _, h := range m.Headers {
		values := f.Header.Values(h.Name)
		i := slices.IndexFunc(values, h.Value.MatchString)
		if i < 0 {
			return nil, false
		}
		text := Line(values[i], maxQuote)
		if SecretName(h.Name) {
			text = "(its value matches, and is not repeated)"
		}
		seen = append(seen, Evidence{Kind: "header", Text: quote(h.Name + ": " + text)})
	}
	if m.Body == nil {
		return seen, true
	}
	at := m.Body.FindIndex(f.BodyHead)
	if at == nil {
		return nil, false
	}
	e := Evidence{Kind: "body", Text: fmt.Sprintf("%q matches the rule's pattern", Line(string(f.BodyHead[at[0]:at[1]]), 80)), Offset: int64(at[0]), Length: int64(at[1] - at[0])}
	return append(seen, e), true
}

func (m Match) inDomain(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return slices.ContainsFunc(m.Domains, func(d string) bool { return host == d || strings.HasSuffix(host, "."+d) })
}

// verdict is the rule's, beside what the rules of Diagnose say.
func (r UserRule) verdict(f *facts, seen []Evidence, otherwise Diagnosis) Diagnosis {
	note := fmt.Sprintf("decided by your rule %q in %s; without it: %s, by %s", r.Name, r.Place, ClassWord(otherwise.Class, otherwise.Cause), otherwise.Rule)
	d := Diagnosis{Class: r.Class, Cause: r.Cause, Rule: r.Name, Summary: r.Reason}
	d.Evidence = append([]Evidence{{Kind: "note", Text: note}}, seen...)
	refusal := f.refused == 401 || f.refused == 403 || f.refused == 407 // which the same again does not change
	return f.handled(d, !refusal && retries(d.Class, d.Cause, f, false))
}
