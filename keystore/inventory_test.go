package keystore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

func date(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func fullKey() model.Key {
	return model.Key{
		Name: "etl-main", Level: model.LevelOps, Duty: model.DutyBatch,
		Fingerprint: NewSecret(sample).Fingerprint(), Last4: "f2a1",
		Expires: model.Unlimited(), Rotation: model.Rotation{Last: date("2026-08-01")},
		Secret: "env:ETL_KEY", UsedBy: []string{"nightly", "weekly \"full\""}, Note: "line one\nline two",
	}
}

func openIn(t *testing.T, path string) *Inventory {
	t.Helper()
	v, err := OpenInventory(path)
	noerr.Must(t, err)
	return v
}

func TestAnInventoryWithoutAFileIsEmptyAndMakesNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "keys.toml")
	v := openIn(t, path)
	if got := v.List(); len(got) != 0 {
		t.Errorf("keys %v", got)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("opening made a file")
	}
}

func TestAKeyComesBackAsItWasAdded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "keys.toml")
	v := openIn(t, path)
	second := model.Key{Name: "old admin"}
	for _, k := range []model.Key{fullKey(), second} {
		noerr.Must(t, v.Add(t.Context(), k))
	}
	want := []model.Key{fullKey(), second}
	if got := v.List(); !reflect.DeepEqual(got, want) {
		t.Errorf("in memory:\n%+v\nwant\n%+v", got, want)
	}
	if got := openIn(t, path).List(); !reflect.DeepEqual(got, want) {
		t.Errorf("on disk:\n%+v\nwant\n%+v", got, want)
	}
	fi, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	b, err := os.ReadFile(path)
	if err != nil || leaks(string(b)) || !strings.HasPrefix(string(b), "# zonedeck: the key inventory") {
		t.Errorf("the file (%v):\n%s", err, b)
	}
}

func TestAnyKeyRoundTripsThroughTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != '�' }))
		k := model.Key{
			Name:   rapid.StringMatching(`[a-zA-Z0-9äß"'\\#=\[\]._-]{1,20}`).Draw(t, "name"),
			Level:  rapid.SampledFrom(append(model.Levels(), model.LevelUnknown)).Draw(t, "level"),
			Duty:   model.Duty(text.Draw(t, "duty")),
			Last4:  rapid.StringMatching(`[!-~]{0,4}`).Draw(t, "last4"),
			Secret: rapid.SampledFrom([]string{"", "env:A", `cmd:op "read x"`}).Draw(t, "ref"),
			UsedBy: rapid.SliceOfN(text, 0, 3).Draw(t, "users"),
			Note:   text.Draw(t, "note"),
		}
		if len(k.UsedBy) == 0 {
			k.UsedBy = nil
		}
		if s := rapid.Int64Range(0, 4e9).Draw(t, "rotated"); s > 0 {
			k.Rotation.Last = time.Unix(s, 0).UTC()
		}
		if rapid.Bool().Draw(t, "expires") {
			k.Expires = model.ExpiresAt(time.Unix(rapid.Int64Range(1, 4e9).Draw(t, "at"), 0))
		}
		b := renderInventory([]model.Key{k})
		var f inventoryFile
		doc, err := textfile.Decode("keys.toml", b, &f)
		if err != nil {
			t.Fatalf("%v in\n%s", err, b)
		}
		got, err := f.keys(doc)
		if err != nil || !reflect.DeepEqual(got, []model.Key{k}) {
			t.Fatalf("got %+v, %v\nwant %+v\n%s", got, err, k, b)
		}
	})
}

