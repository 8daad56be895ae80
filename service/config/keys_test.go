package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestTheKeysTable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	load := func(text string) (Keys, error) {
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		f, err := Load(path)
		return f.Keys(), err
	}
	got, err := load("[keys]\nscan = [\"../etl\", \"/srv/ci\"]\n[keys.rotation_days]\nADMIN = 30\nUSER = 180\n")
	want := Keys{Intervals: map[model.Level]int{model.LevelAdmin: 30, model.LevelUser: 180}, Scan: []string{filepath.Join(filepath.Dir(dir), "etl"), "/srv/ci"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for level, days := range map[model.Level]int{model.LevelAdmin: 30, model.LevelUser: 180, model.LevelOps: 90} {
		if every := got.Apply(model.Key{Level: level}).Rotation.Every(); every != days {
			t.Errorf("%s: %d days", level, every)
		}
	}
	for text, want := range map[string]string{
		"[keys.rotation_days]\nBOSS = 30\n":    `"BOSS" is not a permission level`,
		"[keys.rotation_days]\nunknown = 30\n": `"unknown" is not a permission level`,
		"[keys.rotation_days]\nUSER = 0\n":     "0 days cannot be an interval",
		"[keys.rotation_days]\nUSER = 3651\n":  "3651 days cannot be an interval",
		"[keys]\nscan = [\"\"]\n":              "a folder has no name",
		"[keys]\nscans = []\n":                 "scans",
	} {
		var fault *FileError
		if _, err := load(text); !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTheTerminalTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	for text, want := range map[string]bool{"": false, "[terminal]\nnotify = true\n": true, "[terminal]\nnotify = false\n": false} {
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		if f, err := Load(path); err != nil || f.Notify() != want {
			t.Errorf("%q: %v, %v", text, f.Notify(), err)
		}
	}
}
