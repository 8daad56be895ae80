package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/service/query"
	"zonedeck/service/webhook"
	"zonedeck/ui"
	"zonedeck/ui/inbox"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// fakeStore is an inbox in memory.
type fakeStore struct {
	mu    sync.Mutex
	list  []model.Webhook
	url   string
	here  bool
	fails error // of Listen and Replay
	sent  string

	changes     int64
	lists, rows int // how often they were read

	slow   time.Duration // how long a list takes
	broken error         // of the list, and of bytes
	notice string

	refused []model.WebhookRefusals
	wait    chan struct{} // of a replay, unless it is nil
	refuses bool          // answers a replay with a redirect
	plain   string        // the inflated body, if it is gzip
}

func (f *fakeStore) Changes(context.Context) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes, nil
}

func (f *fakeStore) Numbers(ctx context.Context, filter webhook.Filter) (numbers []int64, total int, err error) {
	f.mu.Lock()
	slow := f.slow
	f.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	if f.broken != nil {
		return nil, 0, f.broken
	}
	for i, d := range f.list {
		if !slices.ContainsFunc(filter.Terms(), func(t query.Term) bool {
			return t.Name == "verdict" && string(d.Verdict) != t.Value || t.Op == query.Says && !strings.Contains(d.ID+d.Reason, t.Value)
		}) {
			numbers = append(numbers, int64(len(f.list)-i))
		}
	}
	return numbers, len(f.list), nil
}

func (f *fakeStore) Rows(_ context.Context, numbers []int64) (list []model.Webhook, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range numbers {
		d := f.list[len(f.list)-int(n)]
		d.Headers = nil
		list = append(list, d)
	}
	f.rows += len(numbers)
	return list, nil
}

func (f *fakeStore) Get(_ context.Context, id string) (model.Webhook, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.list {
		if d.ID == id {
			return d, nil
		}
	}
	return model.Webhook{}, errors.New("the inbox has no such webhook")
}

func (f *fakeStore) Refused(context.Context) ([]model.WebhookRefusals, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused, nil
}

func (f *fakeStore) Notice() (notice string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	notice, f.notice = f.notice, ""
	return notice
}

func (f *fakeStore) Bookmark(_ context.Context, id string, on bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.list {
		if f.list[i].ID == id {
			f.list[i].Bookmarked = on
			f.changes++
		}
	}
	return nil
}

func (f *fakeStore) Head(context.Context, model.Webhook, int64) (webhook.Head, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return webhook.Head{}, f.broken
	}
	if f.plain != "" {
		return webhook.Head{Raw: []byte("\x1f\x8b\x08"), Plain: []byte(f.plain)}, nil
	}
	return webhook.Head{Raw: []byte("{\"snapshot_id\":\"sd_1\"}\x1b[2J")}, nil
}

func (f *fakeStore) Listening(context.Context) (string, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.url, f.here, nil
}

func (f *fakeStore) Listen(_ context.Context, address string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return "", f.fails
	}
	f.url, f.here = "http://"+address, true
	return f.url, nil
}

func (f *fakeStore) Stop() ([]model.WebhookRefusals, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	refused := f.refused
	f.url, f.here, f.refused = "", false, nil
	return refused, nil
}

func (f *fakeStore) Replay(_ context.Context, d model.Webhook, to string) (said string, taken bool, err error) {
	f.mu.Lock()
	wait := f.wait
	f.mu.Unlock()
	if wait != nil {
		<-wait
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return "", false, f.fails
	}
	f.sent = d.ID + " to " + to
	if f.refuses {
		return "the receiver answered 302, a redirect to /login that was not followed", false, nil
	}
	return "the receiver answered 200 stored", true, nil
}

func open(t *testing.T, f *fakeStore, warning string) *uitest.Screen {
	t.Helper()
	return openAt(t, f, warning, 120, 40)
}

