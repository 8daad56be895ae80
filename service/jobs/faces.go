package jobs

import (
	"zonedeck/service/drift"
	"zonedeck/service/filter"
	results "zonedeck/service/records"
)

// What faces name of a result on this disk; see records.
type (
	ResultFile      = results.File
	ResultState     = results.State
	ResultProgress  = results.Progress
	ResultProfile   = results.Profile
	ResultColumn    = results.Column
	ResultKind      = results.Kind
	ResultRow       = results.Row
	ResultRowList   = results.RowList
	ResultCell      = results.Cell
	ResultDetail    = results.Detail
	ResultQuery     = results.Query
	ResultView      = results.View
	ResultSelection = results.Selection
	ResultExport    = results.Export
	ResultFormat    = results.Format
	ResultWritten   = results.Written
	ResultCompared  = results.Compared
	ResultChange    = results.Change
	ResultHow       = results.How
	ResultKeyError  = results.KeyError
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

// What faces name of drift; see drift.
type (
	DriftKind     = drift.Kind
	DriftSubject  = drift.Subject
	DriftStanding = drift.Standing
	DriftDetail   = drift.Detail
	DriftFinding  = drift.Finding
	DriftLine     = drift.Line
)

// The kinds and verdicts that are shown in a way of their own, and a bound.
const (
	DriftTarget    = drift.Target
	DriftGood      = drift.Good
	DriftFirst     = drift.First
	DriftDrift     = drift.Drift
	DriftFew       = drift.Few
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
