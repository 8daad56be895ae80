package accountapi

import (
	"net/http"
	"net/netip"
	"strings"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/level"
)

func (a *API) mountAddresses(handle func(string, level.Action, http.HandlerFunc)) {
	handle("GET /zone/ips", level.Use, a.serveIPs)
	handle("GET /zone/ips/unavailable", level.Use, a.serveNone)
	handle("GET /zone/proxies_pending_replacement", level.Use, a.serveNone)
	handle("GET /zone/route_ips", level.Use, a.serveRouteIPs)
	handle("GET /zone/route_vips", level.Use, a.serveRouteVIPs)
	handle("GET /zone/count_available_ips", level.Use, a.serveCount)
	handle("GET /zone/static/cities", level.See, a.serveStaticCities)
	handle("GET /countrieslist", level.See, a.serveCountries)
	handle("GET /cities", level.See, a.serveCities)
	handle("GET /network_status/{network}", level.See, a.serveNetwork)
	for _, pattern := range []string{
		"POST /zone/ips", "DELETE /zone/ips", "POST /zone/ips/refresh", "POST /zone/ips/migrate", "DELETE /zone/vips",
		"POST /zone/switch_100uptime",
	} {
		handle(pattern, level.Settings, notThere)
	}
}

// notThere refuses what buys, returns or exchanges addresses: a zone's addresses here are
// the exits of its product, which cannot be traded.
func notThere(w http.ResponseWriter, r *http.Request) {
	answer.Text(w, http.StatusNotImplemented, answer.BasisRefusal,
		r.Method+" "+r.URL.Path+" is not there: a zone of this emulator has the addresses of its product, and they cannot be bought, returned or exchanged")
}

// owned are the addresses that are a zone's own; a product without has answered.
func (a *API) owned(w http.ResponseWriter, r *http.Request, allowed ...string) (account.Zone, []netip.Addr, bool) {
	q, ok := a.query(w, r, append(allowed, "zone")...)
	if !ok {
		return account.Zone{}, nil, false
	}
	z, ok := a.zone(w, q.Get("zone"))
	if !ok {
		return account.Zone{}, nil, false
	}
	ips := exits.Allocated(z.Product)
	if len(ips) == 0 {
		answer.Text(w, http.StatusBadRequest, basisDocs, "Wrong zone plan")
		return account.Zone{}, nil, false
	}
	return z, ips, true
}

// allocatedCountry is where every allocated exit is.
const allocatedCountry = "us"

func (a *API) serveIPs(w http.ResponseWriter, r *http.Request) {
	_, ips, ok := a.owned(w, r, "ip_per_country")
	if !ok {
		return
	}
	if v := r.URL.Query().Get("ip_per_country"); v != "" && v != "0" && v != "false" {
		answer.JSON(w, http.StatusOK, basisShape, map[string]int{allocatedCountry: len(ips)})
		return
	}
	type ext struct {
		DBIP        string `json:"dbip"`
		IP2Location string `json:"ip2location"`
		Google      string `json:"google"`
	}
	type entry struct {
		IP      string `json:"ip"`
		MaxMind string `json:"maxmind"`
		Ext     ext    `json:"ext"`
	}
	out := []entry{}
	for _, ip := range ips {
		out = append(out, entry{ip.String(), allocatedCountry, ext{allocatedCountry, allocatedCountry, allocatedCountry}})
	}
	answer.JSON(w, http.StatusOK, basisAddress, map[string][]entry{"ips": out})
}

// serveNone lists addresses that are out of order, or being replaced: exits never are.
func (a *API) serveNone(w http.ResponseWriter, r *http.Request) {
	if z, _, ok := a.owned(w, r); ok {
		answer.JSON(w, http.StatusOK, basisAddress, map[string][]string{z.Name: {}})
	}
}

func (a *API) serveRouteIPs(w http.ResponseWriter, r *http.Request) {
	_, ips, ok := a.owned(w, r)
	if !ok {
		return
	}
	var b strings.Builder
	for _, ip := range ips {
		b.WriteString(ip.String() + "\n")
	}
	answer.Text(w, http.StatusOK, basisShape, b.String())
}

// serveRouteVIPs is for dedicated residential and mobile groups, which no zone here has.
func (a *API) serveRouteVIPs(w http.ResponseWriter, r *http.Request) {
	q, ok := a.query(w, r, "zone")
	if !ok {
		return
	}
	if _, ok := a.zone(w, q.Get("zone")); ok {
		answer.Text(w, http.StatusUnprocessableEntity, basisText, "Zone is not dedicated")
	}
}

func (a *API) serveCount(w http.ResponseWriter, r *http.Request) {
	if _, ips, ok := a.owned(w, r); ok {
		answer.JSON(w, http.StatusOK, basisAddress, map[string]int{"count": len(ips)})
	}
}

// cities are examples of the places that a username may name; others are taken as well.
func cities(country string) []string {
	switch country {
	case "us":
		return []string{"newyork", "losangeles", "chicago", "houston", "miami"}
	case "de":
		return []string{"berlin", "hamburg", "munich"}
	case "gb":
		return []string{"london", "manchester", "leeds"}
	case "jp":
		return []string{"tokyo", "osaka", "nagoya"}
	case "br":
		return []string{"saopaulo", "riodejaneiro", "brasilia"}
	default:
		return []string{}
	}
}

func (a *API) serveCities(w http.ResponseWriter, r *http.Request) {
	q, ok := a.query(w, r, "country")
	if !ok {
		return
	}
	country := q.Get("country")
	if !exits.HasCountry(country) {
		answer.WriteInvalid(w, &answer.InvalidError{Details: []string{"country must be a two-letter code in lower case"}})
		return
	}
	answer.JSON(w, http.StatusOK, basisShape, map[string][]string{"cities": cities(country)})
}

// serveStaticCities: the allocated exits are in no city.
func (a *API) serveStaticCities(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.query(w, r, "country", "pool_ip_type"); ok {
		answer.JSON(w, http.StatusOK, basisShape, map[string][]string{"cities": {}})
	}
}

func (a *API) serveCountries(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.query(w, r); ok {
		answer.JSON(w, http.StatusOK, basisShape, map[string][]string{"countries": exits.Countries()})
	}
}

func (a *API) serveNetwork(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.query(w, r); !ok {
		return
	}
	switch r.PathValue("network") {
	case "all", "res", "dc", "mobile":
		answer.JSON(w, http.StatusOK, basisDocs, map[string]bool{"status": true})
	default:
		answer.Text(w, http.StatusNotFound, basisAssumed, "network is all, res, dc or mobile")
	}
}
