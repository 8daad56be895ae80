package jsontree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/internal/noerr"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/body"
	"zonedeck/ui/uitest"
)

func open(t testing.TB, w, h int, text string) *View {
	t.Helper()
	v := New(t.Context(), "test", kit.NewTheme(true, false))
	v.Render(true, w, h)
	settle(t, v, v.Open(body.Source{Reader: strings.NewReader(text), Size: int64(len(text))}, nil))
	return v
}

func settle(t testing.TB, v *View, cmd tea.Cmd) {
	t.Helper()
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			settle(t, v, c)
		}
	case kit.Addressed:
		msgs, more := msg.Deliver()
		for _, m := range msgs {
			settle(t, v, kit.Serve(v, m))
		}
		settle(t, v, more)
	case kit.Copy:
		t.Attr("copied", msg.Text)
	}
}

func press(t testing.TB, v *View, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if b, ok := kit.Find(v.Bindings(), k, false); ok && b.Intent != nil {
			settle(t, v, v.Update(b.Intent))
			continue
		}
		settle(t, v, v.Update(uitest.Key(k)))
	}
}

func screen(v *View) string {
	lines := strings.Split(uitest.Plain(v.Render(true, v.pos.w, v.pos.h+len(v.feet(v.pos.h+2)))), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
		if path, at, ok := strings.Cut(lines[i], " row "); ok {
			lines[i] = strings.TrimRight(path, " ") + "  row " + at
		}
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func want(t *testing.T, v *View, want string) {
	t.Helper()
	if got := screen(v); got != strings.Trim(want, "\n") {
		t.Errorf("the screen is\n%s\nwant\n%s", got, want)
	}
}

const shop = `{"items":[{"name":"Shoe","price":5.10,"tags":[]},{"name":"B\u0061g","price":1e400}],"a-b":{"x":null,"x":true},"n":"` + "\u202e" + `"}`

func TestATreeFolds(t *testing.T) {
	v := open(t, 44, 14, shop)
	want(t, v, `
 ▾ {} 3 keys
   ▾ items: [] 2 values
     ▾ 0: {} 3 keys
         name: "Shoe"
         price: 5.10
         tags: [] empty
     ▾ 1: {} 2 keys
         name: "B\u0061g"
         price: 1e400
   ▾ a-b: {} 2 keys
       x: null
       x: true
     n: "‹U+202E›"
 .  row 1 of 13`)
	v.Render(true, 44, 6)
	press(t, v, "down", "down", "down", "down", "down", "down")
	v.Render(true, 44, 6)
	if above, below := v.Hidden(); above != 2 || below != 6 {
		t.Errorf("%d rows above and %d below, want 2 and 6", above, below)
	}
	press(t, v, "g")
	v.Render(true, 44, 14)
	press(t, v, "down", "down", "enter")
	want(t, v, `
 ▾ {} 3 keys
   ▾ items: [] 2 values
     ▸ 0: {} 3 keys
     ▾ 1: {} 2 keys
         name: "B\u0061g"
         price: 1e400
   ▾ a-b: {} 2 keys
       x: null
       x: true
     n: "‹U+202E›"



 .items[0]  row 3 of 10`)
	press(t, v, "right", "right", "down")
	if got := screen(v); !strings.Contains(got, ".items[0].price") {
		t.Errorf("into the first value and down:\n%s", got)
	}
	press(t, v, "left", "left", "left", "left")
	want(t, v, `
 ▾ {} 3 keys
   ▸ items: [] 2 values
   ▾ a-b: {} 2 keys
       x: null
       x: true
     n: "‹U+202E›"







 .items  row 2 of 6`)
	press(t, v, "_")
	want(t, v, " ▸ {} 3 keys"+strings.Repeat("\n", 13)+" .  row 1 of 1")
	press(t, v, "+", "+")
	if got := screen(v); !strings.Contains(got, "row 1 of 8") {
		t.Errorf("two levels:\n%s", got)
	}
	press(t, v, "-", "*", "G")
	if got := screen(v); !strings.Contains(got, "row 13 of 13") || !strings.Contains(got, " .n  row") {
		t.Errorf("the end of all:\n%s", got)
	}
	press(t, v, "up", "up")
	if got := screen(v); !strings.Contains(got, ` .["a-b"].x `) {
		t.Errorf("a key that needs quotes:\n%s", got)
	}
}

func TestSeveralValuesAreSeveralTrees(t *testing.T) {
	v := open(t, 40, 6, "\ufeff{\"a\":1}\n{\"a\":[2]}\n3\n")
	press(t, v, "*", "down", "down", "down", "down")
	want(t, v, `
 ▾ 0: {} 1 key
     a: 1
 ▾ 1: {} 1 key
   ▾ a: [] 1 value
       0: 2
 value 1  .a[0]  row 5 of 6`)
}

func TestWhatIsNotJSONIsTold(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": tru}`:                   "not JSON at line 1, column 10: invalid",
		`<html>`:                       "not JSON at line 1, column 1: ",
		`[1,2`:                         "the body ends in the middle of a value, at byte",
		`{"a":"x`:                      "the body ends in the middle of a value, at byte",
		strings.Repeat("[", 20_000):    "not JSON at line 1, column 10 001: exceeded max depth",
		`{"a":1}` + "\n" + `{"b":2]}`:  "not JSON at line 2, column 7: ",
		"{\"é\":1,\n \"é\": [1 , \n]}": "not JSON at line 2, column 10: a comma before ]",
		`{"a":1,}`:                     "not JSON at line 1, column 7: a comma before }",
		`[1,,2]`:                       "not JSON at line 1, column 4: invalid",
	} {
		v := open(t, 100, 8, text)
		if f := v.Fault(); f == nil || !strings.Contains(f.String(), want) {
			t.Errorf("%.20q: %v, want %q", text, f, want)
		}
		if f := v.Fault(); f != nil && !v.Empty() && !strings.Contains(screen(v), "! ") {
			t.Errorf("%.20q: the tree does not say that it ends early:\n%s", text, screen(v))
		}
	}
}

func TestALargeTreeIsReadWhereItIsShown(t *testing.T) {
	text := large(50_000)
	r := &counting{r: strings.NewReader(text)}
	v := New(t.Context(), "test", kit.NewTheme(true, false))
	v.Render(true, 80, 40)
	settle(t, v, v.Open(body.Source{Reader: r, Size: int64(len(text))}, nil))
	press(t, v, "*")
	r.n = 0
	press(t, v, "G")
	for range 100 {
		press(t, v, "pgup")
		if got := screen(v); strings.Contains(got, "…") {
			t.Fatalf("a row was not read:\n%s", got)
		}
	}
	if r.n > 4*len(text) {
		t.Errorf("100 pages of a tree of %d bytes read %d", len(text), r.n)
	}
	if len(v.labels) > 1000 {
		t.Errorf("%d labels are kept", len(v.labels))
	}
}

type counting struct {
	r *strings.Reader
	n int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n += n
	return n, err
}

// large is an array of n objects of four lines.
func large(n int) string {
	var b strings.Builder
	b.WriteString("[\n")
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, " {\n  \"id\": %d,\n  \"name\": \"row number %d\"\n }", i, i)
	}
	b.WriteString("\n]\n")
	return b.String()
}

