package keystore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func exported(t noerr.T, keys []model.Key) string {
	var b bytes.Buffer
	noerr.Must(t, WriteCSV(&b, keys))
	return b.String()
}

func TestATableIsReadBackAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[=+@'a-z"\-][ -~é]{0,8}[a-z"]`)
		var keys []model.Key
		for i := range rapid.IntRange(0, 5).Draw(t, "keys") {
			k := model.Key{Name: fmt.Sprint(i, word.Draw(t, "name")), Level: rapid.SampledFrom(append(model.Levels(), "")).Draw(t, "level")}
			k.Duty, k.Note = model.Duty(word.Draw(t, "duty")), word.Draw(t, "note")
			if rapid.Bool().Draw(t, "dated") {
				k.Expires, k.Created, k.Rotation.Last = model.ExpiresAt(today), today.AddDate(-1, 0, 0), today.AddDate(0, -1, 0)
			}
			k.Secret, k.UsedBy = "env:A", []string{"nightly", "env:A", "env:B"}
			keys = append(keys, k)
		}
		text := exported(t, keys)
		got, err := ReadCSV(strings.NewReader(text))
		if err != nil || len(got) != len(keys) || strings.Count(text, "nightly; this console; env:B") != len(keys) {
			t.Fatalf("%v\n%s", err, text)
		}
		for i := range keys {
			if changes := Changes(keys[i], got[i]); len(changes) > 0 {
				t.Fatalf("%q of %+v\n%s", changes, keys[i], text)
			}
		}
	})
}

func TestNoCellOfATableIsAFormula(t *testing.T) {
	for _, evil := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "'=1", "\t=1"} {
		k := model.Key{Name: "k", Note: evil}
		_, row, _ := strings.Cut(exported(t, []model.Key{k}), "\n")
		cells := strings.Split(strings.TrimSpace(row), ",")
		if note := strings.Trim(cells[len(cells)-1], `"`); !strings.HasPrefix(note, "'") {
			t.Errorf("%q is written as %q", evil, note)
		}
	}
}

func TestAFaultOfATableIsNamedByItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "the head of the table",
		"name,colour\n":                `column 2 is "colour"`,
		"name,level\na,USER\nb,BOSS\n": "line 3, level",
		"name\na\na\n":                 `line 3: a second key is named "a"`,
		"name\n\"\"\n":                 "line 2: key cannot be recorded: the key has no name",
		"name,expires\na,soon\n":       "line 2, expires",
		"name,secret\na,hunter2\n":     "line 2, secret: not a secret reference",
		"name,fingerprint\na,xyz\n":    "a fingerprint is 16 hex digits",
		"name,level\na\n":              "wrong number of fields",
		"name,rotated\na,2026-13-01\n": "line 2, rotated",
	} {
		if _, err := ReadCSV(strings.NewReader(text)); !errors.Is(err, ErrTransfer) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if _, err := ReadCSV(strings.NewReader(text)); err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a value stands in %v", err)
		}
	}
}

