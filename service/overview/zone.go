package overview

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/rates"
)

// Zone is what an account says of one zone. A part that could not be had has a problem.
type Zone struct {
	Profile string
	Name    model.ZoneName

	Plan dialect.ZonePlan

	// State is the service's own word.
	State        string
	StateProblem string

	// Traffic is of the days From to the one before To: this month's, by UTC.
	Traffic        model.Traffic
	From, To       time.Time
	TrafficProblem string

	// Callers are the addresses that lately tried to use it; Skipped counts entries that are none.
	Callers        []netip.Addr
	Skipped        int
	CallersProblem string

	// Cost has a Problem of its own.
	Cost model.ZoneCost
}

// GetZone asks for the settings, the state, the traffic, the callers and the cost of one zone, one call
// for each. The zone need not be in the profile. Without its settings, which every level may see,
// nothing else is asked; each other part has a problem of its own. No password is kept.
func (cfg Config) GetZone(ctx context.Context, keyName string, zone model.ZoneName) (Zone, error) {
	defer cfg.Wire.Begin()()
	a, err := begin(ctx, cfg, keyName)
	if err != nil {
		return Zone{}, err
	}
	if !a.d.ShowsUse() {
		return Zone{}, fmt.Errorf("asking for a zone: %w; the dialect %s knows where", dialect.ErrNotShown, dialect.WithUse())
	}
	now := cfg.Now().UTC()
	out := Zone{Profile: a.p.Name, Name: zone, To: time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)}
	out.From = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	path, query := a.d.AccountZone(zone)
	if err := a.read(ctx, "zone "+string(zone), path, query, func(body []byte) (err error) {
		out.Plan, err = a.d.ReadZonePlan(body)
		return err
	}); err != nil {
		return out, err
	}
	a.maskPlan(&out.Plan)
	for _, part := range []struct {
		doing   string
		to      func() (string, url.Values)
		read    func(body []byte) error
		problem *string
	}{
		{"its state", func() (string, url.Values) { return a.d.ZoneState(zone) }, func(body []byte) (err error) {
			out.State, err = a.d.ReadZoneState(body)
			out.State = a.mask.Text(out.State)
			return err
		}, &out.StateProblem},
		{"its traffic", func() (string, url.Values) { return a.d.ZoneTraffic(zone, out.From, out.To) }, func(body []byte) (err error) {
			out.Traffic, err = a.d.ReadTraffic(zone, body)
			return err
		}, &out.TrafficProblem},
		{"its callers", func() (string, url.Values) { return a.d.ZoneCallers(zone) }, func(body []byte) (err error) {
			out.Callers, out.Skipped, err = a.d.ReadCallers(zone, body)
			return err
		}, &out.CallersProblem},
	} {
		path, query := part.to()
		if *part.problem, err = a.problem(ctx, a.read(ctx, part.doing, path, query, part.read)); err != nil {
			return out, err
		}
	}
	out.Cost, err = a.zoneCost(ctx, keyName, zone, out.Plan.Product())
	return out, err
}

// zoneCost measures what one zone cost; what is in the way is the Problem. Of a zone that the profile
// does not have the product is the account's.
func (a *asker) zoneCost(ctx context.Context, keyName string, zone model.ZoneName, product model.Product) (model.ZoneCost, error) {
	z, known := a.p.Zone(string(zone))
	if !known {
		z = model.Zone{Name: zone, Product: product}
	}
	one := a.p
	one.Zones = []model.Zone{z}
	costs, err := rates.Measure(ctx, rates.Config{Source: exchange.As(a.cfg.Source, one), Wire: a.cfg.Wire}, keyName)
	problem, err := a.problem(ctx, err)
	if len(costs) != 1 {
		return model.ZoneCost{Zone: z, Problem: problem}, err
	}
	return costs[0], err
}

// read asks once, and reads the answer.
func (a *asker) read(ctx context.Context, doing, path string, query url.Values, into func(body []byte) error) error {
	body, err := a.get(ctx, doing, path, query)
	if err != nil {
		return err
	}
	if err := into(body); err != nil {
		return a.malformed(doing, err)
	}
	return nil
}

// maskPlan masks what was decoded.
func (a *asker) maskPlan(p *dialect.ZonePlan) {
	for _, s := range []*string{&p.Type, &p.Addresses, &p.Country, &p.Description, &p.Limit} {
		*s = a.mask.Text(*s)
	}
	for i := range p.Callers {
		p.Callers[i] = a.mask.Text(p.Callers[i])
	}
}
