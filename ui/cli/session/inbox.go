package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/webhook"
	"zonedeck/ui/inbox"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// maxEdited bounds a body that is edited.
const maxEdited = 64 << 20

// hookStore is the inbox as a console shows it, and the console's receiver.
type hookStore struct {
	*Session
	ctx context.Context //nolint:containedctx // the console's

	turn     sync.Mutex // of what begins or ends receiving, which may take its time
	mu       sync.Mutex
	receiver *webhook.Receiver
	copies   []string // that were edited
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

// close ends receiving and removes the copies that were edited.
func (h *hookStore) close() error {
	_, err := h.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, file := range h.copies {
		if gone := os.Remove(file); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

func (h *hookStore) Replay(ctx context.Context, d model.Delivery, to, edited string, sign bool) (said string, taken bool, err error) {
	d, err = h.Get(ctx, d.ID) // with its headers
	if err != nil {
		return "", false, err
	}
	got, err := h.ReplayHook(ctx, d, to, edited, sign)
	if err != nil {
		return "", false, err
	}
	said = "the receiver answered " + text.Clean(got.Said())
	if len(got.Without) > 0 {
		said += "; sent without " + text.Clean(strings.Join(got.Without, ", "))
	}
	return said, got.Taken(), nil
}

func (h *hookStore) Editor(d model.Delivery, done func(file string, err error) tea.Msg) tea.Cmd {
	edit := h.editFile()
	if edit == nil {
		return nil
	}
	return func() tea.Msg {
		file, err := h.copyOf(d)
		if err != nil {
			return done("", err)
		}
		return tea.Exec(edit(file), func(err error) tea.Msg { return done(file, err) })()
	}
}

// copyOf is a file with the body, without its gzip.
func (h *hookStore) copyOf(d model.Delivery) (string, error) {
	d, err := h.Get(h.ctx, d.ID) // with its headers
	if err != nil {
		return "", err
	}
	b, err := webhook.Plain(d, maxEdited)
	if err != nil {
		return "", fmt.Errorf("copy the body for the editor: %w", err)
	}
	dir := h.Paths.InboxDir()
	h.removeOld()
	f, err := os.CreateTemp(dir, copyPrefix+"*")
	if err != nil {
		return "", fmt.Errorf("copy the body for the editor: %w", err)
	}
	h.mu.Lock()
	h.copies = append(h.copies, f.Name())
	h.mu.Unlock()
	_, err = f.Write(b)
	return f.Name(), errors.Join(err, f.Close())
}

// Copies that were edited lie beside the bodies. Those of a console that was killed go after a day.
const (
	copyPrefix = "edited-"
	copyAge    = 24 * time.Hour
)

// removeOld removes the copies that were not written to for copyAge. What cannot be removed stays until the next one
// is made.
func (h *hookStore) removeOld() {
	dir, before := h.Paths.InboxDir(), h.o.Now().Add(-copyAge)
	found, _ := fs.Glob(os.DirFS(dir), copyPrefix+"*")
	for _, name := range found {
		file := filepath.Join(dir, name)
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			_ = os.Remove(file)
		}
	}
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
