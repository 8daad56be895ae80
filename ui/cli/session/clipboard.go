package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atotto/clipboard"
)

// clipboardPatience bounds a clipboard program that does not answer, as one
// without a display may.
const clipboardPatience = 2 * time.Second

// errNoClipboard says that this machine has no native clipboard: OSC 52 by way
// of the terminal is all there is.
var errNoClipboard = errors.New("no native clipboard on this machine")

// nativeClipboard puts text on the operating system's clipboard and names it.
// It runs the clipboard program of the system where there is one, so it belongs
// into a command; it gives up when ctx ends or after two seconds.
func nativeClipboard(ctx context.Context, text string) (where string, err error) {
	if clipboard.Unsupported {
		return "", errNoClipboard
	}
	ctx, cancel := context.WithTimeout(ctx, clipboardPatience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- clipboard.WriteAll(text) }() // ends with the clipboard program, which the system owns
	select {
	case err := <-done:
		if err != nil {
			return "", fmt.Errorf("writing to the clipboard: %w", err)
		}
		return "the clipboard", nil
	case <-ctx.Done():
		return "", fmt.Errorf("writing to the clipboard: %w", ctx.Err())
	}
}
