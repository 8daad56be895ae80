package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/atotto/clipboard"

	"zonedeck/ui"
)

// clipboardPatience bounds a clipboard program that hangs, which may happen without
// a display.
const clipboardPatience = 2 * time.Second

// errNoClipboard says that this machine has no native clipboard; only OSC 52 works.
var errNoClipboard = errors.New("no native clipboard on this machine")

// multiplexer is what the terminal runs in; of two, tmux is asked first.
func (s *Session) multiplexer() ui.Multiplexer {
	switch {
	case s.o.Getenv("TMUX") != "":
		return ui.Tmux
	case s.o.Getenv("STY") != "":
		return ui.GNUScreen
	}
	return ui.NoMultiplexer
}

// tmuxPasses asks tmux whether it hands the clipboard on to its own terminal; known is false
// where that is not tmux, or it does not answer in time.
func (s *Session) tmuxPasses(ctx context.Context) (passes, known bool) {
	if s.multiplexer() != ui.Tmux {
		return false, false
	}
	ctx, cancel := context.WithTimeout(ctx, clipboardPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", "display-message", "-p", "-t", s.o.Getenv("TMUX_PANE"), "#{set-clipboard} #{allow-passthrough}")
	cmd.Env = append(os.Environ(), "TMUX="+s.o.Getenv("TMUX"))
	out, err := cmd.Output()
	options := strings.Fields(string(out))
	if err != nil || len(options) != 2 {
		return false, false
	}
	return options[0] == "on" || options[1] != "0" && options[1] != "off", true
}

// readClipboard reads the operating system's clipboard, as bounded as nativeClipboard.
func readClipboard(ctx context.Context) (string, error) {
	if clipboard.Unsupported {
		return "", errNoClipboard
	}
	ctx, cancel := context.WithTimeout(ctx, clipboardPatience)
	defer cancel()
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() { // ends with the system's clipboard program
		text, err := clipboard.ReadAll()
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		return a.text, a.err
	case <-ctx.Done():
		return "", fmt.Errorf("reading the clipboard: %w", ctx.Err())
	}
}

// nativeClipboard puts text on the operating system's clipboard and names it. It may
// run the system's clipboard program, so it belongs in a command. It gives up when
// ctx ends or after two seconds.
func nativeClipboard(ctx context.Context, text string) (where string, err error) {
	if clipboard.Unsupported {
		return "", errNoClipboard
	}
	ctx, cancel := context.WithTimeout(ctx, clipboardPatience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- clipboard.WriteAll(text) }() // ends with the system's clipboard program
	select {
	case err := <-done:
		if err != nil {
			return "", fmt.Errorf("writing to the clipboard: %w", err)
		}
		return "this machine's clipboard", nil
	case <-ctx.Done():
		return "", fmt.Errorf("writing to the clipboard: %w", ctx.Err())
	}
}
