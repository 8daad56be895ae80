package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Split is what a few more fetches show about one that was refused with 403: whether the
// key's level, the zone or the site refuses.
type Split struct {
	Profile string
	// Subject is the fetch that was refused.
	Subject FetchResult
	// Probes are in the order in which they are sent.
	Probes []SplitProbe
}

// SplitKind says how a probe differs from the subject: in one thing.
type SplitKind string

// The probes of a Split.
const (
	SplitGoodPage  SplitKind = "good_page"  // same zone and key, a page known to be good
	SplitOtherZone SplitKind = "other_zone" // same page and key
	SplitOtherKey  SplitKind = "other_key"  // same zone and page
)

// Label is the kind in words for a screen.
func (k SplitKind) Label() string {
	switch k {
	case SplitGoodPage:
		return "a page known to be good"
	case SplitOtherZone:
		return "another zone"
	case SplitOtherKey:
		return "another key"
	default:
		return string(k)
	}
}

// SplitProbe is one fetch of a Split.
type SplitProbe struct {
	Kind SplitKind
	// Request is what is sent, in one try.
	Request FetchRequest
	// Problem says why it is not, or was not, sent, or is empty.
	Problem string
	// Result is what came of it; nil as long as it was not sent.
	Result *FetchResult
}

// Different is the one thing in which the probe differs from the subject.
func (p SplitProbe) Different() string {
	switch p.Kind {
	case SplitGoodPage:
		return p.Request.URL
	case SplitOtherZone:
		return string(p.Request.Zone.Name)
	default:
		return p.Request.Key
	}
}

// Cost is what the probe costs in dollars if its answer is as large as the subject's; false
// where the zone is unpriced.
func (s Split) Cost(p SplitProbe) (float64, bool) {
	return p.Request.Zone.Rate.Cost(1, float64(s.Subject.Body.Size))
}

// splitSeen is what a probe showed.
type splitSeen int

const (
	splitNothing splitSeen = iota // not sent, or an answer that says nothing about it
	splitThrough                  // the target's page came
	splitRefused
)

func (s Split) seen(k SplitKind) (p SplitProbe, seen splitSeen) {
	i := slices.IndexFunc(s.Probes, func(p SplitProbe) bool { return p.Kind == k })
	if i < 0 {
		return SplitProbe{Kind: k}, splitNothing
	}
	p = s.Probes[i]
	if p.Result == nil {
		return p, splitNothing
	}
	switch d := p.Result.Diagnosis; {
	case d.Class == ClassAccessRestricted:
		return p, splitRefused
	case d.Class == ClassCaptcha && k == SplitOtherZone: // the site's own way to refuse
		return p, splitRefused
	case d.Class == ClassOK, d.Class == ClassParsingDrift, d.Cause == CauseTargetError:
		return p, splitThrough
	default:
		return p, splitNothing
	}
}

// Culprit is what refused, as a Split has it.
type Culprit string

// What can have refused.
const (
	CulpritUnknown Culprit = ""
	CulpritKey     Culprit = "key"
	CulpritZone    Culprit = "zone"
	CulpritSite    Culprit = "site"
)

// Needs reports whether a probe can still change the verdict: each is billed.
func (s Split) Needs(k SplitKind) bool {
	if k != SplitOtherKey {
		return true
	}
	_, good := s.seen(SplitGoodPage)
	culprit, _ := s.Verdict()
	return culprit == CulpritUnknown && good != splitThrough
}

