package keys

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// blast is the look through folders for what uses the keys.
type blast struct {
	slot     kit.Slot
	values   kit.Slot // resolving the references of the keys
	folders  []string
	progress keys.Progress
	problems []string
	files    int                          // files that the last scan read
	scanned  bool                         // a scan has ended
	found    map[keys.KeyID][]keys.KeyUse // what it found in files
}

// startScan looks through folders.
type startScan struct{ folders []string }

// scanned is what a scan found.
type scanned struct {
	uses     map[keys.KeyID][]keys.KeyUse
	found    map[keys.KeyID][]keys.KeyUse // in files
	problems []string
}

const fieldFolders = "folders"

// askScan opens the dialog that asks which folders to look through.
func (m *Model) askScan() tea.Cmd {
	folders := m.radius.folders
	if folders == nil {
		folders = m.deps.Uses.ScanFolders()
	}
	form := widget.NewForm(m.deps.Theme, widget.Field{
		Name: fieldFolders, Label: "Folders", Value: strings.Join(folders, ", "), Placeholder: "e.g. /srv/etl, /home/ops/ci",
		Help:  "Environment, shell and settings files, and all files that git tracks. Values are recognised by their fingerprint; links are not followed.",
		Check: widget.Required("name a folder, or several with commas between them"),
	})
	m.dialog = widget.NewFormDialog(m.deps.Theme, "Search folders for what uses the keys", form)
	m.dialog.Submit, m.dialog.Width = "look", 76
	dialog := m.dialog
	m.dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		return tea.Sequence(kit.CloseOverlay(dialog), kit.SendTo(kit.Keys, startScan{commaList(f.Value(fieldFolders))}))
	}
	return kit.OpenOverlay(m.dialog)
}

func (m *Model) scan(folders []string) tea.Cmd {
	find := m.deps.Uses
	m.radius.folders, m.radius.problems, m.radius.progress = folders, nil, keys.Progress{}
	m.side, m.panes.At, m.text = sideRadius, paneSide, widget.Scroll{}
	return kit.Follow(kit.Keys, &m.radius.slot, m.deps.Ctx, func(ctx context.Context, emit func(keys.Progress)) (scanned, error) {
		uses, report, err := find.Uses(ctx, folders, emit)
		for _, p := range report.Passwords {
			report.Problems = append(report.Problems, p.String())
		}
		return scanned{uses, inFiles(uses), report.Problems}, err
	}, func(p keys.Progress) tea.Cmd {
		m.radius.progress = p
		return nil
	}, func(s scanned, err error) tea.Cmd {
		if err != nil {
			return kit.Info("the folder search was stopped")
		}
		m.radius.scanned, m.radius.problems, m.radius.files = true, s.problems, m.radius.progress.Files
		m.records.uses, m.radius.found = s.uses, s.found
		return tea.Batch(m.fill(), m.loadRecords()) // a scan takes long: the rest may be another by now
	})
}

// lookUp resolves the references of the keys for the radius that is shown now.
func (m *Model) lookUp() tea.Cmd {
	uses := m.deps.Uses
	if m.side != sideRadius {
		return nil
	}
	return kit.Load(kit.Keys, &m.radius.values, m.deps.Ctx, func(ctx context.Context) (struct{}, error) {
		_, err := uses.LookUp(ctx)
		return struct{}{}, err
	}, func(_ struct{}, err error) tea.Cmd {
		if err != nil {
			return nil
		}
		return m.loadRecords()
	})
}

// inFiles are those of uses that are in files.
func inFiles(uses map[keys.KeyID][]keys.KeyUse) map[keys.KeyID][]keys.KeyUse {
	found := map[keys.KeyID][]keys.KeyUse{}
	for id, list := range uses {
		for _, u := range list {
			if u.InFile() {
				found[id] = append(found[id], u)
			}
		}
	}
	return found
}

// usesNow are the uses that were read without a scan, and those that the last scan found in files.
func (m *Model) usesNow(uses map[keys.KeyID][]keys.KeyUse) map[keys.KeyID][]keys.KeyUse {
	if uses == nil { // they could not be read
		return m.records.uses
	}
	for id, list := range m.radius.found {
		uses[id] = append(uses[id], list...)
	}
	return uses
}

// whyNotScan returns the reason why no folder can be looked through, or "".
func (m *Model) whyNotScan() string {
	return kit.Reason(m.radius.slot.Running(), "a search is running: esc stops it")
}

// radiusLines are what uses the selected key, and whether each can be proved.
func (m *Model) radiusLines(w int) []string {
	t := m.deps.Theme
	k, ok := m.selected()
	if !ok {
		return nil
	}
	uses := m.usesOf(k)
	var out []string
	if m.radius.slot.Running() {
		p := m.radius.progress
		out = append(out, widget.Hung(t.Accent.Render("● "), t.Accent, fmt.Sprintf("%s files, %s · %s", text.Count(p.Files), text.Bytes(p.Bytes), p.Path), w)...)
	}
	live, measurable := 0, 0
	for _, u := range uses {
		glyph, ink, said := "✓", t.Good, "the console can prove it"
		switch {
		case !u.Ended.IsZero():
			glyph, ink, said = "!", t.Warn, u.Unmeasured
		case !u.Measurable():
			glyph, ink, said = "?", t.Note, u.Unmeasured
		case u.Previous:
			said += ", with a value beside the present one, which may be valid"
		}
		if u.Ended.IsZero() {
			live++
		}
		if u.Measurable() {
			measurable++
		}
		out = append(out, widget.Hung(ink.Render(glyph+" "), t.Text, useText(u), w)...)
		out = append(out, widget.Hung("  ", t.Muted, said, w)...)
	}
	unknown := m.usesUnknown()
	head := t.Strong.Render(text.Clean(k.Name)) + t.Muted.Render("  "+cmp.Or(unknown, usesCounted(live, measurable)))
	out = append([]string{text.Cut(head, w)}, out...)
	switch {
	case m.radius.scanned:
		out = append(out, widget.Hung("", t.Muted, fmt.Sprintf("searched %s files in %s", text.Count(m.radius.files), strings.Join(m.radius.folders, ", ")), w)...)
	case !m.radius.slot.Running() && unknown == "":
		out = append(out, widget.Hung("", t.Muted, "searched: profiles, saved requests, running jobs and key records; "+t.Key("keys.scan")+" searches folders, too", w)...)
	}
	for _, p := range m.radius.problems {
		out = append(out, widget.Hung(t.Warn.Render("! "), t.Warn, p, w)...)
	}
	return out
}

// usesCounted says how many uses there are, and of how many the console can prove that they work.
func usesCounted(live, measurable int) string {
	switch {
	case live == 0:
		return "nothing known uses it"
	case live == 1 && measurable == 1:
		return "1 use, measurable"
	case live == 1:
		return "1 use, not measurable"
	case measurable == live:
		return fmt.Sprintf("%d uses, all measurable", live)
	}
	return fmt.Sprintf("%s, %d measurable", text.Counted(live, "use"), measurable)
}

// useText names a use, its reference and the value that it has.
func useText(u keys.KeyUse) string {
	words := u.Text()
	if u.Ref != "" && u.Ref != u.Name {
		words += " · " + kit.RefLabel(u.Ref)
	}
	if u.Last4 != "" {
		words += " · ••••" + u.Last4
	}
	return words
}