func TestAFaultyInventoryIsNamedByLineAndLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		line, col  int
	}{
		"unknown field":      {"[[keys]]\nname = \"a\"\nlvl = \"OPS\"\n", "level", 3, 1},
		"unknown table":      {"[settings]\nx = 1\n", "keys, version", 1, 2},
		"wrong type":         {"[[keys]]\nname = 7\n", "text in quotes", 2, 8},
		"unknown level":      {"[[keys]]\nname = \"a\"\nlevel = \"ROOT\"\n", "ADMIN, FINANCE", 3, 1},
		"lower-case level":   {"[[keys]]\nname = \"a\"\n  level = \"ops\"\n", "capitals", 3, 3},
		"bad expiry":         {"[[keys]]\nname = \"a\"\nexpires = \"soon\"\n", "Unlimited", 3, 1},
		"bad rotation":       {"[[keys]]\nname = \"a\"\nrotated = \"1.8.2026\"\n", "2026-08-01", 3, 1},
		"secret in clear":    {"[[keys]]\nname = \"a\"\nsecret = \"SECRETVALUE\"\n", "not a secret reference", 3, 1},
		"secret of a typo":   {"[[keys]]\nname = \"a\"\nsecret = SECRETVALUE\n", "", 3, 10},
		"no name":            {"[[keys]]\nlevel = \"OPS\"\n", "no name", 1, 3},
		"second of two":      {"[[keys]]\nname = \"a\"\n\n[[keys]]\nname = \"a\"\n", "every name once", 5, 1},
		"second's level":     {"[[keys]]\nname = \"a\"\n\n[[keys]]\nname = \"b\"\nlevel = \"X\"\n", "ADMIN", 6, 1},
		"later form":         {"version = 2\n", "another version", 1, 1},
		"not TOML":           {"{\"keys\": []}", "", 1, 1},
		"not UTF-8":          {"version = 1\n# \xff\n", "UTF-8", 2, 0},
		"inline":             {"keys = [{name = \"a\", level = \"X\"}]\n", "ADMIN", 1, 22},
		"long last4":         {"[[keys]]\nname = \"a\"\nlast4 = \"SECRETVALUE\"\n", "four characters", 3, 1},
		"odd fingerprint":    {"[[keys]]\nname = \"a\"\nfingerprint = \"0123456789abcdeg\"\n", "16 hex digits", 3, 1},
		"number for a date":  {"[[keys]]\nname = \"a\"\nexpires = 2027\n", "2027-01-31", 3, 1},
		"table for a name":   {"[[keys]]\n[keys.name]\nx = 1\n", "text in quotes", 2, 2},
		"one user, no list":  {"[[keys]]\nname = \"a\"\nused_by = \"x\"\n", "a list in square brackets", 3, 11},
		"control characters": {"[[keys]]\nname = \"a\\u001b\"\n", "control character", 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys.toml")
			noerr.Must(t, os.WriteFile(path, []byte(c.text), 0o600))
			_, err := OpenInventory(path)
			fe, ok := errors.AsType[*textfile.Error](err)
			if !ok {
				t.Fatalf("error %v, want a *textfile.Error", err)
			}
			if fe.Line != c.line || fe.Column != c.col || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want line %d, column %d and %q", err, c.line, c.col, c.want)
			}
			if strings.Contains(err.Error(), "SECRETVALUE") {
				t.Errorf("the error shows a secret: %v", err)
			}
			v := LaterInventory(path, nil)
			if err := v.Add(t.Context(), model.Key{Name: "new"}); err == nil {
				t.Error("a key was added to a file that cannot be read")
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != c.text {
				t.Errorf("the file became %q (%v)", b, err)
			}
		})
	}
}

func TestTheInventoryTakesDatesInBothForms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.toml")
	for _, q := range []string{"", `"`} {
		text := fmt.Sprintf("[[keys]]\nname = 'a'\nexpires = %[1]s2027-01-31%[1]s\nrotated = %[1]s2026-08-01T10:00:00+02:00%[1]s\n", q)
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		k, _ := openIn(t, path).Get("a")
		if k.Expires != model.ExpiresAt(date("2027-01-31")) || !k.Rotation.Last.Equal(date("2026-08-01").Add(8*time.Hour)) {
			t.Errorf("quote %q: expires %s, rotated %s", q, k.Expires, k.Rotation.Last)
		}
	}
}

