package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
)

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		os.Exit(children[child]())
	}
	os.Exit(m.Run())
}

func keyOf(text string) Key {
	sum := sha256.Sum256([]byte(text))
	return Key(sum[:16])
}

// plan plans a batch with an item for each text.
func plan(t testing.TB, texts ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "b1")
	s := noerr.Try(NewSpool(dir)).Must(t)
	for _, text := range texts {
		noerr.Must(t, s.Add([]byte(text), keyOf(text)))
	}
	noerr.Must(t, noerr.From(s.Finish(t.Context())))
	return dir
}

func collect(t testing.TB, dir string, workers map[string]Length, inOrder bool) []Line {
	t.Helper()
	var all []Line
	for line, err := range Results(dir, workers, inOrder) {
		noerr.Must(t, err)
		all = append(all, line)
	}
	return all
}

func numbers(lines []Line) (all []int64) {
	for _, l := range lines {
		all = append(all, l.N)
	}
	return all
}

func read(t testing.TB, dir string, line Line) string {
	t.Helper()
	r := noerr.Try(OpenBody(dir, *line.BodyAt)).Must(t)
	defer r.Close()
	return string(noerr.Try(io.ReadAll(r)).Must(t))
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v\nwant … %s", err, want)
	}
}

func TestDuplicatesAreFoundInEveryPartition(t *testing.T) {
	const count, kinds = 20_000, 9_000
	for _, atOnce := range []int64{keysAtOnce, 25} { // with 25, each partition takes some passes
		dir := filepath.Join(t.TempDir(), "b1")
		s := noerr.Try(NewSpool(dir)).Must(t)
		s.keysAtOnce = atOnce
		digest := sha256.New()
		for n := range count {
			text := fmt.Sprintf(`{"url":"https://example.com/%d"}`, n*n%kinds)
			fmt.Fprintln(digest, text)
			noerr.Must(t, s.Add([]byte(text), keyOf(text)))
		}
		planned := noerr.Try(s.Finish(t.Context())).Must(t)
		items := noerr.Try(OpenItems(dir)).Must(t)
		defer items.Close()
		first, duplicates := map[string]int64{}, int64(0)
		for k := range planned.Slices {
			for _, item := range noerr.Try(items.Slice(k)).Must(t) {
				want := int64(-1)
				if n, seen := first[string(item.Line)]; seen {
					want = n
					duplicates++
				} else {
					first[string(item.Line)] = item.N
				}
				if text := fmt.Sprintf(`{"url":"https://example.com/%d"}`, item.N*item.N%kinds); item.Duplicate != want || string(item.Line) != text || item.Sent != 0 {
					t.Fatalf("item %d is a duplicate of %d, want %d: %s, want %s", item.N, item.Duplicate, want, item.Line, text)
				}
			}
		}
		if want := (Planned{count, duplicates, count / SliceItems, hex.EncodeToString(digest.Sum(nil))}); planned != want {
			t.Errorf("%+v, want %+v", planned, want)
		}
		names := noerr.Try(filepath.Glob(filepath.Join(dir, "*"))).Must(t)
		if len(names) != 3 { // with the name of its planner's sign of life
			t.Errorf("%q", names)
		}
	}
}

func TestAMarkIsKept(t *testing.T) {
	dir := plan(t, strings.Fields(strings.Repeat("a b c ", 50))...)
	items := noerr.Try(OpenItems(dir)).Must(t)
	noerr.Must(t, items.MarkSent(101, 2))
	noerr.Must(t, items.MarkSent(149, 300))
	noerr.Must(t, items.Close())
	again := noerr.Try(OpenItems(dir)).Must(t)
	defer again.Close()
	got := noerr.Try(again.Slice(1)).Must(t)
	if len(got) != 50 || got[0].Sent != 0 || got[1].Sent != 2 || got[49].Sent != 255 {
		t.Errorf("%+v", got)
	}
	wantError(t, again.MarkSent(150, 1), "the batch has no item 150: it has 150")
	wantError(t, again.MarkSent(-1, 1), "the batch has no item -1: it has 150")
	wantError(t, noerr.From(again.Slice(2)), "the batch has no slice 2: it has 150 items")
	wantError(t, noerr.From(again.Slice(-1)), "the batch has no slice -1: it has 150 items")
}

