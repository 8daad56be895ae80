package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/export"
	"zonedeck/service/view"
)

func (a *app) proxyCommand() *cobra.Command {
	return group("proxy", "Make, test and replace the logins of native access", a.proxyURLCommand(), a.proxyTestCommand(), a.proxyMatrixCommand(), a.proxyPasswordCommand())
}

type proxyFlags struct {
	zone, country, session, target string
	rounds                         int
	reveal, json                   bool
}

func (f *proxyFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.zone, "zone", "", "zone to use (required)")
	fl.StringVar(&f.country, "country", "", "two-letter country code (not shown by the contract)")
	fl.StringVar(&f.session, "session", "", "session that keeps an exit (not shown by the contract)")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
}

// credential builds the credential that the flags describe.
func (t *task) credential(ctx context.Context, f proxyFlags) (config.Profile, model.Zone, model.Credential, error) {
	fail3 := func(err error) (config.Profile, model.Zone, model.Credential, error) {
		return config.Profile{}, model.Zone{}, model.Credential{}, err
	}
	if f.zone == "" {
		return fail3(usage("--zone is missing: name the zone to use"))
	}
	if f.country != "" && !model.ValidCountry(f.country) {
		return fail3(usage("%w", wrongCountry(f.country)))
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return fail3(fail(exitState, "%w", err))
	}
	if p.ProxyHost == "" {
		return fail3(usage("profile %q has no proxy host: set proxy_host in the config file or --proxy-host", p.Name))
	}
	zone, err := t.Zone(p, f.zone)
	if err != nil {
		return fail3(err)
	}
	c := model.Credential{Prefix: p.UsernamePrefix, Account: p.Account, Zone: zone.Name, Params: f.params()}
	if _, err := c.Username(); err != nil {
		return fail3(usage("%w", err))
	}
	d, err := dialect.Find(p.Dialect)
	if err == nil {
		err = d.RefuseParams(c.Params)
	}
	if err != nil {
		return fail3(usage("%w", err))
	}
	return p, zone, c, nil
}

func (f proxyFlags) params() []model.Param {
	var params []model.Param
	if f.country != "" {
		params = append(params, model.Param{Name: "country", Value: f.country})
	}
	if f.session != "" {
		params = append(params, model.Param{Name: "session", Value: f.session})
	}
	return params
}

func (a *app) proxyURLCommand() *cobra.Command {
	var f proxyFlags
	cmd := &cobra.Command{
		Use:   "url --zone Z",
		Short: "Print the proxy URL of a zone, with the password masked",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSession(cmd.Context(), needs{}, func(t *task) error {
				return t.proxyURL(cmd.Context(), f)
			})
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.reveal, "reveal", false, "show the password")
	return cmd
}

func (t *task) proxyURL(ctx context.Context, f proxyFlags) error {
	p, zone, c, err := t.credential(ctx, f)
	if err != nil {
		return err
	}
	username, err := c.Username()
	if err != nil {
		return usage("%w", err)
	}
	password := "••••"
	if f.reveal {
		secret, err := t.ZonePassword(ctx, zone)
		if err != nil {
			return usage("%w", err)
		}
		password = secret.Reveal()
	}
	text := "http://" + username + ":" + password + "@" + p.ProxyAddr()
	if f.reveal {
		text = export.ProxyURL(p.ProxyAddr(), username, password)
	}
	for _, n := range c.Notes(p.ZoneNames()) {
		t.app.say("zonedeck: %s", sanitizeLine(n))
	}
	if !zone.Product.NativeAccess() {
		t.app.say("zonedeck: %s has no native access (contract 5.2): the proxy refuses this login", zone.Product.Label())
	}
	if t.EmulatorEnds() {
		t.app.say("zonedeck: nothing listens at %s once this command has ended: keep the emulator running with an open console ('zonedeck') and ask again, or use the addresses of 'zonedeck emulate'", p.ProxyAddr())
	}
	if f.json {
		return t.app.printJSON(view.ProxyURL{
			URL: text, Proxy: p.ProxyAddr(), Username: username, Password: password, Masked: !f.reveal,
			Zone: string(zone.Name), NeedsCA: zone.NeedsCA(), CA: p.CA,
		})
	}
	if _, err = fmt.Fprintln(t.app.Stdout, text); err != nil {
		return fail(exitState, "write the URL: %w", err)
	}
	return nil
}
