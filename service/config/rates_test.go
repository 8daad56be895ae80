package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestRatesAreWrittenBesideWhatStands(t *testing.T) {
	const text = `# acme
[profiles.acme]
base_url = "https://a.example"
[[profiles.acme.zones]]
name = "u1"   # the unlocker
product = "unlocker"

[[profiles.acme.zones]]
product = "isp"
rate_per_1000 = 9 # typed
rate_per_gb = 8
PROXY_NAME = "i1"
[profiles.other]
base_url = "https://b.example"
[[profiles.other.zones]]
name = "u1"`
	path := filepath.Join(t.TempDir(), "config.toml")
	noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
	rates := map[model.ZoneName]model.Rate{"u1": {Per1000: 1.5}, "i1": {PerGB: 0.3333}, "gone": {PerGB: 1}}
	noerr.Must(t, SetRates(t.Context(), path, "acme", rates))
	want := strings.NewReplacer("# the unlocker\n", "# the unlocker\nrate_per_1000 = 1.5\n", "rate_per_1000 = 9 # typed\nrate_per_gb = 8\n", "",
		"PROXY_NAME = \"i1\"\n", "PROXY_NAME = \"i1\"\nrate_per_gb = 0.3333\n").Replace(text)
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s\n%v\nwant\n%s", got, err, want)
	}
	noerr.Must(t, SetRates(t.Context(), path, "other", map[model.ZoneName]model.Rate{"u1": {PerGB: 2}}))
	if got, err := os.ReadFile(path); err != nil || string(got) != want+"\nrate_per_gb = 2\n" {
		t.Errorf("at the end of the file: %s\n%v", got, err)
	}
}

func TestRatesThatCannotBeWrittenChangeNothing(t *testing.T) {
	for name, text := range map[string]string{
		"inline":     "[profiles.acme]\nbase_url = \"https://a.example\"\nzones = [{name = \"u1\"}]\n",
		"one line":   "[profiles.acme]\nbase_url = \"https://a.example\"\nzones = [\n{\nname = \"u1\", rate_per_gb = 1}]\n",
		"no profile": "[profiles.other]\nbase_url = \"https://a.example\"\n",
		"fault":      "[profiles.acme]\nbase = 1\n",
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		if err := SetRates(t.Context(), path, "acme", map[model.ZoneName]model.Rate{"u1": {PerGB: 2}}); err == nil {
			t.Errorf("%s: written", name)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	path := filepath.Join(t.TempDir(), "config.toml")
	text := "[profiles.acme]\nbase_url = \"https://a.example\"\n[[profiles.acme.zones]]\nname = \"u1\"\n"
	noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
	if err := SetRates(t.Context(), path, "acme", map[model.ZoneName]model.Rate{"u1": {PerGB: 2 * maxRate}}); err == nil {
		t.Error("a rate that a file must not have is written")
	}
}