func openAt(t *testing.T, f *fakeStore, warning string, w, h int) *uitest.Screen {
	t.Helper()
	theme := kit.NewTheme(true, false)
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true,
		Tabs: []ui.Tab{{ID: kit.Jobs, View: &uitest.OtherTab{}}},
	})
	s := uitest.Start(t, app, w, h)
	s.Send(kit.Open{Overlay: inbox.New(inbox.Deps{Ctx: t.Context(), Now: func() time.Time { return time.Now().UTC() }, Theme: theme, Store: f, Address: "127.0.0.1:8787", Warning: warning})})
	return s
}

func some() []model.Webhook {
	at := time.Now()
	one := func(id string, v model.WebhookVerdict, seen int, job, outcome, why string) model.Webhook {
		return model.Webhook{
			ID: id, At: at, Last: at, Times: seen, Verdict: v, Job: job, Outcome: outcome, Reason: why, Target: "/zonedeck/x", Remote: "127.0.0.1", Size: 21, Worked: true,
			Headers: []model.WebhookHeader{{Name: "Authorization", Value: "••••"}, {Name: "X-Evil", Value: "a\x1b[2Jb"}},
		}
	}
	verified := one("hook-3", model.WebhookVerified, 2, "job-2", "the service is asked for the job's state", "verified by Standard Webhooks")
	verified.Repeats = []model.WebhookRepeat{{Last: at, Times: 1, Remote: "192.0.2.9", Verdict: model.WebhookRejected, Reason: "its signature is not one of the secret"}}
	return []model.Webhook{
		verified,
		one("hook-2", model.WebhookRejected, 1, "", "no job was updated: it was rejected", "its signature is not one of the secret"),
		one("hook-1", model.WebhookUnverified, 1, "job-1", "the job is ready already", "no check of the sender is set up"),
	}
}

func TestTheListAndOneWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, &fakeStore{list: some()}, "")
		s.Expect("Webhooks · not receiving", "✓ verified", "×2", "job-2", "✗ rejected", "? unverified", "verified by Standard Webhooks")
		s.Press("down")
		s.Expect("its signature is not one of the secret")
		s.Press("enter")
		s.Expect("no job was updated: it was rejected", "/zonedeck/x", "Authorization: ••••", `{"snapshot_id":"sd_1"}`)
		s.Press("]")
		s.Expect("000000", "7b 22 73")
		s.Press("esc", "b")
		s.Expect("hook-2 is bookmarked", "★")
	})
}

func TestWhatIsRefusedIsSaidAboveTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeStore{list: some(), refused: []model.WebhookRefusals{{Reason: "the disk is full", Count: 25, First: time.Now(), Last: time.Now().Add(time.Minute)}}}
		s := open(t, f, "")
		s.Expect("✗ 25 webhooks were refused since 00:00:00, the last at 00:01:00: the disk is full", "hook-3")
		f.mu.Lock()
		f.refused = nil
		f.mu.Unlock()
		s.After(2 * time.Second)
		s.ExpectNot("refused since")
	})
}

func TestWhatWasRefusedIsSaidWhenReceivingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeStore{url: "http://127.0.0.1:8787", here: true, refused: []model.WebhookRefusals{{Reason: "the disk is full", Count: 25, First: time.Now(), Last: time.Now().Add(time.Minute)}}}
		s := open(t, f, "")
		s.Expect("received here")
		s.Press("s")
		s.Expect("stopped receiving webhooks")
	})
}

// many makes webhooks, newest first; the even ones are rejected.
func many(n int) []model.Webhook {
	list := make([]model.Webhook, n)
	for i := range list {
		number := n - i
		list[i] = model.Webhook{ID: model.WebhookID(int64(number)), Times: 1, Verdict: model.WebhookVerified, Reason: fmt.Sprintf("reason %d.", number)}
		if number%2 == 0 {
			list[i].Verdict = model.WebhookRejected
		}
	}
	return list
}

func TestEveryWebhookIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeStore{list: many(5000)}
		s := open(t, f, "")
		s.Expect("hook-5000", "reason 5000.")
		s.Press("end")
		s.Expect("hook-1 ", "reason 1.")
		s.Press("home")
		for range 20 {
			s.Press("pgdown")
		}
		s.Expect("hook-4420")
		s.ExpectNot("…            hook-")
		if f.rows >= 5000 {
			t.Errorf("%d rows were read", f.rows)
		}
	})
}

