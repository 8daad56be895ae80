package export_test

import (
	"go/parser"
	"go/token"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"zonedeck/model"
	"zonedeck/service/export"
)

// FuzzCode exports a fetch of arbitrary texts to every target. What comes is one program of
// the shape that the target has: Go that parses, one pipe of plain words for a shell, and
// comments that nothing of the fetch can leave.
func FuzzCode(f *testing.F) {
	f.Add("http://lab.test/it's?q=\"$(id)\"#x", "post", "X-A", "it's\t100%", "a\x00\u2028`\\", "z", "secret", true)
	f.Add("https://[::1]:8080/../a;?%zz", "HEAD", "Cookie", "é", "", "z'\u202e", "", false)
	f.Fuzz(func(t *testing.T, address, method, name, value, body, zone, secret string, native bool) {
		s := source(model.ViaAPI)
		if native {
			s.Request.Via = model.ViaNative
		}
		s.Request.URL, s.Request.Method, s.Request.Body, s.Request.Zone.Name, s.Secret = address, method, body, model.ZoneName(zone), secret
		s.Request.Header = http.Header{name: {value, value}}
		s.Profile.CA = "/" + value + ".pem"
		for _, target := range export.Targets() {
			code, err := target.Code(s)
			if err != nil {
				continue
			}
			switch target.Name {
			case "go":
				if _, err := parser.ParseFile(token.NewFileSet(), "fetch.go", code, parser.SkipObjectResolution); err != nil {
					t.Errorf("%v\n%s", err, code)
				}
			case "curl":
				if utf8.ValidString(code) { // which the parser wants, while a shell takes any bytes
					plain(t, code, s.Secret == "")
				}
			case "node", "playwright", "puppeteer":
				comments(t, code, "//", "import ", "const ")
			case "python", "scrapy":
				comments(t, code, "#", "import ")
			}
		}
	})
}

// plain reports a shell's text that does more than hand words from printf to curl, after a
// check for the secret.
func plain(t *testing.T, code string, checks bool) {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(code), "fetch.sh")
	if err != nil {
		t.Errorf("%v\n%s", err, code)
		return
	}
	commands := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if _, ok := n.(*syntax.CallExpr); ok {
			commands++
		}
		return true
	})
	if checks {
		commands--
	}
	// printf and curl; by Native printf, base64 and tr make the login.
	if len(file.Stmts) != 1 || commands != 2 && commands != 5 {
		t.Errorf("%d statements, %d commands:\n%s", len(file.Stmts), commands, code)
	}
}

// comments reports a program that does not begin with comments, then perhaps an empty line, and then one of some words.
func comments(t *testing.T, code, mark string, words ...string) {
	t.Helper()
	for line := range strings.SplitSeq(strings.ReplaceAll(code, "\u2028", "\n"), "\n") {
		if strings.HasPrefix(line, mark) || line == "" {
			continue
		}
		for _, w := range words {
			if strings.HasPrefix(line, w) {
				return
			}
		}
		t.Errorf("%q is no comment:\n%s", line, code)
		return
	}
}
