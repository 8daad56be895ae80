package modeltest

import (
	"strings"
	"testing"

	"zonedeck/model"
)

// Steps are the diagnoses of the cases in a folder with one of their next steps each, by
// class, cause and action. The corpus has a case of each class and cause.
func Steps(tb testing.TB, dir string) map[string]model.Diagnosis {
	tb.Helper()
	out := map[string]model.Diagnosis{}
	for _, c := range Corpus(tb, dir) {
		d := model.Diagnose(c.Outcome)
		for _, s := range d.Steps {
			d.Steps = []model.Step{s}
			out[strings.Join([]string{string(d.Class), string(d.Cause), string(s.Action)}, " ")] = d
		}
	}
	return out
}
