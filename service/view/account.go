package view

import (
	"net/netip"
	"time"

	"zonedeck/model"
	"zonedeck/service/overview"
)

// Account is what "account --json" prints (docs/schema/account.json).
type Account struct {
	SchemaVersion   Version    `json:"schema_version"`
	Profile         string     `json:"profile"`
	Account         string     `json:"account" jsonschema:"the account's identifier"`
	Active          bool       `json:"active" jsonschema:"false for a suspended account"`
	State           string     `json:"state" jsonschema:"the service's own word"`
	Balance         *Balance   `json:"balance" jsonschema:"dollars; null where balance_problem says why"`
	BalanceProblem  string     `json:"balance_problem"`
	NetworksUp      *bool      `json:"networks_up" jsonschema:"what the service says of its networks; null where networks_problem says why"`
	NetworksProblem string     `json:"networks_problem"`
	Zones           []ZoneRate `json:"zones" jsonschema:"what each zone of the profile cost, as zones rates says it"`
	ZonesProblem    string     `json:"zones_problem"`
}

// Balance is in dollars; pending is null where it is not shown.
type Balance struct {
	Dollars    float64  `json:"dollars"`
	Credit     float64  `json:"credit"`
	Prepayment float64  `json:"prepayment"`
	Pending    *float64 `json:"pending" jsonschema:"what is not charged yet; null where it is not shown"`
}

// Rates is what "zones rates --json" prints (docs/schema/zones-rates.json).
type Rates struct {
	SchemaVersion Version    `json:"schema_version"`
	Profile       string     `json:"profile"`
	Saved         bool       `json:"saved" jsonschema:"the rates were written into the profile"`
	Zones         []ZoneRate `json:"zones"`
}

// ZoneRate is what a zone cost, and the rate that follows.
type ZoneRate struct {
	Zone        string   `json:"zone"`
	Product     string   `json:"product"`
	From        string   `json:"from" jsonschema:"the first day, like 2027-02-01; empty when the service shows none"`
	To          string   `json:"to" jsonschema:"the first day after the last one"`
	Cost        float64  `json:"cost" jsonschema:"dollars"`
	Requests    float64  `json:"requests" jsonschema:"that were charged; 0 where they are not shown"`
	Bytes       float64  `json:"bytes"`
	RatePer1000 *float64 `json:"rate_per_1000" jsonschema:"dollars for 1,000 requests"`
	RatePerGB   *float64 `json:"rate_per_gb" jsonschema:"dollars for 10^9 bytes"`
	Problem     string   `json:"problem"`
}

func newZoneRate(c model.ZoneCost) ZoneRate {
	one := ZoneRate{Zone: string(c.Zone.Name), Product: string(c.Zone.Product), Cost: c.Dollars, Requests: c.Requests, Bytes: c.Bytes, Problem: c.Problem}
	if !c.From.IsZero() {
		one.From, one.To = c.From.Format(time.DateOnly), c.To.Format(time.DateOnly)
	}
	one.RatePer1000, one.RatePerGB = known(c.Rate.Per1000, c.Rate.Per1000 > 0), known(c.Rate.PerGB, c.Rate.PerGB > 0)
	return one
}

// Zones is what "zones list --json" prints (docs/schema/zones.json).
type Zones struct {
	SchemaVersion Version      `json:"schema_version"`
	Profile       string       `json:"profile"`
	Zones         []ListedZone `json:"zones"`
}

// ListedZone is a zone as the config file has it.
type ListedZone struct {
	ProfileZone
	PasswordChanged *time.Time `json:"password_changed" jsonschema:"the end of its last rotation here; null if there was none"`
}

// NewListedZone is a zone whose password was rotated at a moment.
func NewListedZone(z model.Zone, changed time.Time) ListedZone {
	return ListedZone{newProfileZone(z), stamp(changed)}
}

