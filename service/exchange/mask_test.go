package exchange

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/servicetest"
)

// awkward is a password with the characters that encodings escape.
const awkward = `p"a\s&s<w>/ö+ %41🔑`

func TestASecretIsMaskedInEverySpelling(t *testing.T) {
	for _, secret := range []string{servicetest.KeyValue, servicetest.Password, awkward, "in two\nlines"} {
		m := MaskOf(keystore.NewSecret(secret), Login{})
		quoted, err := json.Marshal(secret)
		noerr.Must(t, err)
		inJSON := strings.Trim(string(quoted), `"`)
		units := utf16.Encode([]rune(secret))
		plainJSON := strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(inJSON)
		each := func(format string) string {
			var b strings.Builder
			for _, u := range units {
				fmt.Fprintf(&b, format, u)
			}
			return b.String()
		}
		runes := func(format string) string {
			var b strings.Builder
			for _, r := range secret {
				fmt.Fprintf(&b, format, r)
			}
			return b.String()
		}
		octets := func(format string) string {
			var b strings.Builder
			for _, c := range []byte(secret) {
				fmt.Fprintf(&b, format, c)
			}
			return b.String()
		}
		wide := func(high, low int) string { // without the zeros at the ends
			var b []byte
			for _, u := range units {
				b = append(b, byte(u>>high), byte(u>>low))
			}
			return strings.Trim(string(b), "\x00")
		}
		lines := func(s, separator string) string { return s[:4] + separator + s[4:12] + separator + s[12:] }
		std, web := base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret))
		for name, spelled := range map[string]string{
			"plain": secret, "JSON": inJSON, "JSON with slashes": strings.ReplaceAll(inJSON, "/", `\/`),
			"JSON in lower case": each(`\u%04x`), "JSON in upper case": each(`\u%04X`), "bytes": octets(`\x%02x`),
			"JSON in JSON": strings.ReplaceAll(inJSON, `\`, `\\`), "every character in JSON in JSON": each(`\\u%04x`),
			"three times JSON": each(`\\\\u%04x`), "URL in JSON": each(`\u%04x`),
			"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "every byte of a URL": octets("%%%02x"),
			"URL in upper case": octets("%%%02X"), "URL twice": octets("%%25%02X"),
			"HTML": html.EscapeString(secret), "HTML in JSON": strings.ReplaceAll(html.EscapeString(secret), "&", `\u0026`),
			"HTML decimal": runes("&#%d;"), "HTML hexadecimal": runes("&#x%x;"), "HTML in upper case": runes("&#X%04X;"),
			"HTML twice": runes("&amp;#%d;"), "HTML in a URL": runes("%%26%%23%d%%3B"),
			"CSV":    strings.ReplaceAll(secret, `"`, `""`),
			"base64": std, "base64 with slashes": strings.ReplaceAll(std, "/", `\/`), "base64 in a URL": url.QueryEscape(std),
			"base64 in lines": lines(std, "\r\n"), "base64 in lines of JSON": lines(std, `\n`), "base64 in lines of JSON in JSON": lines(std, `\\r\\n`),
			"base64 in lines of a URL": lines(web, "%0A"), "base64 in lines of HTML": lines(std, "&#10;"), "base64 in lines of CR": lines(std, "\r"),
			"UTF-16LE": wide(0, 8), "UTF-16BE": wide(8, 0),
			"base64 for URLs": web, "base64 of JSON": base64.StdEncoding.EncodeToString([]byte(inJSON)),
			"base64 of JSON with < as it is": base64.StdEncoding.EncodeToString([]byte(plainJSON)),
			"hex of JSON with < and /":       hex.EncodeToString([]byte(strings.ReplaceAll(plainJSON, "/", `\/`))),
			"hex":                            hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
		} {
			core := strings.TrimRight(spelled, "=")
			core = strings.TrimSuffix(core, "%3D")
			core = strings.TrimSuffix(core, "%3D")
			if strings.HasPrefix(name, "base64") {
				core = core[:len(core)-1] // the last character may hold bits of the next byte
			}
			got := m.Text("«" + spelled + "»")
			if i := len("«"); got[i:i+len(core)] != strings.Repeat("*", len(core)) {
				t.Errorf("%s: %s\nbecomes %s", name, spelled, got)
			}
		}
		for shift := range 6 {
			in := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret + "tail"))
			if out := m.Text(in); strings.Count(out, "*") < len(secret)*8/6-2 {
				t.Errorf("base64 after %d bytes: %s", shift, out)
			}
		}
	}
}

