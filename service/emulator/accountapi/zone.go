package accountapi

import (
	"bytes"
	"encoding/json"
	"fmt"
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