// Zone is what "zones show --json" prints (docs/schema/zone.json). A part is null where its
// problem says why.
type Zone struct {
	SchemaVersion Version `json:"schema_version"`
	Profile       string  `json:"profile"`
	Zone          string  `json:"zone"`

	Type                 string   `json:"type" jsonschema:"the service's own word; empty where it shows none"`
	Created              string   `json:"created" jsonschema:"RFC 3339, UTC; empty where it is not shown"`
	Addresses            string   `json:"addresses" jsonschema:"the service's own word, as shared or dedicated"`
	Country              string   `json:"country" jsonschema:"the country it exits from by default"`
	Description          string   `json:"description"`
	Disabled             bool     `json:"disabled"`
	AllowedIPs           []string `json:"allowed_ips" jsonschema:"who may use it; any is everybody"`
	UsageLimit           string   `json:"usage_limit" jsonschema:"the use that it stops at, as 5 $ a month"`
	CompromisedPasswords int      `json:"compromised_passwords" jsonschema:"how many of its passwords the service calls compromised"`

	State          string   `json:"state" jsonschema:"the service's own word; empty where state_problem says why"`
	StateProblem   string   `json:"state_problem"`
	Traffic        *Traffic `json:"traffic" jsonschema:"of this month; null where traffic_problem says why"`
	TrafficProblem string   `json:"traffic_problem"`
	Callers        []string `json:"callers" nullable:"true" jsonschema:"addresses that lately tried to use it; null where callers_problem says why"`
	CallersProblem string   `json:"callers_problem"`
	Cost           ZoneRate `json:"cost" jsonschema:"what it cost, as zones rates says it; problem says why where it is not known"`
}

// Traffic is of the days from from to the one before to.
type Traffic struct {
	From             string `json:"from" jsonschema:"the first day, like 2027-02-01, by UTC"`
	To               string `json:"to" jsonschema:"the first day after the last one"`
	Bytes            int64  `json:"bytes"`
	BytesDown        int64  `json:"bytes_down"`
	BytesUp          int64  `json:"bytes_up"`
	Requests         int64  `json:"requests"`
	RequestsBillable int64  `json:"requests_billable" jsonschema:"that are charged by their number; 0 for a product that is not"`
}

// NewAccount is an account as the service shows it.
func NewAccount(acc overview.Account) Account {
	out := Account{
		Profile: acc.Profile, Account: string(acc.ID), Active: acc.Active, State: acc.Word,
		BalanceProblem: acc.BalanceProblem, NetworksProblem: acc.NetworksProblem, Zones: each(acc.Zones, newZoneRate), ZonesProblem: acc.ZonesProblem,
		NetworksUp: known(acc.NetworksUp, acc.NetworksProblem == ""),
	}
	if acc.BalanceProblem == "" {
		out.Balance = &Balance{acc.Balance.Dollars, acc.Balance.Credit, acc.Balance.Prepayment, acc.Balance.Pending}
	}
	return out
}

// NewRates are the rates that were measured for a profile's zones.
func NewRates(profile string, costs []model.ZoneCost) Rates {
	return Rates{Profile: profile, Zones: each(costs, newZoneRate)}
}

// NewZone is a zone as the account has it.
func NewZone(z overview.Zone) Zone {
	p := z.Plan
	out := Zone{
		Profile: z.Profile, Zone: string(z.Name),
		Type: p.Type, Created: moment(p.Created), Addresses: p.Addresses, Country: p.Country, Description: p.Description, Disabled: p.Disabled, AllowedIPs: list(p.Callers),
		UsageLimit: p.Limit, CompromisedPasswords: p.Compromised, State: z.State, StateProblem: z.StateProblem,
		TrafficProblem: z.TrafficProblem, CallersProblem: z.CallersProblem, Cost: newZoneRate(z.Cost),
	}
	if t := z.Traffic; z.TrafficProblem == "" {
		out.Traffic = &Traffic{z.From.Format(time.DateOnly), z.To.Format(time.DateOnly), t.Bytes, t.Down, t.Up, t.Requests, t.Billable}
	}
	if z.CallersProblem == "" {
		out.Callers = each(z.Callers, netip.Addr.String)
	}
	return out
}
