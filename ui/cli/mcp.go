package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/ask"
	"zonedeck/service/dialect"
	"zonedeck/service/snippet"
	"zonedeck/ui/mcp"
)

type mcpFlags struct {
	Profiles []string    `flag:"profiles" takes:"profile" list:"comma" help:"profiles that may be used; the first is used unless a call names another (default: the profile in use)"`
	Zones    []string    `flag:"zones" takes:"zone" list:"comma" help:"zones that fetches, comparisons and batches may use; a job names none (default: all)"`
	Domains  []string    `flag:"allow-domain" list:"comma" help:"hosts that may be fetched; *.HOST for the hosts below HOST (default: all that the profile allows)"`
	MaxCost  dollarsFlag `flag:"max-cost" help:"what all calls of this run together may cost, in dollars, by the rates of the zones"`
	Unpriced bool        `flag:"allow-unpriced" help:"with --max-cost: also allow calls with an unknown price; they are not counted"`
	Inputs   int         `flag:"job-inputs" help:"how many inputs all started jobs together may have (default: no job can be started)"`
	reasonFlag
	Given givenFlags `flag:"*"`
}

func (a *app) mcpCommand() *cobra.Command {
	return command(a, spec[mcpFlags]{
		use:      "mcp",
		defaults: mcpFlags{MaxCost: dollarsFlag{zero: true}},
		short:    "Serve this console to an agent over MCP, under your rules",
		long: `Serves the tools fetch, compare, diagnose, batches, zones, datasets, jobs, keys and
history over MCP on standard input and output, until the client closes its input and
has all answers, or a signal ends it.

The flags are the rules. What they do not allow is refused before anything is
sent. A flag that no profile can comply with is refused at the start.

--max-cost counts fetches and jobs by the rates of their zones. The most that a
call can cost is held back before it is sent; a job that was started counts as
that whole amount. A call with an unknown price is then refused, unless
--allow-unpriced is given. A real account needs --max-cost. Without --job-inputs
no job can be started.

All calls appear in History while they run, marked as the agent's. Your jobs are
followed meanwhile, as by 'zonedeck jobs follow'. If they cannot be followed,
stderr says why.`,
		run: func(ctx context.Context, _ *task, f mcpFlags, _ []string) (printed, error) {
			return printed{}, a.serveMCP(ctx, f)
		},
	})
}

// rules builds the rules from the flags. The error names all mistakes in them.
func (f mcpFlags) rules() (mcp.Rules, error) {
	r := mcp.Rules{Profiles: unique(f.Profiles), Zones: unique(f.Zones), Cost: f.MaxCost.dollars, Capped: f.Given.has("max-cost"), Unpriced: f.Unpriced, Inputs: f.Inputs}
	var wrong []error
	for i, list := range [][]string{f.Profiles, f.Zones, f.Domains} {
		if flag := []string{"profiles", "zones", "allow-domain"}[i]; f.Given.has(flag) && len(list) == 0 { // an empty variable, for example, must not mean all
			wrong = append(wrong, fmt.Errorf("--%s is empty: name at least one, or leave it out for the default", flag))
		}
	}
	for _, d := range f.Domains {
		host, err := mcp.ParseDomain(d)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--allow-domain %w", err))
		}
		r.Domains = append(r.Domains, host)
	}
	for _, z := range r.Zones {
		if _, err := model.ParseZoneName(z); err != nil {
			wrong = append(wrong, fmt.Errorf("--zones %w", err))
		}
	}
	if f.Unpriced && !r.Capped {
		wrong = append(wrong, errors.New("--allow-unpriced needs --max-cost: without a cap every call is allowed"))
	}
	if f.Inputs < 0 {
		wrong = append(wrong, fmt.Errorf("--job-inputs %d: write a number of inputs, 0 or more", f.Inputs))
	}
	return r, errors.Join(wrong...)
}

