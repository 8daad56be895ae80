package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/webhook"
)

// inboxFile is what a session keeps about the inbox of webhooks.
type inboxFile struct {
	mu       sync.Mutex
	receiver *webhook.Receiver // the newest of this process, or nil
	notice   string            // of that one
}

// Inbox is the inbox of webhooks. What was wrong with its file, InboxNotice says.
func (s *Session) Inbox(ctx context.Context) (*webhook.Inbox, error) { return s.files.Inbox(ctx) }

// InboxNotice is what the operator must be told about the inbox's files, once; else it is empty.
func (s *Session) InboxNotice() string {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	notice := s.inbox.notice
	s.inbox.notice = ""
	return strings.TrimSpace(strings.Join(append(s.files.Notices(), notice), " "))
}

// HookAddress is where webhooks are received unless another address is given.
func (s *Session) HookAddress() string {
	return cmp.Or(s.configured().Webhook().Address, webhook.DefaultAddress)
}

// Receive begins to receive webhooks by the settings of the configuration; secrets are read now,
// and when the file has changed. Close the receiver before the session.
// What is refused stands in the history, too.
func (s *Session) Receive(ctx context.Context, address string, open bool, on func(webhook.Event), refused func(model.HookRefusals)) (*webhook.Receiver, error) {
	settings, err := s.hookSettings(ctx)
	if err != nil {
		return nil, err
	}
	in, err := s.Inbox(ctx)
	if err != nil {
		return nil, err
	}
	r, err := webhook.Listen(ctx, address, open, webhook.Config{Inbox: in, Settings: settings, Heard: s.Client.HeardWebhook, On: on, Log: s.o.Log, Refused: func(r model.HookRefusals) {
		s.tellRefused(r)
		if refused != nil {
			refused(r)
		}
	}})
	if err != nil {
		return nil, err
	}
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	s.inbox.notice, s.inbox.receiver = strings.TrimSpace(s.inbox.notice+" "+r.Notice()), r
	return r, nil
}

// tellRefused puts a run of refusals into the timeline, as one line that goes on counting.
func (s *Session) tellRefused(r model.HookRefusals) {
	if s.journal == nil {
		return
	}
	err := s.journal.PutCall(context.Background(), model.Activity{
		At: r.First, Kind: model.ActivityHook, Profile: s.CurrentProfile().Name, Ref: fmt.Sprintf("refused-%d", r.First.UnixMicro()),
		Text: r.Text(func(t time.Time) string { return t.Local().Format(time.TimeOnly) }),
	})
	if err != nil {
		s.o.Log.Warn("refused webhooks are missing in the timeline", "error", err)
	}
}

// hookSettings are those of the configuration.
func (s *Session) hookSettings(ctx context.Context) (webhook.Settings, error) {
	w := s.configured().Webhook()
	verifiers, err := s.verifiers(ctx)
	return webhook.Settings{
		Verifiers: verifiers, MaxBody: w.MaxBody, Reserve: w.Reserve,
		Keep: webhook.Retention{Count: w.KeepCount, Age: w.KeepAge, Bytes: w.KeepBytes},
	}, err
}

// resetHooks has the settings of the configuration hold for webhooks that come from now on.
func (s *Session) resetHooks(ctx context.Context) error {
	s.inbox.mu.Lock()
	r := s.inbox.receiver
	s.inbox.mu.Unlock()
	if r == nil {
		return nil
	}
	settings, err := s.hookSettings(ctx)
	if err != nil {
		return fmt.Errorf("webhooks are received by the settings that held before: %w", err)
	}
	r.Set(settings)
	return nil
}

// verifiers are those of the configuration.
func (s *Session) verifiers(ctx context.Context) ([]webhook.Verifier, error) {
	var out []webhook.Verifier
	for i, v := range s.configured().Webhook().Verify {
		c := webhook.VerifierConfig{Kind: v.Kind, Header: v.Header, Prefix: v.Prefix, Encoding: v.Encoding, Senders: v.Senders}
		var err error
		if v.Kind != webhook.KindSenders {
			c.Secret, err = s.secret(ctx, v.Secret)
		}
		var one webhook.Verifier
		if err == nil {
			one, err = webhook.NewVerifier(c)
		}
		if err != nil {
			return nil, fmt.Errorf("webhooks cannot be verified by number %d of [[webhook.verify]] (%s): %w", i+1, v.Kind, err)
		}
		out = append(out, one)
	}
	return out, nil
}

// HookAuth is the reference of what the inbox checks the Authorization header of webhooks by, "" where
// it does not check that.
func (s *Session) HookAuth() string {
	checks := s.configured().Webhook().Verify
	if i := slices.IndexFunc(checks, func(v config.WebhookVerify) bool { return v.Kind == webhook.KindAuthorization }); i >= 0 {
		return checks[i].Secret
	}
	return ""
}

// ErrNoHook says that no address can be given to a service.
var ErrNoHook = errors.New("no zonedeck receives webhooks: begin with 'zonedeck webhook listen', or on the page of the inbox")

// NewHook is an address of the inbox for one job. warning says why the service may not reach it.
func (s *Session) NewHook(ctx context.Context) (address, warning string, err error) {
	if _, err := os.Stat(s.Paths.InboxDir()); errors.Is(err, os.ErrNotExist) {
		return "", "", ErrNoHook // nobody ever received, and asking makes no inbox
	}
	in, err := s.Inbox(ctx)
	if err != nil {
		return "", "", err
	}
	public := s.configured().Webhook().PublicURL
	place, ok := in.Listening()
	if !ok {
		return "", "", ErrNoHook
	}
	p := s.CurrentProfile()
	if p.Local || reachesLoopback(p) {
		return model.HookAddress(nearby(place.URL), newToken()), "", nil
	}
	if public == "" {
		warning = "the service cannot reach " + place.URL + ", which is of this machine: set public_url in [webhook] to the address of a tunnel or a proxy that leads there"
		public = place.URL
	}
	return model.HookAddress(public, newToken()), warning, nil
}

// nearby is where this machine reaches a receiver: nobody can dial one by the address of all.
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

// reachesLoopback reports whether the profile's service is of this machine itself.
func reachesLoopback(p config.Profile) bool {
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || err == nil && a.IsLoopback()
}
