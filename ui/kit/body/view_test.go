package body

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/uitest"
)

func newBody(t *testing.T, w, h int) *View {
	t.Helper()
	b := New(t.Context(), "test", kit.NewTheme(true, false))
	b.Render(true, w, h)
	return b
}

func openText(t *testing.T, b *View, text, contentType string) {
	t.Helper()
	uitest.Settle(t, b.Open(Source{Reader: bytes.NewReader([]byte(text)), Size: int64(len(text)), Type: contentType}), b.Update)
}

func TestABodyIsClosedOnceWhenAnotherTakesItsPlace(t *testing.T) {
	closes := map[string]int{}
	source := func(name string) Source {
		return Source{Reader: strings.NewReader(name), Size: int64(len(name)), Close: func() error { closes[name]++; return nil }}
	}
	b := newBody(t, 40, 6)
	expect := func(when string, want map[string]int) {
		t.Helper()
		if !maps.Equal(closes, want) {
			t.Errorf("%s: closed %v, want %v", when, closes, want)
		}
	}
	uitest.Settle(t, b.Open(source("first")), b.Update)
	expect("while it is shown", map[string]int{})
	uitest.Settle(t, b.Open(source("second")), b.Update)
	expect("when another is shown", map[string]int{"first": 1})
	openText(t, b, "in memory", "text/plain")
	expect("when one in memory is shown", map[string]int{"first": 1, "second": 1})
	uitest.Settle(t, b.Open(source("third")), b.Update)
	b.Close()
	b.Close()
	expect("when the viewer is closed twice", map[string]int{"first": 1, "second": 1, "third": 1})
}

func TestBodyShowsWhereItIs(t *testing.T) {
	b := newBody(t, 40, 6)
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "row %d\n", i+1)
	}
	openText(t, b, text.String(), "text/plain")
	got := uitest.Plain(b.Render(true, 40, 6))
	for _, want := range []string{"  1 row 1", "  5 row 5", "line 1 of 100"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	press(t, b, "G")
	if got := uitest.Plain(b.Render(true, 40, 6)); !strings.Contains(got, "100 row 100") || !strings.Contains(got, "line 96 of 100 · 100 %") {
		t.Errorf("G does not show the end:\n%s", got)
	}
	press(t, b, "g", "pgdown")
	if got := uitest.Plain(b.Render(true, 40, 6)); !strings.Contains(got, "  5 row 5") || strings.Contains(got, "row 4\n") {
		t.Errorf("a page is not a screen less a line:\n%s", got)
	}
}

