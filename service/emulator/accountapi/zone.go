package accountapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/level"
)

// zoneAnswer is what GET /zone shows. Password is left out for levels that may not see it.
type zoneAnswer struct {
	Created     string       `json:"created"`
	Password    []string     `json:"password,omitempty"`
	IPs         []string     `json:"ips"`
	Plan        account.Plan `json:"plan"`
	Description string       `json:"description"`
	Perm        string       `json:"perm"`
	UsageLimit  *limitAnswer `json:"usage_limit,omitempty"`
}

type limitAnswer struct {
	Value      float64 `json:"value"`
	Unit       string  `json:"unit"`
	Cycle      string  `json:"cycle"`
	BustAction string  `json:"bust_action"`
}

func (a *API) settings(c *call) (any, error) {
	z, err := a.zone(c)
	if err != nil {
		return nil, err
	}
	d := z.Settings()
	out := zoneAnswer{
		Created: d.Created.UTC().Format(time.RFC3339), IPs: callersOf(d.AllowIPs), Plan: z.Plan(),
		Description: d.Description, Perm: strings.Join(permissions(z.Product), " "),
	}
	if a.conf.Level(c.r).Permits(level.ZonePasswords) {
		out.Password = d.Passwords
	}
	if d.Limit != nil {
		out.UsageLimit = &limitAnswer{d.Limit.Value, "$", d.Limit.Cycle, "refuse"}
	}
	return out, nil
}

// callersOf shows an allowlist; one without entries is "any".
func callersOf(list []string) []string {
	if len(list) == 0 {
		return []string{"any"}
	}
	return list
}

// permissions are the choices that a username may make in a zone of this product.
func permissions(product string) []string {
	switch product {
	case "datacenter", "isp":
		return []string{"country", "ip"}
	case "residential":
		return []string{"country", "state", "city", "zip", "asn", "os", "gip"}
	case "mobile":
		return []string{"country", "state", "city", "zip", "asn", "carrier", "gip"}
	default:
		return []string{"country"}
	}
}

func (a *API) permissions(c *call) (any, error) {
	z, err := a.zone(c)
	return map[string][]string{"perms": permissions(z.Product)}, err
}

type zoneName struct {
	Name   string         `json:"name"`
	Type   string         `json:"type"`
	Status account.Status `json:"status,omitempty"`
}

func (a *API) activeZones(*call) (any, error) {
	out := []zoneName{}
	for _, z := range a.conf.Account.Zones() {
		if z.Settings().Status == account.Active {
			out = append(out, zoneName{Name: z.Name, Type: z.Type()})
		}
	}
	return out, nil
}

func (a *API) allZones(*call) (any, error) {
	out := []zoneName{}
	for _, z := range a.conf.Account.AllZones() {
		out = append(out, zoneName{z.Name, z.Type(), z.Settings().Status})
	}
	return out, nil
}

func (a *API) zoneStatus(c *call) (any, error) {
	z, err := a.zone(c)
	return map[string]account.Status{"status": z.Settings().Status}, err
}

// create makes a zone by a recipe. The type beside the plan has no effect; customer and
// alloc_opt come from old clients and have none either.
func (a *API) create(c *call) (any, error) {
	zone := c.body.Object("zone")
	n := account.NewZone{
		Name: zone.Word("name"), Passwords: zone.Words("password"), AllowIPs: zone.Words("ips"),
		Description: zone.Word("description"), Loose: a.conf.Loose,
	}
	zone.Require("name")
	zone.RefuseIf(len(n.Description) > 1024, "description", "is longer than 1024 bytes")
	zone.Word("type")
	plan := c.body
	if !plan.Has("plan") {
		plan = zone // as in old clients
	}
	plan = plan.Object("plan")
	recipe := account.Plan{}
	for _, name := range plan.Names() {
		recipe[name] = json.RawMessage(plan.Raw(name))
	}
	var spelled []string
	n.Plan, spelled = recipe.Plain()
	for _, name := range spelled {
		c.w.Header().Add(answer.NoteHeader, fmt.Sprintf("plan.%s: text that is read as %s", name, n.Plan[name]))
	}
	if a.conf.Loose {
		for _, name := range recipe.Unknown() {
			answer.NoteUnknown(c.w, "plan."+name)
		}
	}
	zone.Skip("plan", "customer")
	zone.Done()
	c.body.Skip("alloc_opt", "customer")
	if err := c.checked(); err != nil {
		return nil, err
	}
	z, err := a.conf.Account.CreateZone(n)
	return map[string]any{"zone": zoneName{Name: z.Name, Type: z.Type()}, "plan": z.Plan()}, err
}

