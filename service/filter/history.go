package filter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// maxHistory is how many filters are remembered for each language.
const maxHistory = 100

// maxHistoryFile bounds the file, in bytes: every filter at its longest, escaped.
const maxHistoryFile = 2 * maxHistory * 6 * maxExpr

// History is the file of the filters that were kept, the newest last; the zero value keeps
// none. Several consoles may share it.
type History struct{ File string }

type historyFile struct {
	SchemaVersion int               `json:"schema_version"`
	Filters       map[Kind][]string `json:"filters"`
}

// Load reads the filters of each language; there are none without a file.
func (h History) Load() (map[Kind][]string, error) {
	f := historyFile{Filters: map[Kind][]string{}}
	if h.File == "" {
		return f.Filters, nil
	}
	b, err := textfile.ReadBounded(h.File, maxHistoryFile)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Filters, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return map[Kind][]string{}, fmt.Errorf("reading the history of filters: %w", err)
	}
	out := map[Kind][]string{}
	for _, kind := range []Kind{JQ, CSS} {
		for _, expr := range f.Filters[kind] {
			if len(expr) <= maxExpr {
				out[kind] = Remember(out[kind], expr)
			}
		}
	}
	return out, nil
}

// Add writes a filter at the end, without what may be a secret in it.
func (h History) Add(ctx context.Context, kind Kind, expr string) error {
	if h.File == "" {
		return nil
	}
	unlock, err := textfile.Lock(ctx, h.File)
	if err != nil {
		return err
	}
	defer unlock()
	all, _ := h.Load() // a file that cannot be read is replaced: it is a convenience
	all[kind] = Remember(all[kind], redact(expr))
	b, err := json.MarshalIndent(historyFile{SchemaVersion: 1, Filters: all}, "", "  ")
	if err != nil {
		return err
	}
	return textfile.Write(h.File, append(b, '\n'))
}

// Remember puts a filter at the end of a list, once.
func Remember(list []string, expr string) []string {
	list = append(slices.DeleteFunc(list, func(old string) bool { return old == expr }), expr)
	return list[max(len(list)-maxHistory, 0):]
}

var (
	literal = model.Pattern(`"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|=\s*[^\s"'\]=]+`)
	word    = model.Pattern(`[\w-]+`)
)

// redact masks the texts of a filter that names a secret, such as .token == "…", but for those that
// are the name.
func redact(expr string) string {
	if !slices.ContainsFunc(word().FindAllString(expr, -1), model.SecretName) {
		return expr
	}
	return literal().ReplaceAllStringFunc(expr, func(s string) string {
		quote := s[:1]
		if quote == "=" {
			if strings.HasPrefix(strings.TrimSpace(s[1:]), ".") { // a path of jq, not a text
				return s
			}
			return "=" + model.Masked
		}
		if model.SecretName(strings.Trim(s, quote)) {
			return s
		}
		return quote + model.Masked + quote
	})
}
