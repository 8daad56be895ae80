package browser

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// The outcomes of an attempt to solve a challenge, in the words of public documentation.
const (
	captchaNotDetected = "not_detected"
	captchaSolved      = "solve_finished"
	captchaFailed      = "solve_failed"
)

// widgetWait is how long a challenge's widget may take to draw its box.
const widgetWait = 3 * time.Second

// solution is the result of looking for a challenge on a page.
type solution struct {
	status string // "" without an attempt
	kind   string // "recaptcha", "hcaptcha", "turnstile"; empty without a challenge
	reason string // why it failed
}

// whichCaptcha evaluates to the kind of the challenge on a page, by its widget, or "".
const whichCaptcha = `(() => {
	const widgets = {recaptcha: ".g-recaptcha", hcaptcha: ".h-captcha", turnstile: ".cf-turnstile"};
	for (const [kind, selector] of Object.entries(widgets)) if (document.querySelector(selector)) return kind;
	return "";
})()`

// whereToTick evaluates to the middle of the box to tick, in CSS pixels of the window, or null
// before it is drawn.
const whereToTick = `(() => {
	const box = document.querySelector(".g-recaptcha input[type=checkbox], .h-captcha input[type=checkbox], .cf-turnstile input[type=checkbox]");
	if (!box || box.disabled) return null;
	box.scrollIntoView({block: "center"});
	const r = box.getBoundingClientRect();
	return r.width && r.height ? {x: r.x + r.width / 2, y: r.y + r.height / 2} : null;
})()`

// isThere evaluates to true for a loaded page without a challenge.
const isThere = `document.readyState === "complete" && ` + whichCaptcha + ` === ""`

type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// solve waits for the challenge's box, ticks it with the mouse, and waits for the page behind
// it. Challenges that need more than a tick (pictures to choose, boxes in a frame of another
// site) fail. tab is chromedp's. Its error is the context's or the browser's.
func solve(tab context.Context, detect, patience time.Duration) (solution, error) {
	kind, err := watch[string](tab, detect, whichCaptcha)
	switch {
	case err != nil:
		return solution{}, err
	case kind == "":
		return solution{status: captchaNotDetected}, nil
	}
	box, err := watch[*point](tab, widgetWait, whereToTick)
	switch {
	case err != nil:
		return solution{}, err
	case box == nil:
		return solution{captchaFailed, kind, "the widget shows no box to tick"}, nil
	}
	if err := chromedp.Do(tab, chromedp.MouseEvent(chromedp.MouseMoved, box.X, box.Y), chromedp.MouseClickXY(box.X, box.Y)); err != nil {
		return solution{}, err
	}
	gone, err := watch[bool](tab, patience, isThere)
	switch {
	case err != nil:
		return solution{}, err
	case !gone:
		return solution{captchaFailed, kind, "the challenge was still there after its box was ticked"}, nil
	}
	return solution{status: captchaSolved, kind: kind}, nil
}

// watch evaluates an expression on a page until it has a value, and returns the zero value when
// the time is over. It ignores errors, because a loading page may have no document, except
// those that the expression throws.
func watch[T comparable](tab context.Context, limit time.Duration, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(tab, limit)
	defer cancel()
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	var none T
	for {
		v, err := inspect[T](tab, expression)
		var thrown *chromedp.ExceptionError
		switch {
		case errors.As(err, &thrown):
			return none, err
		case err == nil && v != none:
			return v, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return none, tab.Err()
		}
	}
}

var errNoPage = errors.New("the browser has no page")

// autoWait is how long after a navigation the session looks for a challenge without a command.
const autoWait = 2 * time.Second

// follow records the navigations of the session's pages, and solves their challenges.
func (s *session) follow() error {
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
			s.navigated(ev.TargetID, "")
			return
		default:
			return
		}
		if info.Type != "page" || info.URL == urls[info.TargetID] {
			return
		}
		urls[info.TargetID] = info.URL
		if s.navigated(info.TargetID, info.URL) {
			s.spawn(func() { _, _ = s.solveOn(s.drv, info.TargetID, autoWait) })
		}
	})
	if err != nil {
		return err
	}
	_, err = chromedp.CallBrowser(s.drv, target.SetDiscoverTargets, target.SetDiscoverTargetsParams{Discover: true})
	return err
}

// navigated records a page's new address, "" for a closed page. It reports whether to look for a
// challenge there.
func (s *session) navigated(id target.ID, address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.solutions, id)
	if site := siteOf(address); site == "" || site == primeHost {
		return false
	}
	s.rec.Navigations++
	s.rec.EndURL = address
	s.rec.TargetURL = cmp.Or(s.rec.TargetURL, address)
	return !s.manual
}

// solveOn solves a page's challenge. Concurrent calls share the attempt and its result.
func (s *session) solveOn(ctx context.Context, id target.ID, detect time.Duration) (solution, error) {
	result, err, _ := s.solving.Do(string(id), func() (any, error) {
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
	outcomes := map[string][2]string{captchaSolved: {"olveFinished", "solved"}, captchaFailed: {"olveFailed", "failed"}}
	outcome, ok := outcomes[end.status]
	if !ok {
		return
	}
	s.mu.Lock()
	s.solutions[id] = end
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
	if c.method == "Captcha.waitForSolve" && end.status == captchaNotDetected {
		// It may have been solved before the command.
		s.mu.Lock()
		if last, ok := s.solutions[target.ID(id)]; ok {
			end = last
		}
		s.mu.Unlock()
	}
	return captchaResult(end), nil
}

func (s *session) setAutoSolve(_ context.Context, c command) (any, *protocolError) {
	var p struct {
		AutoSolve bool `json:"autoSolve"`
	}
	if failure := c.read(&p); failure != nil {
		return nil, failure
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.manual = !p.AutoSolve
	return map[string]any{}, nil
}
