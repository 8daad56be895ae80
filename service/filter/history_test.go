package filter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFiltersAreRememberedOnDisk(t *testing.T) {
	h := History{File: filepath.Join(t.TempDir(), "state", "filters.json")}
	for n := range maxHistory + 5 {
		if err := h.Add(t.Context(), JQ, fmt.Sprintf(".a%d", n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, expr := range []string{"p", "a", "p"} {
		if err := h.Add(t.Context(), CSS, expr); err != nil {
			t.Fatal(err)
		}
	}
	got, err := History{File: h.File}.Load()
	if err != nil || len(got[JQ]) != maxHistory || got[JQ][0] != ".a5" || got[JQ][maxHistory-1] != fmt.Sprintf(".a%d", maxHistory+4) || !slices.Equal(got[CSS], []string{"a", "p"}) {
		t.Errorf("%v, %v", got, err)
	}
	if info, err := os.Stat(h.File); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(h.File, []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Load(); err == nil || len(got) != 0 {
		t.Errorf("a damaged file: %v, %v", got, err)
	}
	if err := h.Add(t.Context(), CSS, "b"); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Load(); err != nil || !slices.Equal(got[CSS], []string{"b"}) {
		t.Errorf("after a damaged file: %v, %v", got, err)
	}
	if err := (History{}).Add(t.Context(), CSS, "b"); err != nil {
		t.Error(err)
	}
}

func TestNoSecretIsWrittenIntoTheHistory(t *testing.T) {
	for expr, want := range map[string]string{
		`.items[] | select(.name == "Shoe")`:               `.items[] | select(.name == "Shoe")`,
		`.[] | select(.token == "s3cr3tvalue")`:            `.[] | select(.token == "••••")`,
		`.[] | select(.["api_key"] == "s3cr3tvalue") | .a`: `.[] | select(.["api_key"] == "••••") | .a`,
		`input[name=csrf_token][value=s3cr3tvalue]`:        `input[name=••••][value=••••]`,
		`input[name="password"][value='s3cr3tvalue']`:      `input[name="password"][value='••••']`,
		`.password == "s3cr3tvalue`:                        `.password == "••••"`,
		`select(.password==.old)`:                          `select(.password==.old)`,
	} {
		if got := redact(expr); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
	h := History{File: filepath.Join(t.TempDir(), "filters.json")}
	if err := h.Add(t.Context(), JQ, `.token=="s3cr3tvalue"`); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(h.File); err != nil || strings.Contains(string(b), "s3cr3tvalue") {
		t.Errorf("%s, %v", b, err)
	}
}
