package filter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func TestFiltersAreRememberedOnDisk(t *testing.T) {
	h := History{File: filepath.Join(t.TempDir(), "state", "filters.json")}
	for n := range maxHistory + 5 {
		noerr.Must(t, h.Add(t.Context(), JQ, fmt.Sprintf(".a%d", n)))
	}
	for _, expr := range []string{"p", "a", "p"} {
		noerr.Must(t, h.Add(t.Context(), CSS, expr))
	}
	got, err := History{File: h.File}.Load()
	if err != nil || len(got[JQ]) != maxHistory || got[JQ][0] != ".a5" || got[JQ][maxHistory-1] != fmt.Sprintf(".a%d", maxHistory+4) || !slices.Equal(got[CSS], []string{"a", "p"}) {
		t.Errorf("%v, %v", got, err)
	}
	if info, err := os.Stat(h.File); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	noerr.Must(t, os.WriteFile(h.File, []byte("no"), 0o600))
	if got, err := h.Load(); err == nil || len(got) != 0 {
		t.Errorf("a damaged file: %v, %v", got, err)
	}
	noerr.Must(t, h.Add(t.Context(), CSS, "b"))
	if got, err := h.Load(); err != nil || !slices.Equal(got[CSS], []string{"b"}) {
		t.Errorf("after a damaged file: %v, %v", got, err)
	}
	noerr.Want(t, (History{}).Add(t.Context(), CSS, "b"))
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
	noerr.Must(t, h.Add(t.Context(), JQ, `.token=="s3cr3tvalue"`))
	if b, err := os.ReadFile(h.File); err != nil || strings.Contains(string(b), "s3cr3tvalue") {
		t.Errorf("%s, %v", b, err)
	}
}
