package history

import (
	"encoding/json"

	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/export"
)

// ErrNotFound says that the history does not have what was asked for.
var ErrNotFound = database.ErrNotFound

// CodeSource is a fetch that is written as code; see export.
type CodeSource = export.Source

// CodePage is a fetch as a program or a file, or a comparison as a document.
type CodePage struct {
	Name, Title, File string
	Text              string
	Err               error // why there is no text
	target            export.Target
}

// Document reports whether the page is a comparison, which holds no secret.
func (p CodePage) Document() bool { return p.target.Name == "" }

// Write writes the page's program, with the secret that the source holds.
func (p CodePage) Write(s CodeSource) (string, error) { return p.target.Code(s) }

// CodePages are a fetch in every way it can be written, and a comparison where there is one. refused is why no program
// may have the fetch's key, or nil.
func CodePages(s CodeSource, refused error, compared *model.Grid) []CodePage {
	var pages []CodePage
	for _, t := range export.Targets() {
		text, err := t.Code(s)
		if refused != nil && !t.Login && !s.Request.Via.Login() {
			text, err = "", refused
		}
		pages = append(pages, CodePage{Name: t.Name, Title: t.Title, File: t.File, Text: text, Err: err, target: t})
	}
	if compared == nil {
		return pages
	}
	object, err := json.MarshalIndent(export.NewComparison(*compared), "", "  ")
	return append(
		pages,
		CodePage{Name: "markdown", Title: "Markdown", File: "comparison.md", Text: export.ComparisonMarkdown(*compared)},
		CodePage{Name: "json", Title: "JSON", File: "comparison.json", Text: string(object) + "\n", Err: err},
	)
}

// ObservedUse is what a comparison showed of a request's zone and access method, in a line; see export.Compared.
func ObservedUse(compared model.Grid, r model.FetchRequest) (string, bool) {
	return export.Compared(compared, r)
}
