package jobs

import (
	"errors"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/filter"
	"zonedeck/service/rows"
	"zonedeck/service/snippet"
)

// What faces name of the rooms below.
type (
	// Inputs are the rows of a source.
	Inputs = rows.Inputs
	// Column is a column of a source.
	Column = rows.Column
	// Problem is what is wrong with a row.
	Problem = rows.Problem
	// Listing is a list of data sets.
	Listing = catalogue.Listing
	// LookupPreview is what a deep lookup would give.
	LookupPreview = dialect.LookupPreview
)

// NDJSON is the kind of a source of Rows with an object a line.
const NDJSON = rows.InputNDJSON

// ErrLocked says that another process works on the file of a download.
var ErrLocked = textfile.ErrLocked

// Formats are the formats that a result can be downloaded in.
func Formats() []string { return rows.Formats() }

// InputLine is an input as a line of JSON.
func InputLine(in model.JobInput) []byte { return rows.Input(in) }

// WithJobs names the dialects that ask for jobs.
func WithJobs() string { return dialect.WithJobs() }

// ColumnWords are the columns of a preview as an input takes them in one line; ok is false if it cannot.
func ColumnWords(p LookupPreview) (words string, ok bool) { return dialect.WordsOfColumns(p.Columns) }

// CheckListName says why no list can be saved under a name.
func CheckListName(name string) error {
	_, err := config.Paths{}.ListFile(name)
	return err
}

// CommandAbout is a command of 'zonedeck jobs' about a job, for a shell with any default profile.
func CommandAbout(j model.Job, name string) string {
	profile := j.Profile
	if profile == config.FlagsName {
		profile = ""
	}
	return snippet.With(profile) + " jobs " + name + " " + j.ID
}

// Explain says in a line why a call failed.
func Explain(err error) string { return exchange.Explain(err) }

// Verdict is the diagnosis of a call that failed; ok is false for another error.
func Verdict(err error) (d model.Diagnosis, ok bool) {
	call, ok := errors.AsType[*exchange.CallError](err)
	if ok {
		d = call.Diagnosis
	}
	return d, ok
}

// MissingColumns are the fields that an error of Check says no column fills; nil for another error.
func MissingColumns(err error) []string {
	if column, ok := errors.AsType[*rows.ColumnError](err); ok {
		return column.Missing
	}
	return nil
}

// UnknownDataset reports whether an error of Check says that no data set, or more than one, has the draft's name.
func UnknownDataset(err error) bool {
	_, ok := errors.AsType[*catalogue.UnknownError](err)
	return ok
}

// NewCondition reads a jq expression that rows are held against.
func NewCondition(expr string) (*filter.Condition, error) { return filter.NewCondition(expr) }
