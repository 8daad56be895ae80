package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/atotto/clipboard"

	"zonedeck/service"
	"zonedeck/ui"
)

// clipboardPatience bounds a clipboard program that hangs, which may happen without
// a display.
const clipboardPatience = 2 * time.Second

// errNoClipboard says that this machine has no native clipboard; only OSC 52 works.
var errNoClipboard = errors.New("no native clipboard on this machine")

// terminal is the one that the console runs in, as its environment describes it.
type terminal struct{ service.Options }

// multiplexer is what the terminal runs in; of two, tmux is asked first.
func (t terminal) multiplexer() ui.Multiplexer {
	switch {
	case t.Getenv("TMUX") != "":
		return ui.Tmux
	case t.Getenv("STY") != "":
		return ui.GNUScreen
	}
	return ui.NoMultiplexer
}

// pasteBuffers are those of tmux; nil outside it.
func (t terminal) pasteBuffers() ui.PasteBuffers {
	if t.multiplexer() != ui.Tmux {
		return nil
	}
	return buffers{t}
}

// buffers are the paste buffers of the tmux that the console is in.
type buffers struct{ terminal }

// Copy implements ui.PasteBuffers. tmux gets the text on its command's standard input: nothing of it
// stands in the arguments of a process. It is asked to hand it on to its own terminal, except where
// its set-clipboard is off.
func (t buffers) Copy(ctx context.Context, text string) (done ui.TmuxCopy) {
	if text == "" { // tmux keeps no empty buffer
		return done
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clipboardPatience)
	defer cancel()
	out, err := t.tmux(ctx, "", "display-message", "-p", "-t", t.Getenv("TMUX_PANE"), "#{set-clipboard} #{allow-passthrough}")
	options := strings.Fields(string(out))
	done.Known = err == nil && len(options) == 2
	done.Passes = done.Known && (options[0] == "on" || options[1] != "0" && options[1] != "off")
	if done.Known && options[0] == "off" {
		_, err = t.tmux(ctx, text, "load-buffer", "-")
	} else if _, err = t.tmux(ctx, text, "load-buffer", "-w", "-"); err == nil {
		done.Passes = done.Known
	} else { // tmux before 3.2
		_, err = t.tmux(ctx, text, "load-buffer", "-")
	}
	if err != nil {
		return done
	}
	held, err := t.tmux(ctx, "", "save-buffer", "-")
	done.Verified = err == nil && string(held) == text
	return done
}

// tmux runs a command of the tmux that the console is in.
func (t terminal) tmux(ctx context.Context, in string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "tmux", args...)
	cmd.Env = append(os.Environ(), "TMUX="+t.Getenv("TMUX"))
	cmd.Stdin = strings.NewReader(in)
	return cmd.Output()
}

// Forget implements ui.PasteBuffers. A buffer is known by its text, which is compared by its sum: no
// secret stands in the arguments of a process.
func (t buffers) Forget(ctx context.Context, sum [sha256.Size]byte) (deleted int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clipboardPatience)
	defer cancel()
	names, err := t.tmux(ctx, "", "list-buffers", "-F", "#{buffer_name}")
	if err != nil {
		return 0, fmt.Errorf("listing the paste buffers: %w", err)
	}
	for name := range strings.Lines(string(names)) {
		name = strings.TrimSuffix(name, "\n")
		held, err := t.tmux(ctx, "", "save-buffer", "-b", name, "-")
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && strings.HasPrefix(string(failed.Stderr), "no buffer") {
			continue // gone meanwhile
		}
		if err != nil {
			return deleted, fmt.Errorf("reading a paste buffer: %w", err)
		}
		if sha256.Sum256(held) != sum {
			continue
		}
		if _, err := t.tmux(ctx, "", "delete-buffer", "-b", name); err != nil {
			return deleted, fmt.Errorf("deleting a paste buffer: %w", err)
		}
		deleted++
	}
	return deleted, nil
}

// native is the operating system's clipboard.
type native struct{}

// Read reads the clipboard, as bounded as Write.
func (native) Read(ctx context.Context) (string, error) {
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

// Write puts text on the clipboard and names it. It may
// run the system's clipboard program, so it belongs in a command. It gives up when
// ctx ends or after two seconds.
func (native) Write(ctx context.Context, text string) (where string, err error) {
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
