package index

import (
	"strconv"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
)

// Document is one page as the index knows it.
type Document struct {
	URL, Title, Description string
	Text                    string // plain text; lines and paragraphs are kept
	Category                string
	// Published is the zero time where it is not known: a document without a date is in no
	// range of dates.
	Published time.Time
	// Facts are what the page says of its subject, by a name in lower-case words: "price",
	// "main ingredient". Discover reads language (two letters; "en" where it is missing),
	// country (two letters) and city.
	Facts map[string]string
}

// Bounds of what is indexed; a longer text is cut.
const (
	MaxDocuments     = 20_000
	MaxDocumentBytes = 64 << 10
	maxFactBytes     = 500
)

// document is an indexed one, with its facts as columns show them: strings and numbers.
type document struct {
	Document
	facts map[string]any
}

func newDocument(d Document) document {
	d.URL, d.Title = answer.Cut(d.URL, 2048), answer.Cut(d.Title, 512)
	d.Description, d.Category = answer.Cut(d.Description, 2048), answer.Cut(d.Category, 128)
	d.Text = answer.Cut(d.Text, MaxDocumentBytes)
	facts := map[string]any{
		"name": d.Title, "url": d.URL, "description": d.Description, "category": d.Category, "language": "en",
	}
	if !d.Published.IsZero() {
		facts["published"] = d.Published.UTC().Format(time.DateOnly)
		facts["published year"] = float64(d.Published.UTC().Year())
	}
	for name, v := range d.Facts {
		facts[name] = typed(answer.Cut(v, maxFactBytes))
	}
	return document{d, facts}
}

// typed is a number where the text is nothing but one.
func typed(v string) any {
	if n, ok := amount(v); ok && v[0] >= '0' && v[0] <= '9' && !strings.Contains(v, " ") {
		return n
	}
	return v
}

// amount is the number that a text begins with, after the sign of a currency: "$1,250.00",
// "35 minutes".
func amount(v string) (float64, bool) {
	v, _, _ = strings.Cut(strings.TrimLeft(v, "$€£ "), " ")
	n, err := strconv.ParseFloat(strings.ReplaceAll(v, ",", ""), 64)
	return n, err == nil
}

// text is a fact that is a string, in lower case.
func (d *document) text(fact string) string {
	v, _ := d.facts[fact].(string)
	return strings.ToLower(v)
}

// same is equal for documents that say the same.
func (d *document) same() [2]string { return [2]string{d.Title, d.Text} }

// markdown is the document as a small Markdown page; what would be markup in the text
// is escaped where a line begins with it.
func (d Document) markdown() string {
	var b strings.Builder
	b.WriteString("# " + strings.TrimSpace(strings.ReplaceAll(d.Title, "\n", " ")) + "\n")
	for line := range strings.Lines(d.Text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		b.WriteString("\n")
		if strings.ContainsRune("#>-+*=`~", rune(line[0])) {
			b.WriteByte('\\')
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