func TestAFilterSaysWhatItHides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeStore{list: many(100)}
		s := open(t, f, "")
		s.Expect("hook-100")
		s.Press("/")
		s.Expect("verdict:rejected")
		s.Type("verdict:rejected reason")
		s.Expect("50 of 100", "hook-98")
		s.ExpectNot("✓ verified")
		s.Press("down") // in the list, while letters still go into the filter
		s.Expect("›✗ rejected   hook-98")
		s.Type(" 97.")
		s.Expect("0 of 100", "nothing matches: esc shows all webhooks")
		s.Press("enter", "esc")
		s.Expect("✓ verified", "hook-97")
		s.Press("/")
		s.Type("state:rejected")
		s.Expect(`unknown term "state"`, "verdict:rejected")
		s.Press("esc", "esc")
		s.ExpectNot("hook-97")
	})
}

func TestAFilterIsNotSaidToShowWhatWasNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeStore{list: many(100)}
		s := open(t, f, "")
		s.Expect("hook-100")
		f.mu.Lock()
		f.slow = 3 * time.Second
		f.mu.Unlock()
		s.Press("/")
		s.Type("reason")
		s.Expect("looking…")
		s.ExpectNot("of 100")
		s.After(4 * time.Second)
		s.Expect("100 of 100")
	})
}

func TestTheListIsReadWhenTheInboxHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeStore{list: many(5)}
		s := open(t, f, "")
		s.Expect("hook-5")
		s.After(10 * time.Second)
		f.mu.Lock()
		if f.lists != 1 {
			t.Errorf("it was read %d times", f.lists)
		}
		f.list, f.changes = many(7), 1
		f.mu.Unlock()
		s.After(2 * time.Second)
		s.Expect("hook-7", "Webhooks · 2 new", "reason 5.") // the cursor stays where it was
	})
}

// state is a state of the inbox or its dialogs.
type state struct {
	store   func(f *fakeStore) // the difference from an inbox of three webhooks
	warning string
	keys    []string
	text    string // typed after the keys, then enter
	errors  string // that a toast says
}

func states() map[string]state {
	const unreachable = "a real service cannot reach this machine; public_url in [webhook] names a tunnel or a proxy that leads here"
	empty := func(f *fakeStore) { f.list = nil }
	here := func(f *fakeStore) { f.url, f.here = "http://127.0.0.1:8787", true }
	refused := func(f *fakeStore) {
		here(f)
		f.refused = []model.WebhookRefusals{
			{Reason: "they would leave less of the disk free than reserve_mb", Count: 25, First: time.Now().Add(-time.Hour), Last: time.Now()},
			{Reason: "they are larger than max_body_mb", Count: 1, First: time.Now(), Last: time.Now()},
		}
	}
	taken := errors.New("127.0.0.1:8787: another program listens there: choose another port, or 0 for any")
	return map[string]state{
		"empty": {store: empty}, "empty-receiving": {store: func(f *fakeStore) { empty(f); here(f) }},
		"list": {}, "bookmarked": {store: func(f *fakeStore) { f.list[1].Bookmarked = true }},
		"reading": {store: func(f *fakeStore) { f.slow = time.Hour }},
		"broken": {store: func(f *fakeStore) {
			f.broken = errors.New("reading the inbox: the disk has an error (input/output error)")
		}},
		"long":         {store: func(f *fakeStore) { f.list = many(5000) }, keys: []string{"end"}},
		"filter-wrong": {keys: []string{"/"}, text: "state:rejected"}, "filter-none": {keys: []string{"/"}, text: "from:192.0.2. nowhere"},
		"receiving": {store: here}, "receiving-unreachable": {store: here, warning: unreachable},
		"elsewhere": {store: func(f *fakeStore) { f.url = "http://127.0.0.1:8787" }},
		"refused":   {store: refused}, "refused-stopped": {store: refused, keys: []string{"s"}},
		"refused-one-stopped": {store: func(f *fakeStore) { refused(f); f.refused = f.refused[:1] }, keys: []string{"s"}},
		"listen":              {keys: []string{"s"}}, "listen-unreachable": {warning: unreachable, keys: []string{"s"}},
		"listen-taken": {store: func(f *fakeStore) { f.fails = taken }, keys: []string{"s", "ctrl+s"}, errors: "another program listens there"},
		"one":          {keys: []string{"enter"}}, "bytes": {keys: []string{"enter", "]"}},
		"replay":        {keys: []string{"R"}},
		"replay-failed": {store: func(f *fakeStore) { f.fails = errors.New("replaying to 127.0.0.1:1: connection refused") }, keys: []string{"R", "enter"}, text: "http://127.0.0.1:1/", errors: "connection refused"},
	}
}

