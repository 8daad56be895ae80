package browser

import (
	"context"
	"errors"
	"time"

	"github.com/chromedp/chromedp"
)

// CaptchaStatus is the outcome of an attempt to solve a challenge, in the words of public
// documentation.
type CaptchaStatus string

// The outcomes of an attempt. The zero value means that there was none.
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

// solution is the result of looking for a challenge on a page.
type solution struct {
	status CaptchaStatus
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
		return solution{status: CaptchaNotDetected}, nil
	}
	box, err := watch[*point](tab, widgetWait, whereToTick)
	switch {
	case err != nil:
		return solution{}, err
	case box == nil:
		return solution{CaptchaFailed, kind, "the widget shows no box to tick"}, nil
	}
	if err := chromedp.Do(tab, chromedp.MouseEvent(chromedp.MouseMoved, box.X, box.Y), chromedp.MouseClickXY(box.X, box.Y)); err != nil {
		return solution{}, err
	}
	gone, err := watch[bool](tab, patience, isThere)
	switch {
	case err != nil:
		return solution{}, err
	case !gone:
		return solution{CaptchaFailed, kind, "the challenge was still there after its box was ticked"}, nil
	}
	return solution{status: CaptchaSolved, kind: kind}, nil
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
		v, err := look[T](tab, expression)
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