func TestTextThatIsNoSecretStays(t *testing.T) {
	m := MaskOf(keystore.NewSecret(awkward), Login{Username: "u", Password: keystore.NewSecret(servicetest.Password)})
	for _, s := range []string{
		"", "&", "%", `\`, `"`, "+", `\u`, `\u00`, "&#", "&#x;", "&#99999999999;", "&nothing;", "%zz", `\ud83d\n`, `\ud83d\ud83d`,
		strings.Repeat(`\`, 4000), strings.Repeat("&amp;", 1000), strings.Repeat("%25", 1000), strings.Repeat(`"`, 1000),
		strings.Repeat("\n", 1000), strings.Repeat(`\r\n`, 1000), strings.Join(strings.Split(base64.StdEncoding.EncodeToString([]byte(awkward)), ""), "\n\n\n"),
		servicetest.Password[:9] + "\n" + servicetest.Password[9:],
		awkward[:len(awkward)-1], servicetest.Password[1:], `{"a":"\u0070\u0022\u0061"}`,
	} {
		if got := m.Text(s); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
}

func TestHeadersAreMaskedByNameAndValue(t *testing.T) {
	m := MaskOf(keystore.NewSecret(servicetest.KeyValue), Login{})
	h := m.Header(http.Header{"X-A": {"a", servicetest.KeyValue}, "X-" + servicetest.KeyValue: {"b"}})
	servicetest.NoSecret(t, "the header", fmt.Sprint(h))
	if len(h) != 2 || h.Get("X-A") != "a" {
		t.Errorf("%v", h)
	}
}

// TestNothingOfOverlappingSecretsPasses: one occurrence begins within another, at a
// border of the buffer.
func TestNothingOfOverlappingSecretsPasses(t *testing.T) {
	const secret = "abcabcabcabc"
	m := MaskOf(keystore.NewSecret(secret), Login{})
	for shift := range 40 {
		in := strings.Repeat("x", maskChunk-shift) + secret + "abcabc" + strings.Repeat("y", 100)
		got, err := io.ReadAll(m.Reader(strings.NewReader(in)))
		want := strings.Repeat("x", maskChunk-shift) + strings.Repeat("*", len(secret)+6) + strings.Repeat("y", 100)
		if err != nil || string(got) != want {
			t.Fatalf("shift %d: %v", shift, err)
		}
	}
}

// TestAReaderHoldsLittleBack: hostile bodies do not make its buffer grow.
func TestAReaderHoldsLittleBack(t *testing.T) {
	m := MaskOf(keystore.NewSecret(awkward), Login{})
	for _, part := range []string{`\`, "&", "%", `"`, "&#0", "\n", `\n`, "\r\n", "c\n", "\x00", `p"`, `p\"a\\s&amp;`, `\u0070`, "&amp;amp;"} {
		r := m.Reader(strings.NewReader(strings.Repeat(part, 1<<18/len(part))))
		if n, err := io.Copy(io.Discard, r); err != nil || n != int64(1<<18/len(part)*len(part)) {
			t.Errorf("%q: %d bytes, %v", part, n, err)
		}
		if len(r.room) > 4*maskChunk {
			t.Errorf("%q: %d bytes of buffer", part, len(r.room))
		}
	}
}

// speller spells a secret by the choices of a fuzzer. It shares no code with the
// masking.
type speller struct{ rand *rand.Rand }

func (s speller) mark(c string, layers int) string {
	if layers == 0 || s.rand.IntN(3) > 0 {
		return c
	}
	return s.character([]rune(c)[0], layers-1)
}

func (s speller) hex(format string, v any) string {
	out := fmt.Sprintf(format, v)
	if s.rand.IntN(2) == 0 {
		out = strings.ToUpper(out)
	}
	return out
}

func (s speller) character(r rune, layers int) string {
	switch s.rand.IntN(6) {
	case 0:
		var b strings.Builder
		for _, u := range utf16.Encode([]rune{r}) {
			b.WriteString(s.mark(`\`, layers) + "u" + s.hex("%04x", u))
		}
		return b.String()
	case 1:
		var b strings.Builder
		for _, c := range []byte(string(r)) {
			b.WriteString(s.mark("%", layers) + s.hex("%02x", c))
		}
		return b.String()
	case 2:
		return s.mark("&", layers) + s.mark("#", layers) + "x" + strings.Repeat("0", s.rand.IntN(4)) + s.hex("%x", r) + s.mark(";", layers)
	case 3:
		return s.mark("&", layers) + s.mark("#", layers) + fmt.Sprint(r) + s.mark(";", layers)
	case 4:
		switch r {
		case '/', '\\', '\'':
			return s.mark(`\`, layers) + s.mark(string(r), layers)
		case '"':
			return s.mark(`"`, layers) + s.mark(`"`, layers)
		case '&', '<', '>':
			return s.mark("&", layers) + map[rune]string{'&': "amp", '<': "lt", '>': "gt"}[r] + s.mark(";", layers)
		case ' ':
			return "+"
		case '\n':
			return s.mark(`\`, layers) + "n"
		}
	}
	return string(r)
}

// In a text of escapes a repetitive secret can begin at every byte in many ways. Without a
// bound this test would take hours.
func TestATextThatTakesTooLongToSearchIsMaskedAsAWhole(t *testing.T) {
	for name, c := range map[string]struct{ secret, hostile string }{
		"one character": {strings.Repeat("a", 64), `\u0061`},
		"two":           {strings.Repeat("ab", 32), `%5cu0061%5cu0062`},
		"an entity":     {strings.Repeat("&", 40), `&amp;amp;amp;`},
	} {
		t.Run(name, func(t *testing.T) {
			m := MaskOf(keystore.NewSecret(c.secret), Login{})
			before := strings.Repeat("a page. ", 8000)
			in := before + strings.Repeat(c.hostile, 1<<18/len(c.hostile)) + " the rest"
			r := m.Reader(strings.NewReader(in))
			got, err := io.ReadAll(r)
			if err != nil || len(got) != len(in) || !r.GaveUp {
				t.Fatalf("%d bytes of %d, %v; given up: %v", len(got), len(in), err, r.GaveUp)
			}
			if kept := string(got[:maskChunk]); kept != before[:maskChunk] {
				t.Error("what came long before was masked")
			}
			if end := got[len(before)+maskChunk:]; strings.Trim(string(end), "*") != "" {
				t.Errorf("the end is %q", end[len(end)-20:])
			}
			if whole := m.Text(in); strings.Trim(whole, "*") != "" {
				t.Error("in one piece it is not masked as a whole")
			}
		})
	}
}

// TestARunOfOneMarkIsSearchedOnce: if every mark searched the rest of the run, this test
// would take hours.
func TestARunOfOneMarkIsSearchedOnce(t *testing.T) {
	m := MaskOf(keystore.NewSecret(servicetest.KeyValue), Login{})
	for _, mark := range []string{`\`, "&", "%", `"`, "+"} {
		in := strings.Repeat(mark, 1<<20)
		if got := m.Text(in + servicetest.KeyValue); got != in+strings.Repeat("*", len(servicetest.KeyValue)) {
			t.Errorf("a secret after a run of %q is not masked, or the run is", mark)
		}
	}
}

// TestAStreamInTinyPiecesIsNotGivenUp: the bytes held back are searched again with every piece.
func TestAStreamInTinyPiecesIsNotGivenUp(t *testing.T) {
	m := MaskOf(keystore.NewSecret(awkward), Login{})
	for _, part := range []string{`\u0070`, `p\"a\\s&amp;`, "&amp;amp;"} {
		in := strings.Repeat(part, 8<<10/len(part))
		r := m.Reader(iotest.OneByteReader(strings.NewReader(in)))
		r.steps = 0 // stepsFree would suffice for such a short text
		if got, err := io.ReadAll(r); err != nil || string(got) != in || r.GaveUp {
			t.Errorf("%q: %d bytes of %d, %v; given up: %v", part, len(got), len(in), err, r.GaveUp)
		}
	}
}

// FuzzMask writes a secret in any mix of encodings, and reads it in pieces.
func FuzzMask(f *testing.F) {
	f.Add(servicetest.KeyValue, uint64(1), "{\"a\":\"", "\"}")
	f.Add(awkward, uint64(2), "<p>", "&amp;")
	f.Add(strings.Repeat("%41", 10), uint64(3), "%4", `\u00`)
	f.Add(`\\\\\\\\"""""""`, uint64(4), `\`, `"`)
	f.Add("0000000000000", uint64(5), "0", "0\"")
	f.Add("000000000\x00\u0080\x00", uint64(73), "x", "\xee")
	f.Add("00000000", uint64(32), `\`, "\x7f")
	for seed := range uint64(20) {
		f.Add(awkward, seed, "", "")
		f.Add("two\nlines\r\n", seed, "", "")
	}
	f.Fuzz(func(t *testing.T, secret string, seed uint64, before, after string) {
		secret = strings.ToValidUTF8(secret, "")
		if len(secret) < minMasked || len(secret) > 200 || strings.Trim(secret, "*") == "" {
			return
		}
		s := speller{rand.New(rand.NewPCG(seed, 0))}
		form, wide, skip, lines := secret, "", 0, false
		switch s.rand.IntN(5) {
		case 0:
			form = s.hex("%x", secret)
		case 1:
			shift := s.rand.IntN(3)
			e := []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding}[s.rand.IntN(2)]
			form = e.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
			form, skip, lines = form[:(shift+len(secret))*8/6], (shift*8+5)/6, s.rand.IntN(2) == 0
		case 2:
			order := []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian}[s.rand.IntN(2)]
			var b []byte
			for _, u := range utf16.Encode([]rune(secret)) {
				b = order.AppendUint16(b, u)
			}
			if b = bytes.Trim(b, "\x00"); len(b) >= minMasked {
				form, wide = "", string(b)
			}
		}
		pre, core := before, wide
		for i, r := range form {
			if lines && i > skip && s.rand.IntN(4) == 0 {
				core += []string{"", "", s.character('\r', maxLayers-1)}[s.rand.IntN(3)] + s.character('\n', maxLayers-1)
			}
			if part := s.character(r, maxLayers-1); i < skip {
				pre += part
			} else {
				core += part
			}
		}
		in := pre + core + after
		m := MaskOf(keystore.NewSecret(secret), Login{})
		first := s.rand.IntN(len(in) + 1)
		second := first + s.rand.IntN(len(in)-first+1)
		got, err := io.ReadAll(m.Reader(io.MultiReader(strings.NewReader(in[:first]), strings.NewReader(in[first:second]), strings.NewReader(in[second:]))))
		if err != nil || len(got) != len(in) {
			t.Fatalf("%d bytes of %d: %v", len(got), len(in), err)
		}
		if strings.Trim(string(got[len(pre):len(pre)+len(core)]), "*") != "" {
			t.Errorf("%q as %q, %q, %q\nbecomes %q", secret, pre, core, after, got)
		}
		if whole := m.Text(in); whole != string(got) && !m.s.scanText([]byte(in)).gaveUp() {
			t.Errorf("in one piece %q, in pieces %q", whole, got)
		}
	})
}

// plainSearch is the least that masking must do: it searches for the secret's bytes alone.
type plainSearch struct {
	r       io.Reader
	secrets [][]byte
	buf     []byte
	ready   int
	err     error
}

func (r *plainSearch) Read(p []byte) (int, error) {
	for r.ready == 0 && r.err == nil {
		grown := make([]byte, len(r.buf)+maskChunk)
		have := copy(grown, r.buf)
		n, err := r.r.Read(grown[have:])
		r.buf, r.err = grown[:have+n], err
		longest := 0
		for _, s := range r.secrets {
			longest = max(longest, len(s))
			if bytes.Contains(r.buf, s) {
				r.buf = bytes.ReplaceAll(r.buf, s, bytes.Repeat([]byte("*"), len(s)))
			}
		}
		if r.ready = len(r.buf); err == nil {
			r.ready = max(len(r.buf)-longest+1, 0)
		}
	}
	if r.ready == 0 {
		return 0, r.err
	}
	n := copy(p, r.buf[:r.ready])
	r.buf, r.ready = r.buf[n:], r.ready-n
	return n, nil
}

// BenchmarkMask masks a key and a login in bodies of 1 MB, and compares each with the
// search for the secret's bytes alone.
func BenchmarkMask(b *testing.B) {
	files, err := filepath.Glob(filepath.Join("..", "emulator", "lab", "pages", "*.html"))
	if err != nil || len(files) == 0 {
		b.Fatal(files, err)
	}
	var page []byte
	for len(page) < 1<<20 {
		for _, name := range files {
			part, err := os.ReadFile(name)
			noerr.Must(b, err)
			page = append(page, part...)
		}
	}
	quoted := strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(string(page))
	random := make([]byte, 1<<20)
	rnd := rand.NewChaCha8([32]byte{})
	_, _ = rnd.Read(random)
	login := Login{Username: "brd-customer-hl_test01-zone-dc1", Password: keystore.NewSecret(servicetest.Password)}
	token := base64.StdEncoding.EncodeToString([]byte(login.Username + ":" + servicetest.Password))
	for _, body := range []struct {
		name string
		b    []byte
	}{{"html", page[:1<<20]}, {"json", []byte(quoted)[:1<<20]}, {"random", random}, {"digits", bytes.Repeat([]byte("0123456789abcdef"), 1<<16)}} {
		for _, c := range []struct {
			name  string
			m     Mask
			plain [][]byte
		}{
			{"key", MaskOf(keystore.NewSecret(servicetest.KeyValue), Login{}), [][]byte{[]byte(servicetest.KeyValue)}},
			{"login", MaskOf(keystore.Secret{}, login), [][]byte{[]byte(servicetest.Password), []byte(token)}},
		} {
			run := func(name string, open func(io.Reader) io.Reader) {
				b.Run(body.name+"/"+c.name+"/"+name, func(b *testing.B) {
					b.SetBytes(int64(len(body.b)))
					for b.Loop() {
						noerr.Must(b, noerr.From(io.Copy(io.Discard, open(bytes.NewReader(body.b)))))
					}
				})
			}
			run("masked", func(r io.Reader) io.Reader { return c.m.Reader(r) })
			run("plain", func(r io.Reader) io.Reader { return &plainSearch{r: r, secrets: c.plain} })
		}
	}
}
