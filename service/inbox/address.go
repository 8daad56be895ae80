package inbox

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"zonedeck/model"
)

// ErrNoAddress says that there is no address to give to a service.
var ErrNoAddress = errors.New("no zonedeck receives webhooks: begin with 'zonedeck webhook listen', or on the page of the inbox")

// NewAddress makes an address of the inbox for one job. warning says why the service may not reach it, or is empty.
func (b *Inbox) NewAddress(ctx context.Context) (address, warning string, err error) {
	if _, err := os.Stat(b.cfg.Paths.InboxDir()); errors.Is(err, os.ErrNotExist) {
		return "", "", ErrNoAddress // nobody has received yet; do not make an inbox only to ask
	}
	in, err := b.Open(ctx)
	if err != nil {
		return "", "", err
	}
	public := b.cfg.Profiles.File().Webhook().PublicURL
	place, ok := in.Listening()
	if !ok {
		return "", "", ErrNoAddress
	}
	p := b.cfg.Profiles.Profile()
	if p.Local || reachesLoopback(p) {
		return model.WebhookAddress(nearby(place.URL), newToken()), "", nil
	}
	if public == "" {
		warning = "the service cannot reach " + place.URL + ", an address of this machine: set public_url in [webhook] to the address of a tunnel or a proxy that leads there"
		public = place.URL
	}
	return model.WebhookAddress(public, newToken()), warning, nil
}

// Unreachable says why the service of the profile in use may not reach this machine, or is empty.
func (b *Inbox) Unreachable() string {
	if p := b.cfg.Profiles.Profile(); p.Local || reachesLoopback(p) || b.cfg.Profiles.File().Webhook().PublicURL != "" {
		return ""
	}
	return "a real service cannot reach this machine; public_url in [webhook] names a tunnel or a proxy that leads here"
}

// nearby is the URL of a receiver for this machine: an unspecified address cannot be dialled.
func nearby(place string) string {
	u, err := url.Parse(place)
	if err != nil {
		return place
	}
	switch u.Hostname() {
	case "0.0.0.0":
		u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	case "::":
		u.Host = net.JoinHostPort("::1", u.Port())
	}
	return u.String()
}

func newToken() string { return strings.ToLower(rand.Text()) }

// reachesLoopback reports whether the profile's service runs on this machine.
func reachesLoopback(p model.Profile) bool {
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || err == nil && a.IsLoopback()
}
