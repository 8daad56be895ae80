package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Label says what a cell of a refusal is for: it differs from the refused fetch in one thing.
type Label string

// The cells of a refusal.
const (
	LabelRefused   Label = "refused"    // the fetch that was refused, the first cell
	LabelGoodPage  Label = "good_page"  // same zone and key, a page known to be good
	LabelOtherZone Label = "other_zone" // same page and key
	LabelOtherKey  Label = "other_key"  // same zone and page
)

// Text is the label for a screen.
func (l Label) Text() string {
	switch l {
	case LabelGoodPage:
		return "a page known to be good"
	case LabelOtherZone:
		return "another zone"
	case LabelOtherKey:
		return "another key"
	default:
		return string(l)
	}
}

// Different is the one thing in which the cell differs from the refused fetch.
func (c Cell) Different() string {
	switch c.Label {
	case LabelGoodPage:
		return c.URL
	case LabelOtherZone:
		return string(c.Zone.Name)
	default:
		return c.Key
	}
}

// Price is what a cell costs in dollars if its answer is as large as that of the refused fetch; false
// where the zone is unpriced.
func (g Grid) Price(c Cell) (float64, bool) {
	return c.Zone.Rate.Cost(1, float64(g.subject().Bytes))
}

// Refused reports whether the first fetch was refused, so that there is something to look into.
func (g Grid) Refused() bool { return g.subject().Class == ClassAccessRestricted }

// subject is the fetch that was refused.
func (g Grid) subject() Run {
	if len(g.Cells) == 0 || len(g.Cells[0].Runs) == 0 {
		return Run{}
	}
	return g.Cells[0].Runs[0]
}

// showing is what a cell showed.
type showing int

const (
	showedNothing showing = iota // not sent, or an answer that says nothing about it
	showedPage                   // the target's page came
	showedRefusal
)

func (g Grid) showing(l Label) (Cell, showing) {
	i := slices.IndexFunc(g.Cells, func(c Cell) bool { return c.Label == l })
	if i < 0 {
		return Cell{Label: l}, showedNothing
	}
	c := g.Cells[i]
	if len(c.Runs) == 0 {
		return c, showedNothing
	}
	switch r := c.Runs[0]; {
	case r.Class == ClassAccessRestricted:
		return c, showedRefusal
	case r.Class == ClassCaptcha && l == LabelOtherZone: // the site's own way to refuse
		return c, showedRefusal
	case r.Class == ClassOK, r.Class == ClassParsingDrift, r.Cause == CauseTargetError:
		return c, showedPage
	default:
		return c, showedNothing
	}
}

// Culprit is what refused.
type Culprit string

// What can have refused.
const (
	CulpritUnknown Culprit = ""
	CulpritKey     Culprit = "key"
	CulpritZone    Culprit = "zone"
	CulpritSite    Culprit = "site"
)

// needs reports whether a cell can still change the verdict: each is billed.
func (g Grid) needs(l Label) bool {
	if l != LabelOtherKey {
		return true
	}
	_, good := g.showing(LabelGoodPage)
	culprit, _ := g.culprit()
	return culprit == CulpritUnknown && good != showedPage
}