func TestAnItemIsOneLine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "b1")
	s := noerr.Try(NewSpool(dir)).Must(t)
	wantError(t, s.Add([]byte("a\nb"), Key{}), `item 0 has a line break: write it as \n`)
	wantError(t, s.Add(make([]byte, MaxLine), Key{}), "item 0 has 1048576 bytes: at most 1048575")
	noerr.Must(t, s.Add(make([]byte, MaxLine-1), Key{}))
	noerr.Must(t, noerr.From(s.Finish(t.Context())))
	s.Release()
	items := noerr.Try(OpenItems(dir)).Must(t)
	defer items.Close()
	if got := noerr.Try(items.Slice(0)).Must(t); len(got) != 1 || len(got[0].Line) != MaxLine-1 {
		t.Errorf("%d items", len(got))
	}
}

func TestABatchWithoutItemsIsPlanned(t *testing.T) {
	dir := plan(t)
	items := noerr.Try(OpenItems(dir)).Must(t)
	noerr.Must(t, items.Close())
}

func TestADamagedInputIsNamed(t *testing.T) {
	texts := strings.Fields(strings.Repeat("a b c ", 50))
	for _, name := range []string{itemsFile, indexFile} {
		dir := plan(t, texts...)
		noerr.Must(t, os.Remove(filepath.Join(dir, name)))
		if _, err := OpenItems(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	xor := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 0x81; return b }
	}
	entry := 149 * entrySize
	for _, test := range []struct {
		file   string
		change func([]byte) []byte
		want   string
	}{
		{itemsFile, func(b []byte) []byte { return append(b, 'x') }, "items.ndjson is damaged: it has 301 bytes, and by index its 150 items have 300"},
		{indexFile, func(b []byte) []byte { return b[:149*entrySize] }, "items.ndjson is damaged: it has 300 bytes, and by index its 149 items have 298"},
		{indexFile, func(b []byte) []byte { return append(b, 'x') }, "index is damaged: it has 3601 bytes, and each item 24"},
		{indexFile, xor(entry), "items.ndjson is damaged: it has 300 bytes, and by index its 150 items have 429"},
		{itemsFile, xor(298), "reading slice 1: items.ndjson is damaged: item 150 is not as it was planned"},
		{indexFile, xor(entry + crcAt), "items.ndjson is damaged: item 150 is not as it was planned"},
		{indexFile, xor(entry + firstAt + 1), "index is damaged at item 150"},
		{indexFile, xor(entry + firstAt + 7), "index is damaged at item 150"},
		{indexFile, xor(entry - entrySize), "index is damaged at item 149"},
		{indexFile, xor(entry - entrySize + 7), "index is damaged at item 149"},
		{indexFile, func(b []byte) []byte { b[99*entrySize+7] ^= 0x80; return b }, "index is damaged at item 101"},
		{indexFile, xor(99*entrySize + 7), "index is damaged at item 101"},
	} {
		dir := plan(t, texts...)
		path := filepath.Join(dir, test.file)
		noerr.Must(t, os.WriteFile(path, test.change(noerr.Try(os.ReadFile(path)).Must(t)), 0o600))
		items, err := OpenItems(dir)
		if err == nil {
			_, err = items.Slice(1)
			noerr.Must(t, items.Close())
		}
		wantError(t, err, test.want)
		if !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
	}
}

// begun knows some batches.
func begun(known ...string) func([]string) (map[string]bool, error) {
	return func([]string) (map[string]bool, error) {
		out := map[string]bool{}
		for _, name := range known {
			out[name] = true
		}
		return out, nil
	}
}

