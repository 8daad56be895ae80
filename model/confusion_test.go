package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/model/modeltest"
)

// minCases is how many cases the corpus has at least.
const minCases = 200

// TestDiagnosisPageOfTheCorpus compares what the page says about the corpus with it: how its
// answers are called beside what they are, and what each rule says and advises.
func TestDiagnosisPageOfTheCorpus(t *testing.T) {
	cases := modeltest.Corpus(t, corpusDir)
	if len(cases) < minCases {
		t.Errorf("%d cases, fewer than %d", len(cases), minCases)
	}
	model.PageParts(t, map[string]string{"confusion": confusion(cases), "explained": explained(t, cases)})
}

// confusion is a table with a row for what an answer is, and a column for what it is called.
func confusion(cases []modeltest.Case) string {
	count := map[[2]model.Class]int{}
	var wrong []string
	for _, c := range cases {
		given := model.Diagnose(c.Outcome).Class
		count[[2]model.Class{c.Truth, given}]++
		if given != c.Truth {
			wrong = append(wrong, fmt.Sprintf("- `%s`, called `%s`: %s\n", c.Truth, given, strings.ReplaceAll(c.Shows, "\n", " ")))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d answers, %d of them called what they are.\n\n| it is ↓, it is called → |", len(cases), len(cases)-len(wrong))
	for _, class := range model.Classes() {
		fmt.Fprintf(&b, " %s |", class)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(model.Classes())) + "\n")
	for _, truth := range model.Classes() {
		fmt.Fprintf(&b, "| %s |", truth)
		for _, given := range model.Classes() {
			cell := ""
			if n := count[[2]model.Class{truth, given}]; n > 0 {
				cell = fmt.Sprint(n)
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	slices.Sort(wrong)
	b.WriteString("\nKnown to be called wrong:\n\n" + strings.Join(wrong, ""))
	return b.String()
}

// explained says of each rule what a verdict by it says, on what evidence, and what it advises, as
// the cases of the corpus have it.
func explained(t *testing.T, cases []modeltest.Case) string {
	var b strings.Builder
	for _, r := range model.DiagnosisRules() {
		said, advised, shown := "", []string(nil), []string(nil)
		for _, c := range cases {
			if c.Want.Rule != r.Name {
				continue
			}
			d := model.Diagnose(c.Outcome)
			if said == "" {
				said = d.Summary
			}
			shown = append(shown, c.Name)
			for _, s := range d.Steps {
				text := s.Text
				if s.Action == model.ActionShowFields {
					text = "look at the fields that are missing"
				}
				if !slices.Contains(advised, text) {
					advised = append(advised, text)
				}
			}
		}
		if said == "" {
			t.Fatalf("no case shows what %s says", r.Name)
		}
		fmt.Fprintf(&b, "**`%s`** says for example: \"%s\"  \n%s.\n", r.Name, said, strings.ToUpper(r.Reason[:1])+r.Reason[1:])
		if len(advised) > 0 {
			fmt.Fprintf(&b, "Then: %s.\n", strings.Join(advised, "; "))
		} else {
			b.WriteString("There is nothing to do.\n")
		}
		fmt.Fprintf(&b, "Shown by %s.\n\n", examples(shown))
	}
	return b.String()
}

// examples names at most three cases.
func examples(names []string) string {
	const most = 3
	out := "`" + strings.Join(names[:min(len(names), most)], "`, `") + "`"
	if len(names) > most {
		out += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return out
}