func TestTheInventoryRefusesWhatItCannotHold(t *testing.T) {
	v := openIn(t, filepath.Join(t.TempDir(), "keys.toml"))
	add := func(f func(*model.Key)) error {
		k := fullKey()
		f(&k)
		return v.Add(t.Context(), k)
	}
	noerr.Must(t, add(func(*model.Key) {}))
	if err := add(func(*model.Key) {}); !errors.Is(err, errKeyExists) {
		t.Errorf("a second key of the same name: %v", err)
	}
	for name, f := range map[string]func(*model.Key){
		"no name":                  func(k *model.Key) { k.Name = "" },
		"a name with a line break": func(k *model.Key) { k.Name = "a\nb" },
		"an unknown level":         func(k *model.Key) { k.Level = "ROOT" },
		"a bare secret":            func(k *model.Key) { k.Secret = sample },
		"a fingerprint too long":   func(k *model.Key) { k.Fingerprint += "00" },
		"five last characters":     func(k *model.Key) { k.Last4 = "12345" },
		"the value in the note":    func(k *model.Key) { k.Note = "it is key=" + sample + "!" + " or key=\"" + sample + "\"" },
		"the value as a user":      func(k *model.Key) { k.UsedBy = []string{sample} },
	} {
		err := add(func(k *model.Key) { k.Name = "another"; f(k) })
		if !errors.Is(err, ErrKeyFields) {
			t.Errorf("%s: %v", name, err)
		} else if leaks(err.Error()) {
			t.Errorf("%s: the error leaks: %v", name, err)
		}
	}
	if err := v.Remove(t.Context(), model.Key{Name: "none"}); !errors.Is(err, errNoKey) {
		t.Errorf("removing what is not there: %v", err)
	}
	stop := errors.New("stop")
	if err := v.Update(t.Context(), "etl-main", func(k model.Key) (model.Key, error) { return k, stop }); !errors.Is(err, stop) {
		t.Errorf("the caller's own error: %v", err)
	}
	if got := v.List(); !reflect.DeepEqual(got, []model.Key{fullKey()}) {
		t.Errorf("the inventory became %+v", got)
	}
}

func TestUpdateRenamesAndRemoveForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.toml")
	v := openIn(t, path)
	for _, name := range []string{"a", "b"} {
		noerr.Must(t, v.Add(t.Context(), model.Key{Name: name}))
	}
	rename := func(to string) error {
		return v.Update(t.Context(), "a", func(k model.Key) (model.Key, error) { k.Name = to; return k, nil })
	}
	if err := rename("b"); !errors.Is(err, errKeyExists) {
		t.Errorf("renaming over another key: %v", err)
	}
	if err := v.Update(t.Context(), "b", func(k model.Key) (model.Key, error) { k.Name = "a"; return k, nil }); !errors.Is(err, errKeyExists) {
		t.Errorf("renaming over the first key: %v", err)
	}
	noerr.Must(t, rename("c"))
	seen, _ := v.Get("b")
	seen.Note = "not there"
	if err := v.Remove(t.Context(), seen); !errors.As(err, new(*ConflictError)) {
		t.Errorf("removing a record that was changed: %v", err)
	}
	seen.Note = ""
	noerr.Must(t, v.Remove(t.Context(), seen))
	if got := openIn(t, path).List(); len(got) != 1 || got[0].Name != "c" {
		t.Errorf("keys %+v", got)
	}
}

func TestAValueThatIsSeenLeavesTheRotationClockAlone(t *testing.T) {
	v := openIn(t, filepath.Join(t.TempDir(), "keys.toml"))
	key := fullKey()
	key.Fingerprint, key.Last4 = "", ""
	noerr.Must(t, v.Add(t.Context(), key))
	next := NewSecret("another-value-9999")
	for i, want := range []bool{false, false, true} {
		if i == 2 {
			next = NewSecret("a-third-value-7777")
		}
		rotated, err := v.RecordSeen(t.Context(), map[string]Secret{"env:ETL_KEY": next})
		if err != nil || (len(rotated) > 0) != want {
			t.Errorf("seeing %d: rotated %v, %v, want %v", i, rotated, err, want)
		}
	}
	if k, _ := v.Get("etl-main"); k.Last4 != "7777" || k.Rotation != key.Rotation {
		t.Errorf("after seeing another value: %+v", k)
	}
}

func TestReloadSeesAnotherConsolesChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.toml")
	one, other := openIn(t, path), openIn(t, path)
	noerr.Must(t, other.Add(t.Context(), fullKey()))
	if err := one.Reload(); err != nil || len(one.List()) != 1 {
		t.Errorf("after Reload: %v, %v", one.List(), err)
	}
	noerr.Must(t, os.WriteFile(path, []byte("nonsense"), 0o600))
	if err := one.Reload(); err == nil || len(one.List()) != 1 {
		t.Errorf("after Reload of a broken file: %v, %v", one.List(), err)
	}
}

