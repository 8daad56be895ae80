package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/profiles"
	"zonedeck/service/rates"
	"zonedeck/service/view"
)

type ratesFlags struct {
	Key  string   `flag:"key" takes:"key" help:"key of the inventory to ask with, of level FINANCE or ADMIN (default: the profile's)"`
	Save bool     `flag:"save" help:"write the rates into the profile"`
	Set  []string `flag:"set" list:"comma" help:"write these rates into the profile, and ask nothing: ZONE=1.5 is dollars for 1,000 requests, ZONE=8/GB for 10^9 bytes"`
	reasonFlag
	jsonFlag
}

func (a *app) zonesRatesCommand() *cobra.Command {
	return command(a, spec[ratesFlags]{
		use:   "rates",
		short: "Measure the rate of each zone by what it cost the account",
		long: `Asks the account what each zone of the profile cost, with one call for each, and
divides it by the requests (SERP, unlocker) or bytes (the others) that it shows
for the same days. The result is a measured rate, not a price list.

The profile's dialect has to know the call, and the key has to have access to
billing: FINANCE or ADMIN.

With --save the rates are written into config.toml, as rate_per_1000 and
rate_per_gb of the zones. --set writes those that you know, and needs no key.`,
		needs: func(f ratesFlags) needs {
			return needs{key: f.Key, journal: true, reason: f.Reason}
		},
		run: zonesRates,
	})
}

func zonesRates(ctx context.Context, t *task, f ratesFlags, _ []string) (printed, error) {
	keep := f.Save || len(f.Set) > 0
	switch err := t.Profiles.RefuseRates(); {
	case keep && errors.Is(err, profiles.ErrOwnRates):
		return printed{}, usage("%w", err)
	case keep && err != nil:
		return printed{}, err
	}
	var costs []model.ZoneCost
	var err error
	if len(f.Set) > 0 {
		costs, err = givenRates(t.Base, f)
	} else {
		costs, err = t.Overview.MeasureRates(ctx, f.Key)
	}
	switch {
	case errors.Is(err, rates.ErrRefused):
		return printed{}, fail(exitRefused, "%w", err)
	case ctx.Err() == nil && errors.Is(err, rates.ErrNoAnswer):
		return printed{}, fail(exitNetwork, "%w", err)
	case err != nil:
		return printed{}, fetchError(ctx, err)
	}
	out, rows := view.NewRates(t.Base.Name, costs), [][]string{{"ZONE", "RATE", "MEASURED FROM"}}
	found := map[model.ZoneName]model.Rate{}
	for _, c := range costs {
		if c.Rate.Priced() {
			found[c.Zone.Name] = c.Rate
		}
		if was := c.Zone.Rate; len(f.Set) > 0 && was.Priced() && was != c.Rate {
			t.app.say("zonedeck: zone %s: %s takes the place of %s", c.Zone.Name, c.Rate, was)
		}
		basis := "--set"
		if len(f.Set) == 0 {
			basis = c.Basis()
		}
		rows = append(rows, []string{string(c.Zone.Name), c.Rate.String(), basis})
	}
	note := ""
	if keep {
		note = "no rate was saved"
	}
	if keep && len(found) > 0 {
		if err = t.Profiles.SaveRates(ctx, found); err != nil {
			err = fail(exitState, "%w", err)
		} else {
			out.Saved, note = true, "the rates stand in profile "+out.Profile
		}
	}
	return printed{object: out, rows: rows, note: note}.withError(err)
}

// givenRates are those of --set.
func givenRates(p model.Profile, f ratesFlags) (costs []model.ZoneCost, err error) {
	if f.Save || f.Key != "" {
		return nil, usage("--set asks nothing: leave --save and --key away")
	}
	for _, text := range f.Set {
		name, given, ok := strings.Cut(text, "=")
		rate, err := model.ParseRate(given)
		zone, known := p.Zone(name)
		switch {
		case !ok:
			return nil, usage("--set %s: write ZONE=RATE, such as unlocker1=1.5", model.Cut(text, 60))
		case !known:
			return nil, usage("--set %s: profile %s has no zone of this name", model.Cut(text, 60), p.Name)
		case err != nil:
			return nil, usage("--set %s: %w", model.Cut(text, 60), err)
		}
		at := slices.IndexFunc(costs, func(c model.ZoneCost) bool { return c.Zone.Name == zone.Name })
		if at < 0 {
			at, costs = len(costs), append(costs, model.ZoneCost{Zone: zone})
		}
		costs[at].Rate.Per1000, costs[at].Rate.PerGB = cmp.Or(rate.Per1000, costs[at].Rate.Per1000), cmp.Or(rate.PerGB, costs[at].Rate.PerGB)
	}
	return costs, nil
}
