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
	askFlags
	as, zone, via, session, output string
	adminReason                    string
	reveal, json                   bool
}

func (a *app) exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export URL --as PROGRAM --zone Z",
		Short: "Print a fetch as code for another program; nothing is sent",
		Long: `Prints the fetch that request would make as code for another program:
` + strings.Join(export.Names(), ", ") + `. Nothing is sent.

The program takes the key or the password from its environment. What it cannot
send as it stands is refused with the reason. env, url and pac describe the way
through the proxy and need no URL.

If the page was compared ('zonedeck twin'), a comment in the code says what the
newest comparison showed of this zone and method. {{name}} is a variable: its
value comes from --var, the profile or the environment.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{key: f.key, journal: true, reason: f.adminReason}, func(t *task) error {
				return t.export(cmd.Context(), strings.Join(args, ""), f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.as, "as", "", "program: "+strings.Join(export.Names(), ", ")+" (required)")
	fl.StringVar(&f.zone, "zone", "", "zone to use (required)")
	fl.StringVar(&f.via, "via", "api", "access method: api, native or browser")
	f.addForm(cmd)
	fl.StringVar(&f.session, "session", "", "session that keeps an exit (not shown by the contract)")
	fl.StringVarP(&f.output, "output", "o", "", "file for the code")
	adminFlag(cmd, &f.adminReason)
	fl.BoolVar(&f.reveal, "reveal", false, "write the key or the password itself into the code")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("output", "json")
	return cmd
}

// export runs the command.
func (t *task) export(ctx context.Context, target string, f exportFlags) error {
	rest := model.FetchRequest{Zone: model.Zone{Name: model.ZoneName(f.zone)}, Session: f.session}
	if err := t.fillIn(&f.askFlags, &target, &rest); err != nil {
		return err
	}
	f.zone, f.session = string(rest.Zone.Name), rest.Session
	as, p, req, err := t.exported(ctx, target, f)
	if err != nil {
		return err
	}
	dest := t.app.stdout()
	if f.output != "" {
		if dest, err = t.app.destination(f.output); err != nil {
			return err
		}
	}
	key, _ := t.Keys.Key(cmp.Or(f.key, p.Key))
	s := export.Source{Profile: p, Request: req, Key: key.Secret, Observed: t.observedUse(ctx, p, req)}
	if !req.Via.Login() && !as.Login {
		if err := t.Keys.PermitExport(ctx, key); err != nil {
			return fetchError(ctx, err)
		}
	}
	if f.reveal {
		ref, what := s.SecretRef()
		if ref == "" {
			return usage("--reveal: there is no reference to %s", what)
		}
		secret, err := t.Resolver.Resolve(ctx, ref)
		if err != nil {
			return usage("%w", err)
		}
		s.Secret = secret.Reveal()
	}
	code, err := as.Code(s)
	if err != nil {
		return usage("%w", err)
	}
	if f.reveal {
		_, what := s.SecretRef()
		t.app.warn("the code holds %s in clear: whoever reads it can spend with it", what)
	}
	if t.EmulatorEnds() {
		t.app.say("zonedeck: nothing listens at the emulator's addresses once this command has ended: keep it running with an open console ('zonedeck') and export again")
	}
	if f.json {
		return t.app.printText(true, code)
	}
	return dest.write(ctx, model.BodyRef{Bytes: []byte(code), Size: int64(len(code))})
}

// observedUse is what the newest comparison in the history showed of a request's zone and access method,
// "" without one.
func (t *task) observedUse(ctx context.Context, p config.Profile, r model.FetchRequest) string {
	twin, err := t.History.NewestComparison(ctx, p.Name, r)
	if err != nil {
		return "" // there is none, or no history: the code is the same
	}
	shown, _ := export.Compared(twin, r)
	return shown
}

// exported is what is exported, and for which program. Its error names everything that is
// wrong with the flags.
func (t *task) exported(ctx context.Context, target string, f exportFlags) (export.Target, config.Profile, model.FetchRequest, error) {
	var wrong []error
	as, known := export.Find(f.as)
	if !known {
		wrong = append(wrong, fmt.Errorf("--as %q: write %s", f.as, strings.Join(export.Names(), ", ")))
	}
	if f.zone == "" {
		wrong = append(wrong, errors.New("--zone is missing: name the zone to fetch through"))
	}
	via, err := model.ParseVia(f.via)
	if err != nil {
		wrong = append(wrong, fmt.Errorf("--via: %w", err))
	}
	none := model.FetchRequest{}
	header, err := f.check(target, as.Login, wrong...)
	if err != nil {
		return as, config.Profile{}, none, usage("%w", err)
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return as, p, none, fail(exitState, "%w", err)
	}
	req := f.fetchRequest(target, header)
	req.Via, req.Session = via, f.session
	if req.Zone, err = t.Zone(p, f.zone); err != nil {
		return as, p, none, err
	}
	if f.key != "" {
		err = t.haveKey(p, f.key)
	}
	return as, p, req, err
}
