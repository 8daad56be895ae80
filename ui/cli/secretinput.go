package cli

import (
	"bytes"
	"cmp"
	"io"
	"os"

	"github.com/charmbracelet/x/term"

	"zonedeck/keystore"
	"zonedeck/model"
)

// maxTyped bounds a secret on standard input, in bytes.
const maxTyped = 64 << 10

// readSecret reads one secret from standard input: everything except blanks and marks at its ends or, at a
// terminal, one line, which is not shown. what names it in the question and in errors.
func (a *app) readSecret(what string) (keystore.Secret, error) {
	if file, isFile := a.Stdin.(*os.File); a.StdinTTY && isFile {
		return a.typeSecret(what, file)
	}
	b, err := io.ReadAll(io.LimitReader(a.Stdin, maxTyped+3))
	if err != nil {
		return keystore.Secret{}, fail(exitState, "read %s from standard input: %w", what, err)
	}
	return a.secretOf(what, b)
}

// typeSecret reads a line at a terminal without showing it.
func (a *app) typeSecret(what string, terminal *os.File) (keystore.Secret, error) {
	if a.flags.noInput {
		return keystore.Secret{}, usage("%s is read from standard input, and --no-input forbids asking for it: pipe it in", what)
	}
	hidden := a.hidden
	if hidden == nil {
		hidden = term.ReadPassword
	}
	a.tell("%s (it is not shown): ", what)
	b, err := hidden(terminal.Fd())
	a.tell("\n")
	if err != nil {
		return keystore.Secret{}, fail(exitState, "read %s: %w", what, err)
	}
	return a.secretOf(what, b)
}

// chooseSecret is readSecret for a new secret: at a terminal it is typed twice, because a typing
// mistake cannot be seen.
func (a *app) chooseSecret(what string) (keystore.Secret, error) {
	s, err := a.readSecret(what)
	if file, isFile := a.Stdin.(*os.File); err == nil && a.StdinTTY && isFile {
		again, err := a.typeSecret(what+" again", file)
		if err != nil {
			return keystore.Secret{}, err
		}
		if !again.Equal(s) {
			return keystore.Secret{}, usage("%s was typed differently the second time: nothing is changed", what)
		}
	}
	return s, err
}

// secretOf is the secret in what was read, without blanks and marks at its ends, which it names: no service makes such a secret.
func (a *app) secretOf(what string, b []byte) (keystore.Secret, error) {
	size := len(bytes.TrimRight(b, "\r\n"))
	value, marks := model.TrimMarks(string(b))
	if len(value) < size {
		a.say("zonedeck: %s at the ends of %s was taken off", cmp.Or(marks, "a blank"), what)
	}
	b = []byte(value)
	switch {
	case len(b) == 0:
		return keystore.Secret{}, usage("%s is missing: it is read from standard input", what)
	case len(b) > maxTyped:
		return keystore.Secret{}, usage("%s has more than 64 KiB", what)
	case bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return keystore.Secret{}, usage("%s holds a line break or another control character", what)
	}
	return keystore.NewSecret(string(b)), nil
}

// confirmed asks a question at a terminal. Without one, or with --no-input, only yes answers it.
func (a *app) confirmed(yes bool, question string) (bool, error) {
	switch {
	case yes:
		return true, nil
	case !a.StdinTTY || a.flags.noInput:
		return false, usage("%s Say so with --yes", question)
	}
	a.tell("%s [y/N] ", question)
	var answer [16]byte
	n, err := a.Stdin.Read(answer[:])
	if err != nil {
		return false, nil //nolint:nilerr // the end of the input is a no
	}
	word := string(bytes.ToLower(bytes.TrimSpace(answer[:n])))
	return word == "y" || word == "yes", nil
}
