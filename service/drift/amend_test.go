package drift

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	file := m.named(Dataset, "gd_x")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if words(d.Changed()) != "emptied price" || words(d.Left) != "emptied price" || d.Acceptable() != nil {
		t.Errorf("before: changed %s, left %s: %v", words(d.Changed()), words(d.Left), d.Acceptable())
	}
	s, err := m.Accept(t.Context(), gdX, d.Run.Seq, "")
	if err != nil || s.Verdict.State != Drift || words(s.Verdict.Findings) != words(d.Left) || !errors.Is(s.Acceptable(), ErrRefused) {
		t.Errorf("accepted: %s %s, %v, %v", s.Verdict.State, words(s.Verdict.Findings), s.Acceptable(), err)
	}
	if _, err := m.Accept(t.Context(), gdX, 0, ""); !errors.Is(err, ErrRefused) {
		t.Errorf("once more: %v", err)
	}
	a, err := m.Amend(t.Context(), gdX, d.Run.Seq)
	if err != nil || len(a.Lines) != 1 || a.Lines[0].String() != "line 4: required = true becomes required = false" {
		t.Fatalf("%v %v", a.Lines, err)
	}
	if err := m.WriteAmendment(a); err != nil {
		t.Fatal(err)
	}
	if d := show(t, m); d.Verdict.State != Good || !d.Verdict.Judged() || len(d.Left) != 0 {
		t.Errorf("amended: %s, left %s", d.Verdict.State, words(d.Left))
	}
	if err := m.WriteAmendment(a); !errors.Is(err, ErrAmended) {
		t.Errorf("of a file that was changed: %v", err)
	}
	if _, err := m.Amend(t.Context(), gdX, d.Run.Seq+1); !errors.Is(err, ErrNewer) {
		t.Errorf("of another run: %v", err)
	}
}

func TestWhatAFetchRequiresIsNotAccepted(t *testing.T) {
	m := monitor(t, openStore(t, DefaultKeep()))
	fetch := func(id string, days int, found bool) {
		if err := m.Fetched(t.Context(), "p", model.FetchResult{
			ID: id, Started: today.AddDate(0, 0, -days), ContentType: "text/html", Diagnosis: model.Diagnosis{Class: model.ClassParsingDrift},
			Request: model.FetchRequest{URL: "http://lab.test/shop", Required: []string{".price"}}, Fields: []model.Field{{Path: ".price", Found: found}},
		}, []byte(`<p class="price">5</p>`)); err != nil {
			t.Fatal(err)
		}
	}
	fetch("f-1", 3, true)
	fetch("f-2", 2, false)
	of := Collector{"p", Target, "lab.test/shop"}
	d, err := m.Show(t.Context(), of)
	if err != nil || words(d.Left) != "missing .price" || len(d.Changed()) != 0 {
		t.Fatalf("%v: left %s, changed %s", err, words(d.Left), words(d.Changed()))
	}
	if _, err := m.Accept(t.Context(), of, 0, ""); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}

