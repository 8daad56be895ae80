package bodytext

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"zonedeck/internal/noerr"
)

// in is a text in a character set.
func in(tb testing.TB, name, text string) string {
	tb.Helper()
	switch name {
	case "utf-32be":
		return noerr.Try(utf32.UTF32(utf32.BigEndian, utf32.UseBOM).NewEncoder().String(text)).Must(tb)
	case "utf-16 with a mark":
		return noerr.Try(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)).Must(tb)
	case "hz-gb-2312":
		return noerr.Try(simplifiedchinese.HZGB2312.NewEncoder().String(text)).Must(tb)
	}
	return noerr.Try(noerr.Try(htmlindex.Get(name)).Must(tb).NewEncoder().String(text)).Must(tb)
}

func TestTheCharacterSetIsFound(t *testing.T) {
	const german, chinese, japanese, korean, russian = "<p>Größe: schön grün, Öl, Äpfel</p>", "<p>访问被拒绝，请稍候</p>", "<p>アクセスが拒否されました</p>", "<p>접근이 거부되었습니다</p>", "<p>Доступ запрещён</p>"
	const meta = `<!doctype html><html><head><meta name="x" content="y"><meta http-equiv="Content-Type" content="text/html; charset=`
	for _, c := range []struct{ name, kind, body, set, text string }{
		{"UTF-8", "text/html; charset=utf-8", german, "", german},
		{"UTF-8 that nobody names", "text/html", german, "", german},
		{"UTF-8 with a mark", "text/html; charset=iso-8859-1", "\ufeff" + german, "", "\ufeff" + german},
		{"UTF-8 by another name", "text/html; charset=iso-8859-1", german, "", german},
		{"UTF-8 with a slip", "text/html; charset=utf-8", german + german + "\xff", "", german + german + "\xff"},
		{"ASCII", "text/html; charset=gbk", "<p>plain</p>", "", "<p>plain</p>"},
		{"the content type", "text/html; charset=ISO-8859-1", in(t, "windows-1252", german), "windows-1252", german},
		{"nothing says it", "text/html", in(t, "windows-1252", german), "windows-1252", german},
		{"a wrong name", "text/html; charset=utf-8", in(t, "windows-1252", german), "windows-1252", german},
		{"an unknown name beside a known one", "text/html; charset=klingon", meta + `gbk">` + in(t, "gbk", chinese), "gbk", meta + `gbk">` + chinese},
		{"a meta element", "text/html", meta + `GBK">` + in(t, "gbk", chinese), "gbk", meta + `GBK">` + chinese},
		{"a short meta element", "", `<meta charset=big5>` + in(t, "big5", "<p>存取被拒</p>"), "big5", `<meta charset=big5><p>存取被拒</p>`},
		{"an XML declaration", "application/xml", `<?xml version="1.0" encoding="EUC-JP"?>` + in(t, "euc-jp", japanese), "euc-jp", `<?xml version="1.0" encoding="EUC-JP"?>` + japanese},
		{"GB18030", "text/html; charset=gb18030", in(t, "gb18030", chinese), "gb18030", chinese},
		{"Shift_JIS", "text/html;charset=Shift_JIS", in(t, "shift_jis", japanese), "shift_jis", japanese},
		{"ISO-2022-JP", "text/html; charset=iso-2022-jp", in(t, "iso-2022-jp", japanese), "iso-2022-jp", japanese},
		{"ISO-2022-JP that nobody names", "text/plain", in(t, "iso-2022-jp", japanese), "iso-2022-jp", japanese},
		{"EUC-KR", "text/html; charset=euc-kr", in(t, "euc-kr", korean), "euc-kr", korean},
		{"windows-1251", "text/html; charset=windows-1251", in(t, "windows-1251", russian), "windows-1251", russian},
		{"KOI8-R", "text/plain; charset=koi8-r", in(t, "koi8-r", russian), "koi8-r", russian},
		{"a content type with a slip", "text/html; charset=gbk; charset", in(t, "gbk", chinese), "gbk", chinese},
		{"HZ, in seven bits", "text/html; charset=hz-gb-2312", in(t, "hz-gb-2312", chinese), "hz-gb-2312", chinese},
		{"UTF-16 with a mark", "text/html", in(t, "utf-16 with a mark", russian), "utf-16le", russian},
		{"UTF-16 without", "text/html; charset=utf-16le", in(t, "utf-16le", russian), "utf-16le", russian},
		{"UTF-16, the other end first", "", in(t, "utf-16be", russian), "utf-16be", russian},
		{"UTF-16 that is none", "text/html; charset=utf-16", german, "", german},
		{"UTF-32", "text/html", in(t, "utf-32be", russian), "utf-32be", russian},
		{"JSON", "application/json; charset=euc-kr", in(t, "euc-kr", `{"a":"접근이"}`), "euc-kr", `{"a":"접근이"}`},
		{"a picture", "image/png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\xff\xff", "", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\xff\xff"},
	} {
		got := Detect(c.kind, []byte(c.body))
		if got.Name != c.set || got.Unreadable != "" {
			t.Errorf("%s: %q, %q", c.name, got.Name, got.Unreadable)
			continue
		}
		if text := string(got.Text([]byte(c.body))); text != c.text {
			t.Errorf("%s: %q", c.name, text)
		}
		whole, err := io.ReadAll(Named(got.Name).Reader(strings.NewReader(c.body)))
		if err != nil || string(whole) != c.text {
			t.Errorf("%s: read as %q, %v", c.name, whole, err)
		}
	}
}

func TestWhatCannotBeReadAsText(t *testing.T) {
	packed := coded(t, strings.Repeat("<p>The page came, and it is no longer than that.</p>", 9), "br")
	for _, c := range []struct{ kind, body, why string }{
		{"text/html; charset=klingon", "<p>\xb0\xa1\xb0\xa1", "the character set klingon is not known"},
		{"text/html", `<meta charset="x-klingon"><p>` + "\xb0\xa1\xb0\xa1", "the character set x-klingon is not known"},
		{"text/html; charset=iso-2022-kr", "\x1b$)C\x0e0!\x0f", "the character set iso-2022-kr is not known"},
		{"text/html", packed, "it is binary data"},
		{"application/json", packed, "it is binary data"},
		{"text/html", coded(t, packed, "gzip"), "it is binary data"},
		{"text/plain", coded(t, packed, "zstd"), "it is binary data"},
		{"text/plain", coded(t, packed, "gzip"), ""}, // an archive that the server has no type for
		{"text/html", "%PDF-1.7\n\x00\x01\x02\x03\x04\x05", ""},
		{"", packed, ""},
		{"application/octet-stream", packed, ""},
		{"text/html; charset=klingon", "<p>plain", ""},
	} {
		if got := Detect(c.kind, []byte(c.body)); got.Unreadable != c.why {
			t.Errorf("%q, %.20q: %q, want %q", c.kind, c.body, got.Unreadable, c.why)
		}
	}
}

func TestATextIsCutBetweenCharacters(t *testing.T) {
	for name, c := range map[string]struct {
		set, body string
		length    int
	}{
		"UTF-8":                   {"", strings.Repeat("é", MaxHead), MaxHead},
		"UTF-8, behind one byte":  {"", "a" + strings.Repeat("é", MaxHead/2), MaxHead - 1},
		"GBK, three bytes for it": {"gbk", strings.Repeat(in(t, "gbk", "访"), MaxHead), MaxHead - MaxHead%3},
		"half a character":        {"shift_jis", in(t, "shift_jis", "ア")[:1], 0},
	} {
		text := string(Named(c.set).Text([]byte(c.body)))
		if len(text) != c.length || strings.ToValidUTF8(text, "?") != text {
			t.Errorf("%s: %d bytes, want %d", name, len(text), c.length)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("text/html; charset=gbk", []byte("<p>\xb7\xc3"))
	f.Add("", []byte("<meta charset=utf-16>"))
	f.Add("application/xml", []byte(`<?xml version="1.0" encoding="utf-7"?>`))
	for _, family := range []string{
		"gbk", "gb18030", "big5", "shift_jis", "euc-jp", "iso-2022-jp", "euc-kr", "utf-16le", "utf-16be", "koi8-r",
		"windows-1250", "windows-1251", "windows-1252", "windows-1255", "windows-1256", "iso-8859-1", "iso-8859-2", "iso-8859-6", "iso-8859-8", "iso-8859-15",
	} {
		f.Add("text/html; charset="+family, []byte("<p>\xb7\xc3\x82\xa0\x1b$B0!\xd8\x00 caf\xe9"))
	}
	f.Add("", []byte("\xff\xfe<\x00p\x00>\x00"))
	f.Add("", []byte("\xfe\xff\x00<\x00p\xd8"))
	f.Add("", []byte("\xef\xbb\xbf<p>"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		c := Detect(kind, body)
		if c.Unreadable != "" && c.enc != nil {
			t.Errorf("%q is read and is not", c.Unreadable)
		}
		if n := len(c.Text(body)); n > MaxHead {
			t.Errorf("%d bytes", n)
		}
		again := Named(c.Name)
		if !bytes.Equal(again.Text(body), c.Text(body)) {
			t.Errorf("%q is read otherwise by its name", c.Name)
		}
	})
}

// Judging a large body costs little beside decoding it.
func BenchmarkText(b *testing.B) {
	body := []byte(in(b, "gbk", strings.Repeat("<p>访问被拒绝，请稍候。 This page is long.</p>\n", 200_000)))
	b.Run("all", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			noerr.Must(b, noerr.From(io.Copy(io.Discard, Named("gbk").Reader(bytes.NewReader(body)))))
		}
	})
	b.Run("the beginning, and its character set", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			Detect("text/html", body[:MaxHead]).Text(body[:MaxHead])
		}
	})
}
