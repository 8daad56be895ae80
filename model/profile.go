package model

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Defaults of a profile.
const (
	DefaultProxyPort  = 33335 // service.md 8
	DefaultAPIVersion = "v3"  // service.md 9
)

// LocalName names the profile of the embedded emulator; no profile of the
// configuration may take it.
const LocalName = "local"

// Profile is one account at one service, as configuration, environment and flags
// describe it. It holds references to secrets, never secrets.
type Profile struct {
	Name string
	// BaseURL is the API's address without a trailing slash (service.md 4), or
	// empty when the profile is for native access alone.
	BaseURL string
	// ProxyHost is a name or an address, without a port; empty when the profile is
	// for API access alone (service.md 5.2).
	ProxyHost string
	ProxyPort int
	// AgentURL is the address of the MCP endpoint of agent access (streamable HTTP), without
	// a key, or empty. BrowserURL is the remote browser's address for the Chrome DevTools
	// Protocol, ws or wss, without a login, or empty. The contract names both products and
	// shows neither address.
	AgentURL, BrowserURL string
	// UsernamePrefix is the fixed word a username begins with (service.md 5.2).
	UsernamePrefix string
	Account        AccountID
	// Dialect names the dialect, which says what is assumed beyond the contract. Empty
	// sends what the contract shows, and leaves it to an answer by which dialect it is
	// read.
	Dialect string
	// Can is what the dialect can do. It is set in every profile that was loaded.
	Can Abilities
	// Key names the key of the inventory that is used unless another is picked.
	Key string
	// APIVersion is the version segment of the dataset paths (service.md 9).
	APIVersion string
	// CA is the path of a PEM file with a certificate to trust besides the
	// system's, absolute; empty when none is needed (service.md 5.2 rule 3).
	CA string
	// Verify is false only where the operator turned certificate checks off.
	Verify bool
	Zones  []Zone
	// Variables are what {{name}} stands for in requests: a value, or a reference to a secret.
	Variables map[string]string
	// TestURL is a page that shows TestText to every login and key that the service accepts: a rotation proves its values
	// by it. Both are empty, or neither is; else the dialect may know a page.
	TestURL, TestText string
	// Database is where its batches are: the address of a PostgreSQL server, or a reference to one; "" for this machine.
	Database string
	// Timeouts are the profile's own.
	Timeouts Timeouts
	// KeyRate is how many calls a second one key may make; 0 is the console's own bound.
	KeyRate float64
	// MaxJobCost refuses jobs if the upper end of their estimate is more dollars, or is not known; 0 refuses none.
	MaxJobCost float64
	// ReadOnly refuses what changes something at the service, at a target, or in the
	// configuration (see Refuse).
	ReadOnly bool
	// AllowedDomains are the only targets that are fetched (see RefuseTarget); empty allows all.
	AllowedDomains []string
	// Color is one of Colors, for the profile's name on the screen; empty for none.
	Color string
	// Local says that this is the embedded emulator.
	Local bool
	// Redirected says which addresses flags or the environment lead to another scheme, host or port than the
	// configuration. The stored key and passwords belong to the configured ones.
	Redirected Redirected
}

// Redirected are the addresses of a profile that are not the configured ones: of the API, of agent access, and those
// that a zone's password goes to (proxy and remote browser).
type Redirected struct{ API, Agent, Logins bool }

// AtAgent is the profile for a key that is sent to agent access: nothing else decides where the key goes.
func (p Profile) AtAgent() Profile {
	p.Redirected.API = p.Redirected.Agent
	if p.Redirected.Agent {
		p.BaseURL = p.AgentURL
	}
	return p
}

// Abilities are what a profile's dialect sends and asks for beyond the contract.
type Abilities interface {
	// Name is the dialect's name.
	Name() string
	Sends() Sends
	// Params are the parameters of the login by which a request is sent.
	Params(r FetchRequest) []Param
	// RefuseParams is why parameters of a login are not sent, or nil.
	RefuseParams(params []Param) error
	// TestPage answers a test of a proxy login, "" where none is known.
	TestPage(p Profile) string
	// AsksForJobs reports whether a job's state can be asked for.
	AsksForJobs() bool
	// ChangesPasswords reports whether a call changes a zone's password; else a person does.
	ChangesPasswords() bool
	// Cancels and Previews report whether it is known how a job of a data set is cancelled and previewed. ProductOf is the
	// product that has its own way to collect by that name.
	Cancels(dataset string) bool
	Previews(dataset string) bool
	ProductOf(dataset string) (Product, bool)
}

