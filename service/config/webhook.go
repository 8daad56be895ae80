package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
)

// Webhook is the [webhook] table of config.toml: the inbox.
type Webhook struct {
	// Address is where it listens, HOST:PORT; PublicURL is how a service reaches it (of a tunnel
	// or a proxy), empty where only this machine does.
	Address, PublicURL string
	// Due is how long a webhook is waited for; 0 for the default.
	Due time.Duration
	// MaxBody is the size of the largest body in bytes; 0 for the default.
	MaxBody int64
	// KeepCount, KeepAge and KeepBytes bound what is kept; 0 for the defaults.
	KeepCount int
	KeepAge   time.Duration
	KeepBytes int64
	// Reserve are the bytes that have to stay free on the disk; 0 for the default.
	Reserve int64
	Verify  []WebhookVerify
}

// WebhookVerify is one way to see who sent a webhook.
type WebhookVerify struct {
	// Kind is standard, hmac, authorization or senders.
	Kind string
	// Secret is the reference of the signing secret, or of the header's whole value.
	Secret string
	// Header, Prefix and Encoding (hex or base64) are those of hmac.
	Header, Prefix, Encoding string
	Senders                  []netip.Prefix
}

type webhookEntry struct {
	Address   string        `toml:"address"`
	PublicURL string        `toml:"public_url"`
	Due       string        `toml:"due"`
	MaxBodyMB int64         `toml:"max_body_mb"`
	KeepCount int           `toml:"keep_count"`
	KeepDays  int           `toml:"keep_days"`
	KeepMB    int64         `toml:"keep_mb"`
	ReserveMB int64         `toml:"reserve_mb"`
	Verify    []verifyEntry `toml:"verify"`
}

type verifyEntry struct {
	Kind     string   `toml:"kind"`
	Secret   string   `toml:"secret"`
	Header   string   `toml:"header"`
	Prefix   string   `toml:"prefix"`
	Encoding string   `toml:"encoding"`
	Senders  []string `toml:"senders"`
}

// The widest bounds of the inbox: beyond them a number is a mistake.
const (
	maxWebhookMB   = 1 << 20
	maxWebhookDays = 3650
	maxWebhooks    = 10_000_000
	maxWebhookDue  = 7 * 24 * time.Hour
)

func (e webhookEntry) webhook(doc textfile.Doc) (Webhook, error) {
	fault := func(key, msg, expected string) (Webhook, error) {
		return Webhook{}, doc.Fault(textfile.At("webhook", key), msg, expected)
	}
	out := Webhook{
		Address: e.Address, PublicURL: strings.TrimRight(e.PublicURL, "/"), MaxBody: e.MaxBodyMB << 20,
		KeepCount: e.KeepCount, KeepAge: time.Duration(e.KeepDays) * 24 * time.Hour, KeepBytes: e.KeepMB << 20, Reserve: e.ReserveMB << 20,
	}
	if e.Address != "" {
		if _, _, err := net.SplitHostPort(e.Address); err != nil {
			return fault("address", fmt.Sprintf("%q is not an address to listen at", e.Address), `HOST:PORT, like "127.0.0.1:8787"`)
		}
	}
	if u, err := url.Parse(e.PublicURL); e.PublicURL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "") {
		return fault("public_url", "the address cannot be read, or has a login or a query", `an address like "https://hooks.example.com"`)
	}
	if e.Due != "" {
		d, err := time.ParseDuration(e.Due)
		if err != nil || d < time.Second || d > maxWebhookDue {
			return fault("due", fmt.Sprintf("%q is not a time to wait", e.Due), `a duration from 1s to 168h, like "30m"`)
		}
		out.Due = d
	}
	for _, n := range []struct {
		key       string
		is, bound int64
	}{{"max_body_mb", e.MaxBodyMB, maxWebhookMB}, {"keep_count", int64(e.KeepCount), maxWebhooks}, {"keep_days", int64(e.KeepDays), maxWebhookDays}, {"keep_mb", e.KeepMB, maxWebhookMB}, {"reserve_mb", e.ReserveMB, maxWebhookMB}} {
		if n.is < 0 || n.is > n.bound {
			return fault(n.key, fmt.Sprintf("%d cannot be meant", n.is), fmt.Sprintf("a number from 1 to %d, or 0 for the default", n.bound))
		}
	}
	for i, v := range e.Verify {
		one, err := v.verify(i, doc)
		if err != nil {
			return Webhook{}, err
		}
		out.Verify = append(out.Verify, one)
	}
	return out, nil
}

func (e verifyEntry) verify(i int, doc textfile.Doc) (WebhookVerify, error) {
	fault := func(key, msg, expected string) (WebhookVerify, error) {
		return WebhookVerify{}, doc.Fault(textfile.At("webhook", "verify", i, key), msg, expected)
	}
	kinds := []string{"standard", "hmac", "authorization", "senders"}
	if !slices.Contains(kinds, e.Kind) {
		return fault("kind", fmt.Sprintf("%q is not a way to verify a webhook", e.Kind), textfile.List(kinds))
	}
	if e.Kind == "senders" {
		if len(e.Senders) == 0 {
			return fault("senders", "no sender is listed", "addresses or networks")
		}
	} else if _, err := keystore.ParseRef(e.Secret); err != nil {
		return fault("secret", "it is not the reference of a secret", "a reference like keyring:NAME, env:NAME, file:NAME or cmd:COMMAND")
	}
	if e.Kind == "hmac" && e.Header == "" {
		return fault("header", "the header with the HMAC is not named", `a name like "X-Signature"`)
	}
	if !slices.Contains([]string{"", "hex", "base64"}, e.Encoding) {
		return fault("encoding", fmt.Sprintf("%q is not an encoding", e.Encoding), "hex or base64")
	}
	out := WebhookVerify{Kind: e.Kind, Secret: e.Secret, Header: e.Header, Prefix: e.Prefix, Encoding: e.Encoding}
	for _, s := range e.Senders {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(s); err == nil {
				p = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
			}
		}
		if err != nil {
			return fault("senders", fmt.Sprintf("%q is neither an address nor a network", s), `addresses like "192.0.2.7" or networks like "192.0.2.0/24"`)
		}
		out.Senders = append(out.Senders, p.Masked())
	}
	return out, nil
}

// Webhook is the [webhook] table.
func (f File) Webhook() Webhook { return f.webhook }
