package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/config"
)

// A new secret is typed twice at a terminal, because a mistake in it cannot be seen.
func TestAPassphraseIsTypedTwice(t *testing.T) {
	terminal, err := os.Open(os.DevNull)
	noerr.Must(t, err)
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

// Before the console takes the screen, a wrong passphrase is reported and asked for again.
func TestAWrongPassphraseIsAskedForAgain(t *testing.T) {
	t.Parallel()
	terminal, err := os.Open(os.DevNull)
	noerr.Must(t, err)
	defer terminal.Close()
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	paths := config.FindPaths(env)
	noerr.Must(t, paths.Ensure())
	r := keystore.NewResolver(keystore.ResolverOptions{SecretsDir: paths.SecretsDir()})
	noerr.Must(t, r.Protect(t.Context(), keystore.ByPassphrase, keystore.NewSecret("correct horse")))
	for name, tc := range map[string]struct {
		typed []string
		said  []string
		open  bool
	}{
		"right":         {[]string{"correct horse"}, nil, true},
		"at the second": {[]string{"wrong", "correct horse"}, []string{"this passphrase does not open the encrypted files"}, true},
		"never":         {[]string{"wrong", "wrong", "wrong"}, []string{"this passphrase does not open the encrypted files", "stay locked"}, false},
		"none":          {[]string{""}, []string{"stay locked"}, false},
	} {
		var out bytes.Buffer
		left := tc.typed
		a := &app{
			Process: Process{Stdin: terminal, Stderr: &out, StdinTTY: true, Getenv: env},
			hidden: func(uintptr) ([]byte, error) {
				b := []byte(left[0])
				left = left[1:]
				return b, nil
			},
		}
		a.unlock(t.Context())
		if len(left) != 0 || a.typed.Empty() == tc.open || strings.Contains(out.String(), "wrong") {
			t.Errorf("%s: %d answers left, opened %v:\n%s", name, len(left), !a.typed.Empty(), out.String())
		}
		for _, said := range tc.said {
			if !strings.Contains(out.String(), said) {
				t.Errorf("%s lacks %q:\n%s", name, said, out.String())
			}
		}
	}
}