func TestWhatAPlannerLeavesIsSwept(t *testing.T) {
	above := t.TempDir()
	spool := func(name string) *Spool { return noerr.Try(NewSpool(filepath.Join(above, name))).Must(t) }
	planned := func(name string) *Spool {
		s := spool(name)
		noerr.Must(t, s.Add([]byte("a"), Key{}))
		noerr.Must(t, noerr.From(s.Finish(t.Context())))
		return s
	}
	alive, dead := spool("b1"), spool("b2")
	noerr.Must(t, dead.close())
	dead.Release() // as the end of the process does
	waiting := planned("waits")
	for name, begun := range map[string]bool{"known": true, "begun": true, "dead": false} {
		planned(name).Release()
		if begun && name == "begun" {
			noerr.Must(t, Begun(filepath.Join(above, name)))
			noerr.Must(t, Begun(filepath.Join(above, name)))
		}
	}
	noerr.Must(t, planned("discarded").Discard())
	planned("ended").Release()
	noerr.Must(t, Ended(filepath.Join(above, "ended")))
	noerr.Must(t, Sweep(above, begun("known")))
	noerr.Must(t, Sweep(filepath.Join(above, "missing"), nil))
	var names []string
	for _, e := range noerr.Try(os.ReadDir(above)).Must(t) {
		names = append(names, e.Name())
	}
	want := []string{signsFolder, planningPrefix + alive.sign.Name(), "begun", "known", "waits"}
	if slices.Sort(want); !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	waiting.Release()
	if err := Sweep(above, func([]string) (map[string]bool, error) { return nil, errors.New("no store") }); err == nil {
		t.Error("a store that cannot be read is not said")
	}
	if _, err := os.Stat(filepath.Join(above, "waits")); err != nil {
		t.Error("swept without knowing whether it is begun")
	}
	noerr.Must(t, alive.Add([]byte("a"), Key{}))
	noerr.Must(t, noerr.From(alive.Finish(t.Context())))
	if _, err := NewSpool(filepath.Join(above, "b1")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}

func TestOfTwoPlansForOneFolderTheFirstIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "b1")
	first, second := noerr.Try(NewSpool(dir)).Must(t), noerr.Try(NewSpool(dir)).Must(t)
	noerr.Must(t, first.Add([]byte("a"), Key{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	third := noerr.Try(NewSpool(dir)).Must(t)
	if _, err := third.Finish(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	noerr.Must(t, third.Discard())
	noerr.Must(t, noerr.From(first.Finish(t.Context())))
	if _, err := second.Finish(t.Context()); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	noerr.Must(t, second.Discard())
	items := noerr.Try(OpenItems(dir)).Must(t)
	defer items.Close()
	if got := noerr.Try(items.Slice(0)).Must(t); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	if names := noerr.Try(filepath.Glob(filepath.Join(filepath.Dir(dir), planningPrefix+"*"))).Must(t); len(names) != 0 {
		t.Errorf("%q", names)
	}
}

func TestFilesAreForTheirOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := plan(t, "a")
	l := noerr.Try(OpenLog(dir, "w1")).Must(t)
	noerr.Must(t, l.Append(&Line{}, []byte("body")))
	noerr.Must(t, l.Close())
	noerr.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		noerr.Must(t, err)
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info := noerr.Try(d.Info()).Must(t); info.Mode().Perm() != want {
			t.Errorf("%s: %v", path, info.Mode())
		}
		return nil
	}))
}

func TestAResultIsReadAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	l := noerr.Try(OpenLog(dir, "w1")).Must(t)
	cost := 0.0015
	first := Line{
		N: 7, URL: "https://example.com/?a=1&b=<2>", Class: "captcha", Cause: "captcha", Status: 200, MS: 1200, Bytes: 5, Cost: &cost, Attempts: 2,
		FirstClass: "timeout", Missing: []string{"price"}, Rule: "captcha-title", Zone: "unl", Summary: "a\nb", Error: "e",
	}
	second := Line{N: 8}
	noerr.Must(t, l.Append(&first, []byte("hello")))
	noerr.Must(t, l.Append(&second, nil))
	at := noerr.Try(l.Sync()).Must(t)
	noerr.Must(t, l.Close())
	if want := []Line{first, second}; !reflect.DeepEqual(collect(t, dir, map[string]Length{"w1": at}, false), want) {
		t.Errorf("%+v", collect(t, dir, map[string]Length{"w1": at}, false))
	}
	text := string(noerr.Try(os.ReadFile(filepath.Join(dir, "results-w1.ndjson"))).Must(t))
	if want := `{"n":7,"url":"https://example.com/?a=1&b=<2>","class":"captcha","cause":"captcha","status":200,"ms":1200,"bytes":5,"cost":0.0015,"attempts":2,"first_class":"timeout","sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","body_at":{"worker":"w1","segment":1,"offset":0,"length":5},"missing":["price"],"rule":"captcha-title","zone":"unl","summary":"a\nb","error":"e","crc":"b1f9f9f6"}
{"n":8,"url":"","class":"","cause":"","status":0,"ms":0,"bytes":0,"attempts":0,"rule":"","zone":"","summary":"","crc":"16e0cfe9"}
`; text != want {
		t.Errorf("%s", text)
	}
	if got := read(t, dir, first); got != "hello" {
		t.Errorf("%q", got)
	}
	wantError(t, l.Append(&second, nil), "writing the result of item 9: the log is closed")
	wantError(t, noerr.From(l.Sync()), "the log is closed")
}

