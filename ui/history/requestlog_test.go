package history_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/service/local"
	"zonedeck/ui"
	"zonedeck/ui/history"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// fakeRequests is an emulator's journal that a test writes.
type fakeRequests struct {
	mu        sync.Mutex
	all       []local.Request
	err       error // of every call
	lose      uint64
	more      chan struct{} // closed when there is more, or an error
	followers int
	reads     int
}

func newFakeRequests(n int) *fakeRequests {
	f := &fakeRequests{more: make(chan struct{})}
	for range n {
		f.all = append(f.all, f.request())
	}
	return f
}

// request is the next request.
func (f *fakeRequests) request() local.Request {
	n := len(f.all) + 1
	return local.Request{
		Seq: uint64(n), Time: time.Now(), Point: "api", Method: "POST", URL: "/request", Target: fmt.Sprintf("http://lab.test/page/%d", n),
		Remote: "127.0.0.1:50000", Zone: "unlocker_demo", Key: "ci-fetch", Status: 200, Inner: 403, Code: "reject_block", Fault: "no-luck",
		Header: map[string]string{"Authorization": "Bearer ****", "X-Odd": "a\x1b[31mb"}, Body: "{\"url\":\"http://lab.test\",\"evil\":\"\x1b]0;x\x07\"}",
		BytesIn: 70, BytesOut: 12, DurationMS: 3.5,
	}
}

func (f *fakeRequests) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.more)
	f.more = make(chan struct{})
}

func (f *fakeRequests) Newest(_ context.Context, limit int) (local.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if f.err != nil {
		return local.Page{}, f.err
	}
	page := local.Page{Last: uint64(len(f.all)), Requests: f.all[max(len(f.all)-limit, 0):]}
	page.Requests = append([]local.Request(nil), page.Requests...)
	return page, nil
}

func (f *fakeRequests) Follow(ctx context.Context, since uint64, each func(local.Request, uint64) error) error {
	f.mu.Lock()
	f.followers++
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.followers--
		f.mu.Unlock()
	}()
	for {
		f.mu.Lock()
		next, err, more, lost := f.all[min(int(since), len(f.all)):], f.err, f.more, f.lose
		f.lose = 0
		f.mu.Unlock()
		if err != nil {
			return err
		}
		for _, r := range next {
			if err := each(r, lost); err != nil {
				return err
			}
			lost, since = 0, r.Seq
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (f *fakeRequests) following() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.followers
}

func localSession() kit.Session {
	return kit.Session{
		ProfileName: "local", Local: true, Ready: true,
		Profile: model.Profile{BaseURL: "http://127.0.0.1:40001", ProxyHost: "127.0.0.1", ProxyPort: 33335},
	}
}

func openRequest(t *testing.T, f *fakeRequests, session kit.Session, w, h int) *uitest.Screen {
	t.Helper()
	theme := kit.NewTheme(true, false)
	journal := &fakeJournal{all: entries(3)}
	for i := range journal.all {
		journal.all[i].Profile = session.ProfileName
	}
	deps := history.Deps{Ctx: t.Context(), Now: time.Now, Theme: theme, Journal: journal}
	if f != nil {
		deps.Requests = f
	}
	other := &stub{}
	app := ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Session: session,
		Tabs: []ui.Tab{{ID: kit.History, View: history.New(deps)}, {ID: kit.Sandbox, View: other}},
	})
	return uitest.Start(t, app, w, h)
}

func TestWhatTheEmulatorSawIsShownAndFollowed(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 16}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeRequests(3)
			s := openRequest(t, f, localSession(), size[0], size[1])
			s.Press("w")
			s.Expect("What the emulator saw  1 of 3", "✗ 200›403", "/page/3", "code reject_block")
			f.change(func() { f.all = append(f.all, f.request()) })
			s.After(time.Second)
			s.Expect("1 of 4", "/page/4")
			if screen := s.Screen(); strings.Index(screen, "/page/4") > strings.Index(screen, "/page/3") {
				t.Errorf("the older one is shown first:\n%s", screen)
			}
			s.Press("j") // whoever reads further down stays there
			s.Expect("2 of 4")
			f.change(func() { f.all = append(f.all, f.request(), f.request()) })
			s.After(time.Second)
			s.Expect("4 of 6", "→ http://lab.test/page/3")
			s.Press("w")
			s.Expect("last 3:", "1 of 3")
			if n := f.following(); n != 0 {
				t.Errorf("%d still follow after it was left", n)
			}
		})
	}
}

