package model

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// Update is the flag of the corpus's tests, too, which are in package model_test.
var Update = flag.Bool("update", false, "write what the corpus wants beside class, cause and rule, and the tables of the page")

// diagnosisPage tells operators what this package decides by.
const diagnosisPage = "../docs/diagnosis.md"

// TestDiagnosisPage compares the tables of the page with the rules and the signs:
// what is in one and not in the other fails.
func TestDiagnosisPage(t *testing.T) {
	PageParts(t, map[string]string{
		"bounds": boundsText(), "deciding": signTable(true), "supporting": signTable(false), "addresses": addressTable(), "rules": ruleTable(), "sayings": sayingTable(),
	})
}

// PageParts compares parts of the page with what they should be; with -update it writes them.
func PageParts(t *testing.T, parts map[string]string) {
	t.Helper()
	text, err := os.ReadFile(diagnosisPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for name, want := range parts {
		before, rest, ok := strings.Cut(page, "<!-- "+name+" -->\n")
		got, after, ok2 := strings.Cut(rest, "<!-- end -->")
		if !ok || !ok2 {
			t.Fatalf("no part for %s", name)
		}
		if *Update {
			page = before + "<!-- " + name + " -->\n" + want + "<!-- end -->" + after
		} else if got != want {
			t.Errorf("%s: the page has\n%s\nand the code\n%s", name, got, want)
		}
	}
	if *Update {
		if err := os.WriteFile(diagnosisPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func boundsText() string {
	return fmt.Sprintf("The first %d KiB of a body are read; a page that goes on beyond them is never a challenge by two signs. \"A few\n"+
		"sentences\" are %d bytes of visible text, and %d where a widget and a title agree.\n", maxScan>>10, littleText, littleTextMax)
}

// sayingTable counts the phrases of each kind by language.
func sayingTable() string {
	counts := map[verdict]map[string]int{}
	count := func(s saying) {
		if counts[s.verdict] == nil {
			counts[s.verdict] = map[string]int{}
		}
		counts[s.verdict][languages[s.language]]++
	}
	for _, s := range readSayings().titles {
		count(s)
	}
	for _, s := range readSayings().texts {
		count(s)
	}
	var b strings.Builder
	b.WriteString("| a page says that | phrases, by language |\n| --- | --- |\n")
	for _, v := range sayingOrder {
		var cells []string
		for _, name := range slices.Sorted(maps.Keys(counts[v])) {
			cells = append(cells, fmt.Sprintf("%s %d", name, counts[v][name]))
		}
		about, _, _ := strings.Cut(saying{verdict: v}.about(), ",")
		fmt.Fprintf(&b, "| %s | %s |\n", about, strings.Join(cells, ", "))
	}
	return b.String()
}

func ruleTable() string {
	var b strings.Builder
	b.WriteString("| rule | class | cause | why |\n| --- | --- | --- | --- |\n")
	for _, r := range DiagnosisRules() {
		class, cause := string(r.Class), string(r.Cause)
		if class == "" {
			class = "as the code means"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, class, cause, r.Reason)
	}
	return b.String()
}

// signs lists every sign of a strength that decides, or of the others: what it
// speaks of, then where it is, then what it is.
func signs(deciding bool) map[string]map[string][]string {
	all := map[string]map[string][]string{}
	add := func(s sign, where string, parts ...string) {
		if (s.strength == decides) != deciding {
			return
		}
		if all[s.name] == nil {
			all[s.name] = map[string][]string{}
		}
		text := strings.ReplaceAll("`"+strings.Join(parts, "` with `")+"`", "with `not ", "without `")
		if !slices.Contains(all[s.name][where], text) {
			all[s.name][where] = append(all[s.name][where], text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(elementMarks)) {
		add(elementMarks[text], "class or id", text)
	}
	for _, p := range elementPrefixes {
		add(p.sign, "class or id", p.text+"…")
	}
	for _, m := range addressMarks {
		for _, tag := range m.tags {
			_, where, _ := strings.Cut(places[tag], " ")
			add(m.sign, where, m.described()...)
		}
	}
	for _, m := range scriptMarks {
		add(m.sign, "inline script", m.described()...)
	}
	for _, m := range jsonMarks {
		add(m.sign, "JSON", m.parts...)
	}
	for _, c := range challengeCookies {
		add(sign{name: c.defence, strength: trace}, "cookie's name", c.name+"…")
	}
	for _, h := range challengeHeaders {
		name, value, _ := strings.Cut(h, ":")
		add(sign{name: "the defence's own word"}, "header", name+": "+value)
	}
	for _, text := range challengeTitles {
		add(sign{name: "a challenge page", strength: titled}, "title", text)
	}
	for _, text := range refusalTitles {
		add(sign{name: "a refusal", strength: titled}, "title", text)
	}
	for _, w := range wordings {
		where := "text"
		if w.holds != nil {
			where = "text with `" + strings.Join(w.holds, "` or `") + "`:"
		}
		for _, text := range w.begins {
			add(w.sign, where, text+"…")
		}
	}
	return all
}

// described are the parts of a mark, the last one "not …" when there is one that
// must not be there.
func (m partMark) described() []string {
	if m.without == "" {
		return m.parts
	}
	return append(slices.Clone(m.parts), "not "+m.without)
}

func signTable(deciding bool) string {
	var b strings.Builder
	b.WriteString("| what it speaks of | where it is, and what |\n| --- | --- |\n")
	all := signs(deciding)
	for _, of := range slices.Sorted(maps.Keys(all)) {
		var cells []string
		for _, where := range slices.Sorted(maps.Keys(all[of])) {
			cells = append(cells, where+" "+strings.Join(all[of][where], ", "))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", of, strings.Join(cells, "; "))
	}
	return b.String()
}

func addressTable() string {
	var b strings.Builder
	b.WriteString("| address of | host | path | query |\n| --- | --- | --- | --- |\n")
	code := func(s string) string {
		if s == "" {
			return "any"
		}
		return "`" + s + "`"
	}
	for _, a := range challengeAddresses {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", a.name, code(a.host), code(a.path), code(a.query))
	}
	return b.String()
}
