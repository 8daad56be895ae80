package jsontree

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The bounds on what is read of a value, in bytes.
const (
	labelKey   = 256
	labelValue = 512
	pathKey    = 1 << 10
	pathText   = 8 << 10
)

// label is what a row shows: the beginning of the key and of a value that holds no others,
// as the body spells them.
type label struct {
	key, value string
}

// read reads a node's label.
func read(r io.ReaderAt, n node) (label, error) {
	var l label
	if n.keyed {
		b, err := readAt(r, n.key, labelKey)
		if err != nil {
			return l, err
		}
		l.key = token(b, '"')
	}
	if n.open() {
		return l, nil
	}
	b, err := readAt(r, n.key+int64(n.val), labelValue)
	if err != nil {
		return l, err
	}
	l.value = token(b, n.kind)
	return l, nil
}

func readAt(r io.ReaderAt, off int64, size int) ([]byte, error) {
	b := make([]byte, size)
	n, err := r.ReadAt(b, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}

// token is the token at the beginning of b, or b and "…" if it is longer.
func token(b []byte, kind jsontext.Kind) string {
	if kind == '"' {
		for i := 1; i < len(b); i++ {
			switch b[i] {
			case '\\':
				i++
			case '"':
				return string(b[:i+1])
			}
		}
		return strings.ToValidUTF8(string(b), "") + "…"
	}
	for i, c := range b {
		if strings.IndexByte(" \t\r\n,]}", c) >= 0 {
			return string(b[:i])
		}
	}
	if len(b) == labelValue {
		return string(b) + "…"
	}
	return string(b)
}

// above lists a node and those around it, the outermost first.
func (x *index) above(n int32) []node {
	depth := int(x.nodes[n].depth)
	out := make([]node, depth+1)
	for i := depth; i >= 0; i-- {
		out[i] = x.nodes[n]
		n = x.nodes[n].parent
	}
	return out
}

// pathOf is the path of the last node of up as jq writes it, from the value at the top on;
// or why there is none.
func pathOf(r io.ReaderAt, up []node) (path, why string) {
	var out strings.Builder
	for _, n := range up[1:] {
		if !n.keyed {
			if out.Len() == 0 {
				out.WriteByte('.')
			}
			out.WriteString("[" + strconv.Itoa(int(n.ord)) + "]")
			continue
		}
		b, err := readAt(r, n.key, pathKey)
		if err != nil {
			return "", "the path cannot be read: " + err.Error()
		}
		key := token(b, '"')
		switch {
		case strings.HasSuffix(key, "…"):
			return "", fmt.Sprintf("a key of the path is longer than %d KiB", pathKey>>10)
		case out.Len() > pathText:
			return "", fmt.Sprintf("the path is longer than %d KiB", pathText>>10)
		case name(key):
			out.WriteString("." + key[1:len(key)-1])
		default:
			if out.Len() == 0 {
				out.WriteByte('.')
			}
			out.WriteString("[" + key + "]")
		}
	}
	if out.Len() == 0 {
		return ".", ""
	}
	return out.String(), ""
}

// name reports whether jq takes a key after a dot without quotes.
func name(quoted string) bool {
	key := quoted[1 : len(quoted)-1]
	for i, c := range []byte(key) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return key != ""
}
