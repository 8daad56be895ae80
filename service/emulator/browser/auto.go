package browser

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"golang.org/x/sync/singleflight"
)

// errNoPage means that Chromium started without a page.
var errNoPage = errors.New("the browser has no page")

// autoWait is how long after a navigation the session looks for a challenge without a command.
const autoWait = 2 * time.Second

// auto is the state of the automatic solving of challenges.
type auto struct {
	// attempts are the challenges being solved, by target.
	attempts singleflight.Group

	mu  sync.Mutex
	off bool
	// last is the outcome of the challenge at a page's current address.
	last map[target.ID]solution
}

// follow records the navigations of the session's pages, and solves their challenges.
func (s *session) follow() error {
	s.auto.last = map[target.ID]solution{}
	urls := map[target.ID]string{}
	err := chromedp.ListenBrowser(s.drv, func(ev any) {
		var info *target.Info
		switch ev := ev.(type) {
		case *target.EventTargetCreated:
			info = ev.TargetInfo
		case *target.EventTargetInfoChanged:
			info = ev.TargetInfo
		case *target.EventTargetDestroyed:
			delete(urls, ev.TargetID)
			s.auto.forget(ev.TargetID)
			return
		default:
			return
		}
		if info.Type != "page" || info.URL == urls[info.TargetID] {
			return
		}
		urls[info.TargetID] = info.URL
		s.auto.forget(info.TargetID)
		if siteOf(info.URL) == "" || siteOf(info.URL) == primeHost {
			return
		}
		s.went(info.URL)
		if !s.auto.disabled() {
			s.spawn(func() { _, _ = s.solveOn(s.drv, info.TargetID, autoWait) })
		}
	})
	if err != nil {
		return err
	}
	_, err = chromedp.CallBrowser(s.drv, target.SetDiscoverTargets, target.SetDiscoverTargetsParams{Discover: true})
	return err
}

// went records a navigation.
func (s *session) went(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rec.Navigations++
	s.rec.EndURL = address
	if s.rec.TargetURL == "" {
		s.rec.TargetURL = address
	}
}

func (a *auto) forget(id target.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.last, id)
}

func (a *auto) disabled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.off
}

// solveOn solves a page's challenge. Concurrent calls share the attempt and its result.
func (s *session) solveOn(ctx context.Context, id target.ID, detect time.Duration) (solution, error) {
	result, err, _ := s.auto.attempts.Do(string(id), func() (any, error) {
		tab, leave := s.visit(ctx, id)
		defer leave()
		if err := chromedp.Do(tab); err != nil {
			return nil, err
		}
		end, err := solve(tab, detect, s.b.cfg.Captcha)
		s.report(id, end)
		return end, err
	})
	end, _ := result.(solution)
	return end, err
}

// report records the outcome of a challenge and sends it to the client. Sources differ in the
// capitals of the events, so it sends both.
func (s *session) report(id target.ID, end solution) {
	outcomes := map[CaptchaStatus][2]string{CaptchaSolved: {"olveFinished", "solved"}, CaptchaFailed: {"olveFailed", "failed"}}
	outcome, ok := outcomes[end.status]
	if !ok {
		return
	}
	s.auto.mu.Lock()
	s.auto.last[id] = end
	s.auto.mu.Unlock()
	s.mu.Lock()
	s.rec.Captcha = outcome[1]
	s.mu.Unlock()
	session := s.veil.session(string(id))
	if session == "" {
		return // the client is not attached to the page
	}
	s.event(session, "Captcha.detected", map[string]string{"type": end.kind})
	for _, name := range [...]string{"Captcha.s", "Captcha.S"} {
		s.event(session, name+outcome[0], captchaResult(end))
	}
}

// captchaResult encodes an outcome in the shape of public documentation.
func captchaResult(end solution) map[string]any {
	result := map[string]any{"status": end.status, "type": nil, "error": nil}
	if end.kind != "" {
		result["type"] = end.kind
	}
	if end.reason != "" {
		result["error"] = end.reason
	}
	return result
}

// solveCaptcha answers Captcha.solve and Captcha.waitForSolve.
func (s *session) solveCaptcha(ctx context.Context, c command) (any, *protocolError) {
	var p struct {
		DetectTimeout *int64 `json:"detectTimeout"` // ms
	}
	if failure := c.read(&p); failure != nil {
		return nil, failure
	}
	detect := defaultDetect
	if p.DetectTimeout != nil {
		detect = min(max(time.Duration(*p.DetectTimeout)*time.Millisecond, 0), maxDetect)
	}
	id, ok := s.veil.target(c.session)
	if !ok {
		return nil, refuse(codeServer, "%s is a command of a page: use a session with one", c.method)
	}
	end, err := s.solveOn(ctx, target.ID(id), detect)
	if err != nil {
		return nil, refuse(codeServer, "%s: the page is gone", c.method)
	}
	if c.method == "Captcha.waitForSolve" && end.status == CaptchaNotDetected {
		// It may have been solved before the command.
		s.auto.mu.Lock()
		if last, ok := s.auto.last[target.ID(id)]; ok {
			end = last
		}
		s.auto.mu.Unlock()
	}
	return captchaResult(end), nil
}

// setAutoSolve answers Captcha.setAutoSolve{autoSolve}.
func (s *session) setAutoSolve(_ context.Context, c command) (any, *protocolError) {
	var p struct {
		AutoSolve bool `json:"autoSolve"`
	}
	if failure := c.read(&p); failure != nil {
		return nil, failure
	}
	s.auto.mu.Lock()
	defer s.auto.mu.Unlock()
	s.auto.off = !p.AutoSolve
	return map[string]any{}, nil
}
