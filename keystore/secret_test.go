package keystore

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

const sample = "0123456789abcdefSECRETVALUEf2a1"

func TestSecretLeaksThroughNoVerbOfFmt(t *testing.T) {
	s := NewSecret(sample)
	type nested struct {
		Exported Secret
		hidden   Secret
	}
	n := nested{s, s}
	for _, arg := range []any{s, &s, n, &n, []Secret{s}, map[string]Secret{"k": s}, [1]Secret{s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%c", "%U", "%o", "%e", "%p", "%T", "%100s", "%.3s", "%-20v", "% x"} {
			got := fmt.Sprintf(verb, arg)
			if leaks(got) {
				t.Errorf("Sprintf(%q, %T) leaks: %s", verb, arg, got)
			}
		}
	}
	if got := fmt.Sprint(s); got != "••••f2a1" {
		t.Errorf("Sprint = %q, want the mask", got)
	}
	if err := fmt.Errorf("sending with %v: %w", s, errors.New("refused")); leaks(err.Error()) {
		t.Errorf("an error leaks: %v", err)
	}
}

// leaks looks for the value as text and as hex, whole or in part.
func leaks(s string) bool {
	s = strings.ToLower(s)
	for _, part := range []string{"secretvalue", fmt.Sprintf("%x", "SECRETVALUE"), "0123456789abcdef"} {
		if strings.Contains(s, strings.ToLower(part)) {
			return true
		}
	}
	return false
}

func TestSecretLeaksThroughNoEncoding(t *testing.T) {
	s := NewSecret(sample)
	type holder struct {
		Token Secret            `json:"token" toml:"token" xml:"token"`
		Ptr   *Secret           `json:"ptr" toml:"ptr" xml:"ptr"`
		Map   map[string]Secret `json:"map" toml:"map" xml:"-"`
	}
	h := holder{s, &s, map[string]Secret{"a": s}}
	encoded := map[string]func() ([]byte, error){
		"json": func() ([]byte, error) { return json.Marshal(h) },
		"toml": func() ([]byte, error) { return toml.Marshal(h) },
		"xml":  func() ([]byte, error) { return xml.Marshal(h) },
	}
	for name, f := range encoded {
		b, err := f()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if leaks(string(b)) {
			t.Errorf("%s leaks: %s", name, b)
		}
		if !strings.Contains(string(b), "f2a1") {
			t.Errorf("%s shows no mask: %s", name, b)
		}
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(h); leaks(b.String()) {
		t.Errorf("gob leaks (%v)", err)
	}
}

func TestSecretLeaksThroughNoLog(t *testing.T) {
	s := NewSecret(sample)
	var b bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		l := slog.New(h)
		l.Info("sending", "key", s, "pointer", &s, "group", slog.GroupValue(slog.Any("k", s)), "struct", struct{ K Secret }{s})
		l.With("key", s).Info(fmt.Sprint("with ", s))
	}
	if leaks(b.String()) {
		t.Errorf("a log leaks:\n%s", b.String())
	}
	if !strings.Contains(b.String(), "••••f2a1") {
		t.Errorf("a log shows no mask:\n%s", b.String())
	}
}

func TestSecretShowsItsLastFourFromTwelveCharactersOn(t *testing.T) {
	for _, c := range []struct{ value, last4, text string }{
		{"", "", ""},
		{"abc", "", "••••"},
		{"12345678901", "", "••••"},
		{"123456789012", "9012", "••••9012"},
		{"passwördßßßß", "ßßßß", "••••ßßßß"},
		{"12345678901\x1b[2J", "", "••••"},
		{"123456789012\xff\xfe", "", "••••"},
	} {
		s := NewSecret(c.value)
		if s.Last4() != c.last4 || s.String() != c.text {
			t.Errorf("%q: last4 %q, text %q, want %q and %q", c.value, s.Last4(), s.String(), c.last4, c.text)
		}
		if s.Reveal() != c.value || s.Empty() != (c.value == "") {
			t.Errorf("%q: Reveal %q, Empty %v", c.value, s.Reveal(), s.Empty())
		}
	}
}

func TestAFingerprintIsTheSHA256OfTheValue(t *testing.T) {
	if got, want := NewSecret("abc").Fingerprint(), "ba7816bf8f01cfea"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (Secret{}).Fingerprint(); got != "" {
		t.Errorf("no secret has the fingerprint %s", got)
	}
	if !NewSecret("a").Equal(NewSecret("a")) || NewSecret("a").Equal(NewSecret("b")) || NewSecret("a").Equal(Secret{}) {
		t.Error("Equal does not compare values")
	}
}