// A value in the wrong column must not reach a log through the error.
func TestAFaultOfAFileRepeatsNoCell(t *testing.T) {
	const value = "sk_live_4f8a2c7e91d04b6c"
	for _, column := range []string{"level", "expires", "created", "rotated", "secret", "last4", "fingerprint"} {
		_, inCSV := ReadCSV(strings.NewReader("name," + column + "\na," + value + "\n"))
		_, inJSON := ReadJSON(strings.NewReader(`[{"name":"a","` + column + `":"` + value + `"}]`))
		for form, err := range map[string]error{"csv": inCSV, "json": inJSON} {
			if !errors.Is(err, ErrTransfer) || strings.Contains(strings.ToLower(err.Error()), value[:12]) {
				t.Errorf("%s, %s: %v", form, column, err)
			}
		}
	}
	for _, text := range []string{value + ",a\n", "name\n" + value + "\n" + value + "\n"} {
		if _, err := ReadCSV(strings.NewReader(text)); !errors.Is(err, ErrTransfer) || strings.Contains(err.Error(), value[:12]) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestACommandIsNeitherExportedNorImported(t *testing.T) {
	for _, row := range []string{"secret\nk,cmd:touch /tmp/x\n", "used_by\nk,nightly; cmd:touch /tmp/x\n"} {
		if keys, err := ReadCSV(strings.NewReader("name," + row)); !errors.Is(err, ErrTransfer) || !strings.Contains(err.Error(), "a command is not imported") || keys != nil {
			t.Errorf("%q: %+v, %v", row, keys, err)
		}
	}
	if _, err := ReadJSON(strings.NewReader(`[{"name":"k","secret":"cmd:touch /tmp/x"}]`)); !errors.Is(err, ErrTransfer) {
		t.Error(err)
	}
	k := model.Key{Name: "k", Secret: "cmd:op read --token hunter2", UsedBy: []string{"nightly", "cmd:op read --token hunter2"}}
	text := exported(t, []model.Key{k})
	got, err := ReadCSV(strings.NewReader(text))
	if err != nil || strings.Contains(text, "hunter2") || !slices.Equal(got[0].UsedBy, []string{"nightly"}) {
		t.Errorf("%+v, %v\n%s", got, err, text)
	}
}

// endless is a file without an end: text, then one more of the same.
type endless struct {
	text string
	more byte
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text)
	e.text = e.text[n:]
	for i := n; i < len(p); i++ {
		p[i] = e.more
	}
	return len(p), nil
}

func TestAPartOfAFileIsNotTakenForTheWhole(t *testing.T) {
	_, inCSV := ReadCSV(&endless{"name\na\n", 'b'})
	_, inJSON := ReadJSON(&endless{`[{"name":"a"}]`, ' '})
	for form, err := range map[string]error{"csv": inCSV, "json": inJSON} {
		if !errors.Is(err, ErrTransfer) || !strings.Contains(err.Error(), "longer than 64 MiB") {
			t.Errorf("%s: %v", form, err)
		}
	}
	file := filepath.Join(t.TempDir(), ".env")
	noerr.Must(t, os.WriteFile(file, bytes.Repeat([]byte("A=1\n"), maxEnvFile/4+1), 0o600))
	if _, _, err := ReadEnv(t.Context(), filepath.Dir(file), []string{"_KEY"}); err == nil || !strings.Contains(err.Error(), file+" is larger than 1 MiB") {
		t.Error(err)
	}
}

func TestJSONIsReadInBothForms(t *testing.T) {
	const entry = `{"name":"etl","level":"OPS","expires":"Unlimited","rotated":"2026-08-01","used_by":["a","b"],"state":"ok","expiry_days_left":3}`
	for _, text := range []string{"[" + entry + "]", `{"schema_version":1,"keys":[` + entry + "]}"} {
		keys, err := ReadJSON(strings.NewReader(text))
		if err != nil || len(keys) != 1 || keys[0].Level != model.LevelOps || !slices.Equal(keys[0].UsedBy, []string{"a", "b"}) || keys[0].Expires != model.Unlimited() {
			t.Errorf("%s: %+v, %v", text, keys, err)
		}
	}
	for _, text := range []string{"", "3", `{"keys":3}`, `[{"name":"a"},{"name":"a"}]`, `[{"name":"a","level":["x"]}]`} {
		if _, err := ReadJSON(strings.NewReader(text)); !errors.Is(err, ErrTransfer) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestMetricsAreEscapedAndLeaveOutWhatIsNotKnown(t *testing.T) {
	keys := []model.Key{
		{Name: "a\\\"b", Level: model.LevelOps, Duty: "x\ny", Expires: model.ExpiresAt(time.Unix(1800000000, 0)), Rotation: model.Rotation{Last: time.Unix(1790000000, 0), Interval: 30}},
		{Name: "old"},
		{Name: "old", Note: "given"}, // a profile's key of the same name: another series
	}
	origin := func(k model.Key) string { return map[string]string{"given": "local"}[k.Note] }
	var b strings.Builder
	noerr.Must(t, WriteMetrics(&b, keys, func(model.Key) time.Time { return time.Unix(1795000000, 0) }, origin, 14*24*time.Hour))
	const labels = `{key="a\\\"b",level="OPS",duty="x\ny",profile=""} `
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if !strings.HasPrefix(line, "#") {
			got = append(got, strings.TrimPrefix(line, "zonedeck_key_"))
		}
	}
	want := []string{
		"expires_seconds" + labels + "1800000000", "rotated_seconds" + labels + "1790000000", "rotation_due_seconds" + labels + "1792592000",
		"due" + labels + "1", `due{key="old",level="unknown",duty="",profile=""} 0`, `due{key="old",level="unknown",duty="",profile="local"} 0`, "unknown" + labels + "0", `unknown{key="old",level="unknown",duty="",profile=""} 1`, `unknown{key="old",level="unknown",duty="",profile="local"} 1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := strings.Count(b.String(), "# TYPE "); n != 5 || strings.Count(b.String(), "# HELP ") != 5 {
		t.Errorf("%d types", n)
	}
}

func TestAnImportPutsInWhatItKnows(t *testing.T) {
	v, err := OpenInventory(filepath.Join(t.TempDir(), "keys.toml"))
	noerr.Must(t, err)
	first := model.Key{Name: "etl", Level: model.LevelOps, Note: "kept", Rotation: daysAgo(10)}
	noerr.Must(t, v.Add(t.Context(), first))
	rows := []model.Key{{Name: "etl", Level: model.LevelUser}, {Name: "new", Level: model.LevelUser}}
	done, err := v.Import(t.Context(), rows, false)
	if k, _ := v.Get("etl"); err != nil || !slices.Equal(done.Added, []string{"new"}) || !slices.Equal(done.Skipped, []string{"etl"}) || k.Level != model.LevelOps {
		t.Errorf("%+v, %v, %+v", done, err, k)
	}
	done, err = v.Import(t.Context(), rows, true)
	if k, _ := v.Get("etl"); err != nil || !slices.Equal(done.Changed, []string{"etl"}) || k.Level != model.LevelUser || k.Note != "kept" || !k.Rotation.Last.Equal(first.Rotation.Last) {
		t.Errorf("%+v, %v, %+v", done, err, k)
	}
	// A file must not change where a value is read from.
	for _, ref := range []string{"env:ETL", "env:OTHER"} {
		_, err = v.Import(t.Context(), []model.Key{{Name: "etl", Secret: ref, Note: ref}}, true)
	}
	if k, _ := v.Get("etl"); k.Secret != "env:ETL" || k.Note != "env:ETL" || err == nil || !strings.Contains(err.Error(), "another reference (env:OTHER)") {
		t.Errorf("%+v, %v", k, err)
	}
	// One fault refuses the whole import.
	if _, err := v.Import(t.Context(), []model.Key{{Name: "third"}, {Name: " "}}, false); !errors.Is(err, ErrKeyFields) {
		t.Errorf("%v", err)
	}
	if _, there := v.Get("third"); there {
		t.Error("a part of a refused import was recorded")
	}
}

func TestTheKeysOfEnvFilesBecomeReferences(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		noerr.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	}
	const value, other = "brd-key-4f8a2c7e91d04b6c", "brd-key-other-7e91d04bzz"
	put("a/.env", "# a comment\nexport ETL_API_KEY=\""+value+"\" # production\nNAME=x\nEMPTY_API_KEY=\nFROM_API_KEY=${ETL_API_KEY}\nSHORT_API_KEY=changeme\n")
	put("b/prod.env", "COPY_API_KEY="+value+"\nETL_API_KEY='"+other+"'\n")
	put("b/zz.env", "\ufeffWIN_API_KEY=\""+other+"-win\u200b\"\r\nMID_API_KEY=\u200b"+other+"-win # x\n")
	put("c/notes.txt", "ETL_API_KEY="+value)
	put("node_modules/x/.env", "X_API_KEY="+other)
	noerr.Must(t, os.Symlink(filepath.Join(dir, "c/notes.txt"), filepath.Join(dir, "link.env")))
	found, notes, err := ReadEnv(t.Context(), dir, []string{"_API_KEY"})
	if err != nil || len(found) != 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	file := filepath.Join(dir, "a", ".env")
	if want := []string{
		"EMPTY_API_KEY of " + file + " is left out: it has no value",
		"FROM_API_KEY of " + file + " is left out: its value refers to another variable",
		"SHORT_API_KEY of " + file + " is left out: its value is shorter than 12 characters: no key is",
		"WIN_API_KEY of " + filepath.Join(dir, "b", "zz.env") + ": U+FEFF, U+200B at the ends was taken off",
		"MID_API_KEY of " + filepath.Join(dir, "b", "zz.env") + ": U+200B at the ends was taken off",
	}; !slices.Equal(notes, want) {
		t.Errorf("%q", notes)
	}
	for i, want := range []struct{ name, value string }{{"ETL_API_KEY", value}, {"ETL_API_KEY 4bzz", other}, {"WIN_API_KEY", other + "-win"}} {
		k := found[i]
		if k.Name != want.name || k.Secret != "env:"+strings.TrimSuffix(want.name, " 4bzz") || k.Fingerprint != NewSecret(want.value).Fingerprint() || strings.Contains(fmt.Sprintf("%+v", k), want.value) {
			t.Errorf("%+v", k)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := ReadEnv(ctx, dir, []string{"_API_KEY"}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func FuzzImportedFiles(f *testing.F) {
	f.Add("name,level\na,USER\n", false)
	f.Add(`{"keys":[{"name":"a","used_by":["x",3]}]}`, true)
	f.Add("name,note\na,'=1\n", false)
	f.Fuzz(func(t *testing.T, text string, asJSON bool) {
		read := ReadCSV
		if asJSON {
			read = ReadJSON
		}
		keys, err := read(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, ErrTransfer) {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := ReadCSV(strings.NewReader(exported(t, keys)))
		if err != nil || len(again) != len(keys) {
			t.Fatalf("what was read cannot be written: %v", err)
		}
	})
}
