package body

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

// largeFile is a file of 500 MB of JSON lines of about 300 bytes; the last one says so.
func largeFile(tb testing.TB) Source {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "large.json")
	f, err := os.Create(name)
	noerr.Must(tb, err)
	tb.Cleanup(func() { _ = f.Close() }) // it is only read by then
	line := `{"name":"a product with a long name","price":12.5,"tags":["` + strings.Repeat("a tag of it ", 18) + `"],"ok":true}` + "\n"
	block := bytes.Repeat([]byte(line), 4<<20/len(line))
	size := int64(0)
	for size < 500<<20 {
		n, err := f.Write(block)
		noerr.Must(tb, err)
		size += int64(n)
	}
	noerr.Must(tb, noerr.From(f.WriteAt([]byte("THE END\n"), size-8)))
	return Source{Reader: f, Size: size, Type: "application/json"}
}

// settle plays the root for a view: it runs commands until there are no more.
func settle(b *View, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			settle(b, c)
		}
	case kit.Addressed:
		msgs, more := msg.Deliver()
		for _, m := range msgs {
			settle(b, kit.Serve(b, m))
		}
		settle(b, more)
	}
}

// BenchmarkLarge is a key and the frame after it at 200x50 with a body of 500 MB on disk,
// its commands included: at most 16 ms. Opening it and searching it all run beside the
// screen.
func BenchmarkLarge(bm *testing.B) {
	src := largeFile(bm)
	key := func(name string) tea.KeyPressMsg { return uitest.Key(name) }
	open := func(bm *testing.B, wrap bool) *View {
		b := New(bm.Context(), "test", kit.NewTheme(true, false))
		b.Render(true, 200, 50)
		b.SetWrap(wrap)
		settle(b, b.Open(src))
		return b
	}
	bm.Run("opened", func(bm *testing.B) {
		for bm.Loop() {
			if b := open(bm, false); !b.index.done {
				bm.Fatal("it is not open")
			}
		}
	})
	bm.Run("searched", func(bm *testing.B) {
		b := open(bm, false)
		for bm.Loop() {
			settle(b, b.Search("the end"))
			if len(b.find.hits) != 1 {
				bm.Fatalf("%d hits", len(b.find.hits))
			}
		}
	})
	for _, wrap := range []bool{false, true} {
		name := "frame"
		if wrap {
			name = "wrapped frame"
		}
		for what, keys := range map[string][]string{"a line down": {"down"}, "a page down": {"pgdown"}, "to the end and back": {"G", "g"}} {
			bm.Run(name+"/"+what, func(bm *testing.B) {
				b := open(bm, wrap)
				bm.ResetTimer()
				for i := 0; bm.Loop(); i++ {
					settle(b, b.Update(key(keys[i%len(keys)])))
					b.Render(true, 200, 50)
				}
			})
		}
	}
}

// FuzzSearch compares the search with one that folds everything, over windows that end in
// the middle of hits.
func FuzzSearch(f *testing.F) {
	f.Add([]byte("The the THE quick"), "the", 3)
	f.Add([]byte("aaaaaaa"), "aa", 2)
	f.Add([]byte("x\xffY\xffy"), "\xffy", 1)
	f.Add([]byte("[{@`AZaz"), "@`az", 1)
	f.Fuzz(func(t *testing.T, text []byte, query string, repeat int) {
		if query == "" || len(query) > 64 || len(text) > 4096 || repeat < 1 || repeat > 600 {
			t.Skip()
		}
		text = bytes.Repeat(text, repeat)
		fold := func(b []byte) []byte {
			b = bytes.Clone(b)
			for i, c := range b {
				b[i] = lower(c)
			}
			return b
		}
		var want, got []int64
		for at, q, all := 0, fold([]byte(query)), fold(text); len(want) < maxHits; {
			i := bytes.Index(all[at:], q)
			if i < 0 {
				break
			}
			want = append(want, int64(at+i))
			at += i + len(q)
		}
		noerr.Must(t, noerr.From(searchBytes(bytes.NewReader(text), int64(len(text)), query, func() bool { return false }, func(offs []int64) { got = append(got, offs...) })))
		if !slices.Equal(got, want) {
			t.Errorf("%q is at %v, want %v", query, got, want)
		}
	})
}
