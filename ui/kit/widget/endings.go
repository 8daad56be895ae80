package widget

import (
	"path/filepath"
	"strings"
)

// Endings keeps two fields of a form in step: the name of a file and the format that it is written in.
type Endings struct {
	File, Format string // the fields
	// FormatOf is the format that a name's ending says, "" for none.
	FormatOf func(name string) string
	// Before is the name as it was when the fields were last in step.
	Before string
}

// Agree has the format follow the ending of a name that has changed, and else the ending the format.
func (e *Endings) Agree(f *Form) {
	name, format := f.Value(e.File), f.Value(e.Format)
	switch is := e.FormatOf(name); {
	case is == "" || is == format:
	case name != e.Before:
		f.SetValue(e.Format, is)
	default:
		name = strings.TrimSuffix(name, filepath.Ext(name)) + "." + format
		f.SetValue(e.File, name)
	}
	e.Before = name
}