// culprit is what refused, and one sentence that says it and why. CulpritUnknown comes with
// what is open.
func (g Grid) culprit() (Culprit, string) {
	page, good := g.showing(LabelGoodPage)
	zone, byZone := g.showing(LabelOtherZone)
	key, byKey := g.showing(LabelOtherKey)
	a, b, with := string(g.Cells[0].Zone.Name), string(zone.Zone.Name), g.credential()
	switch {
	case good == showedPage && byZone == showedPage:
		return CulpritZone, fmt.Sprintf("The zone, at this site: with %s zone %s %s, and zone %s %s; only %s at this page is refused.", with, a, fetchOutcome(page, "a good page"), b, fetchOutcome(zone, "this one"), a)
	case good == showedPage && byZone == showedRefusal:
		return CulpritSite, fmt.Sprintf("The site: with %s zone %s %s, and this one is refused to zone %s too (%s).", with, a, fetchOutcome(page, "a good page"), b, cameOf(zone))
	case good == showedPage:
		return CulpritUnknown, fmt.Sprintf("Not decided between the zone and the site: with %s zone %s %s, so that is not what is missing, but no other zone could be compared (%s).", with, a, fetchOutcome(page, "a good page"), cameOf(zone))
	case byZone == showedPage:
		return CulpritZone, fmt.Sprintf("The zone: with %s zone %s %s, which is refused to zone %s%s.", with, b, fetchOutcome(zone, "this page"), a, also(good, " like a page known to be good"))
	case byKey == showedPage:
		return CulpritKey, fmt.Sprintf("The key's level: key %s %s by zone %s, and %s is refused%s%s.", key.Key, fetchOutcome(key, "this page"), a, with,
			also(byZone, ", by zone "+b+" too"), also(good, ", and at a page known to be good"))
	case good == showedRefusal && byZone == showedRefusal && g.lacksPermission():
		return CulpritKey, fmt.Sprintf("The key's level: %s is refused by zones %s and %s and at a page known to be good, and the service speaks of a missing permission.", with, a, b)
	case good == showedRefusal && byZone == showedRefusal && byKey == showedRefusal:
		return CulpritUnknown, fmt.Sprintf("Not decided: two zones, two keys and a page known to be good are all refused, which points to the account itself (balance, suspension, allowed addresses); the last answer was %s.", cameOf(key))
	case good == showedRefusal && byZone == showedRefusal:
		return CulpritUnknown, fmt.Sprintf("Not decided between %s and the account: zones %s and %s and a page known to be good are refused, and no other key could be compared (%s).", with, a, b, cameOf(key))
	case good == showedRefusal:
		return CulpritUnknown, fmt.Sprintf("Not decided between %s and the zone: a page known to be good is refused too, so it is not this site, but no other zone could be compared (%s).", with, cameOf(zone))
	case byZone == showedRefusal:
		return CulpritUnknown, fmt.Sprintf("Not decided between %s and the site: zone %s is refused too, so it is not the zone, but a page known to be good and another key showed nothing (%s).", with, b, cameOf(key))
	default:
		return CulpritUnknown, "Not decided: no probe was answered in a way that tells the key, the zone and the site apart."
	}
}

// credential names what the refused fetch was sent with.
func (g Grid) credential() string {
	if g.Cells[0].Via == ViaNative {
		return "the proxy login"
	}
	return "key " + g.Cells[0].Key
}

// lacksPermission reports whether the service named a missing permission each time.
func (g Grid) lacksPermission() bool {
	return !slices.ContainsFunc(g.Cells, func(c Cell) bool { return len(c.Runs) > 0 && c.Runs[0].Cause != CauseMissingPermission })
}

// fetchOutcome is how a fetch went that was let through: its page came, or the target's error.
func fetchOutcome(c Cell, page string) string {
	if c.Runs[0].Cause == CauseTargetError {
		return "is not refused at " + page + " (" + cameOf(c) + ")"
	}
	return "fetches " + page
}

// cameOf is what came of a cell, or why nothing did.
func cameOf(c Cell) string {
	switch {
	case len(c.Runs) > 0:
		return ClassWord(c.Runs[0].Class, c.Runs[0].Cause)
	case c.Problem != "":
		return strings.TrimSuffix(c.Problem, ".")
	default:
		return "not sent"
	}
}

// also is text where a cell was refused.
func also(s showing, text string) string {
	if s == showedRefusal {
		return text
	}
	return ""
}

// Preset says what a comparison compares, where its kind does not say it.
type Preset struct {
	Kind Comparison
	// Zones are those to compare. Nil means every zone of the profile that can take part; where a refusal
	// is looked into, they are those to choose from.
	Zones []Zone
	// Ways are the access methods to compare zones by; nil means API, native and, where the profile has
	// it, agent access.
	Ways []Via
	// Repeat is how many runs each cell makes, AtOnce how many of them are in flight at a time; 0 is 1.
	Repeat, AtOnce int
	// Params and Session are those of calls through the proxy.
	Params  []Param
	Session string

	// Subject is the fetch that was refused.
	Subject FetchResult
	// Keys are those of the inventory to choose another from.
	Keys []Key
	// OtherZone and OtherKey are what the operator chose, or empty. A key of level ADMIN is used only
	// if it was chosen.
	OtherZone, OtherKey string
	// GoodPage is a page known to be good; empty where none is known.
	GoodPage string
	// Now is the time at the service.
	Now time.Time
}

