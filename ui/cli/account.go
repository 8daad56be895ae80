package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"zonedeck/model"
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
	if acc.BalanceProblem != "" {
		rows = append(rows, []string{"balance", acc.BalanceProblem})
	} else {
		rows = append(rows, []string{"balance", signed(acc.Balance.Dollars)})
		if acc.Balance.Pending != nil {
			rows = append(rows, []string{"pending", signed(*acc.Balance.Pending)})
		}
		if acc.Balance.Credit != 0 {
			rows = append(rows, []string{"credit", signed(acc.Balance.Credit)})
		}
		if acc.Balance.Prepayment != 0 {
			rows = append(rows, []string{"prepayment", signed(acc.Balance.Prepayment)})
		}
	}
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

// signed is an amount that may be a debt.
func signed(dollars float64) string {
	if dollars < 0 {
		return "-" + model.SmallDollars(-dollars)
	}
	return model.SmallDollars(dollars)
}
