package fetch

import (
	"io"
	"strings"

	"zonedeck/service/address"
	"zonedeck/service/agent"
	"zonedeck/service/importers"
	"zonedeck/service/readable"
	"zonedeck/service/saved"
)

type (
	// Imported is what is read of another program's request.
	Imported = importers.Imported
	// ImportKnown is what an imported request is read by.
	ImportKnown = importers.Known
	// ImportEntry is a request of a HAR file.
	ImportEntry = importers.HAREntry
)

// Importable reports whether a text is a curl command or a HAR file.
func Importable(text string) bool { return importers.IsCurl(text) || importers.IsHAR(text) }

// Import reads a curl command or a HAR file. Of a file with several requests it returns the entries.
func Import(text string, known ImportKnown) (Imported, []ImportEntry, error) {
	if importers.IsCurl(text) {
		got, err := importers.Curl(text, known)
		return got, nil, err
	}
	entries, err := importers.HAR(strings.NewReader(text))
	if err != nil || len(entries) != 1 {
		return Imported{}, entries, err
	}
	got, err := entries[0].Import(known)
	return got, nil, err
}

// ReadTemplate reads a request whose {{name}} are variables: a curl command, or a file as requests are saved. file names
// it in errors, which say the line.
func ReadTemplate(file, text string, known ImportKnown) (Imported, error) {
	if importers.IsCurl(text) {
		known.Columns = true
		return importers.Curl(text, known)
	}
	r, err := saved.Decode(file, strings.NewReader(text))
	return Imported{Request: r}, err
}

type (
	// Tool is one of agent access.
	Tool = agent.Tool
	// ToolInput is an argument of a tool.
	ToolInput = agent.Input
)

// The kinds of arguments that have a field of their own; any other is a text.
const (
	ToolChoice = agent.KindChoice
	ToolSwitch = agent.KindSwitch
	ToolLines  = agent.KindLines
	ToolJSON   = agent.KindJSON
)

// SavedRequest is a request on this machine's disk; see saved.
type SavedRequest = saved.Entry

// MaxDeletedRequests is how many deleted ones are kept.
const MaxDeletedRequests = saved.MaxDeleted

// ErrNoneDeleted says that no request was deleted, ErrRequestExists that a name is taken.
var (
	ErrNoneDeleted   = saved.ErrNoneDeleted
	ErrRequestExists = saved.ErrExists
)

// CheckRequestName says why a request cannot have a name, or is nil.
func CheckRequestName(name string) error { return saved.CheckName(name) }

// Markdown is the text of a page; see readable.
func Markdown(page io.ReaderAt, size int64, pageURL string) (readable.Text, error) {
	return readable.Markdown(page, size, pageURL)
}

// WireURL is a target's address as it is sent; see address.
func WireURL(target string) (string, error) { return address.Wire(target) }
