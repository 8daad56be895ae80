package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/webhook"
)

// Profiles gives the profile in use and the configuration, as currently known.
type Profiles interface {
	Profile() model.Profile
	File() config.File
}

// Files opens the inbox's files when they are first needed.
type Files interface {
	Inbox(ctx context.Context) (*webhook.Inbox, error)
	// Notices returns what the operator must be told about files, each once.
	Notices() []string
}

// Secrets gives the values of references.
type Secrets interface {
	Secret(ctx context.Context, ref string) (keystore.Secret, error)
}

// History stores the lines of the timeline.
type History interface {
	Keeps() bool
	PutCall(ctx context.Context, a model.HistoryEntry) error
}

// Config is what an Inbox works with. All parts must be set.
type Config struct {
	Profiles Profiles
	Files    Files
	Secrets  Secrets
	Jobs     webhook.Jobs
	History  History
	Paths    config.Paths
	Log      *slog.Logger
}

// Inbox holds the webhooks that came, and this process's receiver.
type Inbox struct {
	cfg Config

	turn     sync.Mutex // held while receiving begins or ends, which may take long
	mu       sync.Mutex
	listener *webhook.Receiver // begun by Listen, or nil
	newest   *webhook.Receiver // the last one begun, or nil
	notice   string            // of receivers, not yet returned by Notice
}

// New makes an Inbox. It opens nothing.
func New(c Config) *Inbox { return &Inbox{cfg: c} }

// Open opens the inbox's files. Notice says what was wrong with them.
func (b *Inbox) Open(ctx context.Context) (*webhook.Inbox, error) { return b.cfg.Files.Inbox(ctx) }

// Changes returns a number that grows with each change of the inbox.
func (b *Inbox) Changes(ctx context.Context) (int64, error) {
	in, err := b.Open(ctx)
	if err != nil {
		return 0, err
	}
	return in.Changes(ctx)
}

// Numbers returns the numbers of all matching webhooks, newest first, and how many webhooks there are.
func (b *Inbox) Numbers(ctx context.Context, f webhook.Filter) ([]int64, int, error) {
	in, err := b.Open(ctx)
	if err != nil {
		return nil, 0, err
	}
	return in.Numbers(ctx, f)
}

// Rows returns the webhooks with those numbers, without headers.
func (b *Inbox) Rows(ctx context.Context, numbers []int64) ([]model.Webhook, error) {
	in, err := b.Open(ctx)
	if err != nil {
		return nil, err
	}
	return in.Rows(ctx, numbers)
}

// Get returns one webhook, with its headers.
func (b *Inbox) Get(ctx context.Context, id string) (model.Webhook, error) {
	in, err := b.Open(ctx)
	if err != nil {
		return model.Webhook{}, err
	}
	return in.Get(ctx, id)
}

// Bookmark sets or removes the bookmark of a webhook.
func (b *Inbox) Bookmark(ctx context.Context, id string, on bool) error {
	in, err := b.Open(ctx)
	if err != nil {
		return err
	}
	return in.Bookmark(ctx, id, on)
}

// Head returns the first bytes of a body.
func (b *Inbox) Head(ctx context.Context, d model.Webhook, most int64) (webhook.Head, error) {
	d, err := b.Get(ctx, d.ID) // with its headers
	if err != nil {
		return webhook.Head{}, err
	}
	return webhook.HeadOf(d, most)
}

// Replay sends a webhook again, to an address of this machine. It returns the receiver's answer, which is remote text,
// and whether the receiver accepted the webhook.
func (b *Inbox) Replay(ctx context.Context, d model.Webhook, to string) (said string, taken bool, err error) {
	d, err = b.Get(ctx, d.ID) // with its headers
	if err != nil {
		return "", false, err
	}
	got, err := webhook.Replay{Webhook: d, To: to}.Send(ctx)
	if err != nil {
		return "", false, err
	}
	said = "the receiver answered " + got.AnswerText()
	if len(got.Without) > 0 {
		said += "; sent without " + strings.Join(got.Without, ", ")
	}
	return said, got.Accepted(), nil
}

// Listening returns where a process of the user receives, "" if none does; here is true if Listen began it.
func (b *Inbox) Listening(ctx context.Context) (url string, here bool, err error) {
	if r := b.listening(); r != nil {
		return r.URL(), true, nil
	}
	in, err := b.Open(ctx)
	if err != nil {
		return "", false, err
	}
	p, _ := in.Listening()
	return p.URL, false, nil
}

// Refused returns the runs of refusals, not yet over, of the process that receives.
func (b *Inbox) Refused(ctx context.Context) ([]model.WebhookRefusals, error) {
	in, err := b.Open(ctx)
	if err != nil {
		return nil, err
	}
	return in.Refused(), nil
}

// listening is the receiver that Listen began, or nil.
func (b *Inbox) listening() *webhook.Receiver {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.listener
}

// Listen begins to receive on this machine until Stop.
func (b *Inbox) Listen(ctx context.Context, address string) (url string, err error) {
	b.turn.Lock()
	defer b.turn.Unlock()
	if r := b.listening(); r != nil {
		return r.URL(), nil
	}
	r, err := b.Receive(ctx, address, false, nil)
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listener = r
	return r.URL(), nil
}

