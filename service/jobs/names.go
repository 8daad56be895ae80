package jobs

import (
	"errors"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/drift"
	"zonedeck/service/exchange"
	"zonedeck/service/filter"
	results "zonedeck/service/records"
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

// ResultFile and the others are what faces name of a result on this disk; see records.
type (
	// ResultFile is a result on this disk.
	ResultFile = results.File
	// ResultState is how far a file is known.
	ResultState = results.State
	// ResultProgress is reported now and then while a call works.
	ResultProgress = results.Progress
	// ResultProfile is what is known of the columns over the whole file.
	ResultProfile = results.Profile
	// ResultColumn is one column of a file.
	ResultColumn = results.Column
	// ResultKind is what a value is.
	ResultKind = results.Kind
	// ResultRow is a row as a table shows it.
	ResultRow = results.Row
	// ResultRowList is a list of rows in some order, in a temporary file: the rows that a filter let through, sorted rows, or the difference of two results.
	ResultRowList = results.RowList
	// ResultCell is what a table shows of a value: the first bytes of its text.
	ResultCell = results.Cell
	// ResultDetail is a whole row.
	ResultDetail = results.Detail
	// ResultFieldChange is a field of a row that another result has otherwise.
	ResultFieldChange = results.FieldChange
	// ResultQuery says which rows, in which order.
	ResultQuery = results.Query
	// ResultView says which rows of a file are looked at: all, if there is no list.
	ResultView = results.View
	// ResultSelection is what a query gave.
	ResultSelection = results.Selection
	// ResultExport says how rows are written.
	ResultExport = results.Export
	// ResultFormat is how rows follow one another in a file.
	ResultFormat = results.Format
	// ResultWritten is what an export came to.
	ResultWritten = results.Written
	// ResultCompared is the difference of two results.
	ResultCompared = results.Compared
	// ResultChange says how a row differs between two results.
	ResultChange = results.Change
	// ResultHow compares.
	ResultHow = results.CompareOptions
	// ResultKeyError says that no row of one of the results has a key, so that nothing can be compared by it.
	ResultKeyError = results.KeyError
)

// The kinds of a result's values that are shown in a way of their own, the changes of a row, and a bound.
const (
	ResultMissing    = results.Missing
	ResultNull       = results.Null
	ResultNumber     = results.Number
	ResultUnchanged  = results.Unchanged
	ResultAdded      = results.Added
	ResultRemoved    = results.Removed
	ResultChanged    = results.Changed
	ResultMaxColumns = results.MaxColumns
)

// ParseResultFilter reads a filter of a result's rows; see records.ParseFilter.
func ParseResultFilter(text string) (results.Filter, error) { return results.ParseFilter(text) }

// NewCondition reads a jq expression that rows are held against.
func NewCondition(expr string) (*filter.Condition, error) { return filter.NewCondition(expr) }

// ShownName is a field's name to be read.
func ShownName(name string) string { return results.ShownName(name) }

// ResultFormatOf is the format that a file's name asks for.
func ResultFormatOf(name string) ResultFormat { return results.FormatOf(name) }

// DriftKind and the others are what faces name of drift; see drift.
type (
	// DriftKind is what a collector is.
	DriftKind = drift.Kind
	// DriftContractError is a fault of a contract's file.
	DriftContractError = textfile.Error
	// DriftSubject names what runs are compared within.
	DriftSubject = drift.Subject
	// DriftStanding is how a collector stands.
	DriftStanding = drift.Standing
	// DriftDetail is all that is known of a collector.
	DriftDetail = drift.Detail
	// DriftFinding is one sentence about a field, with what it is based on.
	DriftFinding = drift.Finding
	// DriftLine is one field of a collector over its runs.
	DriftLine = drift.Line
)

// The kinds and verdicts that are shown in a way of their own, and a bound.
const (
	DriftTarget    = drift.Target
	DriftDataset   = drift.Dataset
	DriftGood      = drift.Good
	DriftFirst     = drift.First
	DriftDrift     = drift.Drift
	DriftFew       = drift.FewRows
	DriftEmpty     = drift.Empty
	DriftMaxFields = drift.MaxFields
)

// What is said of contracts and findings; see drift.
var (
	ErrContractNewer   = drift.ErrNewer
	ErrContractRefused = drift.ErrRefused
)

// DriftAlarms names the fields of findings that are alarms.
func DriftAlarms(all []DriftFinding) []string { return drift.Names(drift.Alarms(all)) }

// DriftPercent and DriftSparkline show shares of rows.
func DriftPercent(share float64) string { return drift.Percent(share) }

// DriftSparkline shows a field's history in w cells.
func DriftSparkline(history []float64, w int) string { return drift.Sparkline(history, w) }
