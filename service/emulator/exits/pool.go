// Package exits is how the emulator's traffic leaves: which exit address a fetch
// has (rotating, sticky by session, allocated, by country), and the dialer that
// reaches the lab and public addresses and nothing else.
//
// The emulator's API, proxy and jobs call it. A [Pool] and a [Dialer] are safe for
// concurrent use.
//
// To loopback targets on Linux an exit is a real source address out of 127/8, so a
// target sees rotation and stickiness; elsewhere, and to public targets, the
// traffic leaves from this machine's own address and the exit is only reported
// ([Exit.Bound] tells).
package exits

import (
	"cmp"
	"container/list"
	"errors"
	"hash/fnv"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// perCountry is how many exits a network has in a country.
const perCountry = 14

// perDefault is how many of them rotate when no country is chosen. Exits share no
// connections, and fewer exits keep theirs warm.
const perDefault = 3

// maxSessions bounds the sessions that a pool remembers, maxTurns the rotations.
const (
	maxSessions = 10_000
	maxTurns    = 10_000
)

// Refusals of [Pool.Pick].
var (
	// ErrNotAllocated means that the zone does not have the address.
	ErrNotAllocated = errors.New("the address is not allocated to the zone")
	// ErrNoCountry means an unknown country code.
	ErrNoCountry = errors.New("no proxies in the country")
	// ErrSessionLost means that a session has lost its exit, and that the login asked for
	// a refusal instead of a new exit.
	ErrSessionLost = errors.New("no peer available: the session's exit is gone")
)

// defaultCountries rotate when a login chooses no country.
var defaultCountries = [...]string{"us", "de", "gb", "jp", "br"}

// networks numbers the products: the second octet of their exits is base + number.
var networks = [...]string{
	"datacenter", "isp", "residential", "mobile", "unlocker", "serp", "browser", "crawl",
	"scrapers", "datasets", "discover", "deep_lookup", "agent",
}

const networkBase = 10

// idle is how long an unused session keeps its exit (public documentation).
func idle(product string) time.Duration {
	switch product {
	case "residential":
		return 5 * time.Minute
	case "isp":
		return 7 * time.Minute
	case "mobile":
		return 10 * time.Minute
	default:
		return time.Minute
	}
}

// Want describes the exit that a login or an API call asks for.
type Want struct {
	Zone, Product string
	Country       string
	// Place joins everything else that selects a region (state, city, zip, …). A session
	// loses its exit when it changes.
	Place   string
	Session string
	Const   bool
	IP      string
	// GIP names a dedicated group; a group always has the same exit.
	GIP    string
	Direct bool
}

// Exit is the address that a fetch leaves from.
type Exit struct {
	Addr    netip.Addr
	Country string
}

// Bound reports whether traffic to a target's address really leaves from the exit's address.
// Otherwise the exit is simulated.
func (e Exit) Bound(target netip.Addr) bool {
	return runtime.GOOS == "linux" && target.Is4() && target.IsLoopback() && e.Addr.IsLoopback()
}

// turn identifies a zone's rotation in a country.
type turn struct{ zone, country string }

type sessionKey struct{ zone, session string }

type session struct {
	key            sessionKey
	exit           Exit
	country, place string
	used           time.Time
	open           int // requests and tunnels through the exit
}

// Pool hands out exits.
type Pool struct {
	now func() time.Time

	mu       sync.Mutex
	turns    map[turn]int
	sessions map[sessionKey]*list.Element // of *session
	recent   list.List                    // the sessions, the most recently used first
}

// NewPool makes a pool that reads the time from now.
func NewPool(now func() time.Time) *Pool {
	return &Pool{now: now, turns: map[turn]int{}, sessions: map[sessionKey]*list.Element{}}
}

// Pick chooses the exit for one fetch. The error is [ErrNotAllocated], [ErrNoCountry]
// or [ErrSessionLost].
func (p *Pool) Pick(w Want) (Exit, error) {
	if w.Country != "" && !HasCountry(w.Country) {
		return Exit{}, ErrNoCountry
	}
	if w.Direct {
		return Exit{Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
	}
	if w.IP != "" {
		a, err := netip.ParseAddr(w.IP)
		if err != nil || !slices.Contains(Allocated(w.Product), a) {
			return Exit{}, ErrNotAllocated
		}
		return Exit{Addr: a, Country: defaultCountries[0]}, nil
	}
	if w.GIP != "" {
		h := fnv.New32a()
		h.Write([]byte(w.Zone + "/" + w.GIP))
		country := cmp.Or(w.Country, defaultCountries[0])
		if country == anyEU {
			country = euCountries[int(h.Sum32())%len(euCountries)]
		}
		return Exit{Addr: address(w.Product, country, int(h.Sum32()%perCountry)), Country: country}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.Session == "" {
		return p.next(w), nil
	}
	now := p.now()
	k := sessionKey{w.Zone, w.Session}
	if e, known := p.sessions[k]; known {
		s := e.Value.(*session)
		if (s.open > 0 || now.Sub(s.used) <= idle(w.Product)) && s.country == w.Country && s.place == w.Place {
			s.used = now
			p.recent.MoveToFront(e)
			return s.exit, nil
		}
		p.forget(e)
		if w.Const {
			return Exit{}, ErrSessionLost
		}
	}
	if len(p.sessions) >= maxSessions {
		p.makeRoom()
	}
	s := &session{key: k, exit: p.next(w), country: w.Country, place: w.Place, used: now}
	p.sessions[k] = p.recent.PushFront(s)
	return s.exit, nil
}

// forget drops a session; the pool is locked.
func (p *Pool) forget(e *list.Element) {
	delete(p.sessions, p.recent.Remove(e).(*session).key)
}

// makeRoom forgets the least recently used session, idle ones first.
func (p *Pool) makeRoom() {
	oldest := p.recent.Back()
	for e := oldest; e != nil; e = e.Prev() {
		if e.Value.(*session).open == 0 {
			oldest = e
			break
		}
	}
	p.forget(oldest)
}

// Hold keeps a session's exit while a request or a tunnel uses it. The session's idle time
// begins with the release.
func (p *Pool) Hold(w Want) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, known := p.sessions[sessionKey{w.Zone, w.Session}]
	if !known {
		return func() {}
	}
	s := e.Value.(*session)
	s.open++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		s.open--
		s.used = p.now()
		p.recent.MoveToFront(e) // does nothing if the session was forgotten
	}
}

func (p *Pool) next(w Want) Exit {
	country := w.Country
	k := turn{w.Zone, country}
	n := p.turns[k]
	if n == 0 && len(p.turns) >= maxTurns {
		clear(p.turns)
	}
	p.turns[k] = n + 1
	switch country {
	case "":
		country = defaultCountries[n%len(defaultCountries)]
		n = n / len(defaultCountries) % perDefault
	case anyEU:
		country = euCountries[n%len(euCountries)]
		n /= len(euCountries)
	}
	return Exit{Addr: address(w.Product, country, n%perCountry), Country: country}
}

// Allocated lists the addresses that -ip- may name. Only zones of the datacenter and ISP
// networks have addresses.
func Allocated(product string) []netip.Addr {
	if product != "datacenter" && product != "isp" {
		return nil
	}
	out := make([]netip.Addr, perCountry)
	for i := range out {
		out[i] = address(product, defaultCountries[0], i)
	}
	return out
}

// address returns 127.(base+network).x.y. x.y is the number of country and exit: 676 pairs
// of letters times 16 fit into two octets.
func address(product, country string, n int) netip.Addr {
	network := max(slices.Index(networks[:], product), 0)
	c := 0
	if len(country) == 2 {
		c = (int(country[0]-'a')%26)*26 + int(country[1]-'a')%26
	}
	v := c*16 + n + 1
	return netip.AddrFrom4([4]byte{127, byte(networkBase + network), byte(v >> 8), byte(v)})
}

// Where returns the network and the country of an exit's address; ok is false for the
// address of no exit.
func Where(a netip.Addr) (product, country string, ok bool) {
	a = a.Unmap()
	if !a.Is4() {
		return "", "", false
	}
	b := a.As4()
	network, v := int(b[1])-networkBase, int(b[2])<<8|int(b[3])
	n, letters := v%16, v/16
	if b[0] != 127 || network < 0 || network >= len(networks) || n < 1 || n > perCountry || letters >= 26*26 {
		return "", "", false
	}
	country = string([]byte{'a' + byte(letters/26), 'a' + byte(letters%26)})
	return networks[network], country, HasCountry(country) && country != anyEU
}

// countries are the two-letter codes of ISO 3166-1, in lower case.
const countries = "ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw by bz " +
	"ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et fi fj fk fm fo fr " +
	"ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp " +
	"ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz " +
	"na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw " +
	"sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz " +
	"ua ug um us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw"

// anyEU chooses any country of the European Union (public documentation).
const anyEU = "eu"

// euCountries rotate for [anyEU].
var euCountries = [...]string{
	"at", "be", "bg", "cy", "cz", "de", "dk", "ee", "es", "fi", "fr", "gr", "hr", "hu",
	"ie", "it", "lt", "lu", "lv", "mt", "nl", "pl", "pt", "ro", "se", "si", "sk",
}

// Countries lists the codes that have exits, in alphabetical order.
func Countries() []string { return strings.Fields(countries) }

// HasCountry reports whether a country has exits; [anyEU] has.
func HasCountry(code string) bool {
	if len(code) != 2 || code[0] < 'a' || code[0] > 'z' || code[1] < 'a' || code[1] > 'z' {
		return false
	}
	return code == anyEU || strings.Contains(countries, code)
}