func TestAContractIsAmendedByItsLines(t *testing.T) {
	for name, c := range map[string]struct{ contract, rows, lines, becomes string }{
		"fewer rows": {
			"dataset = \"gd_x\"\r\nmin_rows = 3 # at least\r\n", `{"a":1}`,
			"line 2: min_rows = 3 becomes min_rows = 1", "dataset = \"gd_x\"\r\nmin_rows = 1 # at least\r\n",
		},
		"a field that is filled in fewer": {
			"dataset = \"gd_x\"\n\n# prices\n[[fields]]\nname = \"a\"\nrequired = true\n\n[[fields]]\nname = \"b\"\n", many(90, `{"a":1}`) + many(10, `{"b":2}`),
			"below line 6: coverage = 0.77", "dataset = \"gd_x\"\n\n# prices\n[[fields]]\nname = \"a\"\nrequired = true\ncoverage = 0.77\n\n[[fields]]\nname = \"b\"\n",
		},
		"another coverage": {
			"dataset = \"gd_x\"\n[[fields]]\n  name = \"a\"\n  required = true\n  coverage = 0.99", many(90, `{"a":1}`) + many(10, `{"b":2}`),
			"line 5: coverage = 0.99 becomes coverage = 0.77", "dataset = \"gd_x\"\n[[fields]]\n  name = \"a\"\n  required = true\n  coverage = 0.77",
		},
		"a field that is gone": {
			"dataset = \"gd_x\"\n[[fields]]\nname = \"b\"\nrequired = true\ncoverage = 0.5\ntype = \"text\"\n", `{"a":1}`,
			"line 4: required = true becomes required = false; line 5 goes: coverage = 0.5", "dataset = \"gd_x\"\n[[fields]]\nname = \"b\"\nrequired = false\ntype = \"text\"\n",
		},
		"another type, and texts of another pattern": {
			"dataset = \"gd_x\"\n[[fields]]\nname = \"a\"\ntype = \"number\"\n[[fields]]\nname = \"u\"\npattern = '^https:'\ntype = \"text\"\n", `{"a":"1","u":"http:"}`,
			"line 4: type = \"number\" becomes type = \"text\"; line 7 goes: pattern = '^https:'", "dataset = \"gd_x\"\n[[fields]]\nname = \"a\"\ntype = \"text\"\n[[fields]]\nname = \"u\"\ntype = \"text\"\n",
		},
		"mixed types": {
			"dataset = \"gd_x\"\n[[fields]]\nname = \"a\"\ntype = \"number\"\n", `{"a":"1"}` + "\n" + `{"a":1}`,
			"line 4 goes: type = \"number\"", "dataset = \"gd_x\"\n[[fields]]\nname = \"a\"\n",
		},
		"comments, blanks and blank lines": {
			"# mine\n dataset=\"gd_x\" #x\n\n[[ fields ]] # one\n\tname = \"a\"\n\trequired=true\t# \"always\"\n\tcoverage   =   0.99   # by = contract\n\n# two\n[[fields]]\n  \"name\" = 'b'\n  required = true # or not\n\n  # the end\n",
			many(90, `{"a":1}`) + many(10, `{"b":2}`),
			"line 7: coverage   =   0.99 becomes coverage   =   0.77; below line 12: coverage = 0.04",
			"# mine\n dataset=\"gd_x\" #x\n\n[[ fields ]] # one\n\tname = \"a\"\n\trequired=true\t# \"always\"\n\tcoverage   =   0.77   # by = contract\n\n# two\n[[fields]]\n  \"name\" = 'b'\n  required = true # or not\n  coverage = 0.04\n\n  # the end\n",
		},
		"a comment behind what goes": {
			"dataset = \"gd_x\"\n[[fields]]\nname = \"b\"\nrequired = true # since may\n coverage = 0.5 # see 12\n[[fields]]\nname = \"u\"\npattern = '^#' # no", `{"a":1,"u":"x"}`,
			"line 4: required = true becomes required = false; line 5 goes: coverage = 0.5; line 8 goes: pattern = '^#'",
			"dataset = \"gd_x\"\n[[fields]]\nname = \"b\"\nrequired = false # since may\n # see 12\n[[fields]]\nname = \"u\"\n# no",
		},
		"a last line without its end": {
			"dataset = \"gd_x\"\r\n[[fields]]\r\nname = \"a\"\r\nrequired = true # x", many(90, `{"a":1}`) + many(10, `{"b":2}`),
			"below line 4: coverage = 0.77", "dataset = \"gd_x\"\r\n[[fields]]\r\nname = \"a\"\r\nrequired = true # x\r\ncoverage = 0.77",
		},
		"fields in one line": {
			"dataset = \"gd_x\"\nfields = [{name = \"b\", required = true}, {name = 'a', type = 'text'}] # short\n", `{"a":1}`,
			"line 2: required = true becomes required = false; line 2: type = 'text' becomes type = \"number\"",
			"dataset = \"gd_x\"\nfields = [{name = \"b\", required = false}, {name = 'a', type = \"number\"}] # short\n",
		},
		"one that is kept": {"dataset = \"gd_x\"\n", `{"a":1}`, "", "dataset = \"gd_x\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := ParseContract("c.toml", []byte(c.contract))
			if err != nil {
				t.Fatal(err)
			}
			a, err := amend("c.toml", []byte(c.contract), runOf(t, c.rows, "ndjson", &parsed))
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, l := range a.Lines {
				lines = append(lines, l.String())
			}
			if got := strings.Join(lines, "; "); got != c.lines || string(a.after) != c.becomes {
				t.Errorf("%s\n%q\nwant\n%s\n%q", got, a.after, c.lines, c.becomes)
			}
		})
	}
}

// Of a run without a useful row nothing is known of any field: only the number of rows is asked less of.
func TestARunWithoutRowsMakesNoFieldOptional(t *testing.T) {
	text := "dataset = \"gd_x\"\nmin_rows = 10\n[[fields]]\nname = \"price\"\nrequired = true\n"
	a, err := amend("c.toml", []byte(text), Run{Collector: gdX})
	if err != nil || len(a.Lines) != 1 || a.Lines[0].Becomes != "min_rows = 0" {
		t.Errorf("%+v, %v", a.Lines, err)
	}
}

func TestAContractWithoutLinesOfItsOwnIsLeftToTheEditor(t *testing.T) {
	for _, text := range []string{
		"dataset = \"gd_x\"\nfields = [{name = \"b\", required = true, coverage = 0.9}]\n",
		"dataset = \"gd_x\"\n[[fields]]\nname = \"b\"\nrequired = true\n[[fields]]\nname = \"a\"\ntype = \"\"\"\nnumber\"\"\"\n",
		"dataset = \"gd_x\"\n[[fields]]\nname = \"a\"\npattern = '''\n^x'''\n",
	} {
		parsed, err := ParseContract("c.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if a, err := amend("c.toml", []byte(text), runOf(t, `{"a":"1"}`, "ndjson", &parsed)); !errors.Is(err, ErrNotAmended) {
			t.Errorf("%q: %v %v", text, a.Lines, err)
		}
	}
}