func FuzzInventoryNeverPanicsAndIsNeverOverwrittenWhenBroken(f *testing.F) {
	f.Add(renderInventory([]model.Key{fullKey(), {Name: "b"}}))
	for _, s := range []string{"", "version = 1", "[[keys]]\nname='a'", "keys=[{}]", "[keys]", "[[keys]]\n[keys.x]", "a.b.c=1", "\xef\xbb\xbf", "[[keys]]\nname=\"a\"\nused_by=[[1]]", "[[keys", "keys = [ # c\n {name='x'},\n ]"} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(dir, "keys.toml")
		noerr.Must(t, os.WriteFile(path, b, 0o600))
		v, err := OpenInventory(path)
		if err == nil {
			again, err := readRendered(v.List())
			if err != nil || !reflect.DeepEqual(again, v.List()) {
				t.Errorf("%q was read as %+v and written back as %+v (%v)", b, v.List(), again, err)
			}
			return
		}
		if _, ok := errors.AsType[*textfile.Error](err); !ok {
			t.Errorf("%q: error %v is no *textfile.Error", b, err)
		}
		if err := LaterInventory(path, nil).Add(t.Context(), model.Key{Name: "x"}); err == nil {
			t.Errorf("%q was overwritten", b)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(b) {
			t.Errorf("%q became %q (%v)", b, now, err)
		}
	})
}

func readRendered(keys []model.Key) ([]model.Key, error) {
	return parseInventory("keys.toml", renderInventory(keys))
}

func TestSettleWaitsForTheChangeThatIsBeingWritten(t *testing.T) {
	v, err := OpenInventory(filepath.Join(t.TempDir(), "keys.toml"))
	noerr.Must(t, err)
	noerr.Must(t, v.Add(t.Context(), model.Key{Name: "etl", Level: model.LevelUser}))
	begun, changed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(changed)
		err := v.Update(t.Context(), "etl", func(k model.Key) (model.Key, error) {
			close(begun)
			k.Note = "written at the end"
			return k, nil
		})
		noerr.Want(t, err)
	}()
	<-begun
	v.Settle()
	if k, _ := v.Get("etl"); k.Note != "written at the end" {
		t.Errorf("after settling the key is %+v", k)
	}
	<-changed
}

func TestReloadingDoesNotTakeAChangeBack(t *testing.T) {
	v, err := OpenInventory(filepath.Join(t.TempDir(), "keys.toml"))
	noerr.Must(t, err)
	done := make(chan struct{})
	var reloads sync.WaitGroup
	for range 4 {
		reloads.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := v.Reload(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 15 {
		name := fmt.Sprint("key-", i)
		if err := v.Add(t.Context(), model.Key{Name: name}); err != nil {
			t.Error(err)
			break
		}
		for range 20 {
			if _, ok := v.Get(name); !ok {
				t.Errorf("%s is gone again", name)
				break
			}
			runtime.Gosched()
		}
	}
	close(done)
	reloads.Wait()
}

func TestMoreKeysThanTheFileHoldsLeaveItAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.toml")
	v, err := OpenInventory(path)
	noerr.Must(t, err)
	noerr.Must(t, v.Add(t.Context(), model.Key{Name: "first", Level: model.LevelUser}))
	before, err := os.ReadFile(path)
	noerr.Must(t, err)
	err = v.change(t.Context(), "adding", "many", func(keys []model.Key) (next, changed []model.Key, err error) {
		for i := range 200_000 {
			keys = append(keys, model.Key{Name: fmt.Sprintf("key-%d", i), Level: model.LevelUser})
		}
		return keys, keys[1:], nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), `adding "many": nothing was written, because 200001 keys could not be read again: `) || !strings.HasSuffix(err.Error(), "the file has too many keys; expected at most 200000") {
		t.Errorf("%v", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) || len(v.List()) != 1 {
		t.Errorf("%d bytes, %d keys, %v", len(after), len(v.List()), err)
	}
}
