package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"zonedeck/service/overview"
	"zonedeck/service/view"
)

func (a *app) accountCommand() *cobra.Command {
	return command(a, spec[askFlag]{
		use:   "account",
		short: "Show the account: its state, balance, networks, and what its zones cost",
		long: `Asks the service for the state of the profile's account, its balance, whether
the service's networks are up, and what each zone of the profile cost. The
profile's dialect has to know the calls.

Balance and costs need a key with access to billing: FINANCE or ADMIN. With
another key these parts say so, and the rest is shown all the same.`,
		run: func(ctx context.Context, t *task, f askFlag, _ []string) (printed, error) {
			acc, err := t.Overview.GetAccount(ctx, f.Key)
			if err != nil {
				return printed{}, jobError(ctx, err)
			}
			return printed{object: view.NewAccount(acc), rows: accountRows(acc)}, nil
		},
	})
}

// accountRows shows the account as a table without a heading.
func accountRows(acc overview.Account) [][]string {
	state := "suspended"
	if acc.Active {
		state = "active"
	}
	rows := [][]string{{"account", string(acc.ID)}, {"state", fmt.Sprintf("%s (%s)", state, cmp.Or(acc.Word, "no word"))}}
	rows = append(rows, []string{"balance", cmp.Or(acc.BalanceProblem, acc.Balance.String())})
	networks := "down, the service says"
	if acc.NetworksUp {
		networks = "up, the service says"
	}
	rows = append(rows, []string{"networks", cmp.Or(acc.NetworksProblem, networks)})
	if acc.ZonesProblem != "" {
		rows = append(rows, []string{"zones", acc.ZonesProblem})
	}
	for _, z := range acc.Zones {
		rows = append(rows, []string{"zone " + string(z.Zone.Name), zoneCost(z)})
	}
	return rows
}