// Stop ends what Listen began, and returns the runs of refusals that were not over. It does nothing if
// Listen began nothing.
func (b *Inbox) Stop() (refused []model.WebhookRefusals, err error) {
	b.turn.Lock()
	defer b.turn.Unlock()
	r := b.listening()
	if r == nil {
		return nil, nil
	}
	b.mu.Lock()
	b.listener = nil
	b.mu.Unlock()
	err = r.Close()
	return r.OpenRefusals(), err
}

// Notice returns what the operator must be told, once: about files, or that receiving has ended. Otherwise it is empty.
func (b *Inbox) Notice() string {
	if r := b.listening(); r != nil {
		select {
		case err := <-r.Failed():
			_, stopped := b.Stop()
			return errors.Join(err, stopped).Error()
		default:
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	notice := b.notice
	b.notice = ""
	return strings.TrimSpace(strings.Join(append(b.cfg.Files.Notices(), notice), " "))
}

// Address is where webhooks are received unless another address is given.
func (b *Inbox) Address() string {
	return cmp.Or(b.cfg.Profiles.File().Webhook().Address, webhook.DefaultAddress)
}

// Receive begins to receive webhooks with the configured settings. It reads secrets now; Reset reads
// them again. Close the receiver before the inbox's files. Refusals also go to the history. observer
// may be nil.
func (b *Inbox) Receive(ctx context.Context, address string, open bool, observer webhook.Observer) (*webhook.Receiver, error) {
	settings, err := b.settings(ctx)
	if err != nil {
		return nil, err
	}
	in, err := b.Open(ctx)
	if err != nil {
		return nil, err
	}
	r, err := webhook.Listen(ctx, address, open, webhook.Config{Inbox: in, Settings: settings, Jobs: b.cfg.Jobs, Observer: recorder{b, observer}, Log: b.cfg.Log})
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notice, b.newest = strings.TrimSpace(b.notice+" "+r.Notice()), r
	return r, nil
}

// recorder is an observer that also writes refusals to the timeline.
type recorder struct {
	*Inbox
	observer webhook.Observer // may be nil
}

func (b recorder) Received(e webhook.Event) {
	if b.observer != nil {
		b.observer.Received(e)
	}
}

func (b recorder) Refused(r model.WebhookRefusals) {
	b.keepRefused(r)
	if b.observer != nil {
		b.observer.Refused(r)
	}
}

// keepRefused writes a run of refusals to the timeline: one line, updated as the count grows.
func (b *Inbox) keepRefused(r model.WebhookRefusals) {
	if !b.cfg.History.Keeps() {
		return
	}
	err := b.cfg.History.PutCall(context.Background(), model.HistoryEntry{
		At: r.First, Kind: model.HistoryWebhook, Profile: b.cfg.Profiles.Profile().Name, Ref: fmt.Sprintf("refused-%d", r.First.UnixMicro()),
		Text: r.Text(func(t time.Time) string { return t.Local().Format(time.TimeOnly) }),
	})
	if err != nil {
		b.cfg.Log.Warn("refused webhooks are missing in the timeline", "error", err)
	}
}

// settings returns the configured settings, with secrets read.
func (b *Inbox) settings(ctx context.Context) (webhook.Settings, error) {
	w := b.cfg.Profiles.File().Webhook()
	verifiers, err := b.verifiers(ctx, w.Verify)
	return webhook.Settings{
		Verifiers: verifiers, MaxBody: w.MaxBody, Reserve: w.Reserve,
		Keep: webhook.Retention{Count: w.KeepCount, Age: w.KeepAge, Bytes: w.KeepBytes},
	}, err
}

// Reset applies the current configuration to this process's newest receiver, if any.
func (b *Inbox) Reset(ctx context.Context) error {
	b.mu.Lock()
	r := b.newest
	b.mu.Unlock()
	if r == nil {
		return nil
	}
	settings, err := b.settings(ctx)
	if err != nil {
		return fmt.Errorf("webhooks are still received with the old settings: %w", err)
	}
	r.Set(settings)
	return nil
}

func (b *Inbox) verifiers(ctx context.Context, configured []config.WebhookVerify) ([]webhook.Verifier, error) {
	var out []webhook.Verifier
	for i, v := range configured {
		c := webhook.VerifierConfig{Kind: v.Kind, Header: v.Header, Prefix: v.Prefix, Encoding: v.Encoding, Senders: v.Senders}
		var err error
		if v.Kind != webhook.KindSenders {
			c.Secret, err = b.cfg.Secrets.Secret(ctx, v.Secret)
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

// Authorization is the reference of the secret that the inbox expects in the Authorization header of webhooks,
// "" if it does not check that header.
func (b *Inbox) Authorization() string {
	checks := b.cfg.Profiles.File().Webhook().Verify
	if i := slices.IndexFunc(checks, func(v config.WebhookVerify) bool { return v.Kind == webhook.KindAuthorization }); i >= 0 {
		return checks[i].Secret
	}
	return ""
}