// remove deletes zones, or all zones if none is named, as the public service does. It
// answers which.
func (a *API) remove(c *call) (any, error) {
	names := c.body.Words("zone")
	if err := c.checked(); err != nil {
		return nil, err
	}
	zs, err := a.conf.Account.DeleteZones(names)
	deleted := []string{}
	for _, z := range zs {
		deleted = append(deleted, z.Name)
	}
	return map[string][]string{"deleted": deleted}, err
}

func (a *API) disable(c *call) (any, error) {
	name := c.body.Word("zone")
	disable := string(bytes.TrimSpace(c.body.Raw("disable")))
	switch disable {
	case "1", "true", "0", "false":
	default:
		c.body.Refuse("disable", "must be 0 or 1")
	}
	if err := a.bodyZone(c, name); err != nil {
		return nil, err
	}
	z, err := a.conf.Account.DisableZone(name, disable == "1" || disable == "true")
	return map[string]account.Plan{"plan": z.Plan()}, err
}

func (a *API) passwords(c *call) (any, error) {
	z, err := a.zone(c)
	return map[string][]string{"passwords": z.Settings().Passwords}, err
}

func (a *API) editPasswords(edit func(string, []string) (account.Zone, error)) endpoint {
	return func(c *call) (any, error) {
		name, passwords := c.body.Word("zone"), c.body.Words("password")
		c.body.Require("password")
		if err := a.bodyZone(c, name); err != nil {
			return nil, err
		}
		z, err := edit(name, passwords)
		return map[string][]string{"passwords": z.Settings().Passwords}, err
	}
}

func ipsByZone(list account.List, zs []account.Zone) map[string][]string {
	out := map[string][]string{}
	for _, z := range zs {
		d := z.Settings()
		if list == account.Allow {
			out[z.Name] = callersOf(d.AllowIPs)
		} else {
			out[z.Name] = append([]string{}, d.DenyIPs...)
		}
	}
	return out
}

func (a *API) listedIPs(list account.List) endpoint {
	return func(c *call) (any, error) {
		zs, err := a.zones(c)
		return ipsByZone(list, zs), err
	}
}

// editIPs adds callers to a list or removes them. Without a zone it edits all zones, as the
// public service does.
func (a *API) editIPs(list account.List, remove bool) endpoint {
	return func(c *call) (any, error) {
		zones, ips := c.body.Words("zone"), c.body.Words("ip")
		c.body.Require("ip")
		if err := c.checked(); err != nil {
			return nil, err
		}
		zs, err := a.conf.Account.EditIPs(zones, list, ips, remove)
		return ipsByZone(list, zs), err
	}
}

// editDomains changes a zone's list of targets. domain holds names separated by spaces.
func (a *API) editDomains(remove bool) endpoint {
	return func(c *call) (any, error) {
		name, list := c.body.Word("zone"), account.List(c.body.Word("type"))
		entries := strings.Fields(strings.Join(c.body.Words("domain"), " "))
		c.body.RefuseIf(list != account.Allow && list != account.Deny, "type", "must be whitelist or blacklist")
		c.body.RefuseIf(len(entries) == 0, "domain", "is required")
		if err := a.bodyZone(c, name); err != nil {
			return nil, err
		}
		z, err := a.conf.Account.EditDomains(name, list, entries, remove)
		domains := z.Settings().AllowDomains
		if list == account.Deny {
			domains = z.Settings().DenyDomains
		}
		return map[account.List]string{list: strings.Join(domains, " ")}, err
	}
}

// recentIPs lists the callers that tried to use the zones since the emulator's start.
func (a *API) recentIPs(c *call) (any, error) {
	zs, err := a.zones(c)
	out := map[string][]string{}
	for _, z := range zs {
		out[z.Name] = []string{}
		for _, ip := range a.conf.Account.RecentCallers(z.Name) {
			out[z.Name] = append(out[z.Name], ip.String())
		}
	}
	return out, err
}

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
		return z, nil, &answer.TextError{Status: http.StatusBadRequest, Basis: basisDocs, Text: "Wrong zone plan"}
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
	return nil, &answer.TextError{Status: http.StatusUnprocessableEntity, Basis: basisText, Text: "Zone is not dedicated"}
}

func (a *API) countAddresses(c *call) (any, error) {
	_, ips, err := a.allocated(c)
	return map[string]int{"count": len(ips)}, err
}

// cities are examples of the places that a username may name; others are taken as well.
func (a *API) cities(c *call) (any, error) {
	country := c.q.Get("country")
	if !exits.HasCountry(country) {
		return nil, answer.Invalid("country must be a two-letter code in lower case")
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
	return nil, &answer.TextError{Status: http.StatusNotFound, Basis: basisAssumed, Text: "network is all, res, dc or mobile"}
}
