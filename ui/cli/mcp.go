package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/ui/cli/session"
	"zonedeck/ui/mcp"
)

type mcpFlags struct {
	profiles, zones, domains []string
	maxCost                  float64
	unpriced                 bool
	inputs                   int
}

func (a *app) mcpCommand() *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve this console to an agent, by MCP on standard input and output, under your rules",
		Long: `Serves the tools fetch, twin, diagnose, datasets, jobs, keys and history by MCP on standard
input and output, until the client closes it or a signal ends it. The flags are the rules: what
they do not allow is refused before anything is sent. An ADMIN key is always refused.

--max-cost counts fetches by the rates of their zones: what one may cost at most is held before it
is sent. A call whose price is not known is refused then, unless --allow-unpriced is given. A real
account needs --max-cost. Jobs have no price here, so their budget is counted in inputs: without
--job-inputs none can be started.

Everything stands in Activity, marked, while it happens.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serveMCP(cmd.Context(), f, cmd.Flags().Changed("max-cost"))
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.profiles, "profiles", nil, "profiles that may be used, the usual one first (default: the profile in use)")
	fl.StringSliceVar(&f.zones, "zones", nil, "zones that may be used (default: all)")
	fl.StringSliceVar(&f.domains, "domains", nil, "hosts that may be fetched, *.HOST for those below one (default: all that the profile allows)")
	fl.Float64Var(&f.maxCost, "max-cost", 0, "what all calls together may cost, in dollars by the rates of the zones")
	fl.BoolVar(&f.unpriced, "allow-unpriced", false, "with --max-cost: allow calls whose price is not known, too; they do not count")
	fl.IntVar(&f.inputs, "job-inputs", 0, "how many inputs the jobs that are started may have in all (default: none is started)")
	return cmd
}

// rules are those of the flags. Its error names everything that is wrong with them.
func (f mcpFlags) rules(capped bool) (mcp.Rules, error) {
	r := mcp.Rules{Profiles: unique(f.profiles), Zones: unique(f.zones), Cost: f.maxCost, Capped: capped, Unpriced: f.unpriced, Inputs: f.inputs}
	var wrong []error
	for _, d := range f.domains {
		host, err := mcp.ParseDomain(d)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--domains %w", err))
		}
		r.Domains = append(r.Domains, host)
	}
	for _, z := range r.Zones {
		if _, err := model.ParseZoneName(z); err != nil {
			wrong = append(wrong, fmt.Errorf("--zones %w", err))
		}
	}
	if !(f.maxCost >= 0) || math.IsInf(f.maxCost, 0) {
		wrong = append(wrong, fmt.Errorf("--max-cost %v: write dollars, 0 or more", f.maxCost))
	}
	if f.unpriced && !capped {
		wrong = append(wrong, errors.New("--allow-unpriced needs --max-cost: without a cap every call is allowed"))
	}
	if f.inputs < 0 {
		wrong = append(wrong, fmt.Errorf("--job-inputs %d: write a number of inputs, 0 or more", f.inputs))
	}
	return r, errors.Join(wrong...)
}

// serveMCP runs the command. The first profile is opened before the client is served, so that
// a mistake in the configuration is told at once.
func (a *app) serveMCP(ctx context.Context, f mcpFlags, capped bool) error {
	rules, err := f.rules(capped)
	if err != nil {
		return usage("%w", err)
	}
	a.Stderr = &lineWriter{to: a.Stderr}
	open := func(ctx context.Context, profile string) (mcp.Console, error) {
		o := a.options(needs{})
		o.Profile = cmp.Or(profile, o.Profile)
		console, notices, err := session.OpenAgent(ctx, o)
		for _, n := range notices {
			a.say("zonedeck: %s", sanitizeLine(n))
		}
		if err == nil && !capped && !console.Base().Local {
			err = errors.Join(usage("--max-cost is missing: say what an agent may spend by profile %q, like --max-cost 2.50", console.Base().Name), console.Close(ctx))
		}
		return console, err
	}
	first := ""
	if len(rules.Profiles) > 0 {
		first = rules.Profiles[0]
	}
	console, err := open(ctx, first)
	if err != nil {
		return sessionError(err)
	}
	if len(rules.Profiles) == 0 {
		rules.Profiles = []string{console.Base().Name}
	}
	server := mcp.New(mcp.Config{Version: version, Rules: rules, First: console, Open: open, Say: func(format string, args ...any) {
		a.say("zonedeck: %s", sanitizeLine(fmt.Sprintf(format, args...)))
	}})
	a.say("zonedeck: serving MCP on standard input and output. %s", sanitizeLine(rules.Words()))
	if err := server.Run(ctx, a.Stdin, a.Stdout); err != nil {
		return fail(exitState, "%w", err)
	}
	return nil
}
