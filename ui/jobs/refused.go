package jobs

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit/widget"
)

// refuse says why the job is not launched: beside the field that has to change, which is edited at once,
// or below the form where no field is to blame.
func (l *launch) refuse(field, why string) tea.Cmd {
	l.dialog.Busy = false
	cmd, ok := l.form.Refuse(field, why)
	if !ok && isSetting(field) { // it stands behind More
		l.form.SetValue(fieldMore, "true")
		l.showSettings()
		cmd, ok = l.form.Refuse(field, why)
	}
	if !ok {
		l.dialog.Problem = why
	}
	return cmd
}

// sourceField is the field that the inputs come from; "" where they were typed into fields of their own.
func (l *launch) sourceField() string {
	return map[string]string{sourcePaste: fieldPaste, sourceFile: fieldPath}[l.form.Value(fieldSource)]
}

// refusal says why what was checked cannot be launched, and at which field, "" for none.
func (l *launch) refusal(c service.Checked) (field, why string) {
	for _, n := range c.Notes { // the job would wait for its webhook in vain
		if n.Warn && c.Err == nil {
			return n.About, n.Text
		}
	}
	kept, isKept := errors.AsType[*service.KeepError](c.Err)
	wrong, isWrong := errors.AsType[*model.RequestError](c.Err)
	switch {
	case c.Err == nil:
		return "", ""
	case isKept && kept.IsList:
		field = fieldSaveList
	case service.UnknownDataset(c.Err):
		field = fieldDataset
	case isWrong:
		field = wrong.Field()
		if other, ok := map[string]string{"inputs": l.sourceField(), "source": fieldPath, "limit": fieldTotal, "max_cost": l.costField(), "profile": ""}[field]; ok {
			field = other
		}
		if field != "" && len(wrong.Problems) == 1 { // it stands beside the field
			why = wrong.Problems[0].Err.Error()
		}
	}
	if missing := service.MissingColumns(c.Err); len(missing) > 0 {
		return field, cmp.Or(why, c.Err.Error()) + "; name one here, as COLUMN=" + missing[0]
	}
	return field, cmp.Or(why, c.Err.Error())
}

// costField is the field that can bring a job within its cap: the cap itself, if the form has one, or a limit if
// an input may give any number of records; "" if neither helps.
func (l *launch) costField() string {
	switch {
	case l.form.Value(fieldMaxCost) != "":
		return fieldMaxCost
	case l.way.Bound != "":
		return typedField + l.way.Bound
	case l.way.Cost() != "":
		return fieldPerInput
	}
	return ""
}

// isSetting reports whether a field is one of those behind More.
func isSetting(name string) bool {
	return name != fieldMore && slices.ContainsFunc(settingFields(), func(f widget.Field) bool { return f.Name == name })
}

// forbidden returns the finding that forbids using a key for a launch, if any: a job is automation.
func forbidden(k model.Key, now time.Time) (keystore.Finding, bool) {
	found := keystore.CheckUse(k, model.CapUse, true, now)
	if i := slices.IndexFunc(found, func(f keystore.Finding) bool { return f.Severity == keystore.SeverityError }); i >= 0 {
		return found[i], true
	}
	return keystore.Finding{}, false
}

// admin reports whether a finding is the one that a reason overrides.
func admin(f keystore.Finding) bool { return f.Rule == keystore.RuleAdminAutomated }

// reason is why an ADMIN key is used, or empty.
func (l *launch) reason() string { return strings.TrimSpace(l.form.Value(fieldReason)) }

func severityMark(f keystore.Finding) string {
	if f.Severity == keystore.SeverityError {
		return "✗"
	}
	return "!"
}
