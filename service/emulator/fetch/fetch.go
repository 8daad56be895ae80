// Package fetch is one page by a zone: what POST /request does (service.md 4.1), what
// each product makes of a page, and how other parts get theirs (jobs, agent access, the
// unlocker behind native access). A [Fetcher] is safe for concurrent use.
package fetch

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fetch/async"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/route"
)

// Config is what a Fetcher stands on. Account, Route and Log are needed; the
// rest may be nil, and then nothing happens there.
type Config struct {
	Account *account.Account
	Route   route.Router
	Log     *slog.Logger
	// Now is the emulator's clock; nil is time.Now.
	Now func() time.Time
	// Loose lets unknown fields pass, and notes them in x-emulator-note.
	Loose bool
	// Browser renders pages; nil refuses what needs it.
	Browser Browser
	// Async is how a zone takes requests; nil is both ways for every zone.
	Async func(account.Zone) AsyncMode
	// Target wraps what sends requests to targets: faults of targets.
	Target func(z account.Zone, rt http.RoundTripper) http.RoundTripper
	// Meter counts what fetches use; nil counts nothing.
	Meter *meter.Meter
}

// Browser is what the products need of a real browser; *browser.Browsers is one.
type Browser interface {
	Render(ctx context.Context, r browser.Request) (browser.Result, error)
	Screenshot(ctx context.Context, r browser.Request) (browser.Result, error)
}

// AsyncMode says how a zone takes requests: a zone of the public service is one or the
// other; here both are taken unless a scenario says otherwise.
type AsyncMode int

// The modes of a zone.
const (
	AsyncToo  AsyncMode = iota // both ways
	AsyncOff                   // synchronous only
	AsyncOnly                  // asynchronous only
)

// searchPage is the result page that a query without an address means.
func searchPage() *url.URL {
	return &url.URL{Scheme: "http", Host: exits.LabHost, Path: "/search"}
}

// Fetcher gets pages.
type Fetcher struct {
	conf  Config
	later *async.Store // nil until OpenLater
	ids   *route.IDs
}

// New makes a Fetcher.
func New(conf Config) *Fetcher {
	if conf.Now == nil {
		conf.Now = time.Now
	}
	return &Fetcher{conf: conf, ids: route.NewIDs()}
}
