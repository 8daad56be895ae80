package account

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
)

// Plan is what a zone was created with, field by field as it was sent.
type Plan map[string]json.RawMessage

// maxPlanField bounds one field of a plan, in bytes.
const maxPlanField = 4096

// planFields are the known fields of a plan (public documentation) and their kinds: 't'ext,
// 'n'umber, 'f'lag, or anything.
func planFields() map[string]byte {
	return map[string]byte{
		"type": 't', "product": 't', "start": 't', "pool_ip_type": 't', "ip_alloc_preset": 't', "ips_type": 't',
		"vips_type": 't', "bandwidth": 't', "unl_bw_tiers": 't', "country": 't', "country_city": 't',
		"default_country": 't', "vip_country": 't', "vip_country_city": 't', "domain_whitelist": 't', "pool": 't',
		"ips": 'n', "vips": 'n',
		"serp": 'f', "mobile": 'f', "city": 'f', "asn": 'f', "vip": 'f', "ub_premium": 'f', "ip_fallback": 'f',
		"solve_captcha_disable": 'f', "custom_headers": 'f', "exclusive": 'f', "not_gdpr": 'f',
		"auto_cost_override": '*',
	}
}

// Unknown lists the unknown fields, in order.
func (p Plan) Unknown() []string {
	known := planFields()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p)), func(name string) bool { return known[name] != 0 })
}

// Plain is the plan with flags and numbers that came as text ("false", "0") turned into JSON
// values: an early public SDK sends them as text. spelled lists those fields. Other text
// stays, and is refused later.
func (p Plan) Plain() (plain Plan, spelled []string) {
	known := planFields()
	plain = maps.Clone(p)
	for _, name := range slices.Sorted(maps.Keys(p)) {
		var text string
		if json.Unmarshal(p[name], &text) != nil {
			continue
		}
		var number float64
		isFlag := known[name] == 'f' && isFlagText(text)
		isNumber := known[name] == 'n' && text != "null" && json.Unmarshal([]byte(text), &number) == nil
		if isFlag || isNumber {
			plain[name] = json.RawMessage(text)
			spelled = append(spelled, name)
		}
	}
	return plain, spelled
}

func isFlagText(v string) bool { return slices.Contains([]string{"true", "false", "0", "1"}, v) }

func (p Plan) text(name string) string {
	var v string
	_ = json.Unmarshal(p[name], &v) // check refused everything but text
	return v
}

func (p Plan) flag(name string) bool {
	v := string(p[name])
	return v == "true" || v == "1"
}

func textJSON(v string) json.RawMessage {
	b, _ := json.Marshal(v) // a string always encodes
	return b
}

// check names every field that is unknown or of the wrong kind. loose accepts unknown ones.
func (p Plan) check(loose bool, bad *answer.InvalidError) {
	known := planFields()
	for _, name := range slices.Sorted(maps.Keys(p)) {
		kind, ok := known[name]
		raw := p[name]
		var text string
		var number float64
		switch {
		case len(raw) > maxPlanField:
			bad.Add("plan.%s is longer than %d bytes", name, maxPlanField)
		case !ok && !loose:
			bad.Add("plan.%s is not allowed", name)
		case kind == 't' && json.Unmarshal(raw, &text) != nil:
			bad.Add("plan.%s must be a string", name)
		case kind == 'n' && json.Unmarshal(raw, &number) != nil:
			bad.Add("plan.%s must be a number", name)
		case kind == 'f' && !isFlagText(string(raw)):
			bad.Add("plan.%s must be true or false", name)
		}
	}
}

// product reads the recipe of a plan (public documentation). The type beside the plan has no
// effect: an ISP zone without pool_ip_type is a datacenter zone.
func (p Plan) product(bad *answer.InvalidError) string {
	switch t := p.text("type"); t {
	case "unblocker":
		if p.flag("serp") {
			return "serp"
		}
		return "unlocker"
	case "serp":
		return "serp"
	case "browser_api":
		return "browser"
	case "resident":
		switch {
		case p.flag("serp"):
			return "serp"
		case p.flag("mobile"):
			return "mobile"
		}
		return "residential"
	case "static":
		if c := p.text("country"); c != strings.ToLower(c) {
			bad.Add("plan.country: no IPs available (countries are written in lower case)")
		}
		if p.text("pool_ip_type") != "static_res" {
			return "datacenter"
		}
		if p.text("bandwidth") == "unlimited" && p.text("unl_bw_tiers") != "std" {
			bad.Add(`plan.unl_bw_tiers must be "std" for unlimited bandwidth`)
		}
		return "isp"
	case "crawl", "scrapers", "datasets", "discover", "deep_lookup", "agent":
		return t // the emulator's words: no public recipe is known
	case "":
		bad.Add("plan.type is required")
	default:
		bad.Add("plan.type %q is not known", t)
	}
	return ""
}

// planOf is the recipe of a zone that the scenario describes by its product.
func planOf(product string) Plan {
	recipes := map[string]string{
		"datacenter":  `{"type":"static","ips_type":"shared","ip_alloc_preset":"shared_block"}`,
		"isp":         `{"type":"static","ips_type":"shared","pool_ip_type":"static_res"}`,
		"residential": `{"type":"resident","vips_type":"shared"}`,
		"mobile":      `{"type":"resident","mobile":true}`,
		"serp":        `{"type":"unblocker","serp":true}`,
	}
	p := Plan{"type": textJSON(TypeOf(product))}
	if recipe, ok := recipes[product]; ok {
		_ = json.Unmarshal([]byte(recipe), &p) // is JSON, see above
	}
	return p
}

// shown is the plan with what the service adds to it.
func (p Plan) shown(r *record) Plan {
	out := maps.Clone(p)
	if out == nil {
		out = Plan{}
	}
	out["start"] = textJSON(r.Created.UTC().Format(time.RFC3339))
	out["product"] = textJSON(TypeOf(r.Product))
	if r.Status == Disabled {
		out["disabled"] = json.RawMessage("1")
	}
	return out
}

// Plan is the zone's plan as its settings show it.
func (z Zone) Plan() Plan {
	if z.rec == nil {
		return Plan{}
	}
	return z.rec.Plan.shown(z.rec)
}

// TypeOf is a product's word on the wire; see [Zone.Type].
func TypeOf(product string) string {
	words := map[string]string{"datacenter": "dc", "residential": "res_rotating", "unlocker": "unblocker", "browser": "browser_api"}
	return cmp.Or(words[product], product)
}