// serveMCP runs the command. It opens every profile before it serves the client: a mistake in the flags
// or the configuration is reported at once.
func (a *app) serveMCP(ctx context.Context, f mcpFlags) error {
	o := a.options(needs{})
	o.Profile = cmp.Or(append(f.Profiles, o.Profile)...)
	if err := o.AccountNamed(); err != nil {
		return err
	}
	rules, err := f.rules()
	if err != nil {
		return usage("%w", err)
	}
	names := rules.Profiles
	if len(names) == 0 {
		names = []string{""} // the profile in use
	}
	rules.Profiles = nil
	var consoles []mcp.Console
	for _, name := range names {
		console, failed := a.openAgent(ctx, name, f.Reason, rules.Capped)
		if err = failed; err != nil {
			break
		}
		consoles, rules.Profiles = append(consoles, console), append(rules.Profiles, console.Base().Name)
	}
	if err == nil {
		err = haveZones(ctx, consoles, rules.Zones)
	}
	if err != nil {
		for _, c := range consoles {
			err = errors.Join(err, c.Close(ctx))
		}
		return sessionError(fetchError(ctx, err))
	}
	server := mcp.New(mcp.Config{Version: version, Rules: rules, Consoles: consoles, Say: func(format string, args ...any) { a.say("zonedeck: "+format, args...) }})
	a.say("zonedeck: serving MCP on standard input and output. %s", rules.Text())
	if rules.Capped && !rules.Unpriced {
		for _, c := range consoles {
			a.sayUnpriced(c.Base(), rules.Zones)
		}
	}
	ctx, end := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { a.followMeanwhile(ctx, names[0], f.Reason) })
	defer following.Wait()
	defer end()
	if err := server.Run(ctx, a.Stdin, a.Stdout); err != nil {
		return fail(exitState, "%w", err)
	}
	return nil
}

// followMeanwhile follows the operator's jobs while an agent is served. It opens the service separately, because what
// happens to a job is not the agent's doing. Nobody can be asked for a passphrase.
func (a *app) followMeanwhile(ctx context.Context, name, reason string) {
	o := a.options(needs{jobs: true, reason: reason})
	o.Profile, o.Ask, o.Say = cmp.Or(name, o.Profile), ask.Nobody, func(string, ...any) {}
	warn := func(err error) { a.warn("jobs are not followed meanwhile: %s", err) }
	s, err := service.Open(ctx, o)
	if err != nil {
		warn(err)
		return
	}
	var reading sync.WaitGroup
	reading.Go(func() { s.Watch(ctx, func(service.Change) {}) }) // the agent's own profiles stay as they were opened
	s.Jobs.KeepFollowing(ctx, a.warnOfJobs(), warn)
	reading.Wait()
	if err := s.Close(ctx); err != nil {
		warn(err)
	}
}

// sayUnpriced names the zones of a profile whose fetches a cap refuses because their rates are unknown. The service
// shows no rates to a key without access to billing when the profile is added.
func (a *app) sayUnpriced(p model.Profile, allowed []string) {
	var without []string
	for _, z := range p.Zones {
		if !z.Rate.Priced() && z.Product != model.ProductBrowser && (len(allowed) == 0 || slices.Contains(allowed, string(z.Name))) {
			without = append(without, string(z.Name))
		}
	}
	if len(without) == 0 || p.Local { // the emulator gives its rates
		return
	}
	names := strings.Join(without[:min(len(without), fewZones)], ", ")
	if more := len(without) - fewZones; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	measure := ""
	if d, err := dialect.Find(p.Dialect); err == nil && d.ShowsCosts() {
		measure = fmt.Sprintf("measure it by a FINANCE or ADMIN key with '%s zones rates --save --key NAME', ", snippet.With(p.Name))
	}
	a.say("zonedeck: profile %s has no rate for %s: under --max-cost, fetches by such a zone are refused. Give it one with '%s zones rates --set ZONE=DOLLARS', %sor start with --allow-unpriced",
		p.Name, names, snippet.With(p.Name), measure)
}

// fewZones is how many zones a message names.
const fewZones = 8

// openAgent opens a profile for an agent. An empty name means the profile in use.
func (a *app) openAgent(ctx context.Context, name, reason string, capped bool) (mcp.Console, error) {
	o := a.options(needs{reason: reason})
	o.Profile = cmp.Or(name, o.Profile)
	console, notices, err := mcp.Open(ctx, o)
	for _, n := range notices {
		a.say("zonedeck: %s", n)
	}
	if err == nil && !capped && !console.Base().Local {
		err = errors.Join(usage("--max-cost is missing: say what an agent may spend by profile %q, for example --max-cost 2.50", console.Base().Name), console.Close(ctx))
	}
	return console, err
}

// haveZones refuses a zone that none of the profiles has.
func haveZones(ctx context.Context, consoles []mcp.Console, zones []string) error {
	var wrong []error
	for _, z := range zones {
		var lacks []error
		for _, c := range consoles {
			p, err := c.Profile(ctx)
			if err != nil {
				return err //nolint:wrapcheck // it names the profile
			}
			if _, err := p.FindZone(z); err != nil {
				lacks = append(lacks, err)
			}
		}
		if len(lacks) == len(consoles) {
			wrong = append(wrong, fmt.Errorf("--zones %s: %w", z, errors.Join(lacks...)))
		}
	}
	if len(wrong) > 0 {
		return usage("%w; name zones that a profile has, or add them to it with 'zonedeck profiles edit'", errors.Join(wrong...))
	}
	return nil
}