// Verdict is what refused, and one sentence that says it and why. CulpritUnknown comes with
// what is open.
func (s Split) Verdict() (Culprit, string) {
	page, good := s.seen(SplitGoodPage)
	zone, byZone := s.seen(SplitOtherZone)
	key, byKey := s.seen(SplitOtherKey)
	a, b, with := s.zoneName(), string(zone.Request.Zone.Name), s.credential()
	switch {
	case good == splitThrough && byZone == splitThrough:
		return CulpritZone, fmt.Sprintf("The zone, at this site: with %s zone %s %s, and zone %s %s; only %s at this page is refused.", with, a, went(page, "a good page"), b, went(zone, "this one"), a)
	case good == splitThrough && byZone == splitRefused:
		return CulpritSite, fmt.Sprintf("The site: with %s zone %s %s, and this one is refused to zone %s too (%s).", with, a, went(page, "a good page"), b, cameOf(zone))
	case good == splitThrough:
		return CulpritUnknown, fmt.Sprintf("Not decided between the zone and the site: with %s zone %s %s, so that is not what is missing, but no other zone could be compared (%s).", with, a, went(page, "a good page"), cameOf(zone))
	case byZone == splitThrough:
		return CulpritZone, fmt.Sprintf("The zone: with %s zone %s %s, which is refused to zone %s%s.", with, b, went(zone, "this page"), a, also(good, " like a page known to be good"))
	case byKey == splitThrough:
		return CulpritKey, fmt.Sprintf("The key's level: key %s %s by zone %s, and %s is refused%s%s.", key.Request.Key, went(key, "this page"), a, with,
			also(byZone, ", by zone "+b+" too"), also(good, ", and at a page known to be good"))
	case good == splitRefused && byZone == splitRefused && s.toldPermission():
		return CulpritKey, fmt.Sprintf("The key's level: %s is refused by zones %s and %s and at a page known to be good, and the service speaks of a missing permission.", with, a, b)
	case good == splitRefused && byZone == splitRefused && byKey == splitRefused:
		return CulpritUnknown, fmt.Sprintf("Not decided: two zones, two keys and a page known to be good are all refused, which points to the account itself (balance, suspension, allowed addresses); the last answer was %s.", cameOf(key))
	case good == splitRefused && byZone == splitRefused:
		return CulpritUnknown, fmt.Sprintf("Not decided between %s and the account: zones %s and %s and a page known to be good are refused, and no other key could be compared (%s).", with, a, b, cameOf(key))
	case good == splitRefused:
		return CulpritUnknown, fmt.Sprintf("Not decided between %s and the zone: a page known to be good is refused too, so it is not this site, but no other zone could be compared (%s).", with, cameOf(zone))
	case byZone == splitRefused:
		return CulpritUnknown, fmt.Sprintf("Not decided between %s and the site: zone %s is refused too, so it is not the zone, but a page known to be good and another key showed nothing (%s).", with, b, cameOf(key))
	default:
		return CulpritUnknown, "Not decided: no probe was answered in a way that tells the key, the zone and the site apart."
	}
}

func (s Split) zoneName() string { return string(s.Subject.Request.Zone.Name) }

// credential names what the subject was sent with.
func (s Split) credential() string {
	if s.Subject.Request.Via == ViaNative {
		return "the proxy login"
	}
	return "key " + s.Subject.KeyName
}

// toldPermission reports whether the service named a missing permission each time.
func (s Split) toldPermission() bool {
	refused := []Diagnosis{s.Subject.Diagnosis}
	for _, p := range s.Probes {
		if p.Result != nil {
			refused = append(refused, p.Result.Diagnosis)
		}
	}
	return !slices.ContainsFunc(refused, func(d Diagnosis) bool { return d.Cause != CauseMissingPermission })
}

// went is how a probe went that was let through: its page came, or the target's error.
func went(p SplitProbe, page string) string {
	if p.Result.Diagnosis.Cause == CauseTargetError {
		return "is not refused at " + page + " (" + cameOf(p) + ")"
	}
	return "fetches " + page
}

// cameOf is what came of a probe, or why nothing did.
func cameOf(p SplitProbe) string {
	switch {
	case p.Result != nil:
		return ClassWord(p.Result.Diagnosis.Class, p.Result.Diagnosis.Cause)
	case p.Problem != "":
		return strings.TrimSuffix(p.Problem, ".")
	default:
		return "not sent"
	}
}

// also is text where a probe was refused.
func also(seen splitSeen, text string) string {
	if seen == splitRefused {
		return text
	}
	return ""
}

// SplitChoice is what PlanSplit chooses from.
type SplitChoice struct {
	Profile string
	// Zones and Keys are those of the profile.
	Zones []Zone
	Keys  []Key
	// Zone and Key are what the operator chose, or empty. A key of level ADMIN is used only
	// if it was chosen.
	Zone, Key string
	// GoodPage is a page known to be good; empty where none is known.
	GoodPage string
	// Now is the time at the service.
	Now time.Time
}

