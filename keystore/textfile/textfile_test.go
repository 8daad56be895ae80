package textfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	"zonedeck/internal/noerr"
)

type house struct {
	Title string           `toml:"title"`
	Rooms map[string]*room `toml:"rooms"`
}

type room struct {
	Size  int    `toml:"size"`
	Warm  bool   `toml:"warm"`
	Doors []door `toml:"doors"`
}

type door struct {
	Name string   `toml:"name"`
	Keys []string `toml:"keys"`
}

func TestDecodePointsAtTheFaultAndSaysWhatBelongsThere(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown field":        {"titel = \"x\"\n", `f.toml:1:1: unknown field "titel"; expected one of rooms, title`},
		"unknown nested field": {"[rooms.a]\nsize = 1\nseize = 2\n", `f.toml:3:1: unknown field "seize"; expected one of doors, size, warm`},
		"unknown in a list":    {"[[rooms.a.doors]]\nname = 'x'\n\n[[rooms.a.doors]]\n  nam = 'y'\n", `f.toml:5:3: unknown field "nam"; expected one of keys, name`},
		"unknown inline":       {"rooms = {a = {siz = 1}}\n", `f.toml:1:15: unknown field "siz"; expected one of doors, size, warm`},
		"unknown dotted key":   {"rooms.a.b.c = 1\n", `f.toml:1:1: unknown field "c"; expected one of doors, size, warm`},
		"unknown table":        {"\n[garden]\nx = 1\n", `f.toml:2:2: unknown field "garden"; expected one of rooms, title`},
		"unknown elements":     {"title = 'x'\n[[room]]\nsize = 1\n", `f.toml:2:3: unknown field "room"; expected one of rooms, title`},
		"unknown list":         {"[rooms.a]\ndoor = [[1]]\n", `f.toml:2:1: unknown field "door"; expected one of doors, size, warm`},
		"unknown number":       {"[rooms.a]\n0 = 1\n", `f.toml:2:1: unknown field "0"; expected one of doors, size, warm`},
		"text for a number":    {"[rooms.a]\nsize = \"1\"\n", `f.toml:2:8: "size" is a string; expected a whole number without quotes`},
		"number for text":      {"title = 1\n", `f.toml:1:9: "title" is an integer; expected text in quotes`},
		"number for a truth":   {"[rooms.a]\nwarm = 1\n", `f.toml:2:8: "warm" is an integer; expected true or false without quotes`},
		"text for a list":      {"[[rooms.a.doors]]\nkeys = \"k\"\n", `f.toml:2:8: "keys" is a string; expected a list in square brackets`},
		"number in a list":     {"[[rooms.a.doors]]\nkeys = [\"k\", 2]\n", `f.toml:2:14: "keys" is an integer; expected text in quotes`},
		"text for a table":     {"rooms = \"x\"\n", `f.toml:1:9: "rooms" is a string; expected a table`},
		"table for text":       {"[title]\n", `f.toml:1:2: "title" is a table; expected text in quotes`},
		"open string":          {"title = \"x\n", `f.toml:1:`},
		"twice":                {"title = 'x'\ntitle = 'y'\n", `f.toml:2:1: `},
		"no value":             {"title =\n", `f.toml:1:`},
		"not UTF-8":            {"title = 'x'\n\xff", "f.toml:2: the text is not UTF-8"},
		"too large":            {strings.Repeat("#", MaxSize+1), "f.toml: the file is larger than 2 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode("f.toml", []byte(c.text), &house{})
			if _, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestErrorsDoNotRepeatTheLinesAround(t *testing.T) {
	for _, bad := range []string{"titel = 1\n", "title = 1\n", "title = \n", "= 1\n", "[rooms\n", "title = hunter2\n", "title = \"hunter2\n"} {
		_, err := Decode("f.toml", []byte("# hunter2\n"+bad+"# hunter2\n"), &house{})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestFaultFindsAFieldWhereverItStands(t *testing.T) {
	text := "title = 'x'\n" + // 1
		"[rooms.kitchen]\n" + // 2
		"size = 1\n" + // 3
		"[[rooms.kitchen.doors]]\n" + // 4
		"name = 'a'\n" + // 5
		"[[rooms.kitchen.doors]]\n" + // 6
		"  name = 'b'\n" + // 7
		"  keys = ['k', # first\n" + // 8
		"    'l']\n" + // 9
		"[rooms]\n" + // 10
		"bath = {size = 2, doors = [{name = 'c'}, {name = 'd'}]}\n" + // 11
		"'odd room'.size = 3\n" // 12
	doc, err := Decode("f.toml", []byte(text), &house{})
	noerr.Must(t, err)
	for at, want := range map[string]string{
		At("title"):                                         "1:1",
		At("rooms", "kitchen", "size"):                      "3:1",
		At("rooms", "kitchen", "doors", 0, "name"):          "5:1",
		At("rooms", "kitchen", "doors", 1, "name"):          "7:3",
		At("rooms", "kitchen", "doors", 1, "keys", 1):       "9:5",
		At("rooms", "kitchen", "doors", 0, "keys"):          "4:3", // missing: its table
		At("rooms", "kitchen", "warm"):                      "2:2",
		At("rooms", "bath", "doors", 1, "name"):             "11:43",
		At("rooms", "bath", "doors", 1, "keys"):             "11:42",
		At("rooms", "odd room", "size"):                     "12:1",
		At("garden", "gate"):                                "0:0",
		At("rooms", "kitchen", "doors", 9, "name", "first"): "2:2", // no such door: the room
	} {
		e := doc.Fault(at, "x", "")
		if got := fmt.Sprintf("%d:%d", e.Line, e.Column); got != want {
			t.Errorf("%q is at %s, want %s", strings.ReplaceAll(at, sep, "."), got, want)
		}
	}
	if e := (Doc{}).Fault(At("title"), strings.Repeat("ä", 1000), ""); len([]rune(e.Error())) > 400 {
		t.Errorf("a message of %d bytes", len(e.Error()))
	}
}

func TestReadReportsAMissingFile(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "none.toml"), &house{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := Read(t.TempDir(), &house{}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a folder: %v", err)
	}
}

func TestLockLetsOneInAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d", "f.toml")
	var wg sync.WaitGroup
	inside := make(chan int, 1)
	for i := range 20 {
		wg.Go(func() {
			unlock, err := Lock(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			select {
			case inside <- i:
			default:
				t.Error("two hold the lock")
				return
			}
			<-inside
		})
	}
	wg.Wait()
}

func TestLockGivesUpWithItsContextAndAfterItsOwnTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.toml")
	unlock, err := Lock(t.Context(), path)
	noerr.Must(t, err)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := Lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrLocked) {
			t.Errorf("error %v, want the context's", err)
		}
		began := time.Now()
		if _, err := Lock(t.Context(), path); !errors.Is(err, ErrLocked) {
			t.Errorf("error %v, want ErrLocked", err)
		}
		if elapsed := time.Since(began); elapsed != lockWait {
			t.Errorf("gave up after %s, want %s", elapsed, lockWait)
		}
	})
	unlock()
	again, err := Lock(t.Context(), path)
	noerr.Must(t, err)
	again()
}

