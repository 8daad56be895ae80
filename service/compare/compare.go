// Package compare says how two answers to the same request differ: in what they were
// called, in their headers, in the structure of their JSON, and in their text. It does no
// I/O and holds no client.
package compare

import (
	"bytes"
	"encoding/json"
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

// Answer is one of the two answers. Body is the beginning of its body, at most MaxText.
type Answer struct {
	Name   string
	Result model.FetchResult
	Body   []byte
}

// Change is something that the two answers have different: both values as text, empty
// where one has none.
type Change struct{ What, A, B string }

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

// Same reports whether nothing differs.
func (d Difference) Same() bool {
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
	textA, valueA, jsonA := readJSON(a.Body)
	textB, valueB, jsonB := readJSON(b.Body)
	if jsonA && jsonB {
		d.Structure = structure(valueA, valueB)
	} else {
		textA, textB = lines(a.Body), lines(b.Body)
	}
	var err error
	d.Text, err = udiff.ToUnified(a.Name, b.Name, textA, udiff.Lines(textA, textB), udiff.DefaultContextLines)
	if int64(len(a.Body)) < a.Result.Body.Size || int64(len(b.Body)) < b.Result.Body.Size {
		d.Note = fmt.Sprintf("only the first %d KB of each body were compared", MaxText>>10)
	}
	return d, err
}

// whole is a body without a rune that the bound cut in two.
func whole(a Answer) []byte {
	cut := a.Body
	for range utf8.UTFMax - 1 {
		if int64(len(a.Body)) == a.Result.Body.Size || utf8.Valid(cut) || len(cut) == 0 {
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
			add("field "+f.Path, found(f), found(b.Fields[i]))
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

func found(f model.Field) string {
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

// readJSON gives a body as indented text and as a value, if it is JSON.
func readJSON(body []byte) (text string, value any, ok bool) {
	var out bytes.Buffer
	if json.Indent(&out, body, "", "  ") != nil || json.Unmarshal(body, &value) != nil {
		return "", nil, false
	}
	out.WriteByte('\n')
	return out.String(), value, true
}

// structure compares the types at each path of two JSON values.
func structure(a, b any) []Change {
	inA, inB := map[string]string{}, map[string]string{}
	types(inA, "", a)
	types(inB, "", b)
	var out []Change
	for _, path := range union(inA, inB) {
		if inA[path] != inB[path] {
			out = append(out, Change{path, inA[path], inB[path]})
		}
	}
	return out
}

// types notes the type of a value and of everything in it by path. A path with several types
// has them all.
func types(into map[string]string, path string, value any) {
	note := func(kind string) {
		switch known := into[path]; {
		case known == "":
			into[path] = kind
		case !slices.Contains(strings.Split(known, " or "), kind):
			kinds := append(strings.Split(known, " or "), kind)
			slices.Sort(kinds)
			into[path] = strings.Join(kinds, " or ")
		}
	}
	switch v := value.(type) {
	case nil:
		note("null")
	case bool:
		note("true or false")
	case float64:
		note("number")
	case string:
		note("text")
	case []any:
		note("list")
		for _, element := range v {
			types(into, path+"[]", element)
		}
	case map[string]any:
		note("object")
		for name, field := range v {
			types(into, strings.TrimPrefix(path+"."+name, "."), field)
		}
	}
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
