package drift

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func words(all []Finding) string {
	var out []string
	for _, f := range all {
		out = append(out, string(f.Word)+" "+f.Field)
	}
	return strings.Join(out, ", ")
}

func writeContract(t *testing.T, m *Monitor, text string) string {
	t.Helper()
	file := m.defaultFile(Dataset, "gd_x")
	noerr.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	noerr.Must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestWhatAContractAsksForIsNotAccepted(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	for i := range 3 {
		result(t, m, fmt.Sprintf("job-%d", i), 10-i, many(30, whole))
	}
	writeContract(t, m, "dataset = \"gd_x\"\n[[fields]]\nname = \"price\"\nrequired = true\n")
	result(t, m, "job-3", 2, many(30, broken))
	d := show(t, m)
	if words(d.Changed()) != "emptied price" || words(d.Remaining) != "emptied price" || d.Acceptable() != nil {
		t.Errorf("before: changed %s, left %s: %v", words(d.Changed()), words(d.Remaining), d.Acceptable())
	}
	s, err := m.Accept(t.Context(), gdX, d.Run.Seq, "")
	if err != nil || s.Verdict.State != Drift || words(s.Verdict.Findings) != words(d.Remaining) || !errors.Is(s.Acceptable(), ErrRefused) {
		t.Errorf("accepted: %s %s, %v, %v", s.Verdict.State, words(s.Verdict.Findings), s.Acceptable(), err)
	}
	if _, err := m.Accept(t.Context(), gdX, 0, ""); !errors.Is(err, ErrRefused) {
		t.Errorf("once more: %v", err)
	}
	writeContract(t, m, "dataset = \"gd_x\"\n[[fields]]\nname = \"price\"\n")
	if d := show(t, m); d.Verdict.State != Good || !d.Verdict.Judged() || len(d.Remaining) != 0 {
		t.Errorf("changed: %s, left %s", d.Verdict.State, words(d.Remaining))
	}
}

func TestWhatAFetchRequiresIsNotAccepted(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	fetch := func(id string, days int, found bool) {
		noerr.Must(t, m.Fetched(t.Context(), "p", model.FetchResult{
			ID: id, Started: today.AddDate(0, 0, -days), ContentType: "text/html", Diagnosis: model.Diagnosis{Class: model.ClassParsingDrift},
			Request: model.FetchRequest{URL: "http://lab.test/shop", Required: []string{".price"}}, Fields: []model.Field{{Path: ".price", Found: found}},
		}, []byte(`<p class="price">5</p>`)))
	}
	fetch("f-1", 3, true)
	fetch("f-2", 2, false)
	of := Subject{"p", Target, "lab.test/shop"}
	d, err := m.Show(t.Context(), of)
	if err != nil || words(d.Remaining) != "missing .price" || len(d.Changed()) != 0 {
		t.Fatalf("%v: left %s, changed %s", err, words(d.Remaining), words(d.Changed()))
	}
	if _, err := m.Accept(t.Context(), of, 0, ""); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}
