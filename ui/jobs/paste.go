package jobs

import (
	"fmt"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// maxPasted is how many lines of pasted rows the form holds: as many as its field of several lines does.
const maxPasted = 10_000

// paste takes what is pasted into the form where no field of one line can be meant: it becomes the
// job's inputs, which are checked at once where nothing else is wrong. ok is false for what the
// field with the focus takes.
func (l *launch) paste(m *Model, content string) (cmd tea.Cmd, ok bool) {
	pasted := strings.Trim(text.OnlyShownLines(content), "\n")
	lines, at := 1+strings.Count(pasted, "\n"), l.form.Focused()
	switch {
	case strings.TrimSpace(pasted) == "":
		return kit.Warn("nothing was pasted: the text is empty"), true
	case at == fieldPaste && l.form.CapturingText():
		return tooLong(l.form.Value(fieldPaste) + pasted)
	case lines == 1 && at != fieldSource && at != fieldPaste:
		return nil, false
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
	said := text.Counted(lines, "pasted line") + ": the job's inputs"
	switch source := l.form.Value(fieldSource); {
	case all != pasted:
		said = text.Counted(lines, "pasted line") + " added to the job's inputs"
	case source == sourceFile && l.form.Value(fieldPath) != "":
		said += ", in place of the file"
	case source == sourceTyped && l.typedInput() != "{}":
		said += ", in place of the one that was typed"
	}
	l.form.SetValue(fieldSource, sourcePaste)
	l.form.SetValue(fieldPaste, all)
	l.picked = true // closing the form would lose it
	l.changed(m)
	cmd = l.form.FocusOn(fieldPaste, false)
	return tea.Batch(cmd, kit.Info(said), l.checkPasted(m)), true
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
func (l *launch) checkPasted(m *Model) tea.Cmd {
	if !l.form.Right() {
		return nil
	}
	return m.readInputs(l)
}
