// Package compare says how two answers to the same request differ: in what they were
// called, in their headers, in the structure of their JSON, and in their text. It does no
// I/O and holds no client.
package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"zonedeck/model"
)

// MaxText is how much of each body is compared, in bytes. More would take long and be
// read by nobody.
const MaxText = 256 << 10

// Answer is one of the two answers. Body is the beginning of its body as text, at most MaxText; More says that it goes on.
type Answer struct {
	Name   string
	Result model.FetchResult
	Body   []byte
	More   bool
}

// Change is something that the two answers have different: both values as text, empty
// where one has none.
type Change struct{ Name, A, B string }

// Difference is how two answers differ. Everything in it may be remote text.
type Difference struct {
	// Verdict is about class, status, size and type.
	Verdict []Change
	Headers []Change
	// Structure is where the fields of two JSON bodies differ: in being there, or in their
	// types. Elements of a list count as one field, written "[]".
	Structure []Change
	// Text is the unified difference of the bodies as text, empty when they are equal. JSON is
	// indented first, and HTML broken between its tags.
	Text string
	// Note says what of the bodies was not compared, or is empty.
	Note string
}

// IsEmpty reports whether nothing differs.
func (d Difference) IsEmpty() bool {
	return len(d.Verdict)+len(d.Headers)+len(d.Structure) == 0 && d.Text == "" && d.Note == ""
}

// Answers compares two answers.
func Answers(a, b Answer) (Difference, error) {
	d := Difference{Verdict: verdict(a.Result, b.Result), Headers: headers(a.Result.Header, b.Result.Header)}
	equal := a.Result.Body.SHA256 != "" && a.Result.Body.SHA256 == b.Result.Body.SHA256
	switch {
	case equal:
		return d, nil
	case !utf8.Valid(whole(a)) || !utf8.Valid(whole(b)):
		d.Note = "the bodies are not text, and differ"
		return d, nil
	}
	textA, typesA, errA := readJSON(a.Body)
	textB, typesB, errB := readJSON(b.Body)
	if errA == nil && errB == nil {
		d.Structure = structure(typesA, typesB)
	} else {
		textA, textB = lines(a.Body), lines(b.Body)
	}
	if errors.Is(errA, errSpread) || errors.Is(errB, errSpread) {
		d.Note = errSpread.Error()
	}
	var err error
	d.Text, err = udiff.ToUnified(a.Name, b.Name, textA, udiff.Lines(textA, textB), udiff.DefaultContextLines)
	if a.More || b.More {
		d.Note = fmt.Sprintf("only the first %d KB of each body were compared", MaxText>>10)
	}
	return d, err
}

// whole is a body without a rune that the bound cut in two.
func whole(a Answer) []byte {
	cut := a.Body
	for range utf8.UTFMax - 1 {
		if !a.More || utf8.Valid(cut) || len(cut) == 0 {
			break
		}
		cut = cut[:len(cut)-1]
	}
	return cut
}

func verdict(a, b model.FetchResult) []Change {
	var out []Change
	add := func(what, inA, inB string) {
		if inA != inB {
			out = append(out, Change{what, inA, inB})
		}
	}
	add("class", model.ClassWord(a.Diagnosis.Class, a.Diagnosis.Cause), model.ClassWord(b.Diagnosis.Class, b.Diagnosis.Cause))
	add("status", status(a.Status), status(b.Status))
	add("content type", a.ContentType, b.ContentType)
	add("bytes", strconv.FormatInt(a.Body.Size, 10), strconv.FormatInt(b.Body.Size, 10))
	for _, f := range a.Fields {
		i := slices.IndexFunc(b.Fields, func(g model.Field) bool { return g.Path == f.Path })
		if i >= 0 {
			add("field "+f.Path, foundCell(f), foundCell(b.Fields[i]))
		}
	}
	return out
}

func status(code int) string {
	if code == 0 {
		return "unknown"
	}
	return strconv.Itoa(code)
}

func foundCell(f model.Field) string {
	if !f.Found {
		return "missing"
	}
	return f.Value
}

func headers(a, b http.Header) []Change {
	var out []Change
	for _, name := range union(a, b) {
		if inA, inB := strings.Join(a[name], ", "), strings.Join(b[name], ", "); inA != inB {
			out = append(out, Change{name, inA, inB})
		}
	}
	return out
}

// union are the keys of two maps, sorted.
func union[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// maxSpread is how large a JSON body may become when it is indented, and all the paths in
// it, in bytes; maxDepth how deeply it may be nested. What goes beyond is compared as it came.
const (
	maxSpread = 8 << 20
	maxDepth  = 100
)

var errSpread = errors.New("the JSON is nested too deeply, or its names are too long: it was compared as text")

// readJSON gives a body as indented text and the types in it. It fails with errSpread, or
// because the body is not JSON.
func readJSON(body []byte) (text string, in types, err error) {
	var out bytes.Buffer
	var value any
	if json.Valid(body) && spread(body) > maxSpread {
		return "", types{}, errSpread
	}
	if err := json.Unmarshal(body, &value); err != nil {
		return "", types{}, err
	}
	if err := json.Indent(&out, body, "", "  "); err != nil {
		return "", types{}, err
	}
	in = types{at: map[string][]string{}, room: maxSpread}
	if in.add("", value); in.room < 0 {
		return "", types{}, errSpread
	}
	out.WriteByte('\n')
	return out.String(), in, nil
}

// spread bounds the size of a JSON body when it is indented, in bytes. It is more than
// maxSpread when the body is nested too deeply.
func spread(body []byte) int {
	size, depth, quoted := len(body), 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > maxDepth {
				return maxSpread + 1
			}
			size += 4 * depth // of its first line, and of the one that closes it
		case c == '}', c == ']':
			depth--
		case c == ',':
			size += 1 + 2*depth
		case c == ':':
			size++
		}
	}
	return size
}

// structure compares the types at each path of two JSON values.
func structure(a, b types) []Change {
	var out []Change
	for _, path := range union(a.at, b.at) {
		if inA, inB := a.kinds(path), b.kinds(path); inA != inB {
			out = append(out, Change{path, inA, inB})
		}
	}
	return out
}

// types are the types of a JSON value and of everything in it, by path.
type types struct {
	at   map[string][]string
	room int // that paths may still take, in bytes; below 0 some are left out
}

func (t *types) add(path string, value any) {
	if t.room -= len(path); t.room < 0 {
		return
	}
	kind := ""
	switch v := value.(type) {
	case nil:
		kind = "null"
	case bool:
		kind = "boolean"
	case float64:
		kind = "number"
	case string:
		kind = "text"
	case []any:
		kind = "list"
		for _, element := range v {
			t.add(path+"[]", element)
		}
	case map[string]any:
		kind = "object"
		for name, field := range v {
			t.add(strings.TrimPrefix(path+"."+name, "."), field)
		}
	}
	if !slices.Contains(t.at[path], kind) {
		t.at[path] = append(t.at[path], kind)
	}
}

// kinds are all the types at a path.
func (t *types) kinds(path string) string {
	return strings.Join(slices.Sorted(slices.Values(t.at[path])), " or ")
}

// lines is a body in lines that can be compared: pages often come in one.
func lines(body []byte) string {
	text := strings.ReplaceAll(string(body), "\r\n", "\n")
	text = strings.ReplaceAll(text, "><", ">\n<")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
