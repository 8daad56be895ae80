// Package accountapi serves the endpoints of the account: zones, their passwords and lists,
// balance, cost and bandwidth. The contract does not describe them (service.md 4: "not
// shown"); they follow the public documentation of a service of this kind, and
// x-emulator-basis marks where an answer goes beyond it.
//
// The emulator's API server mounts an [API] behind its check of keys and levels. It keeps
// no state and is safe for concurrent use.
package accountapi

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/meter"
)

const maxBody = 256 << 10

// Bases of this package's answers; see [answer.BasisHeader].
const (
	basisDocs    = "public documentation"
	basisShape   = "public documentation; shape of the answer: assumption"
	basisText    = "public documentation: status; text: assumption"
	basisAssumed = "assumption: status and text"
	basisMoney   = "public documentation; contract 1 rule 1; prices: assumption"
	basisAddress = "public documentation; which addresses and places there are: this emulator's"
	basisTypes   = "public documentation; types of products without a public one: assumption"
)

// Config is what the endpoints need.
type Config struct {
	Account *account.Account
	Meter   *meter.Meter
	// Now is the emulator's clock.
	Now func() time.Time
	// Level is the level of the request's key, which was checked before.
	Level func(*http.Request) level.Level
	// Loose accepts unknown fields and parameters, and bodies without the Content-Type of
	// JSON.
	Loose bool
	Log   *slog.Logger
}

// API serves the endpoints.
type API struct{ conf Config }

// New makes an API.
func New(conf Config) *API {
	conf.Log = cmp.Or(conf.Log, slog.New(slog.DiscardHandler))
	return &API{conf}
}

// Mount passes every endpoint to handle: its pattern for [http.ServeMux], the action that
// the key's level must permit (service.md 5.3), and the handler.
func (a *API) Mount(handle func(pattern string, needs level.Action, h http.HandlerFunc)) {
	show := func(pattern string, needs level.Action, basis string, do endpoint, params ...string) {
		handle("GET "+pattern, needs, a.serve(basis, http.StatusOK, do, params))
	}
	change := func(pattern string, needs level.Action, basis string, status int, do endpoint) {
		handle(pattern, needs, a.serve(basis, status, do, nil))
	}
	show("/zone", level.See, basisDocs+"; bust_action, perm: assumption; passwords by level: contract 5.3", a.settings, "zone")
	show("/zone/get_active_zones", level.See, basisTypes, a.activeZones)
	show("/zone/get_all_zones", level.See, basisTypes, a.allZones)
	show("/zone/status", level.See, basisDocs, a.zoneStatus, "zone")
	show("/zone/permissions", level.See, basisDocs+"; words: assumption", a.permissions, "zone")
	change("POST /zone", level.Settings, basisShape, http.StatusCreated, a.create)
	change("DELETE /zone", level.Settings, basisShape, http.StatusOK, a.remove)
	change("POST /zone/change_disable", level.Settings, basisDocs, http.StatusOK, a.disable)

	show("/zone/passwords", level.ZonePasswords, basisDocs, a.passwords, "zone")
	change("POST /zone/add_password", level.ZonePasswords, basisShape, http.StatusOK, a.editPasswords(a.conf.Account.AddPasswords))
	change("POST /zone/remove_password", level.ZonePasswords, basisShape, http.StatusOK, a.editPasswords(a.conf.Account.RemovePasswords))
	for _, list := range []account.List{account.Allow, account.Deny} {
		path := "/zone/" + string(list)
		show(path, level.IPLists, basisDocs, a.listedIPs(list), "zone", "zones")
		change("POST "+path, level.IPLists, basisShape, http.StatusCreated, a.editIPs(list, false))
		change("DELETE "+path, level.IPLists, basisShape, http.StatusOK, a.editIPs(list, true))
	}
	show("/zone/recent_ips", level.IPLists, basisDocs, a.recentIPs, "zone", "zones")
	const basisDomains = basisDocs + "; subdomains belong to a domain: assumption"
	change("POST /zone/domain_perm", level.Settings, basisDomains, http.StatusCreated, a.editDomains(false))
	change("DELETE /zone/domain_perm", level.Settings, basisDomains, http.StatusOK, a.editDomains(true))

	show("/zone/ips", level.Use, basisAddress, a.addresses, "zone", "ip_per_country")
	show("/zone/ips/unavailable", level.Use, basisAddress, a.noAddresses, "zone")
	show("/zone/proxies_pending_replacement", level.Use, basisAddress, a.noAddresses, "zone")
	show("/zone/route_ips", level.Use, basisShape, a.routes, "zone")
	show("/zone/route_vips", level.Use, basisText, a.groups, "zone")
	show("/zone/count_available_ips", level.Use, basisAddress, a.countAddresses, "zone")
	show("/zone/static/cities", level.See, basisShape, a.staticCities, "country", "pool_ip_type")
	show("/countrieslist", level.See, basisShape, a.countries)
	show("/cities", level.See, basisShape, a.cities, "country")
	show("/network_status/{network}", level.See, basisDocs, a.network)
	for _, pattern := range []string{
		"POST /zone/ips", "DELETE /zone/ips", "POST /zone/ips/refresh", "POST /zone/ips/migrate", "DELETE /zone/vips",
		"POST /zone/switch_100uptime",
	} {
		handle(pattern, level.Settings, notTraded)
	}

	show("/status", level.See, basisDocs+"; reasons besides zone_not_found: assumption", a.status, "zone")
	change("PUT /status", level.Keys, basisShape+"; administrators only: assumption", http.StatusOK, a.suspend)
	show("/customer/balance", level.Billing, basisMoney+"; pending is this month's: assumption", a.balance)
	show("/zone/cost", level.Billing, basisMoney, a.cost, "zone", "from", "to")
	show("/zone/bw", level.Usage, basisUse, a.zoneUse, "zone", "from", "to")
	show("/customer/bw", level.Usage, basisUse, a.allUse, "from", "to")
	show("/domains/{what}", level.Usage, basisDocs, a.domains, "from", "to", "zones", "zone")
	change("POST /costs/export/{format}", level.Billing, basisMoney, http.StatusOK, a.export)
}

