package browser

import (
	"context"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// primeHost is the host that a browser context requests to learn its login. The egress answers
// it.
const primeHost = "egress.invalid"

// emptyParams are the parameters of a command without parameters.
var emptyParams = cdp.Empty{}

// prime gives the browser context of a tab the login of its seat: it answers the egress's
// demand for a login once. From then on Chromium's network stack sends the login with every
// request of that browser context (pages, workers, sockets). Until then the context has no
// network access.
func (s *seat) prime(tab context.Context) error {
	var answers sync.WaitGroup
	defer answers.Wait()
	ctx, cancel := context.WithCancel(tab)
	defer cancel()
	// If an answer fails, so does the navigation.
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *fetch.EventRequestPaused:
			answers.Go(func() {
				_, _ = chromedp.Call(ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
			})
		case *fetch.EventAuthRequired:
			answers.Go(func() {
				_, _ = chromedp.Call(ctx, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{
					RequestID: ev.RequestID,
					AuthChallengeResponse: &fetch.AuthChallengeResponse{
						Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: s.user, Password: s.password,
					},
				})
			})
		}
	})
	if err != nil {
		return err
	}
	target := "http://" + primeHost + "/"
	if _, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{
		Patterns: []*fetch.RequestPattern{{URLPattern: target + "*"}}, HandleAuthRequests: new(true),
	}); err != nil {
		return err
	}
	// A 204 does not navigate, which the browser calls aborted.
	res, err := chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: target})
	if err != nil {
		return err
	}
	if res.ErrorText != "net::ERR_ABORTED" {
		return fmt.Errorf("the browser did not find its way out: %q", res.ErrorText)
	}
	_, err = chromedp.Call(ctx, fetch.Disable, emptyParams)
	return err
}
