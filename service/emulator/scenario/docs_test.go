package scenario

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/fault"
)

func TestTheExamplesOfTheDocumentAreRead(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "scenario.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile("(?s)```(toml|json)\n(.*?)```").FindAllSubmatch(text, -1) {
		n++
		if string(m[1]) == "toml" {
			if _, err := Parse("scenario.md", m[2]); err != nil {
				t.Errorf("%v in\n%s", err, m[2])
			}
			continue
		}
		tab, err := document.JSON(m[2])
		if err == nil {
			fault.Parse(tab)
			err = tab.Err()
		}
		if err != nil {
			t.Errorf("%v in\n%s", err, m[2])
		}
	}
	if n < 3 {
		t.Errorf("%d examples were found", n)
	}
	for _, p := range fault.Points() {
		for _, k := range fault.Kinds(p) {
			if !regexp.MustCompile("`" + string(k) + "`").Match(text) {
				t.Errorf("the action %s is not in the document", k)
			}
		}
	}
}
