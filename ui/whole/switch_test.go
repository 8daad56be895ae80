//go:build unix

package whole

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"zonedeck/internal/noerr"
)

func TestASwitchOfProfileStaysOnTheTab(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "config", "zonedeck")
	noerr.Must(t, errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "config.toml"), []byte("default_profile = \"acme\"\n[profiles.acme]\nbase_url = \"http://127.0.0.1:9\"\n[profiles.other]\nbase_url = \"http://127.0.0.1:9\"\n"), 0o600)))
	term := openTerminal(t, 80, 24, environment(dir))
	term.waitFor("[1 Sandbox]", "acme")
	term.press("4")
	term.waitFor("[4 Keys")
	term.press("@")
	term.waitFor("Use profile")
	term.press("2")
	term.waitFor("zonedeck · other", "[4 Keys")
	term.press("q")
	term.ends()
}
