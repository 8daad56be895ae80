package body

import (
	"bytes"
	"strings"

	"zonedeck/ui/kit"
)

// Syntax is a language the body viewer can colour.
type Syntax int

// The languages, recognised by content type.
const (
	SyntaxNone Syntax = iota
	SyntaxJSON
	SyntaxHTML
)

// SyntaxOf returns the language of a content type.
func SyntaxOf(contentType string) Syntax {
	t, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	t = strings.TrimSpace(t)
	switch {
	case strings.HasSuffix(t, "json"), strings.HasSuffix(t, "jsonl"), strings.HasSuffix(t, "ndjson"):
		return SyntaxJSON
	case strings.HasSuffix(t, "html"), strings.HasSuffix(t, "xml"):
		return SyntaxHTML
	}
	return SyntaxNone
}

type tokenKind uint8

const (
	tokText tokenKind = iota
	tokKey
	tokString
	tokNumber
	tokWord
	tokPunct
	tokTag
	tokAttr
	tokComment
)

// tokenSpan is a part of a row in one colour; bytes outside all spans are plain.
type tokenSpan struct {
	from, to int
	kind     tokenKind
}

// inkOf is the ink of a kind of token.
func inkOf(s kit.SyntaxInks, k tokenKind) kit.Ink {
	switch k {
	case tokKey:
		return s.Key
	case tokString:
		return s.String
	case tokNumber:
		return s.Number
	case tokWord:
		return s.Word
	case tokPunct:
		return s.Punct
	case tokTag:
		return s.Tag
	case tokAttr:
		return s.Attr
	case tokComment:
		return s.Comment
	default:
		return kit.Ink{}
	}
}

// lexer colours row after row and keeps the state between rows (inside a cut string,
// inside a comment). A window that begins inside one may have wrong colours until it
// ends: colour is only a hint.
type lexer struct {
	syntax Syntax
	in     tokenKind // the token the row begins in; tokText for none
}

// row finds the spans of one row.
func (l *lexer) row(b []byte, startsLine bool) []tokenSpan {
	switch l.syntax {
	case SyntaxJSON:
		if startsLine {
			l.in = tokText // a JSON string does not span lines
		}
		return l.json(b)
	case SyntaxHTML:
		return l.html(b)
	default:
		return nil
	}
}

func (l *lexer) json(b []byte) []tokenSpan {
	var out []tokenSpan
	i := 0
	if l.in == tokString {
		i = l.jsonString(b, 0, &out)
	}
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			i = l.jsonString(b, i+1, &out)
		case c == '-' || c >= '0' && c <= '9':
			j := i + 1
			for j < len(b) && (b[j] >= '0' && b[j] <= '9' || bytes.IndexByte([]byte(".eE+-"), b[j]) >= 0) {
				j++
			}
			out = append(out, tokenSpan{i, j, tokNumber})
			i = j
		case c >= 'a' && c <= 'z':
			j := i + 1
			for j < len(b) && b[j] >= 'a' && b[j] <= 'z' {
				j++
			}
			out = append(out, tokenSpan{i, j, tokWord})
			i = j
		case bytes.IndexByte([]byte("{}[],:"), c) >= 0:
			out = append(out, tokenSpan{i, i + 1, tokPunct})
			i++
		default:
			i++
		}
	}
	return out
}

// jsonString colours a string whose text begins at i (its quote is at i-1, or
// in an earlier row for i == 0) and returns where it ends.
func (l *lexer) jsonString(b []byte, i int, out *[]tokenSpan) int {
	from := max(i-1, 0)
	for i < len(b) && b[i] != '"' {
		if b[i] == '\\' {
			i++
		}
		i++
	}
	if i >= len(b) {
		l.in = tokString
		*out = append(*out, tokenSpan{from, len(b), tokString})
		return len(b)
	}
	l.in = tokText
	i++
	kind := tokString
	for j := i; j < len(b); j++ {
		if b[j] == ':' {
			kind = tokKey
		}
		if b[j] != ' ' && b[j] != '\t' {
			break
		}
	}
	*out = append(*out, tokenSpan{from, i, kind})
	return i
}

func (l *lexer) html(b []byte) []tokenSpan {
	var out []tokenSpan
	for i := 0; i < len(b); {
		switch l.in {
		case tokComment:
			end := len(b)
			if j := bytes.Index(b[i:], []byte("-->")); j >= 0 {
				end = i + j + 3
				l.in = tokText
			}
			out = append(out, tokenSpan{i, end, tokComment})
			i = end
		case tokTag:
			i = l.htmlTag(b, i, &out)
		default:
			j := bytes.IndexByte(b[i:], '<')
			if j < 0 {
				return out
			}
			i += j
			if bytes.HasPrefix(b[i:], []byte("<!--")) {
				l.in = tokComment
				continue
			}
			if !tagBegins(b[i+1:]) {
				i++
				continue
			}
			j = i + 1
			for j < len(b) && bytes.IndexByte([]byte(" \t>"), b[j]) < 0 {
				j++
			}
			out = append(out, tokenSpan{i, j, tokTag})
			i = j
			l.in = tokTag
		}
	}
	return out
}

func tagBegins(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	c := b[0] | 0x20
	return c >= 'a' && c <= 'z' || b[0] == '/' || b[0] == '!' || b[0] == '?'
}

// htmlTag colours the attributes of a tag from i on and returns where it stopped.
func (l *lexer) htmlTag(b []byte, i int, out *[]tokenSpan) int {
	for i < len(b) {
		switch c := b[i]; c {
		case '>':
			*out = append(*out, tokenSpan{i, i + 1, tokTag})
			l.in = tokText
			return i + 1
		case '"', '\'':
			j := bytes.IndexByte(b[i+1:], c)
			if j < 0 {
				*out = append(*out, tokenSpan{i, len(b), tokString})
				return len(b)
			}
			*out = append(*out, tokenSpan{i, i + j + 2, tokString})
			i += j + 2
		case ' ', '\t', '=', '/':
			i++
		default:
			j := i
			for j < len(b) && bytes.IndexByte([]byte(" \t=>\"'"), b[j]) < 0 {
				j++
			}
			*out = append(*out, tokenSpan{i, j, tokAttr})
			i = j
		}
	}
	return i
}
