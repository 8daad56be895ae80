package uitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// Steps are the diagnoses of testdata/diagnosis, which has a case of each class and cause,
// with one of their next steps each: a diagnosis for every step of every class and cause.
// Their names say which.
func Steps(t *testing.T) map[string]model.Diagnosis {
	t.Helper()
	files, err := filepath.Glob("../../testdata/diagnosis/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus of diagnoses: %v", err)
	}
	out := map[string]model.Diagnosis{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := bytes.Cut(content, []byte("-- want.json --\n"))
		want, _, _ := bytes.Cut(rest, []byte("-- body --\n"))
		var c struct {
			Class   model.Class
			Cause   model.Cause
			Summary string
			Steps   []string
		}
		if err := json.Unmarshal(want, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, line := range c.Steps {
			action, text, _ := strings.Cut(line, ": ")
			action, documented := strings.CutSuffix(action, " (documented)")
			s := model.Step{Action: model.Action(action), Text: text, Documented: documented}
			out[strings.Join([]string{string(c.Class), string(c.Cause), action}, " ")] = model.Diagnosis{Class: c.Class, Cause: c.Cause, Summary: c.Summary, Steps: []model.Step{s}}
		}
	}
	return out
}

// Elsewhere is a tab that shows what another one sends it.
type Elsewhere struct{ got string }

// Init does nothing.
func (e *Elsewhere) Init() tea.Cmd { return nil }

// Title is "Elsewhere".
func (e *Elsewhere) Title() string { return "Elsewhere" }

// Bindings are none.
func (e *Elsewhere) Bindings() []kit.Binding { return nil }

// Render shows what came last.
func (e *Elsewhere) Render(int, int) string { return e.got }

// Update keeps what came.
func (e *Elsewhere) Update(msg tea.Msg) tea.Cmd {
	e.got = fmt.Sprintf("%T", msg)
	return nil
}
