package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"zonedeck/keystore"
	"zonedeck/ui/cli/session"
)

// A secret that is made up at a terminal is typed twice: nobody sees a mistake in it.
func TestAPassphraseIsTypedTwice(t *testing.T) {
	terminal, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	for name, tc := range map[string]struct {
		typed []string
		want  string // "" for an error
	}{
		"the same": {[]string{"correct horse", "correct horse"}, "correct horse"},
		"another":  {[]string{"correct horse", "corect horse"}, ""},
		"nothing":  {[]string{"correct horse", ""}, ""},
	} {
		var out bytes.Buffer
		left := tc.typed
		a := &app{
			Process: Process{Stdin: terminal, Stderr: &out, StdinTTY: true},
			hidden: func(uintptr) ([]byte, error) {
				b := []byte(left[0])
				left = left[1:]
				return b, nil
			},
		}
		s, err := a.chooseSecret("the new passphrase")
		if s.Reveal() != tc.want || (err == nil) != (tc.want != "") || len(left) != 0 {
			t.Errorf("%s: %v, %d answers left", name, err, len(left))
		}
		if !strings.Contains(out.String(), "the new passphrase again") || err != nil && strings.Contains(err.Error(), "horse") {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
	}
	piped := &app{Process: Process{Stdin: strings.NewReader("correct horse\n")}}
	if s, err := piped.chooseSecret("the new passphrase"); err != nil || s.Reveal() != "correct horse" {
		t.Errorf("from a pipe: %v", err)
	}
}

// A scan that only wants to recognise values asks nobody.
func TestAScanAsksForNoPassphrase(t *testing.T) {
	env := map[string]string{}
	a := &app{Process: Process{
		Stdin: strings.NewReader("typed\n"), Stderr: new(bytes.Buffer), StdinTTY: true,
		Getenv: func(name string) string { return env[name] },
	}}
	if s, err := a.passphrase(keystore.Unasked(t.Context()), "the passphrase"); err != nil || !s.Empty() {
		t.Errorf("it was asked for: %v, %v", s, err)
	}
	env[session.EnvPassphrase] = "of the environment"
	if s, err := a.passphrase(keystore.Unasked(t.Context()), "the passphrase"); err != nil || s.Reveal() != "of the environment" {
		t.Errorf("%v, %v", s, err)
	}
}
