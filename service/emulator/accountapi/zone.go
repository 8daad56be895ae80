package accountapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
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

func (a *API) serveZone(w http.ResponseWriter, r *http.Request) {
	q, ok := a.query(w, r, "zone")
	if !ok {
		return
	}
	z, ok := a.zone(w, q.Get("zone"))
	if !ok {
		return
	}
	d := z.Details()
	out := zoneAnswer{
		Created: d.Created.UTC().Format(time.RFC3339), IPs: callersOf(d.AllowIPs), Plan: z.Plan(),
		Description: d.Description, Perm: strings.Join(permissions(z.Product), " "),
	}
	if a.conf.Level(r).Permits(level.ZonePasswords) {
		out.Password = z.Passwords()
	}
	if d.Limit != nil {
		out.UsageLimit = &limitAnswer{d.Limit.Value, "$", d.Limit.Cycle, "refuse"}
	}
	answer.JSON(w, http.StatusOK, basisDocs+"; bust_action, perm: assumption; passwords by level: service.md 5.3", out)
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

func (a *API) servePermissions(w http.ResponseWriter, r *http.Request) {
	q, ok := a.query(w, r, "zone")
	if !ok {
		return
	}
	if z, ok := a.zone(w, q.Get("zone")); ok {
		answer.JSON(w, http.StatusOK, basisDocs+"; words: assumption", map[string][]string{"perms": permissions(z.Product)})
	}
}

type zoneName struct {
	Name   string         `json:"name"`
	Type   string         `json:"type"`
	Status account.Status `json:"status,omitempty"`
}

func (a *API) serveActive(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.query(w, r); !ok {
		return
	}
	out := []zoneName{}
	for _, z := range a.conf.Account.Zones() {
		if z.Status() == account.Active {
			out = append(out, zoneName{Name: z.Name, Type: z.Type()})
		}
	}
	answer.JSON(w, http.StatusOK, basisDocs+"; types of products without a public one: assumption", out)
}

func (a *API) serveAll(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.query(w, r); !ok {
		return
	}
	out := []zoneName{}
	for _, z := range a.conf.Account.AllZones() {
		out = append(out, zoneName{z.Name, z.Type(), z.Status()})
	}
	answer.JSON(w, http.StatusOK, basisDocs+"; types of products without a public one: assumption", out)
}

func (a *API) serveZoneStatus(w http.ResponseWriter, r *http.Request) {
	q, ok := a.query(w, r, "zone")
	if !ok {
		return
	}
	if z, ok := a.zone(w, q.Get("zone")); ok {
		answer.JSON(w, http.StatusOK, basisDocs, map[string]account.Status{"status": z.Status()})
	}
}

// serveCreate makes a zone by a recipe. The type beside the plan decides nothing, and
// customer and alloc_opt are taken from old clients and mean nothing here.
func (a *API) serveCreate(w http.ResponseWriter, r *http.Request) {
	f, ok := a.body(w, r, "zone", "plan", "alloc_opt", "customer")
	if !ok {
		return
	}
	bad := &answer.InvalidError{}
	zone := f.object("zone", bad)
	a.refuseOthers(w, "zone.", zone, bad, "name", "type", "password", "ips", "plan", "description", "customer")
	plan := f.object("plan", bad)
	if plan == nil {
		plan = zone.object("plan", bad) // as in old clients
	}
	recipe, spelled := account.Plan(plan).Plain()
	for _, name := range spelled {
		w.Header().Add("x-emulator-note", fmt.Sprintf("plan.%s: text that is read as %s", name, recipe[name]))
	}
	for _, name := range recipe.Unknown() {
		a.unknown(w, "plan."+name, bad)
	}
	zone.text("type", bad)
	n := account.NewZone{
		Name: zone.text("name", bad), Plan: recipe, Passwords: zone.texts("password", bad),
		AllowIPs: zone.texts("ips", bad), Description: zone.text("description", bad), Loose: a.conf.Loose,
	}
	if _, ok := zone["name"]; !ok {
		bad.Add("zone.name is required")
	}
	if len(n.Description) > 1024 {
		bad.Add("zone.description is longer than 1024 bytes")
	}
	if invalid(w, bad) {
		return
	}
	z, err := a.conf.Account.CreateZone(n)
	if err != nil {
		a.refuse(w, err)
		return
	}
	answer.JSON(w, http.StatusCreated, basisShape, map[string]any{
		"zone": zoneName{Name: z.Name, Type: z.Type()}, "plan": z.Plan(),
	})
}

// serveDelete deletes a zone or, as the public service does, all of them when none is
// named. It says which.
func (a *API) serveDelete(w http.ResponseWriter, r *http.Request) {
	f, ok := a.body(w, r, "zone")
	if !ok {
		return
	}
	bad := &answer.InvalidError{}
	names := f.texts("zone", bad)
	if invalid(w, bad) {
		return
	}
	zs, err := a.conf.Account.DeleteZones(names)
	if err != nil {
		a.refuse(w, err)
		return
	}
	deleted := []string{}
	for _, z := range zs {
		deleted = append(deleted, z.Name)
	}
	answer.JSON(w, http.StatusOK, basisShape, map[string][]string{"deleted": deleted})
}

func (a *API) serveDisable(w http.ResponseWriter, r *http.Request) {
	f, ok := a.body(w, r, "zone", "disable")
	if !ok {
		return
	}
	bad := &answer.InvalidError{}
	name := f.text("zone", bad)
	disable := false
	switch string(f["disable"]) {
	case "1", "true":
		disable = true
	case "0", "false":
	default:
		bad.Add("disable must be 0 or 1")
	}
	if invalid(w, bad) {
		return
	}
	if _, ok := a.zone(w, name); !ok {
		return
	}
	z, err := a.conf.Account.DisableZone(name, disable)
	if err != nil {
		a.refuse(w, err)
		return
	}
	answer.JSON(w, http.StatusOK, basisDocs, map[string]account.Plan{"plan": z.Plan()})
}
