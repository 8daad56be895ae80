package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
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
				ref, age := "", "-"
				if z.Password != "" {
					ref, age = keystore.Ref(z.Password).Label(), "unknown"
				}
				if !changed.IsZero() {
					age = text.Ago(changed, now)
				}
				out.Zones = append(out.Zones, view.NewListedZone(z, ref, changed))
				rows = append(rows, []string{string(z.Name), string(z.Product), z.Rate.String(), cmp.Or(ref, "-"), age})
			}
			return printed{object: out, rows: rows}, nil
		},
	})
}
