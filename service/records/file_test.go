package records

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// file is a File with the given text.
func file(t *testing.T, name, content string) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	noerr.Must(t, os.WriteFile(path, []byte(content), 0o600))
	return keeping(t, path)
}

// keeping opens a file and keeps its index beside it.
func keeping(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path, Options{Temp: t.TempDir(), Keep: func(path string, b []byte) error { return os.WriteFile(path, b, 0o600) }})
	noerr.Must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func index1(t *testing.T, f *File) {
	t.Helper()
	noerr.Must(t, f.Index(t.Context(), nil))
}

// written are the rows of a view as NDJSON.
func written(t *testing.T, f *File, v View) string {
	t.Helper()
	var b strings.Builder
	noerr.Must(t, noerr.From(f.Export(t.Context(), &b, v, Export{Format: Lines}, nil)))
	return b.String()
}

func TestTheIndexLiesBesideTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ndjson")
	writeRows(t, path, 20_000)
	f := keeping(t, path)
	last := Progress{}
	noerr.Must(t, f.Index(t.Context(), func(p Progress) {
		if p.Rows < last.Rows || p.Size != f.Size() {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	}))
	if last.Rows != 20_000 || len(f.x.marks) < 10 {
		t.Fatalf("%+v with %d marks", last, len(f.x.marks))
	}
	for _, n := range []int64{0, 1, 777, 19_999} {
		rows, err := f.Rows(t.Context(), View{}, n, 1, []string{"id"})
		if err != nil || len(rows) != 1 || rows[0].N != n || rows[0].Cells[0] != (Cell{Number, fmt.Sprint(n)}) {
			t.Errorf("row %d is %+v: %v", n, rows, err)
		}
	}
	about, err := f.Profile(t.Context(), nil)
	noerr.Must(t, err)
	again := keeping(t, path)
	if s := again.State(); !s.Indexed || s.Rows != 20_000 || len(s.Notes) != 0 || !slices.Equal(again.x.marks, f.x.marks) {
		t.Errorf("the index was not taken: %+v", s)
	}
	if p := again.Known(); !p.Done || fmt.Sprint(p) != fmt.Sprint(about) {
		t.Errorf("the profile was not taken: %+v", p)
	}
}

func TestAnIndexThatDoesNotFitIsMadeAnew(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, path string)
		note   bool
	}{
		{"another size", func(t *testing.T, path string) {
			noerr.Must(t, os.WriteFile(path, []byte("{\"a\":1}\n"), 0o600))
		}, false},
		{"another time", func(t *testing.T, path string) {
			noerr.Must(t, os.Chtimes(path, time.Time{}, time.Unix(1_700_000_000, 0)))
		}, false},
		{"the same size and time, other bytes", func(t *testing.T, path string) {
			info, err := os.Stat(path)
			noerr.Must(t, err)
			b, err := os.ReadFile(path)
			noerr.Must(t, err)
			b[len(b)-3]++
			noerr.Must(t, errors.Join(os.WriteFile(path, b, 0o600), os.Chtimes(path, time.Time{}, info.ModTime())))
		}, false},
		{"a byte of the index", func(t *testing.T, path string) {
			b, err := os.ReadFile(path + extension)
			noerr.Must(t, err)
			b[len(b)/2]++
			noerr.Must(t, os.WriteFile(path+extension, b, 0o600))
		}, true},
		{"an index that is cut", func(t *testing.T, path string) {
			noerr.Must(t, os.Truncate(path+extension, 20))
		}, true},
		{"another version", func(t *testing.T, path string) {
			noerr.Must(t, os.WriteFile(path+extension, []byte("zonedeck rows 0\n"), 0o600))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := file(t, "a.ndjson", "{\"a\":1}\n{\"a\":2}\n")
			index1(t, f)
			c.change(t, f.path)
			again := keeping(t, f.path)
			if s := again.State(); s.Indexed || (len(s.Notes) > 0) != c.note {
				t.Fatalf("%+v", s)
			}
			index1(t, again)
			if s := keeping(t, f.path).State(); !s.Indexed || len(s.Notes) > 0 {
				t.Errorf("it was not kept: %+v", s)
			}
		})
	}
}

