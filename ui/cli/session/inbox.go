package session

import (
	"context"
	"errors"
	"strings"
	"sync"

	"zonedeck/model"
	"zonedeck/service/webhook"
	"zonedeck/ui/inbox"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// hookStore is the inbox as a console shows it, and the console's receiver.
type hookStore struct {
	*Session
	ctx context.Context //nolint:containedctx // the console's

	turn     sync.Mutex // of what begins or ends receiving, which may take its time
	mu       sync.Mutex
	receiver *webhook.Receiver
}

// overlay is the inbox on the screen.
func (h *hookStore) overlay(theme *kit.Theme) kit.Overlay {
	d := inbox.Deps{Ctx: h.ctx, Now: h.Now, Theme: theme, Store: h, Address: h.HookAddress()}
	if p := h.CurrentProfile(); !p.Local && !reachesLoopback(p) && h.configured().Webhook().PublicURL == "" {
		d.Warning = "a real service cannot reach this machine; public_url in [webhook] names a tunnel or a proxy that leads here"
	}
	return inbox.New(d)
}

func (h *hookStore) Changes(ctx context.Context) (int64, error) {
	in, err := h.Inbox(ctx)
	if err != nil {
		return 0, err
	}
	return in.Changes(ctx)
}

func (h *hookStore) Numbers(ctx context.Context, f model.HookFilter) ([]int64, int, error) {
	in, err := h.Inbox(ctx)
	if err != nil {
		return nil, 0, err
	}
	return in.Numbers(ctx, f)
}

func (h *hookStore) Rows(ctx context.Context, numbers []int64) ([]model.Delivery, error) {
	in, err := h.Inbox(ctx)
	if err != nil {
		return nil, err
	}
	return in.Rows(ctx, numbers)
}

func (h *hookStore) Get(ctx context.Context, id string) (model.Delivery, error) {
	in, err := h.Inbox(ctx)
	if err != nil {
		return model.Delivery{}, err
	}
	return in.Get(ctx, id)
}

func (h *hookStore) Bookmark(ctx context.Context, id string, on bool) error {
	in, err := h.Inbox(ctx)
	if err != nil {
		return err
	}
	return in.Bookmark(ctx, id, on)
}

func (h *hookStore) Head(d model.Delivery, most int64) (webhook.Head, error) {
	d, err := h.Get(h.ctx, d.ID) // with its headers
	if err != nil {
		return webhook.Head{}, err
	}
	return webhook.HeadOf(d, most)
}

func (h *hookStore) Where(ctx context.Context) (url string, here bool, err error) {
	if r := h.receives(); r != nil {
		return r.URL(), true, nil
	}
	in, err := h.Inbox(ctx)
	if err != nil {
		return "", false, err
	}
	p, _ := in.Listening()
	return p.URL, false, nil
}

func (h *hookStore) Refused(ctx context.Context) ([]model.HookRefusals, error) {
	in, err := h.Inbox(ctx)
	if err != nil {
		return nil, err
	}
	return in.Refused(), nil
}

// receives is the console's receiver, or nil.
func (h *hookStore) receives() *webhook.Receiver {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.receiver
}

func (h *hookStore) Listen(ctx context.Context, address string) (string, error) {
	h.turn.Lock()
	defer h.turn.Unlock()
	if r := h.receives(); r != nil {
		return r.URL(), nil
	}
	r, err := h.Receive(ctx, address, false, nil, nil)
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.receiver = r
	return r.URL(), nil
}

// Stop ends receiving, and says what was refused until then; it may be called when nothing is
// received.
func (h *hookStore) Stop() (refused []model.HookRefusals, err error) {
	h.turn.Lock()
	defer h.turn.Unlock()
	r := h.receives()
	if r == nil {
		return nil, nil
	}
	h.mu.Lock()
	h.receiver = nil
	h.mu.Unlock()
	err = r.Close()
	return r.Left(), err
}

// Notice is what the operator must be told: about the files, or that receiving has ended.
func (h *hookStore) Notice() string {
	if r := h.receives(); r != nil {
		select {
		case err := <-r.Failed():
			_, stopped := h.Stop()
			return errors.Join(err, stopped).Error()
		default:
		}
	}
	return h.InboxNotice()
}

// close ends receiving.
func (h *hookStore) close() error {
	_, err := h.Stop()
	return err
}

func (h *hookStore) Replay(ctx context.Context, d model.Delivery, to string) (said string, taken bool, err error) {
	d, err = h.Get(ctx, d.ID) // with its headers
	if err != nil {
		return "", false, err
	}
	got, err := webhook.Replay{Delivery: d, To: to}.Send(ctx)
	if err != nil {
		return "", false, err
	}
	said = "the receiver answered " + text.Clean(got.Said())
	if len(got.Without) > 0 {
		said += "; sent without " + text.Clean(strings.Join(got.Without, ", "))
	}
	return said, got.Taken(), nil
}

// FillHooks puts addresses of the inbox where "inbox" stands in place of an address.
func (s *Session) FillHooks(ctx context.Context, settings *model.JobSettings) (warning string, err error) {
	if settings.Notify != model.HookInbox && settings.Endpoint != model.HookInbox {
		return "", nil
	}
	address, warning, err := s.NewHook(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range []*string{&settings.Notify, &settings.Endpoint} {
		if *a == model.HookInbox {
			*a = address
		}
	}
	return warning, nil
}
