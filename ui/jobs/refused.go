package jobs

import (
	"cmp"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
)

// refuse says why the job is not launched: beside the field that has to change, which is edited at once,
// or below the form where no field is to blame.
func (l *launch) refuse(m *Model, field, why string) tea.Cmd {
	l.disagree()
	l.dialog.Busy = false
	cmd, ok := l.form.Refuse(field, why)
	if !ok && isSetting(field) { // it stands behind More
		l.form.SetValue(fieldMore, "true")
		l.showSettings(m)
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

// refusedField is the field that an error of the check is about, "" for none.
func (l *launch) refusedField(c checkedInputs) string {
	var wrong *model.RequestError
	if !errors.As(c.err, &wrong) {
		return cmp.Or(map[string]string{fieldSource: l.sourceField()}[c.at], c.at)
	}
	return map[string]string{
		"dataset": fieldDataset, "discover": fieldDiscover, "inputs": l.sourceField(), "key": fieldKey,
		"limit": fieldTotal, "limit_total": fieldTotal, "limit_per_input": fieldPerInput, "max_cost": l.costField(),
		"notify": fieldNotify, "endpoint": fieldEndpoint, "format": fieldFormat, "auth_header": fieldAuth,
	}[wrong.Field()]
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
	for _, f := range settingFields() {
		if f.Name == name {
			return name != fieldMore
		}
	}
	return false
}

// forbidden returns the finding that forbids using a key for a launch, if any: a job is automation.
func forbidden(k model.Key, now time.Time) (keystore.Finding, bool) {
	for _, f := range keystore.CheckUse(k, model.CapUse, true, now) {
		if f.Severity == keystore.SeverityError {
			return f, true
		}
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
