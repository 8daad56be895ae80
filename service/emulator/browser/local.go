package browser

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/gobwas/ws"
)

const (
	// maxDetect bounds the wait for a challenge on a command of the client.
	maxDetect = time.Minute
	// defaultDetect is that wait if the client sets none.
	defaultDetect = 5 * time.Second
	// localWait bounds every command that is answered here.
	localWait = 2 * time.Minute
)

// furnish prepares the default browser context of a new Chromium, and follows its pages from
// now on.
func (s *session) furnish(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.stop)()
	if err := denyDownloads(s.drv, ""); err != nil {
		return err
	}
	all, err := chromedp.CallBrowser(s.drv, target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		return err
	}
	for _, info := range all.TargetInfos {
		if info.Type != "page" || privileged(info.URL) {
			continue
		}
		tab, leave := s.visit(s.drv, info.TargetID)
		err := s.seat.prime(tab)
		leave()
		if err != nil {
			return err
		}
		return s.follow()
	}
	return errNoPage
}

// visit attaches the driver to a page. leave detaches without closing the page.
func (s *session) visit(ctx context.Context, id target.ID) (tab context.Context, leave func()) {
	return chromedp.NewContext(ctx, chromedp.WithTargetID(id), chromedp.WithDetachOnCancel())
}

// answersLocally answers commands that Chromium does not have, and those that need several of
// its commands. It reports whether it answered the command.
func (s *session) answersLocally(c command) bool {
	var do func(context.Context, command) (any, *protocolError)
	switch c.method {
	case "Browser.close":
		// The browser ends with its session.
		_ = s.write(ws.OpText, c.reply(nil, nil))
		s.finish(nil)
		return true
	case "Browser.getSessionId":
		// In the goroutine that reads from the client, because it needs no wait.
		_ = s.write(ws.OpText, c.reply(map[string]string{"sessionId": s.id}, nil))
		return true
	case "Target.createBrowserContext":
		do = s.newContext
	case "Target.getTargets":
		do = s.targets
	case "Captcha.solve", "Captcha.Solve", "Captcha.waitForSolve":
		do = s.solveCaptcha
	case "Captcha.setAutoSolve":
		do = s.setAutoSolve
	default:
		return false
	}
	select {
	case s.local <- struct{}{}:
	default:
		_ = s.refuse(c, refuse(codeServer, "%s: too many commands of this kind at one time", c.method))
		return true
	}
	s.spawn(func() {
		defer func() { <-s.local }()
		ctx, cancel := context.WithTimeout(s.drv, localWait)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		result, failure := do(ctx, c)
		// Fails only if the client has left.
		_ = s.write(ws.OpText, c.reply(result, failure))
	})
	return true
}

// targets answers Target.getTargets, without hidden targets.
func (s *session) targets(ctx context.Context, c command) (any, *protocolError) {
	var all struct {
		TargetInfos []json.RawMessage `json:"targetInfos"`
	}
	params := c.params
	if params == nil {
		params = json.RawMessage("{}")
	}
	var failed *cdproto.Error
	err := chromedp.FromContext(ctx).Browser.Call(ctx, c.method, jsonv2.Value(params), &all)
	switch {
	case errors.As(err, &failed):
		return nil, refuse(int(failed.Code), "%s", failed.Message)
	case err != nil:
		return nil, refuse(codeServer, "%s: the browser is gone", c.method)
	}
	all.TargetInfos = slices.DeleteFunc(all.TargetInfos, s.veil.hidesInfo)
	return all, nil
}

// newContext makes a browser context with the session's proxy login. The client sees it once it
// is ready.
func (s *session) newContext(ctx context.Context, c command) (any, *protocolError) {
	if _, failure := screen(c); failure != nil {
		return nil, failure
	}
	made, err := chromedp.CallBrowser(ctx, target.CreateBrowserContext, target.CreateBrowserContextParams{})
	if err != nil {
		return nil, refuse(codeServer, "the browser context was not made")
	}
	id := made.BrowserContextID
	s.veil.cover(string(id), true)
	defer s.veil.cover(string(id), false)
	if err := s.primeContext(ctx, id); err != nil {
		return nil, refuse(codeServer, "the browser context has no way out")
	}
	return map[string]any{"browserContextId": id}, nil
}

func (s *session) primeContext(ctx context.Context, id cdp.BrowserContextID) error {
	if err := denyDownloads(ctx, id); err != nil {
		return err
	}
	tab, done := chromedp.NewContext(ctx, chromedp.WithExistingBrowserContext(id))
	defer done()
	return s.seat.prime(tab)
}

// denyDownloads forbids downloads in a browser context; "" is the default one.
func denyDownloads(ctx context.Context, id cdp.BrowserContextID) error {
	_, err := chromedp.CallBrowser(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: id,
	})
	return err
}
