package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func TestPathsFollowTheEnvironmentOfTheMoment(t *testing.T) {
	home := t.TempDir()
	for name, c := range map[string]struct {
		env     map[string]string
		windows bool
		want    [4]string
	}{
		"the home folder":         {nil, false, [4]string{".config/zonedeck", ".local/share/zonedeck", ".local/state/zonedeck", ".cache/zonedeck"}},
		"XDG":                     {map[string]string{"XDG_CONFIG_HOME": home + "/c", "XDG_DATA_HOME": home + "/d", "XDG_STATE_HOME": home + "/s", "XDG_CACHE_HOME": home + "/k"}, false, [4]string{"c/zonedeck", "d/zonedeck", "s/zonedeck", "k/zonedeck"}},
		"relative XDG":            {map[string]string{"XDG_CONFIG_HOME": "c"}, false, [4]string{".config/zonedeck", ".local/share/zonedeck", ".local/state/zonedeck", ".cache/zonedeck"}},
		"Windows, by its customs": {nil, true, [4]string{"AppData/Roaming/zonedeck", "AppData/Local/zonedeck/data", "AppData/Local/zonedeck/state", "AppData/Local/zonedeck/cache"}},
		"Windows, elsewhere":      {map[string]string{"LOCALAPPDATA": home + "/l"}, true, [4]string{"AppData/Roaming/zonedeck", "l/zonedeck/data", "l/zonedeck/state", "l/zonedeck/cache"}},
		"Windows":                 {map[string]string{"APPDATA": home + "/r"}, true, [4]string{"r/zonedeck", "AppData/Local/zonedeck/data", "AppData/Local/zonedeck/state", "AppData/Local/zonedeck/cache"}},
	} {
		p := findPaths(env(c.env), home, c.windows)
		for i, got := range []string{p.Config, p.Data, p.State, p.Cache} {
			if want := filepath.Join(home, filepath.FromSlash(c.want[i])); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
	if p := FindPaths(env(nil)); !filepath.IsAbs(p.Data) {
		t.Errorf("without a home folder: %+v", p)
	}
}

func TestEveryFileHasItsOwnPathInTheFourFolders(t *testing.T) {
	p := Paths{Config: "/c", Data: "/d", State: "/s", Cache: "/k"}
	seen := map[string]bool{}
	for _, path := range []string{
		p.ConfigFile(), p.KeysFile(), p.RotationsDir(), p.SecretsDir(), p.JournalFile(), p.BodiesDir(),
		p.DownloadsDir(), p.RequestsDir(), p.EmulatorDir(), p.EmulatorFile(), p.FiltersFile(), p.LogFile(),
	} {
		if seen[path] || len(filepath.Dir(path)) != 2 {
			t.Errorf("path %s", path)
		}
		seen[path] = true
	}
}

func TestEnsureMakesPrivateFoldersAndNamesThoseItCannot(t *testing.T) {
	home := t.TempDir()
	p := findPaths(env(nil), home, false)
	for range 2 {
		noerr.Must(t, p.Ensure())
	}
	for _, dir := range []string{p.Config, p.Data, p.State, p.Cache} {
		if fi, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, fi.Mode(), err)
		}
	}
	file := filepath.Join(home, "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	p.Data, p.State = filepath.Join(file, "d"), filepath.Join(home, "new")
	err := p.Ensure()
	if err == nil || !strings.Contains(err.Error(), p.Data) || !strings.Contains(err.Error(), "XDG_DATA_HOME") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(p.State); err != nil {
		t.Errorf("one folder that cannot be made kept another from being made: %v", err)
	}
}

func TestAFolderThatCannotBeMadeIsNamedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	p := findPaths(env(nil), t.TempDir(), false)
	p.Data = filepath.Join(file, "d")
	err := p.Ensure()
	if err == nil || !strings.HasPrefix(err.Error(), "making the folder "+p.Data+": ") || strings.Contains(err.Error(), "mkdir") {
		t.Errorf("%v", err)
	}
}