// NewRefusal is the comparison that tells what refused p.Subject, of which nothing but that is sent. A
// cell that cannot be sent has a Problem.
func NewRefusal(p Preset) Grid {
	subject := p.Subject
	base := subject.Request
	base.Retries, base.BodyFile, base.Required = 0, "", nil
	refused := Cell{Label: LabelRefused, Vary: Vary{Zone: base.Zone, Via: base.Via}, Runs: []Run{NewRun(subject)}}
	if base.Via != ViaNative {
		refused.Key = subject.KeyName
	}
	cell := func(l Label) Cell { return Cell{Label: l, Vary: refused.Vary} }
	good, zone, key := cell(LabelGoodPage), cell(LabelOtherZone), cell(LabelOtherKey)
	if good.URL = p.GoodPage; p.GoodPage == "" {
		good.Problem = "no page is known to be good: the profile's dialect names none"
	}
	zone.Zone, zone.Problem = p.otherZone(base)
	if base.Via == ViaNative {
		key.Key, key.Problem = base.Key, "by Native Access the zone's password is sent, and no key"
	} else {
		key.Key, key.Problem = p.otherKey(subject.KeyName)
	}
	if unsafeMethod(base.Method) {
		zone.Problem = "a " + base.Method + " may change something at the site, so it is not sent again"
		key.Problem = zone.Problem
	}
	return Grid{Kind: CompareRefusal, Base: base, Repeat: 1, Cells: []Cell{refused, good, zone, key}}
}

// unsafeMethod reports whether a request may change something at the target (RFC 9110, 9.2.1).
func unsafeMethod(method string) bool {
	return !slices.Contains([]string{"", "GET", "HEAD", "OPTIONS"}, strings.ToUpper(method))
}

// otherZone is the zone that was chosen, or the best of OtherZones.
func (p Preset) otherZone(r FetchRequest) (Zone, string) {
	zones := p.OtherZones(r)
	if p.OtherZone != "" {
		zones = slices.DeleteFunc(zones, func(z Zone) bool { return string(z.Name) != p.OtherZone })
	}
	switch {
	case len(zones) > 0:
		return zones[0], ""
	case p.OtherZone != "":
		return Zone{}, fmt.Sprintf("zone %q is the same zone, is not in the profile, or cannot fetch a page this way", p.OtherZone)
	default:
		return Zone{}, "the profile has no other zone that fetches a page this way"
	}
}

// OtherZones are the zones that can stand in for a request's, the best first: products made
// for protected pages, then other products than the request's, whose exits are of another kind.
func (p Preset) OtherZones(r FetchRequest) []Zone {
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
	zones := slices.DeleteFunc(slices.Clone(p.Zones), func(z Zone) bool { return z.Name == r.Zone.Name || !canFetch(z, r.Via) })
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
func (p Preset) otherKey(name string) (string, string) {
	keys := p.OtherKeys(name)
	switch {
	case p.OtherKey != "" && !slices.Contains(keys, p.OtherKey):
		return "", fmt.Sprintf("key %q is the same key, is not in the inventory, has no reference to its value, or has expired", p.OtherKey)
	case p.OtherKey != "":
		return p.OtherKey, ""
	case len(keys) == 0:
		return "", "the inventory has no other key whose level allows a fetch (ADMIN keys are used only when they are chosen)"
	default:
		return keys[0], ""
	}
}

// OtherKeys are the names of the keys that can stand in for another, the best first. ADMIN
// is among them only if it was chosen.
func (p Preset) OtherKeys(name string) []string {
	var known, unknown []string
	for _, k := range p.Keys {
		allowed := k.Level.Permission(CapUse)
		switch {
		case k.Name == name, k.Secret == "", k.Expires.State(p.Now, 0) == ExpiryStateExpired:
		case k.Level == LevelAdmin && p.OtherKey != k.Name, allowed == PermNo && p.OtherKey != k.Name:
		case allowed == PermYes:
			known = append(known, k.Name)
		default:
			unknown = append(unknown, k.Name)
		}
	}
	return append(known, unknown...)
}
