package accountapi

import (
	"net/http"
	"net/netip"
	"strings"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/exits"
)

// notTraded refuses to buy, return or exchange addresses: a zone's addresses are the exits
// of its product, which cannot be traded.
func notTraded(w http.ResponseWriter, r *http.Request) {
	answer.Text(w, http.StatusNotImplemented, answer.BasisRefusal,
		r.Method+" "+r.URL.Path+" is not there: a zone of this emulator has the addresses of its product, and they cannot be bought, returned or exchanged")
}

// allocated are the addresses of the zone that the query names.
func (a *API) allocated(c *call) (account.Zone, []netip.Addr, error) {
	z, err := a.zone(c)
	if err != nil {
		return z, nil, err
	}
	ips := exits.Allocated(z.Product)
	if len(ips) == 0 {
		return z, nil, &refusal{http.StatusBadRequest, basisDocs, "Wrong zone plan"}
	}
	return z, ips, nil
}

// allocatedCountry is where every allocated exit is.
const allocatedCountry = "us"

func (a *API) addresses(c *call) (any, error) {
	_, ips, err := a.allocated(c)
	if err != nil {
		return nil, err
	}
	if v := c.q.Get("ip_per_country"); v != "" && v != "0" && v != "false" {
		c.basis = basisShape
		return map[string]int{allocatedCountry: len(ips)}, nil
	}
	out := []map[string]any{}
	for _, ip := range ips {
		out = append(out, map[string]any{
			"ip": ip.String(), "maxmind": allocatedCountry,
			"ext": map[string]string{"dbip": allocatedCountry, "ip2location": allocatedCountry, "google": allocatedCountry},
		})
	}
	return map[string]any{"ips": out}, nil
}

// noAddresses lists addresses that are out of order or being replaced. Exits never are.
func (a *API) noAddresses(c *call) (any, error) {
	z, _, err := a.allocated(c)
	return map[string][]string{z.Name: {}}, err
}

func (a *API) routes(c *call) (any, error) {
	_, ips, err := a.allocated(c)
	var b strings.Builder
	for _, ip := range ips {
		b.WriteString(ip.String() + "\n")
	}
	return b.String(), err
}

// groups is for dedicated residential and mobile groups, which no zone here has.
func (a *API) groups(c *call) (any, error) {
	if _, err := a.zone(c); err != nil {
		return nil, err
	}
	return nil, &refusal{http.StatusUnprocessableEntity, basisText, "Zone is not dedicated"}
}

func (a *API) countAddresses(c *call) (any, error) {
	_, ips, err := a.allocated(c)
	return map[string]int{"count": len(ips)}, err
}

// cities are examples of the places that a username may name; others are taken as well.
func (a *API) cities(c *call) (any, error) {
	country := c.q.Get("country")
	if !exits.HasCountry(country) {
		return nil, &answer.InvalidError{Details: []string{"country must be a two-letter code in lower case"}}
	}
	known := map[string]string{
		"us": "newyork losangeles chicago houston miami",
		"de": "berlin hamburg munich",
		"gb": "london manchester leeds",
		"jp": "tokyo osaka nagoya",
		"br": "saopaulo riodejaneiro brasilia",
	}
	return map[string][]string{"cities": strings.Fields(known[country])}, nil
}

// staticCities: the allocated exits are in no city.
func (a *API) staticCities(*call) (any, error) { return map[string][]string{"cities": {}}, nil }

func (a *API) countries(*call) (any, error) {
	return map[string][]string{"countries": exits.Countries()}, nil
}

func (a *API) network(c *call) (any, error) {
	switch c.r.PathValue("network") {
	case "all", "res", "dc", "mobile":
		return map[string]bool{"status": true}, nil
	}
	return nil, &refusal{http.StatusNotFound, basisAssumed, "network is all, res, dc or mobile"}
}
