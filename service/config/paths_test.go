package config

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
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
}

func TestWithoutHOMEThePasswordDatabaseDecides(t *testing.T) {
	account, err := user.Current()
	noerr.Must(t, err)
	if got, want := FindPaths(env(nil)), findPaths(env(nil), account.HomeDir, runtime.GOOS == "windows"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if runtime.GOOS == "windows" {
		return
	}
	nowhere := Home(env(nil), 4_000_000_000)
	p := findPaths(env(map[string]string{"XDG_CONFIG_HOME": t.TempDir()}), nowhere, false)
	if err := p.Trusted(); err == nil || !errors.As(err, new(*MistakeError)) || !strings.HasPrefix(err.Error(), "no home folder is known: ") {
		t.Errorf("%+v: %v", p, err)
	}
	if err := os.MkdirAll(p.Data, 0o700); err == nil {
		t.Errorf("%s can be made", p.Data)
	}
}

func TestEachOfTheProgramsOwnFilesIsJudged(t *testing.T) {
	if runtime.GOOS == "windows" {
		return
	}
	home := t.TempDir()
	p := findPaths(env(nil), home, false)
	noerr.Must(t, p.Ensure())
	paths := []string{
		filepath.Join(p.ContractsDir(), "shop.toml"), filepath.Join(p.RotationsDir(), "r.json"), filepath.Join(p.ListsDir(), "l7.ndjson"), filepath.Join(p.EmulatorDir(), "ca.pem"),
		filepath.Join(p.InboxDir(), "receiving.json"), filepath.Join(p.InboxDir(), "refused.json"), p.LedgerFile() + ".log", p.LedgerFile() + ".verified", p.LedgerFile() + ".answers", p.LedgerFile() + "-wal", p.JournalFile() + "-wal",
	}
	all, kind := reflect.ValueOf(p), reflect.TypeFor[func() string]()
	for i := range all.NumMethod() {
		if m := all.Method(i); m.Type() == kind && m.Call(nil)[0].String() != p.ConfigFile() && filepath.Dir(m.Call(nil)[0].String()) != p.Cache {
			paths = append(paths, m.Call(nil)[0].String())
		}
	}
	for _, path := range paths {
		noerr.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		noerr.Must(t, os.RemoveAll(path)) // a folder that an earlier one was in
		noerr.Must(t, os.WriteFile(path, nil, 0o600))
		noerr.Must(t, p.Trusted())
		noerr.Must(t, os.Chmod(path, 0o666)) //nolint:gosec // that is what is refused
		if wrong, is := errors.AsType[*textfile.UntrustedError](p.Trusted()); !is || wrong.File != path {
			t.Errorf("%s: %v", path, wrong)
		}
		noerr.Must(t, os.Remove(path))
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