// LacksTestPage says what a profile without a test page needs, so that a call can show what the service accepts.
func (p Profile) LacksTestPage() string {
	return "the contract shows no test page: give profile " + p.Name + " a test_url, and the test_text that it shows"
}

// ProxyAddr is host:port of the proxy, or empty when the profile has none.
func (p Profile) ProxyAddr() string {
	if p.ProxyHost == "" {
		return ""
	}
	return net.JoinHostPort(p.ProxyHost, strconv.Itoa(p.ProxyPort))
}

// DialectName is the name of the dialect that requests are made by.
func (p Profile) DialectName() string {
	if p.Can == nil {
		return p.Dialect
	}
	return p.Can.Name()
}

// Zone finds a zone by name.
func (p Profile) Zone(name string) (Zone, bool) {
	i := slices.IndexFunc(p.Zones, func(z Zone) bool { return string(z.Name) == name })
	if i < 0 {
		return Zone{}, false
	}
	return p.Zones[i], true
}

// FindZone finds the zone that an operator names. A profile without a list of zones accepts every valid name. With an error
// the zone has at most its name.
func (p Profile) FindZone(name string) (Zone, error) {
	if z, ok := p.Zone(name); ok {
		return z, nil
	}
	if name == "" {
		return Zone{}, errors.New("choose a zone")
	}
	zone, err := ParseZoneName(name)
	switch z := (Zone{Name: zone}); {
	case err != nil:
		return Zone{}, err
	case len(p.Zones) == 0:
		return z, nil
	default:
		var names []string
		for _, n := range p.ZoneNames() {
			names = append(names, string(n))
		}
		return z, fmt.Errorf("zone %q is not in profile %q: it has %s", name, p.Name, strings.Join(names, ", "))
	}
}

// ZoneNames lists the zones' names in the profile's order.
func (p Profile) ZoneNames() []ZoneName {
	out := make([]ZoneName, len(p.Zones))
	for i, z := range p.Zones {
		out[i] = z.Name
	}
	return out
}

// Notes are what an operator should know of the profile while using it, one
// sentence each: certificate checks that are off, a key that travels in clear.
func (p Profile) Notes() []string {
	var notes []string
	if !p.Verify {
		notes = append(notes, "certificate checks are off for this profile (verify = false): anyone on the way can read what is sent")
	}
	for _, clear := range []struct{ address, note string }{
		{p.BaseURL, "base_url is http: the key travels unencrypted"},
		{p.AgentURL, "agent_url is http: the key travels unencrypted"},
		{p.BrowserURL, "browser_url is ws: the zone's password travels unencrypted"},
	} {
		if u, err := url.Parse(clear.address); err == nil && (u.Scheme == "http" || u.Scheme == "ws") && !loopback(u.Hostname()) {
			notes = append(notes, clear.note)
		}
	}
	return notes
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// ErrReadOnly is wrapped by every refusal of a read-only profile.
var ErrReadOnly = errors.New("read-only")

// ReadOnlyError is a refusal of a read-only profile. It wraps ErrReadOnly.
type ReadOnlyError struct {
	Profile string
	Action  string // as "launch jobs"
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("profile %s is %v: it does not %s", e.Profile, ErrReadOnly, e.Action)
}

// Unwrap returns ErrReadOnly.
func (e *ReadOnlyError) Unwrap() error { return ErrReadOnly }

// Refuse is why a read-only profile does not do something ("launch jobs"); nil for one that
// may. What changes nothing but costs what a fetch costs is not asked about: fetches by GET,
// HEAD or OPTIONS, tests of a login, downloads.
func (p Profile) Refuse(what string) error {
	if !p.ReadOnly {
		return nil
	}
	return &ReadOnlyError{Profile: p.Name, Action: what}
}

// RefuseMethod is Refuse for a fetch by a method, which may change something at the target.
func (p Profile) RefuseMethod(method string) error {
	switch method = strings.ToUpper(method); method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	default:
		return p.Refuse("send " + method)
	}
}

// Colors are the colours that a profile's name can have on the screen.
func Colors() []string { return []string{"red", "yellow", "green", "blue", "magenta"} }
