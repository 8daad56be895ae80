package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

func (a *app) zonesListCommand() *cobra.Command {
	return command(a, spec[jsonFlag]{
		use:   "list",
		short: "List the zones of the profile: product, rate, password and its age",
		long: `Lists the zones of the profile as the config file has them; nothing is sent. The
age of a password counts from its last rotation here; it is unknown where there
was none.`,
		needs: func(jsonFlag) needs { return needs{} },
		run: func(ctx context.Context, t *task, _ jsonFlag, _ []string) (printed, error) {
			p, err := t.Profile(ctx)
			if err != nil {
				return printed{}, fail(exitState, "%w", err)
			}
			out := view.Zones{Profile: p.Name, Zones: []view.ListedZone{}}
			rows, now := [][]string{{"ZONE", "PRODUCT", "RATE", "PASSWORD", "CHANGED"}}, t.app.Now()
			for _, z := range p.Zones {
				changed, err := t.Rotations(nil).PasswordChanged(p, z)
				if err != nil {
					t.app.warn("%s", err)
				}
				age := "-"
				if z.Password != "" {
					age = "unknown"
				}
				if !changed.IsZero() {
					age = text.Ago(changed, now)
				}
				zone := view.NewListedZone(z, changed)
				out.Zones = append(out.Zones, zone)
				rows = append(rows, []string{string(z.Name), string(z.Product), z.Rate.String(), cmp.Or(zone.Reference, "-"), age})
			}
			return printed{object: out, rows: rows}, nil
		},
	})
}