type call struct {
	r *http.Request
	q url.Values
	// body is nil for a GET or HEAD.
	body *document.Table
	// basis is that of the answer; the endpoint may change it.
	basis string
	// w is for notes.
	w http.ResponseWriter
}

// endpoint returns the answer: text for a string, a file for a csvFile, otherwise JSON.
// [API.refuse] answers its error. An endpoint with a body calls [call.checked] after the last
// field, before it changes anything.
type endpoint func(*call) (any, error)

// serve reads query and body. It refuses a parameter outside params by its name, or notes it
// if the service is loose. A call with a body has no parameters: a zone named only in the
// query would mean all zones.
func (a *API) serve(basis string, status int, do endpoint, params []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{r: r, q: r.URL.Query(), basis: basis, w: w}
		err := answer.CheckParameters(w, r, a.conf.Loose, params...)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			var unread error
			c.body, unread = document.Object(w, r, maxBody, a.conf.Loose)
			err = cmp.Or(err, unread)
		}
		if err != nil {
			answer.WriteInvalid(w, err)
			return
		}
		v, err := do(c)
		if c.body != nil {
			for _, name := range c.body.Ignored() {
				answer.NoteUnknown(w, name)
			}
		}
		if err != nil {
			a.refuse(w, err)
			return
		}
		switch v := v.(type) {
		case string:
			answer.Text(w, status, c.basis, v)
		case csvFile:
			v.write(w)
		default:
			answer.JSON(w, status, c.basis, v)
		}
	}
}

// checked is called after the last field of a body, and returns what is wrong with it.
func (c *call) checked() error {
	c.body.Done()
	return c.body.Invalid()
}

// zone finds the zone that the query names.
func (a *API) zone(c *call) (account.Zone, error) {
	name := c.q.Get("zone")
	if name == "" {
		return account.Zone{}, errNoZone()
	}
	return a.conf.Account.Zone(name)
}

func errNoZone() error {
	return &answer.TextError{Status: http.StatusBadRequest, Basis: basisDocs, Text: "Missing zone parameter"}
}

// bodyZone checks the whole body, then that the zone it names exists.
func (a *API) bodyZone(c *call, name string) error {
	if err := c.checked(); err != nil {
		return err
	}
	if name == "" {
		return errNoZone()
	}
	_, err := a.conf.Account.Zone(name)
	return err
}

// zones finds the zones of a query: comma-separated, "*" or none for all zones.
func (a *API) zones(c *call) ([]account.Zone, error) {
	names := strings.Join(slices.Concat(c.q["zones"], c.q["zone"]), ",")
	if names == "" || names == "*" {
		return a.conf.Account.Zones(), nil
	}
	var out []account.Zone
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			return nil, errNoZone()
		}
		z, err := a.conf.Account.Zone(name)
		if err != nil {
			return nil, err
		}
		out = append(out, z)
	}
	return out, nil
}

func (a *API) refuse(w http.ResponseWriter, err error) {
	var bad *answer.InvalidError
	var refused *answer.TextError
	switch {
	case errors.As(err, &bad):
		answer.WriteInvalid(w, bad)
	case errors.As(err, &refused):
		refused.Write(w)
	case errors.Is(err, account.ErrNoSuchZone):
		answer.Text(w, http.StatusUnprocessableEntity, basisText, "Zone not found")
	case errors.Is(err, account.ErrZoneExists):
		answer.Text(w, http.StatusConflict, basisText, err.Error())
	case errors.Is(err, account.ErrOnePassword), errors.Is(err, account.ErrNoPassword), errors.Is(err, account.ErrTooMany):
		answer.Text(w, http.StatusBadRequest, basisAssumed, err.Error())
	default:
		a.conf.Log.Error("could not write a change of the account", "error", err)
		answer.Text(w, http.StatusInternalServerError, basisText, "Internal server error")
	}
}