func TestQuotedTextIsReadBackAsItWas(t *testing.T) {
	check := func(t rapid.TB, s string) {
		var got struct {
			S string   `toml:"s"`
			L []string `toml:"l"`
		}
		text := "s = " + Quote(s) + "\nl = " + List([]string{s, "", s}) + "\n"
		if err := toml.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%q: %v in %s", s, err, text)
		}
		if got.S != s || len(got.L) != 3 || got.L[2] != s {
			t.Fatalf("%q came back as %q", s, got)
		}
		if strings.Count(text, "\n") != 2 || strings.ContainsAny(text, "\x1b\u009b\u202e") {
			t.Fatalf("%q is written raw: %q", s, text)
		}
	}
	for _, s := range []string{"", `"`, `\`, "\n\t\r\x00\x1b\x7f", "\u009b\u202e\u200b", "ä€😀", "\U000e0001", `\u0041`, `'''"""`} {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "s")) })
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"title='x'", "[rooms.a]\nsize=1", "[[rooms.a.doors]]\nkeys=[ #\n'a',\n]", "rooms={a={doors=[{}]}}", "a.b.'c d'=1", "[", "=", "\"\\u0000\"=1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		doc, err := Decode("f.toml", b, &house{})
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("%q: error %v is no *Error", b, err)
			}
			return
		}
		lines := strings.Count(string(b), "\n") + 1
		locate(b, func(p place) bool {
			if e := doc.Fault(p.path, "x", ""); e.Line < 1 || e.Line > lines || e.Column < 1 || e.Column > len(b)+1 {
				t.Errorf("%q: %q is at %d:%d", b, p.path, e.Line, e.Column)
			}
			return true
		})
	})
}

func TestFaultFindsADottedFieldAtTheStart(t *testing.T) {
	doc, err := Decode("f.toml", []byte("rooms.bath.size = 1\n"), &house{})
	noerr.Must(t, err)
	if e := doc.Fault(At("rooms", "bath", "size"), "x", ""); e.Line != 1 || e.Column != 1 {
		t.Errorf("%d:%d, want 1:1", e.Line, e.Column)
	}
}

func TestCharactersThatDoNotPrintAreEscaped(t *testing.T) {
	for in, want := range map[string]string{"\uffff": `"\uFFFF"`, "\U0001ffff": `"\U0001FFFF"`, "\x1f": `"\u001F"`, "\u0085": `"\u0085"`, "\n\t": `"\n\t"`} {
		if got := Quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestAFileIsReadUpToItsBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	noerr.Must(t, Write(path, make([]byte, 2048)))
	if b, err := ReadBounded(path, 2048); err != nil || len(b) != 2048 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := ReadBounded(path, 1024); err == nil || err.Error() != path+": the file is too large; expected at most 1 KiB" {
		t.Error(err)
	}
	if _, err := ReadBounded(path+"x", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