// PlanSplit is a Split of a refused fetch with its probes, none of them sent. A probe that
// cannot be made has a Problem.
func PlanSplit(subject FetchResult, c SplitChoice) Split {
	base := subject.Request
	base.Retries, base.BodyFile, base.Required = 0, "", nil
	if base.Via != ViaNative {
		base.Key = subject.KeyName
	}
	good := SplitProbe{Kind: SplitGoodPage, Request: base}
	good.Request.URL, good.Request.Method, good.Request.Body, good.Request.Header = c.GoodPage, "", "", nil
	good.Request.Secrets = nil // the page holds none of the variables
	if c.GoodPage == "" {
		good.Problem = "no page is known to be good: the profile's dialect names none"
	}
	zone := SplitProbe{Kind: SplitOtherZone, Request: base}
	zone.Request.Zone, zone.Problem = c.otherZone(base)
	key := SplitProbe{Kind: SplitOtherKey, Request: base}
	if base.Via == ViaNative {
		key.Problem = "by Native Access the zone's password is sent, and no key"
	} else {
		key.Request.Key, key.Problem = c.otherKey(subject.KeyName)
	}
	s := Split{Profile: c.Profile, Subject: subject, Probes: []SplitProbe{good, zone, key}}
	if unsafe := unsafeMethod(base.Method); unsafe {
		for i := 1; i < len(s.Probes); i++ {
			s.Probes[i].Problem = "a " + base.Method + " may change something at the site, so it is not sent again"
		}
	}
	return s
}

// unsafeMethod reports whether a request may change something at the target (RFC 9110, 9.2.1).
func unsafeMethod(method string) bool {
	return !slices.Contains([]string{"", "GET", "HEAD", "OPTIONS"}, strings.ToUpper(method))
}

// otherZone is the zone that was chosen, or the best of OtherZones.
func (c SplitChoice) otherZone(r FetchRequest) (Zone, string) {
	zones := c.OtherZones(r)
	if c.Zone != "" {
		zones = slices.DeleteFunc(zones, func(z Zone) bool { return string(z.Name) != c.Zone })
	}
	switch {
	case len(zones) > 0:
		return zones[0], ""
	case c.Zone != "":
		return Zone{}, fmt.Sprintf("zone %q is the same zone, is not in the profile, or cannot fetch a page this way", c.Zone)
	default:
		return Zone{}, "the profile has no other zone that fetches a page this way"
	}
}

// OtherZones are the zones that can stand in for a request's, the best first: products made
// for protected pages, then other products than the request's, whose exits are of another kind.
func (c SplitChoice) OtherZones(r FetchRequest) []Zone {
	rank := func(z Zone) int {
		switch {
		case z.Product == ProductUnlocker:
			return 1
		case z.Product != r.Zone.Product && z.Product != ProductBrowser:
			return 2
		default:
			return 3
		}
	}
	zones := slices.DeleteFunc(slices.Clone(c.Zones), func(z Zone) bool { return z.Name == r.Zone.Name || !canFetch(z, r.Via) })
	slices.SortStableFunc(zones, func(a, b Zone) int { return rank(a) - rank(b) })
	return zones
}

// canFetch reports whether a zone fetches any page by the access method.
func canFetch(z Zone, via Via) bool {
	switch z.Product {
	case ProductUnlocker, ProductBrowser, ProductDatacenter, ProductISP, ProductResidential, ProductMobile, ProductUnknown:
	default:
		return false
	}
	return via != ViaNative || z.Product.NativeAccess() && z.Password != ""
}

// otherKey prefers the keys whose level allows fetches for certain.
func (c SplitChoice) otherKey(name string) (string, string) {
	keys := c.OtherKeys(name)
	switch {
	case c.Key != "" && !slices.Contains(keys, c.Key):
		return "", fmt.Sprintf("key %q is the same key, is not in the inventory, has no reference to its value, or has expired", c.Key)
	case c.Key != "":
		return c.Key, ""
	case len(keys) == 0:
		return "", "the inventory has no other key whose level allows a fetch (ADMIN keys are used only when they are chosen)"
	default:
		return keys[0], ""
	}
}

// OtherKeys are the names of the keys that can stand in for another, the best first. ADMIN
// is among them only if it was chosen.
func (c SplitChoice) OtherKeys(name string) []string {
	var known, unknown []string
	for _, k := range c.Keys {
		allowed := k.Level.Permission(CapUse)
		switch {
		case k.Name == name, k.Secret == "", k.Expires.State(c.Now, 0) == ExpiryStateExpired:
		case k.Level == LevelAdmin && c.Key != k.Name, allowed == PermNo && c.Key != k.Name:
		case allowed == PermYes:
			known = append(known, k.Name)
		default:
			unknown = append(unknown, k.Name)
		}
	}
	return append(known, unknown...)
}
