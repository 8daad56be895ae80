package cli

import (
	"context"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/export"
	"zonedeck/service/view"
)

// loginFlags say which login of a zone is meant.
type loginFlags struct {
	Zone    string `flag:"zone" takes:"zone" help:"zone to use (required)"`
	Country string `flag:"country" help:"two-letter country code (not shown by the contract)"`
	Session string `flag:"session" help:"session that keeps an exit (not shown by the contract)"`
	jsonFlag
}

type proxyURLFlags struct {
	loginFlags
	Reveal bool `flag:"reveal" help:"show the password"`
}

// credential builds the credential that the flags describe.
func (t *task) credential(ctx context.Context, f loginFlags) (model.Profile, model.Zone, model.Credential, error) {
	fail3 := func(err error) (model.Profile, model.Zone, model.Credential, error) {
		return model.Profile{}, model.Zone{}, model.Credential{}, err
	}
	if f.Zone == "" {
		return fail3(usage("--zone is missing: name the zone to use"))
	}
	if f.Country != "" && !model.ValidCountry(f.Country) {
		return fail3(usage("--country %q: write a two-letter code in lower case, like de", f.Country))
	}
	if err := model.CheckSession(f.Session); err != nil {
		return fail3(usage("--session %w", err))
	}
	p, err := t.Profile(ctx)
	if err != nil {
		return fail3(fail(exitState, "%w", err))
	}
	if p.ProxyHost == "" {
		return fail3(usage("profile %q has no proxy host: set proxy_host in the config file or --proxy-host", p.Name))
	}
	zone, err := t.Zone(p, f.Zone)
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

func (f loginFlags) params() []model.Param {
	var params []model.Param
	if f.Country != "" {
		params = append(params, model.Param{Name: "country", Value: f.Country})
	}
	if f.Session != "" {
		params = append(params, model.Param{Name: "session", Value: f.Session})
	}
	return params
}

func (a *app) proxyURLCommand() *cobra.Command {
	return command(a, spec[proxyURLFlags]{
		use:   "url --zone ZONE",
		short: "Print the proxy URL of a zone, with the password masked",
		needs: func(proxyURLFlags) needs { return needs{} },
		run:   proxyURL,
	})
}

func proxyURL(ctx context.Context, t *task, f proxyURLFlags, _ []string) (printed, error) {
	p, zone, c, err := t.credential(ctx, f.loginFlags)
	if err != nil {
		return printed{}, err
	}
	username, err := c.Username()
	if err != nil {
		return printed{}, usage("%w", err)
	}
	password := "••••"
	if f.Reveal {
		secret, err := t.ZonePassword(ctx, zone)
		if err != nil {
			return printed{}, usage("%w", err)
		}
		password = secret.Reveal()
	}
	text := "http://" + username + ":" + password + "@" + p.ProxyAddr()
	if f.Reveal {
		text = export.ProxyURL(p.ProxyAddr(), username, password)
	}
	for _, n := range c.Notes(p.ZoneNames()) {
		t.app.say("zonedeck: %s", n)
	}
	if !zone.Product.NativeAccess() {
		t.app.say("zonedeck: %s has no native access (contract 5.2): the proxy refuses this login", zone.Product.Label())
	}
	if t.Local != nil {
		t.app.say("zonedeck: the emulator listens at %s until five seconds after its last user: keep a console ('zonedeck') open, or use the addresses of 'zonedeck emulate'", p.ProxyAddr())
	}
	return printed{text: text + "\n", object: view.ProxyURL{
		URL: text, Proxy: p.ProxyAddr(), Username: username, Password: password, Masked: !f.Reveal,
		Zone: string(zone.Name), NeedsCA: zone.NeedsCA(), CA: p.CA,
	}}, nil
}