func TestARequestIsShownInFullAndSanitised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openRequest(t, newFakeRequests(2), localSession(), 120, 40)
		s.Press("w", "enter")
		s.Expect("Request 2", "POST /request", "http://lab.test/page/2", "by api from 127.0.0.1:50000", "ci-fetch",
			"200, inner status 403", "reject_block", "no-luck", "70 B in · 12 B out · 3 ms",
			"Authorization: Bearer ****", "X-Odd: a␛[31mb", `"evil":"␛]0;x␇"`)
		s.Press("esc")
		s.ExpectNot("Request 2")
		s.Press("y")
		s.Expect("address", "target", "headers", "body")
	})
}

func TestALongRequestIsScrolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRequests(1)
		f.all[0].Body = strings.Repeat("a line of the body\n", 60) + "the last line"
		s := openRequest(t, f, localSession(), 80, 24)
		s.Press("w", "enter")
		s.Expect("POST /request")
		s.ExpectNot("the last line")
		s.Press("G")
		s.Expect("the last line")
		s.Press("g")
		s.Expect("POST /request")
	})
}

func TestAnEmulatorThatSawNothingSaysWhatWouldAppear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRequests(0)
		s := openRequest(t, f, localSession(), 80, 24)
		s.Press("w")
		s.Expect("has seen no request yet", "API    http://127.0.0.1:40001", "proxy  127.0.0.1:33335")
		s.Press("enter")
		s.Expect("no request is selected")
		f.change(func() { f.all = append(f.all, f.request()) })
		s.After(time.Second)
		s.Expect("1 of 1", "/page/1")
	})
}

func TestOnlyTheEmulatorKeepsWhatItSaw(t *testing.T) {
	real := kit.Session{ProfileName: "acme", Ready: true}
	for name, tt := range map[string]struct {
		requests *fakeRequests
		session  kit.Session
		want     string
	}{
		"a real account":   {nil, real, "only the local emulator keeps what it saw"},
		"not started yet":  {newFakeRequests(1), kit.Session{Local: true}, "the emulator is still starting"},
		"another profiles": {newFakeRequests(1), real, "only the local emulator keeps what it saw"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := openRequest(t, tt.requests, tt.session, 120, 40)
				s.Press("w")
				s.Expect(tt.want, "last 3:")
			})
		})
	}
}

func TestABrokenTailIsReportedAndRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRequests(2)
		s := openRequest(t, f, localSession(), 80, 24)
		s.Press("w")
		f.change(func() { f.err = errors.New("nobody answers") })
		s.After(1500 * time.Millisecond)
		s.Expect("✗ nobody answers", "Retrying every second")
		f.change(func() { f.err = nil; f.all = append(f.all, f.request()) })
		s.After(2 * time.Second)
		s.Expect("1 of 3", "/page/3")
		if n := f.following(); n != 1 {
			t.Errorf("%d follow", n)
		}
	})
}

func TestAnotherTabIsNotFollowedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRequests(1)
		s := openRequest(t, f, localSession(), 80, 24)
		s.Press("w", "2")
		if n := f.following(); n != 0 {
			t.Errorf("%d follow while the tab is hidden", n)
		}
		again := localSession() // the emulator was started again, elsewhere
		again.Profile.BaseURL = "http://127.0.0.1:40002"
		s.Send(kit.SessionChanged{Session: again})
		s.After(2 * time.Second)
		if n := f.following(); n != 0 {
			t.Errorf("%d follow another emulator while the tab is hidden", n)
		}
		f.change(func() { f.all = append(f.all, f.request()) })
		s.Press("1")
		s.Expect("1 of 2", "/page/2")
		if n := f.following(); n != 1 {
			t.Errorf("%d follow", n)
		}
	})
}

func TestAnotherEmulatorIsReadFromItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRequests(5)
		s := openRequest(t, f, localSession(), 80, 24)
		s.Press("w")
		s.Expect("1 of 5")
		f.change(func() { f.all = f.all[:1] })
		moved := localSession()
		moved.Profile.BaseURL = "http://127.0.0.1:40002"
		s.Send(kit.SessionChanged{Session: moved})
		s.After(time.Second)
		s.Expect("1 of 1")
		s.Send(kit.SessionChanged{Session: kit.Session{ProfileName: "acme", Ready: true}})
		s.Expect("p shows what other profiles did")
		if n := f.following(); n != 0 {
			t.Errorf("%d follow without an emulator", n)
		}
	})
}

func TestAFloodIsBoundedAndItsLossReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRequests(1)
		s := openRequest(t, f, localSession(), 120, 40)
		s.Press("w")
		f.change(func() {
			f.lose = 7
			for range 5000 {
				f.all = append(f.all, f.request())
			}
		})
		s.After(time.Second)
		s.Expect("1 of 1 000", "(7 arrived too fast to be read)", "/page/5001")
		s.Press("G")
		s.Expect("1 000 of 1 000", "/page/4002")
	})
}
