package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/overview"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

func (a *app) zonesShowCommand() *cobra.Command {
	return command(a, spec[askFlag]{
		use:   "show ZONE",
		short: "Show a zone as the account has it: settings, state, traffic, callers, cost",
		long: `Asks the account for a zone's settings, its state, its traffic of this month (by
UTC), the addresses that lately tried to use it, and what it cost, with one call
for each. The profile's dialect has to know the calls.

Traffic needs a key whose level sees usage, the addresses one that sees IP
lists, costs FINANCE or ADMIN. A part that is not shown says why. No password is
shown.`,
		check: func(_ *askFlag, args []string) error {
			if _, err := model.ParseZoneName(args[0]); err != nil {
				return usage("%w", err)
			}
			return nil
		},
		run: func(ctx context.Context, t *task, f askFlag, args []string) (printed, error) {
			z, err := t.Overview.GetZone(ctx, f.Key, model.ZoneName(args[0]))
			var refused *exchange.CallError
			if errors.As(err, &refused) && slices.Contains([]int{http.StatusNotFound, http.StatusUnprocessableEntity}, refused.Status) {
				return printed{}, usage("%w", err)
			}
			if err != nil {
				return printed{}, jobError(ctx, err)
			}
			return printed{object: view.NewZone(z), rows: zoneRows(z)}, nil
		},
	})
}

func callers(z overview.Zone) []string {
	out := make([]string, len(z.Callers))
	for i, ip := range z.Callers {
		out[i] = ip.String()
	}
	return out
}

// zoneRows shows a zone as a table without a heading.
func zoneRows(z overview.Zone) [][]string {
	p := z.Plan
	rows := [][]string{{"zone", string(z.Name)}, {"type", cmp.Or(p.Type, "not shown")}, {"state", cmp.Or(z.State, z.StateProblem)}}
	add := func(what, value string) {
		if value != "" {
			rows = append(rows, []string{what, value})
		}
	}
	if p.Disabled {
		add("disabled", "its settings say so")
	}
	if !p.Created.IsZero() {
		add("created", p.Created.UTC().Format("2006-01-02 15:04 UTC"))
	}
	add("addresses", p.Addresses)
	add("country", p.Country)
	add("description", p.Description)
	add("may call", strings.Join(p.Callers, ", "))
	add("limit", p.Limit)
	if p.Compromised > 0 {
		add("passwords", fmt.Sprintf("the service calls %d compromised: remove them", p.Compromised))
	}
	add("traffic", traffic(z))
	called := strings.Join(callers(z), ", ")
	if z.Skipped > 0 {
		called += fmt.Sprintf(", and %d that are not addresses", z.Skipped)
	}
	add("called by", cmp.Or(z.CallersProblem, strings.TrimPrefix(called, ", "), "nobody lately"))
	return append(rows, []string{"cost", zoneCost(z.Cost)})
}

// traffic describes the traffic of a zone.
func traffic(z overview.Zone) string {
	if z.TrafficProblem != "" {
		return z.TrafficProblem
	}
	t := z.Traffic
	words := fmt.Sprintf("%s (%s down, %s up), %s", text.Bytes(t.Bytes), text.Bytes(t.Down), text.Bytes(t.Up), text.Counted(int(t.Requests), "request"))
	if t.Billable > 0 {
		words += fmt.Sprintf(", %s charged", text.Count(int(t.Billable)))
	}
	return words + days(z.From, z.To)
}

// zoneCost is the cost of a zone, or why it is unknown.
func zoneCost(c model.ZoneCost) string {
	if c.From.IsZero() {
		return c.Problem
	}
	return model.SmallDollars(c.Dollars) + days(c.From, c.To)
}

// days gives the days from one to another, without the latter.
func days(from, to time.Time) string {
	return fmt.Sprintf(" from %s to %s", from.Format(time.DateOnly), to.AddDate(0, 0, -1).Format(time.DateOnly))
}
