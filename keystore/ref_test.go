package keystore

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseRefTakesEveryFormAndNamesIt(t *testing.T) {
	for in, label := range map[string]string{
		"env:ETL_KEY":                   "env:ETL_KEY",
		"env:_x9":                       "env:_x9",
		"keyring:acme/unlocker1":        "keyring:acme/unlocker1",
		"keyring:acme/a/b":              "keyring:acme/a/b",
		"file:etl-main.2":               "file:etl-main.2",
		"demo:batch-user":               "demo:batch-user",
		"cmd:op read op://vault/x":      "cmd:op …",
		"cmd:pass":                      "cmd:pass",
		`cmd:curl -H "Auth: Bearer xx"`: "cmd:curl …",
	} {
		ref, err := ParseRef(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if ref.Label() != label {
			t.Errorf("%s is labelled %q, want %q", in, ref.Label(), label)
		}
	}
}

func TestParseRefRefusesWithoutRepeatingTheText(t *testing.T) {
	for _, in := range []string{
		"", "hunter2secret", "vault:hunter2secret", "env:", "env:9hunter2secret", "env:hunter2 secret", "env:hunter2=secret",
		"keyring:hunter2secret", "keyring:/hunter2secret", "keyring:hunter2secret/", "keyring:a/hunter2secret\x00",
		"file:", "file:../hunter2secret", "file:.hunter2secret", "file:a/hunter2secret", `file:a\hunter2secret`,
		"file:" + strings.Repeat("hunter2secret", 6), "demo:", "demo:hunter2secret\n", "cmd:", "cmd:  ", `cmd:op "hunter2secret`, `cmd:""`,
	} {
		_, err := ParseRef(in)
		if !errors.Is(err, errRefForm) {
			t.Errorf("%q: error %v, want ErrRefForm", in, err)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error repeats it: %v", in, err)
		}
	}
}

func TestWordsSplitsWithoutAShell(t *testing.T) {
	for in, want := range map[string][]string{
		"op read x":               {"op", "read", "x"},
		"  op\tread \n x ":        {"op", "read", "x"},
		`a 'b c' "d e"`:           {"a", "b c", "d e"},
		`a b'c d'e`:               {"a", "bc de"},
		`a "" ''`:                 {"a", "", ""},
		`a "x\"y\\z\n"`:           {"a", `x"y\z\n`},
		`C:\tools\op.exe read`:    {`C:\tools\op.exe`, "read"},
		`a 'it\' b`:               {"a", `it\`, "b"},
		`a $HOME *.txt | b > c &`: {"a", "$HOME", "*.txt", "|", "b", ">", "c", "&"},
	} {
		got, err := SplitArgs(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Words(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", " ", `'a`, `a "b`, `a "b\"`, `a "b\`, `""`, `'' a`} {
		if got, err := SplitArgs(in); err == nil {
			t.Errorf("Words(%q) = %q, want an error", in, got)
		}
	}
}

func TestWordsReadsBackWhatWasQuoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "words")
		if want[0] == "" {
			want[0] = "x"
		}
		var parts []string
		for _, w := range want {
			parts = append(parts, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w)+`"`)
		}
		got, err := SplitArgs(strings.Join(parts, " "))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	})
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"env:A", "cmd:a 'b' \"c\\\"\"", "keyring:a/b", "file:x", "demo:y", "file:../x", "::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := ParseRef(s)
		if err != nil {
			return
		}
		if ref.Label() == "" || ref.Scheme() == "" || ref.Target() == "" {
			t.Errorf("%q parsed without label, scheme or target", s)
		}
		if ref.Scheme() == SchemeFile && strings.ContainsAny(ref.Target(), `/\:`) {
			t.Errorf("%q leads out of the folder", s)
		}
	})
}
