package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// maxPasted is how many lines of pasted rows the form holds: as many as its field of several lines does.
const maxPasted = 10_000

// paste takes what is pasted into the form if it cannot be meant for the field with the focus: it becomes the
// job's inputs, which are checked at once if nothing else is wrong. ok is false for what that field
// takes.
func (l *launch) paste(content string) (cmd tea.Cmd, ok bool) {
	pasted := strings.Trim(text.PastedLines(content), "\n")
	lines, at := 1+strings.Count(pasted, "\n"), l.form.Focused()
	switch {
	case strings.TrimSpace(pasted) == "":
		return kit.Warn("nothing was pasted: the text is empty"), true
	case at == fieldPaste && l.form.CapturingText():
		return tooLong(l.form.Value(fieldPaste) + pasted)
	case at != fieldSource && at != fieldPaste && l.isValue(at, pasted):
		if lines == 1 {
			return nil, false
		}
		var line bytes.Buffer
		if json.Compact(&line, []byte(pasted)) != nil {
			return nil, false
		}
		return l.dialog.Update(tea.PasteMsg{Content: line.String()}), true
	}
	all, there := pasted, ""
	if l.form.Value(fieldSource) == sourcePaste {
		there = strings.TrimRight(l.form.Value(fieldPaste), "\n")
	}
	if strings.TrimSpace(there) != "" {
		all = there + "\n" + pasted
	}
	if cmd, long := tooLong(all); long {
		return cmd, true
	}
	said := "pasted " + text.Counted(lines, "line") + " as the job's inputs"
	switch source := l.form.Value(fieldSource); {
	case all != pasted:
		said = "added " + text.Counted(lines, "line") + " to the job's inputs"
	case source == sourceFile && l.form.Value(fieldPath) != "":
		said += ", in place of the file"
	case source == sourceTyped && l.typedInput() != "{}":
		said += ", in place of the typed one"
	}
	l.form.SetValue(fieldSource, sourcePaste)
	l.form.SetValue(fieldPaste, all)
	l.picked = true // closing the form would lose it
	l.changed()
	cmd = l.form.FocusOn(fieldPaste, false)
	return tea.Batch(cmd, kit.Info(said), l.checkPasted()), true
}

// isValue reports whether what is pasted can be meant for the field that has the focus: a line that is no JSON, or JSON
// that is no row, where the field takes that.
func (l *launch) isValue(at, pasted string) bool {
	fields, ok := fieldsOf(pasted)
	if !ok {
		return !strings.Contains(pasted, "\n")
	}
	f, _ := l.way.Field(strings.TrimPrefix(at, typedField))
	takesJSON := isTyped(at) && (f.Type == "array" || f.Type == "object" || at == columnsField)
	rows := slices.ContainsFunc(fields, func(name string) bool { _, known := l.way.Field(name); return known })
	return takesJSON && !rows
}

// fieldsOf are the fields of JSON that may be rows: of an object, or of the first one of an array. ok is false for what is no
// object and no array.
func fieldsOf(pasted string) (names []string, ok bool) {
	var row map[string]json.RawMessage
	if json.Unmarshal([]byte(pasted), &row) == nil {
		if list, wrapped := row["input"]; wrapped && len(row) == 1 {
			return fieldsOf(string(list))
		}
		return slices.Collect(maps.Keys(row)), len(row) > 0
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(pasted), &list) != nil || len(list) == 0 {
		return nil, false
	}
	if json.Unmarshal(list[0], &row) == nil {
		names = slices.Collect(maps.Keys(row))
	}
	return names, true
}

// tooLong refuses rows that the field of the form would cut.
func tooLong(all string) (cmd tea.Cmd, long bool) {
	lines, size := 1+strings.Count(all, "\n"), utf8.RuneCountInString(all)
	if lines <= maxPasted && size <= maxTyped {
		return nil, false
	}
	return kit.Warn(fmt.Sprintf("nothing was pasted: the form holds %s lines of %s, and these are %s of %s; put them into a file, and choose Inputs: from a file",
		text.Count(maxPasted), text.Bytes(maxTyped), text.Count(lines), text.Bytes(int64(len(all))))), true
}

// checkPasted checks pasted rows unless another field is wrong, which is not said before the
// operator asks for a check.
func (l *launch) checkPasted() tea.Cmd {
	if !l.form.Right() {
		return nil
	}
	return l.check()
}
