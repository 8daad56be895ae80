package textfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func TestWhatTheLibrarySaysIsPutIntoPlainWords(t *testing.T) {
	for msg, want := range map[string][3]string{
		"cannot decode TOML string into struct field T.Port of type int": {"a string", "a whole number without quotes", "true"},
		"cannot decode TOML integer into a Go value of type *bool":       {"an integer", "true or false without quotes", "true"},
		"cannot decode TOML array into struct field T.A of type string":  {"an array", "text in quotes", "true"},
		"cannot decode TOML string into struct field T.A of type []text": {"a string", "a list in square brackets", "true"},
		"cannot decode TOML string into struct field T.A of type []a.B":  {"a string", "a table", "true"},
		"cannot decode TOML string":                                      {"", "", "false"},
		"cannot store a table in a string":                               {"a table", "text in quotes", "true"},
		"cannot store a table":                                           {"a table", "a table", "false"},
		"expected newline":                                               {"", "", "false"},
	} {
		got, expected, ok := typeMismatch(msg)
		if [3]string{got, expected, fmt.Sprint(ok)} != want {
			t.Errorf("%s: %q, %q, %v", msg, got, expected, ok)
		}
	}
	if got := fault("f.toml", errors.New("toml: something else")); got.Error() != (&Error{File: "f.toml", Msg: "something else"}).Error() {
		t.Errorf("%v", got)
	}
}

func TestTheNamesThatATableMayHave(t *testing.T) {
	whole := reflect.TypeFor[*house]()
	for path, want := range map[string][]string{
		"x": {"rooms", "title"}, "rooms.kitchen.x": {"doors", "size", "warm"}, "rooms.kitchen.doors.0.x": {"keys", "name"},
		"garden.x": {"rooms", "title"}, "rooms.kitchen.garden.x": {"doors", "size", "warm"},
		"rooms.kitchen.size.x": nil, "rooms.kitchen.size.x.y": nil, "title.x": nil,
	} {
		if got := siblings(whole, strings.Split(path, ".")); !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestTheLineOfBytesThatAreNotText(t *testing.T) {
	for text, want := range map[string]int{"\xff": 1, "a\n\xff": 2, "a\nb\nä\xff\n": 3} {
		if got := lineOfBadUTF8([]byte(text)); got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}

func TestAPlaceThatCannotBeWrittenIsAnError(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	noerr.Must(t, os.WriteFile(file, []byte("as it was"), 0o600))
	fill := func(io.Writer) error { t.Error("something is written"); return nil }
	for _, path := range []string{filepath.Join(file, "below"), filepath.Join(dir, "none", "file")} {
		if err := WriteFunc(t.Context(), path, fill); err == nil {
			t.Errorf("%s was written", path)
		}
		if err := Probe(path); err == nil {
			t.Errorf("%s could be written", path)
		}
	}
	broken := errors.New("the source broke")
	if err := WriteFunc(t.Context(), file, func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "as it was" {
		t.Errorf("%q, %v", b, err)
	}
	noerr.Must(t, os.Mkdir(file+".lock", 0o700))
	if _, err := Lock(t.Context(), file); err == nil || errors.Is(err, ErrLocked) || !strings.HasPrefix(err.Error(), "locking "+file) {
		t.Errorf("a lock that is a folder: %v", err)
	}
}

func TestNewFoldersArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not kept on Windows")
	}
	dir := t.TempDir()
	noerr.Must(t, Write(filepath.Join(dir, "written", "f.toml"), []byte("x")))
	unlock, err := Lock(t.Context(), filepath.Join(dir, "locked", "f.toml"))
	noerr.Must(t, err)
	unlock()
	for path, want := range map[string]os.FileMode{"written": 0o700, "locked": 0o700, "written/f.toml": 0o600, "locked/f.toml.lock": 0o600} {
		if at, err := os.Stat(filepath.Join(dir, path)); err != nil || at.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, at, err)
		}
	}
}