func TestAFileThatIsNoIndexIsLeftAlone(t *testing.T) {
	const theirs = "an index of another program"
	for _, late := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "a.ndjson")
		writeRows(t, path, 10)
		put := func() { noerr.Must(t, os.WriteFile(path+extension, []byte(theirs), 0o600)) }
		if !late {
			put()
		}
		f := keeping(t, path)
		if late {
			put()
		}
		index1(t, f)
		if b, err := os.ReadFile(path + extension); err != nil || string(b) != theirs {
			t.Errorf("%.40q, %v", b, err)
		}
		want := "no index is kept: a.ndjson.index is there and is no index"
		if late {
			want = "the index cannot be kept beside the file: what is there is no index"
		}
		if s := f.State(); s.Rows != 10 || !slices.Equal(s.Notes, []string{want}) {
			t.Errorf("%+v", s)
		}
	}
	path := filepath.Join(t.TempDir(), "b.ndjson")
	writeRows(t, path, 10)
	noerr.Must(t, os.Mkdir(path+extension, 0o700))
	if s := keeping(t, path).State(); len(s.Notes) != 1 {
		t.Errorf("a folder is taken for an index: %+v", s)
	}
}

func TestAResultIsTheOneThatWasDownloaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ndjson")
	writeRows(t, path, 1000)
	b, err := os.ReadFile(path)
	noerr.Must(t, err)
	want := Identity{Size: int64(len(b)), SHA256: fmt.Sprintf("%x", sha256.Sum256(b))}
	opened := func(w Identity) (*File, error) {
		f, err := Open(path, Options{Want: w, Keep: func(path string, b []byte) error { return os.WriteFile(path, b, 0o600) }})
		if err == nil {
			t.Cleanup(func() { _ = f.Close() })
		}
		return f, err
	}
	index1(t, keeping(t, path)) // its index knows no digest
	for range 2 {
		f, err := opened(want)
		noerr.Must(t, err)
		index1(t, f)
	}
	if f, err := opened(Identity{}); err != nil || f.x.sum != want.SHA256 {
		t.Errorf("the digest was not kept: %v", err)
	}
	if _, err := opened(Identity{Size: want.Size + 1}); !errors.Is(err, errOther) {
		t.Errorf("another size: %v", err)
	}
	if _, err := opened(Identity{SHA256: "00"}); !errors.Is(err, errOther) {
		t.Errorf("another digest, which is known: %v", err)
	}
	b[len(b)/2] = 'x'
	noerr.Must(t, os.WriteFile(path, b, 0o600))
	noerr.Must(t, os.Remove(path+extension))
	f, err := opened(want)
	noerr.Must(t, err)
	for range 2 {
		if err := f.Index(t.Context(), nil); !errors.Is(err, errOther) {
			t.Errorf("another content: %v", err)
		}
	}
	if _, err := f.Select(t.Context(), Query{Sort: "id"}, nil, nil); !errors.Is(err, errOther) {
		t.Errorf("rows of another content: %v", err)
	}
	if _, err := opened(want); !errors.Is(err, errOther) {
		t.Errorf("another content once more: %v", err)
	}
}

func TestAFileThatChangesIsNoticed(t *testing.T) {
	f := file(t, "a.ndjson", "{\"a\":1}\n")
	index1(t, f)
	noerr.Must(t, os.WriteFile(f.path, []byte("{\"a\":1}\n{\"a\":2}\n"), 0o600))
	if _, err := f.Select(t.Context(), Query{}, nil, nil); !errors.Is(err, errChanged) {
		t.Errorf("%v", err)
	}
	if _, err := f.Profile(t.Context(), nil); !errors.Is(err, errChanged) {
		t.Errorf("%v", err)
	}
}

// Rewritten in place a file may have the same size, and fewer rows than its index.
func TestFewerRowsThanAreKnownAreAChange(t *testing.T) {
	const whole = "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n"
	for _, now := range []string{"{\"a\":1}\n" + strings.Repeat(" ", 16), "{\"a\":1}\n"} {
		f := file(t, "a.ndjson", whole)
		found, err := f.Select(t.Context(), Query{Filter: mustFilter(t, "a>2")}, nil, nil)
		noerr.Must(t, err)
		defer found.Rows.Close()
		noerr.Must(t, os.WriteFile(f.path, []byte(now), 0o600))
		for from := range int64(3) {
			if rows, err := f.Rows(t.Context(), View{}, from, 3, []string{"a"}); !errors.Is(err, errChanged) {
				t.Errorf("from %d on: %+v, %v", from, rows, err)
			}
		}
		if rows, err := f.Rows(t.Context(), View{}, 3, 3, []string{"a"}); err != nil || len(rows) != 0 {
			t.Errorf("beyond the last: %+v, %v", rows, err)
		}
		if rows, err := f.Rows(t.Context(), View{Rows: found.Rows}, 0, 1, []string{"a"}); !errors.Is(err, errChanged) {
			t.Errorf("of a list: %+v, %v", rows, err)
		}
	}
}

func TestAFolderThatCannotBeWrittenToIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ndjson")
	writeRows(t, path, 10)
	f, err := Open(path, Options{Keep: func(string, []byte) error { return os.ErrPermission }})
	noerr.Must(t, err)
	defer f.Close()
	index1(t, f)
	if s := f.State(); s.Rows != 10 || len(s.Notes) != 1 || s.Notes[0] != "the index cannot be kept beside the file: permission denied" {
		t.Errorf("%+v", s)
	}
}

func TestMarksStayBounded(t *testing.T) {
	x := index{space: 1}
	for i := range int64(10 * maxMarks) {
		if n := len(x.marks); n == 0 || i-x.marks[n-1].At >= x.space {
			x.add(mark{Row: i, At: i})
		}
	}
	if len(x.marks) > maxMarks || len(x.marks) < maxMarks/2 {
		t.Fatalf("%d marks", len(x.marks))
	}
	for i, m := range x.marks {
		if m.Row != m.At || i > 0 && m.At-x.marks[i-1].At != x.space {
			t.Fatalf("mark %d is %+v after %+v, %d apart", i, m, x.marks[max(i-1, 0)], x.space)
		}
	}
}

func TestWhatIsWrongWithAFileIsSaid(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.json", `[{"a":1},{"a":2}`, "the file ends before its array does"},
		{"a.json", `[{"a":1},{"a":`, "the file ends in the middle of its last row"},
		{"a.json", `[{"a":1}] {"a":2}`, "what comes after the end of the array is not shown"},
		{"a.json", "[{\"a\":1}]\n", ""},
	} {
		f := file(t, c.name, c.text)
		index1(t, f)
		if got := strings.Join(f.State().Notes, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestDamagedRowsAreShown(t *testing.T) {
	f := file(t, "a.ndjson", "{\"a\":1}\n{\"a\":\x1b[2J oops}\n{\"a\":\"\xff\"}\n")
	rows := rowsOf(t, f, View{}, 10, "a")
	if len(rows) != 3 || rows[1].Damaged == "" || rows[1].Raw != "{\"a\":\x1b[2J oops}" || rows[2].Cells[0].Text != "�" {
		t.Fatalf("%+v", rows)
	}
	d, err := f.Detail(View{}, 1)
	if err != nil || d.Damaged == "" {
		t.Fatalf("%+v, %v", d, err)
	}
	p, err := f.Profile(t.Context(), nil)
	if err != nil || p.Damaged != 1 || p.First != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestARowThatIsTooLongIsCountedAndNotRead(t *testing.T) {
	const longest = 9 << 20 // so that a buffer grows beyond what is kept for the rows after it
	path := filepath.Join(t.TempDir(), "a.json")
	out, err := os.Create(path)
	noerr.Must(t, err)
	part := "x\\\"],{" + strings.Repeat("y", 250)
	_, err = io.Copy(out, io.MultiReader(strings.NewReader(`[{"a":1},{"a":"`), io.LimitReader(repeated(part), int64(longest/len(part)+2)*int64(len(part))), strings.NewReader(`"},{"a":3}]`)))
	noerr.Must(t, errors.Join(err, out.Close()))
	f := keeping(t, path)
	if f.layout.longest != maxRow {
		t.Fatalf("rows have at most %d bytes", f.layout.longest)
	}
	f.layout.longest = longest
	rows := rowsOf(t, f, View{}, 10, "a")
	if len(rows) != 3 || rows[0].Cells[0].Text != "1" || rows[1].Damaged != "it is larger than 9 MiB" || rows[2].Cells[0].Text != "3" {
		t.Fatalf("%+v", rows)
	}
	if notes := f.State().Notes; len(notes) != 1 || notes[0] != "rows larger than 9 MiB, which are counted and not read: 1" {
		t.Errorf("%q", notes)
	}
	got, err := f.Select(t.Context(), Query{Sort: "a", Down: true}, nil, nil)
	if err != nil || got.Unread != 1 || written(t, f, View{Rows: got.Rows}) != "{\"a\":3}\n{\"a\":1}\n" {
		t.Errorf("%+v, %v", got, err)
	}
	_ = got.Rows.Close()
}

// repeated gives a text again and again.
type repeated string

func (r repeated) Read(p []byte) (int, error) {
	n := 0
	for len(p)-n >= len(r) {
		n += copy(p[n:], r)
	}
	return n, nil
}

func rowsOf(t *testing.T, f *File, v View, n int, columns ...string) []Row {
	t.Helper()
	index1(t, f)
	rows, err := f.Rows(t.Context(), v, 0, n, columns)
	noerr.Must(t, err)
	return rows
}

func TestColumnsOverTheWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ndjson")
	writeRows(t, path, 30_000)
	f := keeping(t, path)
	p, err := f.Profile(t.Context(), nil)
	if err != nil || p.Rows != 30_000 || p.Damaged != 0 || p.MoreColumns {
		t.Fatalf("%+v: %v", p, err)
	}
	type facts struct {
		name, kind, fill, distinct string
	}
	var got []facts
	for _, c := range p.Columns {
		got = append(got, facts{c.Name, c.Type(), c.FillWords(p.Rows), c.DistinctWords()})
	}
	id := got[0]
	var about int64
	if _, err := fmt.Sscanf(id.distinct, "about %d (±1.6 %%)", &about); err != nil || about < 25_000 || about > 35_000 { // ten times the standard error: its seed is another in each run
		t.Errorf("30,000 distinct values are %q", id.distinct)
	}
	want := []facts{
		{"id", "number", "100 %", id.distinct},
		got[1], got[2],
		{"in_stock", "bool", "100 %", "2"},
		{"brand", "text", "100 %", "97"},
		got[5],
		{"rating", "null", "0 %", "0"},
		{"tags", "list", "100 %", "7"},
		{"seller", "object", "100 %", "1000"},
	}
	if !slices.Equal(got, want) || got[2].name != "list price" {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDistinctValuesAreEstimated(t *testing.T) {
	hashes := rand.NewPCG(1, 2)
	tell := &tally{}
	seen := 0
	for _, n := range []int{exactUpTo, 2_000, 9_000, 30_000, 300_000} {
		for ; seen < n; seen++ {
			h := hashes.Uint64()
			tell.see(h)
			tell.see(h)
		}
		got, about := tell.distinct()
		if about != (n > exactUpTo) || !about && got != int64(n) || got < int64(n-n/20) || got > int64(n+n/20) {
			t.Errorf("%d values are %d, estimated %t", n, got, about)
		}
	}
}

func TestColumnsThatFewRowsHave(t *testing.T) {
	f := file(t, "a.json", `[{"a":1,"b":"","c":[],"a":"twice"},{"a":"x","b":null,"d e":{}},{"A\u00e9":1},7,"t"]`)
	p, err := f.Profile(t.Context(), nil)
	noerr.Must(t, err)
	var got []string
	for _, c := range p.Columns {
		got = append(got, fmt.Sprintf("%s %s %d %d", c.Name, c.Type(), c.Filled, c.Distinct))
	}
	if want := []string{"a number+text 2 2", "b text 0 0", "c list 0 0", "d e object 0 0", "Aé number 1 1", "value number+text 2 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var wide strings.Builder
	for i := range MaxColumns + 5 {
		fmt.Fprintf(&wide, "{\"c%d\":1}\n", i)
	}
	if p, err = file(t, "b.ndjson", wide.String()).Profile(t.Context(), nil); err != nil || len(p.Columns) != MaxColumns || !p.MoreColumns {
		t.Errorf("%d columns, more %t: %v", len(p.Columns), p.MoreColumns, err)
	}
}

func TestAFileOfUTF16IsRefused(t *testing.T) {
	for name, text := range map[string]string{"little end first": "\xff\xfea\x00\n\x001\x00\n\x00", "big end first": "\xfe\xff\x00a\x00\n\x001\x00\n"} {
		path := filepath.Join(t.TempDir(), "result.csv")
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		f, err := Open(path, Options{})
		if err == nil {
			t.Errorf("%s: it was opened", name)
			_ = f.Close()
			continue
		}
		if want := "result.csv: it is UTF-16; save it as UTF-8"; err.Error() != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
