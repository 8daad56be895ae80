// Package fetch is one page by a zone: what POST /request does (service.md 4.1), and how
// the other products get their pages. A [Fetcher] is safe for concurrent use.
package fetch

import (
	"log/slog"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/meter"
	"zonedeck/service/emulator/route"
)

// Config is what a Fetcher stands on.
type Config struct {
	Account *account.Account
	// Meter counts what fetches use; nil counts nothing.
	Meter *meter.Meter
	Route route.Router
	Log   *slog.Logger
}

// Fetcher gets pages.
type Fetcher struct{ conf Config }

// New makes a Fetcher.
func New(conf Config) *Fetcher { return &Fetcher{conf: conf} }
