package browser

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// CaptchaStatus is the end of an attempt to solve a challenge, in the words of public
// documentation.
type CaptchaStatus string

// The ends of an attempt. The zero value says that there was none.
const (
	CaptchaNotDetected CaptchaStatus = "not_detected"
	CaptchaSolved      CaptchaStatus = "solve_finished"
	CaptchaFailed      CaptchaStatus = "solve_failed"
)

const (
	// widgetWait is how long a challenge's widget may take to draw its box.
	widgetWait = 3 * time.Second
	// defaultSolve is how long a challenge may take after its box was ticked.
	defaultSolve = 10 * time.Second
)

// solution is what came of looking for a challenge on a page.
type solution struct {
	status CaptchaStatus
	kind   string // "recaptcha", "hcaptcha", "turnstile"; empty where there is none
	reason string // why it failed
}

// whichCaptcha gives the kind of the challenge on a page, by the widget that stands
// for it, or the empty string.
const whichCaptcha = `(() => {
	const widgets = {recaptcha: ".g-recaptcha", hcaptcha: ".h-captcha", turnstile: ".cf-turnstile"};
	for (const [kind, selector] of Object.entries(widgets)) if (document.querySelector(selector)) return kind;
	return "";
})()`

// whereToTick gives the middle of the box that a person would tick, in CSS pixels of
// the window, or null while there is none.
const whereToTick = `(() => {
	const box = document.querySelector(".g-recaptcha input[type=checkbox], .h-captcha input[type=checkbox], .cf-turnstile input[type=checkbox]");
	if (!box || box.disabled) return null;
	box.scrollIntoView({block: "center"});
	const r = box.getBoundingClientRect();
	return r.width && r.height ? {x: r.x + r.width / 2, y: r.y + r.height / 2} : null;
})()`

// isThere tells whether the page is read and without a challenge.
const isThere = `document.readyState === "complete" && ` + whichCaptcha + ` === ""`

type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// solve does on a page what a person does: waits for the challenge's box, ticks it
// with the mouse, and waits for the page behind it. Challenges that ask for more than
// a tick (pictures to choose, boxes in a frame of another site) fail. tab is
// chromedp's. Its error is the context's or the browser's.
func solve(tab context.Context, detect, patience time.Duration) (solution, error) {
	kind, err := await(tab, detect, func() (string, bool, error) {
		kind, err := look[string](tab, whichCaptcha)
		return kind, kind != "", err
	})
	if err != nil {
		return solution{}, err
	}
	if kind == "" {
		return solution{status: CaptchaNotDetected}, nil
	}
	at, err := await(tab, widgetWait, func() (*point, bool, error) {
		p, err := look[*point](tab, whereToTick)
		return p, p != nil, err
	})
	if err != nil {
		return solution{}, err
	}
	if at == nil {
		return solution{CaptchaFailed, kind, "the widget shows no box to tick"}, nil
	}
	if err := tick(tab, *at); err != nil {
		return solution{}, err
	}
	gone, err := await(tab, patience, func() (bool, bool, error) {
		ok, err := look[bool](tab, isThere)
		return ok, ok, err
	})
	if err != nil {
		return solution{}, err
	}
	if !gone {
		return solution{CaptchaFailed, kind, "the challenge was still there after its box was ticked"}, nil
	}
	return solution{status: CaptchaSolved, kind: kind}, nil
}

// tick clicks where a person would.
func tick(tab context.Context, at point) error {
	for _, kind := range [...]input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		p := input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y}
		if kind != input.DispatchMouseEventTypeMouseMoved {
			p.Button, p.ClickCount = input.MouseButtonLeft, 1
		}
		if _, err := chromedp.Call(tab, input.DispatchMouseEvent, p); err != nil {
			return err
		}
	}
	return nil
}

// await asks again until the answer is yes or the time is over, and gives the last
// answer. An error of asking counts as no: a page that loads has no document at times.
func await[T any](ctx context.Context, limit time.Duration, ask func() (T, bool, error)) (T, error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for {
		v, ok, err := ask()
		if ok && err == nil {
			return v, nil
		}
		select {
		case <-again.C:
		case <-deadline.C:
			var none T
			return none, nil
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}

// pass solves the challenge of a rendered page, if there is one.
func (t *tab) pass() (CaptchaStatus, error) {
	s, err := solve(t.ctx, 0, t.patience)
	if err != nil {
		return "", err
	}
	switch s.status {
	case CaptchaFailed:
		return s.status, &PageError{Code: "resolve_failed_" + s.kind, Text: "the page's " + s.kind + " challenge was not solved: " + s.reason}
	case CaptchaSolved:
		return s.status, t.settle()
	}
	return s.status, nil
}