// TestTheScreens compares states of the inbox and its dialogs with goldens.
func TestTheScreens(t *testing.T) {
	for name, c := range states() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeStore{list: some()}
				if c.store != nil {
					c.store(f)
				}
				s := openAt(t, f, c.warning, 80, 24)
				if c.errors != "" {
					s.AllowError(c.errors)
				}
				s.Settle()
				s.Press(c.keys...)
				s.Settle()
				if c.text != "" {
					s.Type(c.text)
					s.Press("enter")
				}
				if name := strings.Split(name, "-")[0]; name == "replay" && c.text != "" {
					s.Press("ctrl+s")
				}
				s.Settle()
				s.Looks(name)
			})
		})
	}
}

func TestReceivingBeginsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeStore{fails: errors.New("127.0.0.1:8787: another program listens there: choose another port, or 0 for any")}
		s := open(t, f, "a real service cannot reach this machine")
		s.AllowError("another program listens there")
		s.Expect("no webhooks yet")
		s.Press("s")
		s.Expect("Receive webhooks", "127.0.0.1:8787", "a real service cannot reach this machine")
		s.Press("ctrl+s")
		s.Expect("another program listens there")
		f.mu.Lock()
		f.fails = nil
		f.mu.Unlock()
		s.Press("ctrl+s") // the input is still there
		s.Expect("received here at http://127.0.0.1:8787")
		s.Press("s")
		s.Expect("not receiving")
	})
}

func TestAReplayAsksWhereTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeStore{list: some()}
		s := open(t, f, "")
		s.Expect("hook-3")
		s.Press("enter")
		s.Press("R")
		s.Expect("Replay hook-3")
		s.Press("enter")
		s.Type("http://192.0.2.1/x")
		s.Press("ctrl+s")
		s.Expect("192.0.2.1: a webhook is replayed to an address of this", "machine alone")
		s.Press("ctrl+u")
		s.Type("http://127.0.0.1:1/x")
		s.Press("ctrl+s")
		s.Expect("the receiver answered 200 stored")
		f.mu.Lock()
		if f.sent != "hook-3 to http://127.0.0.1:1/x" {
			t.Errorf("%q", f.sent)
		}
		f.fails = errors.New("nobody answers there")
		f.mu.Unlock()
		s.AllowError("nobody answers there")
		s.Press("R")
		s.Expect("http://127.0.0.1:1/x") // where the last one went
		s.Press("ctrl+s")
		s.Expect("nobody answers there", "Replay hook-3")
		f.mu.Lock()
		f.fails = nil
		f.mu.Unlock()
		s.Press("ctrl+s")
		s.Expect("the receiver answered 200 stored")
		s.ExpectNot("nobody answers there") // it is settled
	})
}

func TestAListThatTakesItsTimeIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, &fakeStore{list: some(), slow: 5 * time.Second, notice: "The inbox was damaged."}, "")
		s.After(6 * time.Second) // it is read again every second
		s.Expect("The inbox was damaged.", "hook-3")
	})
}

// TestWhatEndsWhenTheInboxIsClosedIsTold closes it while a replay is under way.
func TestWhatEndsWhenTheInboxIsClosedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeStore{list: some(), wait: make(chan struct{}), fails: errors.New("nobody answers there")}
		s := open(t, f, "")
		s.AllowError("nobody answers there")
		s.Expect("hook-3")
		s.Press("R", "enter")
		s.Type("http://127.0.0.1:1/x")
		s.Press("ctrl+s", "esc")
		close(f.wait)
		s.Settle()
		s.Expect("nobody answers there")
	})
}