func TestATreeThatEndsEarlyDoesNotSayHowManyThereAre(t *testing.T) {
	v := open(t, 100, 8, `{"a":[1,2],"b":[{"c":[`)
	if got := screen(v); !strings.Contains(got, "{} at least 2 keys\n") || !strings.Contains(got, "a: [] 2 values\n") || !strings.Contains(got, "b: [] at least 1 value\n") || !strings.Contains(got, "c: [] cut\n") {
		t.Errorf("\n%s", got)
	}
	if got := screen(open(t, 100, 8, `{"a":[1,2],"b":[{"c":[]}]}`)); strings.Contains(got, "at least") || strings.Contains(got, "cut") {
		t.Errorf("whole:\n%s", got)
	}
}

// fails is a body that cannot be read again.
type fails struct {
	io.ReaderAt
	failing bool
}

func (f *fails) ReadAt(p []byte, off int64) (int, error) {
	if f.failing {
		return 0, errors.New("the disk is gone")
	}
	return f.ReaderAt.ReadAt(p, off)
}

func TestAPathThatCannotBeReadSaysWhy(t *testing.T) {
	why := func(v *View) string {
		b, _ := kit.Find(v.Bindings(), "Y", false)
		return b.Disabled
	}
	long := open(t, 100, 8, `{"`+strings.Repeat("k", 2000)+`":1}`)
	press(t, long, "down")
	if got := why(long); got != "a key of the path is longer than 1 KiB" {
		t.Errorf("a long key: %q", got)
	}
	press(t, long, "up")
	if got := why(long); got != "" {
		t.Errorf("back at the top: %q", got)
	}
	deep := open(t, 100, 8, strings.Repeat(`{"`+strings.Repeat("k", 900)+`":`, 12)+"1"+strings.Repeat("}", 12))
	press(t, deep, "*", "end")
	if got := why(deep); got != "the path is longer than 8 KiB" {
		t.Errorf("a long path: %q", got)
	}
	gone := &fails{ReaderAt: strings.NewReader(`{"a":1}`)}
	v := New(t.Context(), "test", kit.NewTheme(true, false))
	v.Render(true, 100, 8)
	settle(t, v, v.Open(body.Source{Reader: gone, Size: 7}, nil))
	gone.failing = true
	press(t, v, "down")
	if got := why(v); got != "the path cannot be read: the disk is gone" {
		t.Errorf("a disk that is gone: %q", got)
	}
}

