package keystore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

var errTooMuch = errors.New("more than 64 KiB of output")

// fromCommand runs the command of a cmd: reference and takes its standard output
// without one final line break. The command gets the console's environment, no
// standard input and, on Unix, no terminal: a program that wants to ask a
// question must not draw over the console's screen. Standard error is dropped,
// because it may hold the secret.
func (r *Resolver) fromCommand(ctx context.Context, ref Ref) (string, error) {
	words, err := SplitArgs(ref.Target())
	if err != nil {
		return "", &SecretError{Problem: err.Error(), Kind: errRefForm}
	}
	run, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	cmd := exec.CommandContext(run, words[0], words[1:]...)
	detach(cmd)
	// Do not wait for a grandchild that keeps the pipe open.
	cmd.WaitDelay = time.Second
	out := &bounded{limit: maxSecret}
	cmd.Stdout = out
	err = cmd.Run()
	switch exit, failed := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return "", fmt.Errorf("resolving %s: %w", ref.Label(), ctx.Err())
	case run.Err() != nil:
		return "", &SecretError{
			Ref: ref.Label(), Problem: fmt.Sprintf("the command gave no answer within %s", r.patience), Kind: ErrSecretUnreachable,
			Fix: "run it in a shell: it may wait for an unlock or a question",
		}
	case out.over:
		return "", &SecretError{
			Ref: ref.Label(), Problem: "the command wrote more than 64 KiB", Kind: errSecretUnusable,
			Fix: "make it print the secret alone",
		}
	case failed:
		return "", &SecretError{
			Ref: ref.Label(), Problem: "the command ended with " + exit.String(), Kind: ErrSecretUnreachable,
			Fix: "run it in a shell to see why; its messages are not shown here because they may hold secrets",
		}
	case errors.Is(err, exec.ErrNotFound):
		return "", &SecretError{
			Ref: ref.Label(), Problem: "no such program in PATH", Kind: ErrSecretUnreachable,
			Fix: "install it, or write its full path",
		}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // after ErrWaitDelay the answer is there: a daemon keeps the pipe open
		return "", &SecretError{
			Ref: ref.Label(), Problem: "the command did not run", Kind: ErrSecretUnreachable, Err: err,
			Fix: "run it in a shell to see why",
		}
	}
	value := bytes.TrimSuffix(out.buf.Bytes(), []byte("\n"))
	value = bytes.TrimSuffix(value, []byte("\r"))
	if len(value) == 0 {
		return "", &SecretError{
			Ref: ref.Label(), Problem: "the command printed nothing", Kind: ErrSecretMissing,
			Fix: "make it print the secret on standard output",
		}
	}
	return string(value), nil
}

// bounded keeps at most limit bytes; more is an error, which ends the command.
type bounded struct {
	buf   bytes.Buffer
	limit int
	over  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > b.limit+2 { // the final line break is not counted
		b.over = true
		return 0, errTooMuch
	}
	return b.buf.Write(p)
}

var (
	errNoCommand = errors.New("there is no command")
	errOpenQuote = errors.New("a quote is not closed")
)

// SplitArgs splits a command into its words without a shell: it expands no variables
// and no patterns, and knows no pipes. Blanks separate words. Text in single quotes is
// taken as it is; so is text in double quotes, except that \" is a quote and \\ a
// backslash. Outside quotes a backslash is an ordinary character: Windows paths need no
// escaping.
func SplitArgs(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	in := false // inside a word; "" is a word too
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r':
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		case '\'', '"':
			in = true
			n, err := quoted(&word, s[i+1:], c)
			if err != nil {
				return nil, err
			}
			i += n
		default:
			in = true
			word.WriteByte(c)
		}
	}
	if in {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errNoCommand
	}
	return words, nil
}

// quoted copies the text up to the closing quote q to w. It returns the length of that
// text in s, with the quote.
func quoted(w *strings.Builder, s string, q byte) (int, error) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == q:
			return i + 1, nil
		case c == '\\' && q == '"' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			w.WriteByte(s[i])
		default:
			w.WriteByte(c)
		}
	}
	return 0, errOpenQuote
}