func TestHundredMegabytesAreNotReadAgainWhileScrolling(t *testing.T) {
	src := lineBody(100 << 20 / 16)
	b := newBody(t, 80, 30)
	uitest.Settle(t, b.Open(Source{Reader: src, Size: src.size}), b.Update)
	if b.index.rows != 100<<20/16 || !b.index.done {
		t.Fatalf("the index has %d rows, done %v", b.index.rows, b.index.done)
	}
	if n := len(b.index.marks); n > 60_000 {
		t.Errorf("the index keeps %d marks", n)
	}
	opened := src.read.Load()
	press(t, b, "G")
	for range 200 {
		press(t, b, "pgup")
	}
	b.Render(true, 80, 30)
	if got := src.read.Load() - opened; got > 30<<20 {
		t.Errorf("scrolling 200 pages read %s", text.Bytes(got))
	}
	if n := len(b.window.rows); n > 1000 {
		t.Errorf("%d rows are in memory", n)
	}
	got := uitest.Plain(b.Render(true, 80, 30))
	want := fmt.Sprintf("line %09d", b.window.rows[b.pos.top-b.window.from].line)
	if !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

func TestOneEndlessLine(t *testing.T) {
	src := &patternReader{size: 100 << 20, at: func(off int64) byte { return 'a' + byte(off%26) }}
	b := newBody(t, 80, 10)
	uitest.Settle(t, b.Open(Source{Reader: src, Size: src.size}), b.Update)
	if b.index.rows != 100<<20/rowBytes || b.index.lines != 1 {
		t.Fatalf("%d rows of %d lines", b.index.rows, b.index.lines)
	}
	for _, wrap := range []bool{false, true} {
		b.SetWrap(wrap)
		press(t, b, "G")
		got := uitest.Plain(b.Render(true, 80, 10))
		if !strings.Contains(got, "100 %") {
			t.Errorf("wrap %v: not at the end:\n%s", wrap, got)
		}
	}
	last := string(src.at(src.size - 1))
	lines := strings.Split(uitest.Plain(b.Render(true, 80, 10)), "\n")
	if l := lines[len(lines)-2]; !strings.HasSuffix(l, last) {
		t.Errorf("the last byte %q is not at the bottom: %q", last, l)
	}
}

func TestSearchGoesFromHitToHit(t *testing.T) {
	b := newBody(t, 60, 8)
	var text strings.Builder
	for i := range 1000 {
		if i%300 == 150 {
			text.WriteString("a Needle here\n")
			continue
		}
		text.WriteString("hay\n")
	}
	openText(t, b, text.String(), "text/plain")
	press(t, b, "/")
	typeText(t, b, "nEEdle")
	press(t, b, "enter")
	for _, step := range []struct{ key, count, line string }{
		{"", "1 of 3", "151 a Needle here"},
		{"n", "2 of 3", "451 a Needle here"},
		{"n", "3 of 3", "751 a Needle here"},
		{"n", "1 of 3", "151 a Needle here"},
		{"N", "3 of 3", "751 a Needle here"},
	} {
		if step.key != "" {
			press(t, b, step.key)
		}
		got := uitest.Plain(b.Render(true, 60, 8))
		if !strings.Contains(got, step.count) || !strings.Contains(got, step.line) {
			t.Errorf("after %q: want %q and %q in\n%s", step.key, step.count, step.line, got)
		}
	}
	press(t, b, "/")
	typeText(t, b, "x")
	press(t, b, "enter")
	if got := uitest.Plain(b.Render(true, 60, 8)); !strings.Contains(got, "not found") {
		t.Errorf("a search without a hit does not say so:\n%s", got)
	}
}

func TestEvidenceIsShown(t *testing.T) {
	b := newBody(t, 60, 8)
	long := strings.Repeat("x", 3*rowBytes+100) + "g-recaptcha" + strings.Repeat("y", 500)
	text := "first\n" + long + "\nlast\n"
	openText(t, b, text, "text/html")
	off := int64(strings.Index(text, "g-recaptcha"))
	for _, wrap := range []bool{false, true} {
		b.SetWrap(wrap)
		press(t, b, "g")
		uitest.Settle(t, b.JumpTo(off, 11), b.Update)
		if got := uitest.Plain(b.Render(true, 60, 8)); !strings.Contains(strings.ReplaceAll(got, "\n      ", ""), "g-recaptcha") && !strings.Contains(got, "g-rec") {
			t.Errorf("wrap %v: the evidence is not on the screen:\n%s", wrap, got)
		}
	}
}

func TestRowsEndAtRuneAndLineEnds(t *testing.T) {
	text := "x" + strings.Repeat("ä", rowBytes) + "\r\nb\n\nc"
	s := newRowScanner(bytes.NewReader([]byte(text)), int64(len(text)), rowMark{})
	var got strings.Builder
	var lines []int
	for {
		row, m, err := s.next()
		if err != nil {
			break
		}
		if strings.ToValidUTF8(string(row), "?") != string(row) {
			t.Errorf("row %d splits a rune", m.row)
		}
		got.Write(row)
		lines = append(lines, m.line)
	}
	if want := "x" + strings.Repeat("ä", rowBytes) + "bc"; got.String() != want {
		t.Errorf("rows lost or added text: %d bytes, want %d", got.Len(), len(want))
	}
	if fmt.Sprint(lines) != "[0 0 0 1 2 3]" {
		t.Errorf("lines %v", lines)
	}
}

func TestSearchFindsWhatALinearScanFinds(t *testing.T) {
	// Hits on, before and after where one read ends and the next begins.
	text := strings.Repeat("-", 1<<20+1) + "aab" + strings.Repeat("ab", 1<<19) + "aab" + strings.Repeat("xy", 1<<19-2) + "AAB"
	var got []int64
	_, err := searchBytes(bytes.NewReader([]byte(text)), int64(len(text)), "aab", func() bool { return false }, func(o []int64) { got = append(got, o...) })
	noerr.Must(t, err)
	lower, want := strings.ToLower(text), []int64{}
	for at := 0; ; {
		i := strings.Index(lower[at:], "aab")
		if i < 0 {
			break
		}
		want = append(want, int64(at+i))
		at += i + 3
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// FuzzRows cuts any bytes into rows: put together again they are the same text,
// no row is longer than allowed, and starting from any mark gives the same rows.
func FuzzRows(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 3)
	f.Add([]byte(strings.Repeat("x", rowBytes)+"\r\n"+strings.Repeat("é", rowBytes)), 700)
	f.Add([]byte(strings.Repeat("\xff", rowBytes+1)+"\n\n"), 2)
	f.Fuzz(func(t *testing.T, text []byte, times int) {
		if len(text) == 0 || times < 1 || times > 1000 {
			return
		}
		text = bytes.Repeat(text, min(times, 1+(1<<15)/len(text)))
		size := int64(len(text))
		var index rowIndex
		noerr.Must(t, scanRows(bytes.NewReader(text), size, func() bool { return false }, index.add))
		s := newRowScanner(bytes.NewReader(text), size, rowMark{})
		at, rows := int64(0), 0
		marks := map[int]rowMark{}
		for {
			row, m, err := s.next()
			if err != nil {
				break
			}
			if m.off != at || len(row) > rowBytes || !bytes.HasPrefix(text[m.off:], row) {
				t.Fatalf("row %d at %d (want %d) has %d bytes", m.row, m.off, at, len(row))
			}
			if gap := string(text[m.off+int64(len(row)) : s.pos.off]); gap != "" && gap != "\n" && gap != "\r\n" {
				t.Fatalf("row %d lost %q", m.row, gap)
			}
			at = s.pos.off
			marks[m.row] = m
			rows++
		}
		if at != size || index.rows != rows {
			t.Fatalf("%d of %d bytes in %d rows, the index has %d", at, size, rows, index.rows)
		}
		if from := index.before(rows - 1); from != marks[from.row] {
			t.Fatalf("the mark of row %d is %+v, the row is %+v", from.row, from, marks[from.row])
		}
	})
}

func BenchmarkBodyFrame(bm *testing.B) {
	text := []byte(strings.Repeat(`{"name":"a product with a long name","price":12.5,"tags":["a","b"],"ok":true},`, 40) + "\n")
	body := bytes.Repeat(text, 500)
	b := New(bm.Context(), "test", kit.NewTheme(true, false))
	b.src = Source{Reader: bytes.NewReader(body), Size: int64(len(body)), Type: "application/json"}
	_ = scanRows(b.src.Reader, b.src.Size, func() bool { return false }, b.index.add)
	w, _ := loadRows(bm.Context(), b.src, rowMark{}, 0, -1, lexer{syntax: SyntaxJSON})
	b.window = w
	for _, wrap := range []bool{false, true} {
		bm.Run(fmt.Sprintf("wrap=%v/whole", wrap), func(bm *testing.B) {
			b.SetWrap(wrap)
			for bm.Loop() {
				b.drawn = drawnRows{}
				b.Render(true, 200, 50)
			}
		})
		bm.Run(fmt.Sprintf("wrap=%v/scroll", wrap), func(bm *testing.B) {
			b.SetWrap(wrap)
			by := 1
			for bm.Loop() {
				if b.pos.top > 100 || b.pos.top == 0 {
					by = -by
				}
				_ = b.scroll(1)
				if b.pos.top > 100 {
					b.pos.top = 0
				}
				b.Render(true, 200, 50)
			}
		})
	}
}

func BenchmarkIndex100MB(bm *testing.B) {
	body := bytes.Repeat([]byte("a line of a log file of sixty bytes or so, give and take\n"), 100<<20/57)
	bm.SetBytes(int64(len(body)))
	for bm.Loop() {
		var x rowIndex
		_ = scanRows(bytes.NewReader(body), int64(len(body)), func() bool { return false }, x.add)
	}
}