func TestTheNumberOfNodesIsBounded(t *testing.T) {
	text := "[" + strings.Repeat("1,", maxNodes+5) + "1]"
	v := open(t, 80, 5, text)
	if len(v.x.nodes) != maxNodes || v.Fault() == nil || !v.Fault().Partial {
		t.Errorf("%d nodes, %v", len(v.x.nodes), v.Fault())
	}
	press(t, v, "G")
	if got := screen(v); !strings.Contains(got, "the tree holds the first 2000000 values, at byte 3 999 9") {
		t.Errorf("the bound is not told:\n%s", got)
	}
	one := `["` + strings.Repeat("x", 3*maxValue) + `"]`
	if v := open(t, 80, 5, one); v.Fault() == nil || !v.Fault().Partial || !strings.Contains(v.Fault().Text, "16 MiB") {
		t.Errorf("a text of 48 MiB: %v", v.Fault())
	}
}

func FuzzTree(f *testing.F) {
	for _, s := range []string{shop, "[1,2", "{}{}[]", "\ufeff1 2 3", `{"a":{"a":{"a":[[[`, `"\ud800"`, "[\xff]", `{"` + strings.Repeat("k", 600) + `":1}`} {
		f.Add([]byte(s), []byte{0, 0, 0, 4, 3})
	}
	all := []string{"down", "up", "left", "right", "+", "-", "*", "_", "enter", "pgdown", "pgup", "home", "end"}
	f.Fuzz(func(t *testing.T, text, keys []byte) {
		if len(keys) > 50 {
			t.Skip()
		}
		v := New(t.Context(), "test", kit.NewTheme(true, false))
		v.Render(true, 40, 10)
		settle(t, v, v.Open(body.Source{Reader: bytes.NewReader(text), Size: int64(len(text))}, nil))
		for _, k := range keys {
			press(t, v, all[int(k)%len(all)])
		}
		for i, n := range v.x.nodes {
			if int(n.next) <= i || int(n.next) > len(v.x.nodes) || n.parent >= int32(i) || n.key < 0 || n.key+int64(n.val) >= int64(len(text)) {
				t.Fatalf("node %d is %+v", i, n)
			}
		}
		lines := strings.Split(v.Render(true, 40, 10), "\n")
		if len(lines) != 10 {
			t.Errorf("%d lines", len(lines))
		}
	})
}

// BenchmarkFrame is a key and the frame after it at 200x50, over a tree of 200,000 lines
// that is unfolded whole: at most 16 ms.
func BenchmarkFrame(b *testing.B) {
	text := large(50_000)
	for name, keys := range map[string][]string{"a row down": {"down"}, "to the end and back": {"G", "g"}, "fold and unfold": {"enter"}, "a page": {"pgdown"}} {
		b.Run(name, func(b *testing.B) {
			v := open(b, 200, 50, text)
			press(b, v, "*")
			for i := 0; b.Loop(); i++ {
				press(b, v, keys[i%len(keys)])
				v.Render(true, 200, 50)
			}
		})
	}
}

// BenchmarkIndex is the index of 200,000 lines.
func BenchmarkIndex(b *testing.B) {
	text := large(50_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		noerr.Must(b, noerr.From(build(strings.NewReader(text), int64(len(text)), func() bool { return false }, func(int64) {})))
	}
}

func TestATreeThatIsCutSaysWhyAndWhereTheCursorIs(t *testing.T) {
	v := open(t, 100, 8, `{"a":[1,{"b":2`)
	v.Render(true, 100, 8) // what was read takes a line
	press(t, v, "G")
	want(t, v, `
 ▾ {} at least 1 key
   ▾ a: [] at least 2 values
       0: 1
     ▾ 1: {} at least 1 key
         b: 2

 ! the body ends in the middle of a value, at byte 14
 .a[1].b  row 5 of 5`)
	lines := strings.Split(uitest.Plain(v.Render(true, 100, 2)), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[1], " ! the body ends") {
		t.Errorf("with two lines: %q", lines)
	}
}
