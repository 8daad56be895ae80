package index

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Document is one page as the index knows it.
type Document struct {
	URL         string
	Title       string
	Description string
	Text        string // plain text; lines and paragraphs are kept
	Category    string
	// Published is the zero time where it is not known: such a document is not part of
	// any date range.
	Published time.Time
	// Language is a two-letter code; "" counts as "en". Country is a two-letter code,
	// "" where the page is about no country.
	Language, Country string
}

// Bounds of what is indexed; a longer text is cut.
const (
	MaxDocuments     = 20_000
	MaxDocumentBytes = 64 << 10
)

func (d Document) cut() Document {
	d.URL, d.Title = cutText(d.URL, 2048), cutText(d.Title, 512)
	d.Description, d.Category = cutText(d.Description, 2048), cutText(d.Category, 128)
	d.Text = cutText(d.Text, MaxDocumentBytes)
	d.Language, d.Country = strings.ToLower(d.Language), strings.ToLower(d.Country)
	if d.Language == "" {
		d.Language = "en"
	}
	return d
}

// cutText cuts at a rune's boundary.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

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
