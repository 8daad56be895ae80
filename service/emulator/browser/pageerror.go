package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The codes of a [PageError], which are those of the unlocker (public documentation).
const (
	CodeNavigationTimeout = "navigation_timeout"
	CodeExpectElement     = "expect_element"
	CodeDocumentLoad      = "document_load_failed"
	CodeProxy             = "proxy_error"
	CodeDisconnected      = "browser_disconnected"
	CodeClosed            = "net_err_closed"
)

// PageError is the reason why a page could not be opened. Its Code is an x-brd-error-code of the
// public documentation: one of the constants above, or the browser's error in the form
// net_err_cert_authority_invalid.
type PageError struct {
	Code string
	// Text is for people; it contains no secrets.
	Text string
	// Err is the error of the seat's [Dial], if the target could not be reached.
	Err error
}

func (e *PageError) Error() string { return e.Code + ": " + e.Text }

// Unwrap returns the dialer's error.
func (e *PageError) Unwrap() error { return e.Err }

// netError turns Chromium's error text ("net::ERR_CERT_DATE_INVALID") into a
// PageError. dialed is the dialer's error for the page's address, or nil.
func netError(text string, dialed error) *PageError {
	if dialed != nil {
		return &PageError{Code: CodeProxy, Text: "the target could not be reached: " + dialed.Error(), Err: dialed}
	}
	name, ok := strings.CutPrefix(text, "net::ERR_")
	if !ok {
		return &PageError{Code: CodeDocumentLoad, Text: text}
	}
	switch name {
	case "ABORTED":
		return &PageError{Code: CodeDocumentLoad, Text: "the target sent no document that a browser shows"}
	case "CONNECTION_CLOSED", "EMPTY_RESPONSE":
		return &PageError{Code: CodeClosed, Text: "the target ended the connection (" + text + ")"}
	case "TIMED_OUT", "CONNECTION_TIMED_OUT":
		return &PageError{Code: CodeNavigationTimeout, Text: text}
	default:
		return &PageError{Code: "net_err_" + strings.ToLower(name), Text: text}
	}
}

// explain finds the reason of an error: the time is over, the caller has left, or the browser has
// crashed. It returns any other error unchanged, and a PageError unless the caller has left.
func explain(ctx context.Context, alive bool, during string, err error) error {
	var page *PageError
	timeIsUp := errors.Is(context.Cause(ctx), errTimeIsUp)
	switch {
	case err == nil, errors.As(err, &page) && (ctx.Err() == nil || timeIsUp):
		return err
	case timeIsUp:
		return &PageError{Code: CodeNavigationTimeout, Text: during + " took longer than allowed"}
	case ctx.Err() != nil:
		return ctx.Err()
	case !alive:
		return &PageError{Code: CodeDisconnected, Text: "the browser ended during " + during}
	default:
		return fmt.Errorf("%s: %w", during, err)
	}
}

// errTimeIsUp is the cause of a context whose page has reached its time limit.
var errTimeIsUp = errors.New("the page's time is up")
