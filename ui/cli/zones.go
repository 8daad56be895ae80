package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/rates"
	"zonedeck/service/view"
	"zonedeck/ui/cli/session"
)

func (a *app) zonesCommand() *cobra.Command {
	return group("zones", "Show a zone as the account has it, and measure what zones cost", a.zonesShowCommand(), a.zonesRatesCommand())
}

type ratesFlags struct {
	key, adminReason string
	save, json       bool
}

func (a *app) zonesRatesCommand() *cobra.Command {
	var f ratesFlags
	cmd := &cobra.Command{
		Use:   "rates",
		Short: "Measure the rate of each zone by what it cost the account",
		Long: `Asks the account what each zone of the profile cost, with one call for each, and
divides it by the requests (SERP, unlocker) or bytes (the others) that it shows
for the same days. The result is a measured rate, not a price list.

The profile's dialect has to know the call, and the key has to have access to
billing: FINANCE or ADMIN.

With --save the rates are written into config.toml, as rate_per_1000 and
rate_per_gb of the zones.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSession(cmd.Context(), needs{key: f.key, journal: true, reason: f.adminReason}, func(t *task) error {
				return t.zonesRates(cmd.Context(), f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.key, "key", "", "key of the inventory to ask with, of level FINANCE or ADMIN (default: the profile's)")
	fl.BoolVar(&f.save, "save", false, "write the rates into the profile")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	adminFlag(cmd, &f.adminReason)
	return cmd
}

func (t *task) zonesRates(ctx context.Context, f ratesFlags) error {
	if f.save && t.Base.Local {
		return usage("%s", session.OwnRates)
	}
	if err := t.Base.Refuse("write rates"); f.save && err != nil {
		return err
	}
	costs, err := t.Client.MeasureRates(ctx, f.key)
	switch {
	case errors.Is(err, rates.ErrRefused):
		return fail(exitRefused, "%w", err)
	case ctx.Err() == nil && errors.Is(err, rates.ErrNoAnswer):
		return fail(exitNetwork, "%w", err)
	case err != nil:
		return fetchError(ctx, err)
	}
	out := view.NewRates(t.Base.Name, costs)
	found := map[model.ZoneName]model.Rate{}
	for _, c := range costs {
		if c.Rate.Priced() {
			found[c.Zone.Name] = c.Rate
		}
	}
	if f.save && len(found) > 0 {
		if err = t.SaveRates(ctx, found); err != nil {
			err = fail(exitState, "%w", err)
		}
		out.Saved = err == nil
	}
	return errors.Join(t.printRates(f, out, costs), err)
}

func (t *task) printRates(f ratesFlags, out view.Rates, costs []model.ZoneCost) error {
	if f.json {
		return t.app.printJSON(out)
	}
	rows := [][]string{{"ZONE", "RATE", "MEASURED FROM"}}
	for _, c := range costs {
		rows = append(rows, []string{string(c.Zone.Name), c.Rate.String(), c.Basis()})
	}
	if err := printColumns(t.app.Stdout, rows); err != nil {
		return err
	}
	switch {
	case out.Saved:
		t.app.say("zonedeck: the rates stand in profile %s", out.Profile)
	case f.save:
		t.app.say("zonedeck: no rate was saved")
	}
	return nil
}
