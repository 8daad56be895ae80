package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/export"
)

type exportFlags struct {
	formFlags
	As      string `flag:"as" takes:"program"`
	Zone    string `flag:"zone" takes:"zone" help:"zone to use (required)"`
	Via     string `flag:"via" takes:"api|native|browser" default:"api" help:"access method: api, native or browser"`
	Session string `flag:"session" help:"session that keeps an exit (not shown by the contract)"`
	Output  string `flag:"output" takes:"output" short:"o" without:"json" help:"file for the code"`
	requestSource
	Given  givenFlags `flag:"*"`
	Reveal bool       `flag:"reveal" help:"write the key or the password itself into the code"`
	reasonFlag
	jsonFlag
}

func (f exportFlags) needs() needs { return needs{key: f.Key, journal: true, reason: f.Reason} }

func (a *app) exportCommand() *cobra.Command {
	return command(a, spec[exportFlags]{
		use:   "export [URL] --as PROGRAM --zone ZONE",
		short: "Print a fetch as code for another program; nothing is sent",
		long: `Prints the fetch that request would make as code for another program:
` + strings.Join(export.Names(), ", ") + `. Nothing is sent.

--saved, --fetch, --template, --curl and --har take the request from there, as for
request; flags beside them win.

The program takes the key or the password from its environment. It ends with an
error if its answer is not ok by its status, required fields or signs of a wall;
curl looks at the status alone. What a program cannot send as it stands is
refused with the reason. env, url and pac describe the way through the proxy and
need no URL.

If the page was compared ('zonedeck compare'), a comment in the code says what the
newest comparison showed of this zone and method. If the zone was probed for that
host ('zonedeck batch probe'), the code holds to what was found safe. {{name}} is a
variable: its value comes from --var, the profile or the environment.`,
		help: map[string]string{"as": "program: " + strings.Join(export.Names(), ", ") + " (required)"},
		run:  exportFetch,
	})
}

func exportFetch(ctx context.Context, t *task, f exportFlags, args []string) (printed, error) {
	target := firstOf(args)
	c := composedFlags{askFlags: askFlags{formFlags: f.formFlags}, Zone: f.Zone, Via: f.Via, Session: f.Session, requestSource: f.requestSource}
	if err := t.compose(ctx, f.Given.has, &target, &c, false); err != nil {
		return printed{}, err
	}
	f.formFlags, f.Zone, f.Via, f.Session = c.formFlags, c.Zone, c.Via, c.Session
	as, p, req, err := t.exported(ctx, target, f)
	if err != nil {
		return printed{}, err
	}
	dest, err := t.app.destination(f.Output)
	if err != nil {
		return printed{}, err
	}
	key, _ := t.Keys.Key(cmp.Or(f.Key, p.Key))
	s := export.Source{Profile: p, Request: req, Key: key.Secret, Observed: t.observedUse(ctx, p, req)}
	s.AtOnce, s.Probed = t.Fetch.SafePace(ctx, p.Name, req)
	if req.Via.Login() || as.Login {
		err = config.RefuseLogin(p, req.Zone)
	} else if err = t.Keys.PermitExport(ctx, key); err != nil {
		err = fetchError(ctx, err)
	}
	if err != nil {
		return printed{}, err
	}
	if f.Reveal {
		ref, what := s.SecretRef()
		if ref == "" {
			return printed{}, usage("--reveal: there is no reference to %s", what)
		}
		secret, err := t.Resolver.Resolve(ctx, ref)
		if err != nil {
			return printed{}, usage("%w", err)
		}
		s.Secret = secret.Reveal()
	}
	code, err := as.Code(s)
	if err != nil {
		return printed{}, usage("%w", err)
	}
	if f.Reveal {
		_, what := s.SecretRef()
		t.app.warn("the code holds %s in clear: whoever reads it can spend with it", what)
	}
	if t.Local != nil {
		t.app.say("zonedeck: the emulator listens at these addresses until five seconds after its last user: keep a console ('zonedeck') open")
	}
	if f.JSON {
		return printed{}, t.app.printJSON(printedText(code).object)
	}
	return printed{}, dest.write(ctx, model.BodyRef{Bytes: []byte(code), Size: int64(len(code))})
}

// observedUse is what the newest comparison of a request's page showed for its zone and access method, or "".
func (t *task) observedUse(ctx context.Context, p model.Profile, r model.FetchRequest) string {
	kept, err := t.History.NewestComparison(ctx, p.Name, r)
	if err != nil {
		return "" // no comparison, or no history: the code is complete without it
	}
	shown, _ := export.Compared(kept, r)
	return shown
}

// exported returns the program to export for, the profile and the request. Its error names all
// mistakes in the flags.
func (t *task) exported(ctx context.Context, target string, f exportFlags) (export.Target, model.Profile, model.FetchRequest, error) {
	var wrong []error
	as, known := export.Find(f.As)
	if !known {
		wrong = append(wrong, fmt.Errorf("--as %q: write %s", f.As, strings.Join(export.Names(), ", ")))
	}
	if f.Zone == "" {
		wrong = append(wrong, errors.New("--zone is missing: name the zone to fetch through"))
	}
	via, err := model.ParseVia(f.Via)
	if err != nil {
		wrong = append(wrong, fmt.Errorf("--via: %w", err))
	}
	form := askFlags{formFlags: f.formFlags}
	d := form.draft(target)
	d.AnyZone = true // what the program cannot send is refused with the code
	d.Request.Via, d.Request.Session, d.Request.Zone.Name = via, f.Session, model.ZoneName(f.Zone)
	p, req, zones, err := t.checked(ctx, form, d, as.Login, wrong...)
	if err == nil {
		req.Zone = zones[0]
	}
	return as, p, req, err
}
