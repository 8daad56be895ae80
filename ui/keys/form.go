package keys

import (
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Fields of the form.
const (
	fieldName    = "name"
	fieldLevel   = "level"
	fieldDuty    = "duty"
	fieldExpires = "expires"
	fieldRotated = "rotated"
	fieldCreated = "created"
	fieldSecret  = "secret"
	fieldUsedBy  = "used_by"
	fieldNote    = "note"
	fieldAdvice  = "advice"
)

// openForm opens the dialog that records or corrects a key.
func (m *Model) openForm(k model.Key, edit bool) tea.Cmd {
	t := m.deps.Theme
	form := widget.NewForm(
		t,
		widget.Field{Name: fieldName, Label: "Name", Value: k.Name, Placeholder: "e.g. etl-main", Check: checkName(k.Name), Mask: widget.MaskIf(checkName(k.Name))},
		widget.Field{Name: fieldLevel, Label: "Level", Kind: widget.FieldChoice, Value: string(k.Level), Options: levelOptions()},
		widget.Field{Name: fieldDuty, Label: "Duty", Kind: widget.FieldChoice, Value: string(k.Duty), Options: dutyOptions(k.Duty)},
		widget.Field{Name: fieldExpires, Label: "Expires", Value: expiryText(k), Placeholder: "e.g. 2027-01-31, or Unlimited; empty: not known", Check: checkExpiry},
		widget.Field{Name: fieldRotated, Label: "Made on", Value: rotatedText(k), Placeholder: "e.g. 2026-11-21, or today; empty: not known", Help: "When the value was created or last refreshed.", Check: m.checkRotated},
		widget.Field{
			Name: fieldSecret, Label: "Value is in", Value: k.Secret, Placeholder: "env:NAME, keyring:…, file:…, cmd:…; empty: only track it",
			Help: "A reference, never the value itself: " + keystore.RefForms + ".", Check: kit.CheckRef,
		},
		widget.Field{Name: fieldUsedBy, Label: "Used by", Value: strings.Join(k.UsedBy, ", "), Placeholder: "e.g. nightly-etl, CI"},
		widget.Field{Name: fieldNote, Label: "Note", Value: k.Note},
		widget.Field{Name: fieldCreated, Label: "Created", Value: dayText(k.Created), Placeholder: "e.g. 2025-05-01; empty: not known", Help: "When the key itself was made, not its present value.", Check: m.checkRotated},
		widget.Field{Name: fieldAdvice, Kind: widget.FieldNote},
	)
	title := "Record a key"
	var base *model.Key
	if edit {
		title = "Correct " + k.Name
		if kept, ok := m.recorded(k.Name); ok { // without the derived uses
			k = kept
			form.SetValue(fieldUsedBy, strings.Join(kept.UsedBy, ", "))
		}
		base = &k
	}
	m.dialog = widget.NewFormDialog(t, title, form)
	m.dialog.Submit = "record it"
	m.dialog.Width = 76
	m.dialog.OnChange = m.advise
	m.dialog.OnSubmit = func(f *widget.Form) tea.Cmd {
		m.dialog.Busy = true
		edited := m.read(f)
		if base != nil && f.Value(fieldRotated) == rotatedText(*base) {
			edited.Rotation = base.Rotation // the field shows the day alone
		}
		if base != nil && f.Value(fieldCreated) == dayText(base.Created) {
			edited.Created = base.Created
		}
		return m.save(edited, base)
	}
	m.advise(form)
	return kit.OpenOverlay(m.dialog)
}

// recorded is the inventory's record of a key.
func (m *Model) recorded(name string) (model.Key, bool) { return m.deps.Inventory.Get(name) }

func levelOptions() []widget.Option {
	out := []widget.Option{{Value: "", Label: "unknown"}}
	for _, l := range model.Levels() {
		out = append(out, widget.Option{Value: string(l)})
	}
	return out
}

func dutyOptions(current model.Duty) []widget.Option {
	out := []widget.Option{{Value: "", Label: "unknown"}}
	for _, d := range []model.Duty{model.DutyHuman, model.DutyBatch, model.DutyCI, model.DutyService} {
		if d == current {
			current = ""
		}
		out = append(out, widget.Option{Value: string(d)})
	}
	if current != "" { // not a standard duty
		out = append(out, widget.Option{Value: string(current)})
	}
	return out
}

func expiryText(k model.Key) string {
	if k.Expires.Kind == model.ExpiryUnknown {
		return ""
	}
	return k.Expires.String()
}

func rotatedText(k model.Key) string { return dayText(k.Rotation.Last) }

func dayText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// checkName wants a name; a new one must not be what may be a value.
func checkName(recorded string) func(string) error {
	return func(s string) error {
		err := widget.Required("name the key, as in etl-main")(s)
		if name := strings.TrimSpace(s); err == nil && name != recorded {
			err = keystore.CheckName(name, keystore.Secret{})
		}
		return err
	}
}

func checkExpiry(s string) error {
	_, err := model.ParseExpiry(strings.TrimSpace(s))
	return err
}

func (m *Model) checkRotated(s string) error {
	_, err := m.parseRotated(s)
	return err
}

func (m *Model) parseRotated(s string) (time.Time, error) {
	switch s = strings.TrimSpace(s); s {
	case "":
		return time.Time{}, nil
	case "today":
		return m.deps.Recorded().UTC().Truncate(24 * time.Hour), nil
	}
	at, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{}, errors.New("write a date like 2026-11-21, or today")
	}
	if at.After(m.deps.Recorded()) {
		return time.Time{}, errors.New("that day is in the future")
	}
	return at, nil
}

// read builds the key from the form. Invalid fields are left empty.
func (m *Model) read(f *widget.Form) model.Key {
	expires, _ := model.ParseExpiry(strings.TrimSpace(f.Value(fieldExpires)))
	rotated, _ := m.parseRotated(f.Value(fieldRotated))
	created, _ := m.parseRotated(f.Value(fieldCreated))
	return model.Key{
		Name: strings.TrimSpace(f.Value(fieldName)), Level: model.Level(f.Value(fieldLevel)), Duty: model.Duty(f.Value(fieldDuty)),
		Expires: expires, Rotation: model.Rotation{Last: rotated}, Created: created,
		Secret: strings.TrimSpace(f.Value(fieldSecret)), UsedBy: commaList(f.Value(fieldUsedBy)), Note: strings.TrimSpace(f.Value(fieldNote)),
	}
}

// commaList splits a list at its commas.
func commaList(s string) (out []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// advise shows the lint findings for the key while the form is filled in.
func (m *Model) advise(f *widget.Form) {
	k := m.read(f)
	together := []model.Key{k} // with those that may share its value: the rules look at no others
	for i := range m.list.keys {
		if o := &m.list.keys[i]; o.Name != k.Name && keystore.MayShare(*o, k) {
			together = append(together, *o)
		}
	}
	var lines []string
	for _, found := range keystore.Lint(together, m.deps.Now()) {
		if found.Key == k.Name && found.Severity != keystore.SeverityNote && found.Rule != keystore.RuleAdminUnseen { // the form has no value
			lines = append(lines, severityMark(found.Severity)+" "+found.Text)
		}
	}
	f.SetValue(fieldAdvice, strings.Join(lines, "\n"))
}
