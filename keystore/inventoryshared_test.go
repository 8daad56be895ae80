package keystore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

const (
	envPath     = "KEYSTORE_TEST_PATH"
	envPrefix   = "KEYSTORE_TEST_PREFIX"
	perProcess  = 15
	perRoutine  = 15
	otherWrites = 8
	sharedKey   = "shared"
)

func inventoryProcess() {
	v, err := OpenInventory(os.Getenv(envPath))
	for i := range perProcess {
		if err == nil {
			err = v.Add(context.Background(), model.Key{Name: fmt.Sprint(os.Getenv(envPrefix), i)})
		}
		if err == nil {
			err = v.Update(context.Background(), sharedKey, func(k model.Key) (model.Key, error) {
				k.UsedBy = append(k.UsedBy, fmt.Sprint(os.Getenv(envPrefix), i))
				return k, nil
			})
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestProcessesAndGoroutinesLoseNoUpdates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.toml")
	exe, err := os.Executable()
	noerr.Must(t, err)
	noerr.Must(t, openIn(t, path).Add(t.Context(), model.Key{Name: sharedKey}))
	var wg sync.WaitGroup
	for p := range otherWrites {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), exe)
			cmd.Env = append(os.Environ(), envCommand+"=inventory", envPath+"="+path, envPrefix+"="+fmt.Sprintf("process%d-", p), "GORACE=atexit_sleep_ms=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", p, err, out)
			}
		})
		wg.Go(func() {
			v, err := OpenInventory(path)
			for i := range perRoutine {
				if err == nil {
					err = v.Add(t.Context(), model.Key{Name: fmt.Sprintf("routine%d-%d", p, i)})
				}
			}
			noerr.Want(t, err)
		})
	}
	wg.Wait()
	v := openIn(t, path)
	if got, want := len(v.List()), 1+otherWrites*(perProcess+perRoutine); got != want {
		t.Errorf("%d keys, want %d", got, want)
	}
	shared, _ := v.Get(sharedKey)
	if users := distinct(shared.UsedBy); len(users) != otherWrites*perProcess {
		t.Errorf("%d edits of one key are left of %d", len(users), otherWrites*perProcess)
	}
	if !slices.IsSortedFunc(v.List(), func(a, b model.Key) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the keys do not stand in the order of their names")
	}
}

func TestGitMergesWhatTwoAddedAndEdited(t *testing.T) {
	dir := t.TempDir()
	base := []model.Key{{Name: "batch", Level: model.LevelUser}, {Name: "etl", Level: model.LevelOps}, {Name: "zones", Level: model.LevelOps}}
	side := func(name string, change func(v *Inventory) error) string {
		path := filepath.Join(dir, name)
		noerr.Must(t, os.WriteFile(path, renderInventory(base), 0o600))
		noerr.Must(t, change(openIn(t, path)))
		return path
	}
	ours := side("ours", func(v *Inventory) error { return v.Add(t.Context(), model.Key{Name: "ci", Level: model.LevelUser}) })
	theirs := side("theirs", func(v *Inventory) error {
		return errors.Join(v.Add(t.Context(), model.Key{Name: "finance", Level: model.LevelFinance}),
			v.Update(t.Context(), "zones", func(k model.Key) (model.Key, error) { k.Note = "edited"; return k, nil }))
	})
	out, err := exec.CommandContext(t.Context(), "git", "merge-file", "-p", ours, side("base", func(*Inventory) error { return nil }), theirs).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := mergedKeys(t, out)
	if err != nil || len(got) != 5 || got[4].Note != "edited" || got[1].Name != "ci" || got[3].Name != "finance" {
		t.Errorf("%+v, %v", got, err)
	}
}

func mergedKeys(t *testing.T, b []byte) ([]model.Key, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "merged.toml")
	noerr.Must(t, os.WriteFile(path, b, 0o600))
	v, err := OpenInventory(path)
	if err != nil {
		return nil, err
	}
	return v.List(), nil
}
