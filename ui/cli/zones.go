package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/profiles"
	"zonedeck/service/rates"
	"zonedeck/service/view"
)

type ratesFlags struct {
	Key  string `flag:"key" help:"key of the inventory to ask with, of level FINANCE or ADMIN (default: the profile's)"`
	Save bool   `flag:"save" help:"write the rates into the profile"`
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
rate_per_gb of the zones.`,
		needs: func(f ratesFlags) needs { return needs{key: f.Key, journal: true, reason: f.Reason} },
		run:   zonesRates,
	})
}

func zonesRates(ctx context.Context, t *task, f ratesFlags, _ []string) (printed, error) {
	switch err := t.Profiles.RefuseRates(); {
	case f.Save && errors.Is(err, profiles.ErrOwnRates):
		return printed{}, usage("%w", err)
	case f.Save && err != nil:
		return printed{}, err
	}
	costs, err := t.Overview.MeasureRates(ctx, f.Key)
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
		rows = append(rows, []string{string(c.Zone.Name), c.Rate.String(), c.Basis()})
	}
	note := ""
	if f.Save {
		note = "no rate was saved"
	}
	if f.Save && len(found) > 0 {
		if err = t.Profiles.SaveRates(ctx, found); err != nil {
			err = fail(exitState, "%w", err)
		} else {
			out.Saved, note = true, "the rates stand in profile "+out.Profile
		}
	}
	return printed{object: out, rows: rows, note: note}.withError(err)
}
