// Package fetch fetches one page by a zone: for POST /request (service.md 4.1), in the form of
// each product, and for other parts (jobs, agent access, the unlocker behind native access). A
// [Fetcher] is safe for concurrent use.
package fetch

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/fetch/async"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/route"
)

// Config configures a Fetcher. All of it is needed.
type Config struct {
	Account *account.Account
	Route   route.Router
	Log     *slog.Logger
	// Now is the emulator's clock.
	Now func() time.Time
	// Loose accepts unknown fields, and notes them in x-emulator-note.
	Loose bool
	// Browser renders pages.
	Browser Browser
	// Async says how a zone takes requests.
	Async func(account.Zone) AsyncMode
	// Faults stand between a zone and its targets.
	Faults *fault.Engine
	// Meter counts what fetches use.
	Meter *meter.Meter
}

// Browser is a real browser, such as *browser.Browsers.
type Browser interface {
	Render(ctx context.Context, r browser.Request) (browser.Result, error)
	Screenshot(ctx context.Context, r browser.Request) (browser.Result, error)
}

// AsyncMode says how a zone takes requests: a zone of the public service takes one kind; here it
// takes both, unless a scenario says otherwise.
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
func New(conf Config) *Fetcher { return &Fetcher{conf: conf, ids: route.NewIDs()} }