func TestEqualBodiesOfASegmentAreStoredOnce(t *testing.T) {
	dir := t.TempDir()
	l := noerr.Try(OpenLog(dir, "w1")).Must(t)
	l.segmentLimit = 2 * (recordHead + 5)
	var lines []Line
	for n, body := range []string{"hello", "hello", "world", "hello", "other", "hello"} { // the segment is full before "other"
		line := Line{N: int64(n)}
		noerr.Must(t, l.Append(&line, []byte(body)))
		lines = append(lines, line)
	}
	at := noerr.Try(l.Sync()).Must(t)
	var places []BodyAt
	for _, line := range lines {
		places = append(places, *line.BodyAt)
	}
	size := recordHead + 5
	want := []BodyAt{{"w1", 1, 0, 5}, {"w1", 1, 0, 5}, {"w1", 1, size, 5}, {"w1", 1, 0, 5}, {"w1", 2, 0, 5}, {"w1", 2, size, 5}}
	if !slices.Equal(places, want) || at.Segment != 2 || at.Bytes != 2*size || len(l.full) != 0 {
		t.Errorf("%+v, %+v", places, at)
	}
	wantError(t, l.Append(&Line{N: 9}, make([]byte, 2*size)), fmt.Sprintf("writing the result of item 10: its body has %d bytes: at most %d", 2*size, 2*size-recordHead))
	noerr.Must(t, l.Close())
	for n, body := range map[int]string{3: "hello", 4: "other", 5: "hello"} {
		if got := read(t, dir, lines[n]); got != body {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestALogHasOneWriter(t *testing.T) {
	dir := t.TempDir()
	l := noerr.Try(OpenLog(dir, "w1")).Must(t)
	if _, err := OpenLog(dir, "w1"); !errors.Is(err, textfile.ErrLocked) {
		t.Error(err)
	}
	if _, _, err := tail(dir, "w1", Length{}); !errors.Is(err, textfile.ErrLocked) {
		t.Error(err)
	}
	noerr.Must(t, l.Append(&Line{N: 1}, []byte("a")))
	noerr.Must(t, l.Close())
	l = noerr.Try(OpenLog(dir, "w1")).Must(t) // it goes on
	noerr.Must(t, l.Append(&Line{N: 2}, []byte("b")))
	at := noerr.Try(l.Sync()).Must(t)
	noerr.Must(t, l.Close())
	if got := collect(t, dir, map[string]Length{"w1": at}, false); !slices.Equal(numbers(got), []int64{1, 2}) || read(t, dir, got[1]) != "b" {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"", "../w1", "w/1", ".w1", strings.Repeat("w", 101)} {
		_, err := OpenLog(dir, name)
		wantError(t, err, fmt.Sprintf("%q cannot name a worker: it has letters, digits, - and _, at most 100", name))
		wantError(t, noerr.From(OpenBody(dir, BodyAt{Worker: name})), "at most 100")
	}
}

func TestTwoMayAppendAtOnce(t *testing.T) {
	dir := t.TempDir()
	l := noerr.Try(OpenLog(dir, "w1")).Must(t)
	l.segmentLimit = 2000
	var all sync.WaitGroup
	for g := range 2 {
		all.Go(func() {
			for n := range 200 {
				line := Line{N: int64(2*n + g)}
				noerr.Want(t, l.Append(&line, fmt.Appendf(nil, "body %d", 2*n+g)))
				if n%20 == 0 {
					at, err := l.Sync()
					noerr.Want(t, err)
					if at.Lines == 0 {
						t.Error("nothing was synced")
					}
				}
			}
		})
	}
	all.Wait()
	at := noerr.Try(l.Sync()).Must(t)
	noerr.Must(t, l.Close())
	got := collect(t, dir, map[string]Length{"w1": at}, true)
	for n, line := range got {
		if line.N != int64(n) || read(t, dir, line) != fmt.Sprintf("body %d", n) {
			t.Fatalf("%d: %+v", n, line)
		}
	}
	if len(got) != 400 || at.Segment < 10 {
		t.Errorf("%d lines in %d segments", len(got), at.Segment)
	}
}

func TestTheLinesOfAllWorkersComeInOrder(t *testing.T) {
	dir := t.TempDir()
	workers := map[string]Length{"none": {}}
	for w := range 3 {
		name := fmt.Sprintf("w%d", w)
		l := noerr.Try(OpenLog(dir, name)).Must(t)
		for n := range 50 {
			noerr.Must(t, l.Append(&Line{N: int64(n * 17 % 50), Zone: name}, nil))
		}
		workers[name] = noerr.Try(l.Sync()).Must(t)
		noerr.Must(t, l.Append(&Line{N: 1000}, nil)) // not committed
		noerr.Must(t, l.Close())
	}
	var want []string
	for n := range 50 {
		for w := range 3 {
			want = append(want, fmt.Sprintf("%d w%d", n, w))
		}
	}
	var got, unsorted []string
	for _, line := range collect(t, dir, workers, true) {
		got = append(got, fmt.Sprintf("%d %s", line.N, line.Zone))
	}
	for _, line := range collect(t, dir, workers, false) {
		unsorted = append(unsorted, fmt.Sprintf("%d %s", line.N, line.Zone))
	}
	if !slices.Equal(got, want) || unsorted[1] != "17 w0" || unsorted[149] != "33 w2" {
		t.Errorf("%q\n%q", got, unsorted)
	}
	for range Results(dir, workers, true) {
		break
	}
}

// Of items that lie far apart, each partition has some, and one has more than a page.
func TestTheOrderGoesBeyondOnePartition(t *testing.T) {
	dir := t.TempDir()
	l := noerr.Try(OpenLog(dir, "w1")).Must(t)
	var want []string
	for n := range int64(500) {
		line := Line{N: n * 37 % 250, MS: n}
		if n%100 == 0 {
			line.N = (500 - n) * partItems
		}
		want = append(want, fmt.Sprintf("%012d %03d", line.N, line.MS))
		noerr.Must(t, l.Append(&line, nil))
	}
	at := noerr.Try(l.Sync()).Must(t)
	noerr.Must(t, l.Close())
	var got []string
	for _, line := range collect(t, dir, map[string]Length{"w1": at}, true) {
		got = append(got, fmt.Sprintf("%012d %03d", line.N, line.MS))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if names := noerr.Try(filepath.Glob(filepath.Join(dir, ".*"))).Must(t); len(names) != 0 {
		t.Errorf("%q", names)
	}
}

func TestChangedResultsAreAnErrorWithItsPlace(t *testing.T) {
	for want, change := range map[string]func(string) string{
		"results-w1.ndjson, line 2: damaged: this is no result of worker w1":         func(s string) string { return strings.Replace(s, `{"n":1,`, `{"N":1,`, 1) },
		"results-w1.ndjson, line 3: damaged: invalid character '!' after object key": func(s string) string { return strings.Replace(s, `{"n":2,"url":`, `{"n":2,"url"!`, 1) },
		"results-w1.ndjson, line 1: damaged: it is cut short, or has bytes of zero":  func(s string) string { return strings.Replace(s, `"url"`, "\"u\x00l\"", 1) },
		"results-w1.ndjson, line 3: damaged: it is cut short, or has bytes of zero":  func(s string) string { return s[:len(s)-1] + " " },
		"results-w1.ndjson, line 1: damaged: this is no result of worker w1":         func(s string) string { return strings.Replace(s, `"worker":"w1"`, `"worker":"w2"`, 1) },
		"results-w1.ndjson is damaged: it has 800 bytes, and 801 were committed":     func(s string) string { return s[1:] },
		"results-w1.ndjson, line 2: damaged: it is not as it was written":            func(s string) string { return strings.Replace(s, `{"n":1,`, `{"n":2,`, 1) },
		"results-w1.ndjson, line 3: damaged: it is not as it was written":            func(s string) string { return s[:len(s)-4] + "x\"}\n" },
		"results-w1.ndjson, line 2: damaged: it has more than 1048576 bytes":         nil,
	} {
		dir := t.TempDir()
		l := noerr.Try(OpenLog(dir, "w1")).Must(t)
		for n := range int64(3) {
			noerr.Must(t, l.Append(&Line{N: n}, []byte("a body")[n:]))
		}
		at := noerr.Try(l.Sync()).Must(t)
		noerr.Must(t, l.Close())
		path := filepath.Join(dir, resultsName("w1"))
		text := string(noerr.Try(os.ReadFile(path)).Must(t))
		if change != nil {
			text = change(text)
		} else {
			first, _, _ := strings.Cut(text, "\n")
			text = first + "\n" + strings.Repeat("x", MaxLine+1) + "\n"
			at.Lines = int64(len(text))
		}
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		for _, inOrder := range []bool{false, true} {
			var last error
			for _, err := range Results(dir, map[string]Length{"w1": at}, inOrder) {
				last = err
			}
			wantError(t, last, want)
		}
	}
}
