package jobs

import (
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	service "zonedeck/service/jobs"
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
func (l *launch) refusal(c checked) (field, why string) {
	for _, n := range c.Notes { // the job would wait for its webhook in vain
		if n.Warn && c.err == nil {
			return n.About, n.Text
		}
	}
	if c.err == nil {
		return "", ""
	}
	why = c.err.Error()
	var kept *service.KeepError
	if errors.As(c.err, &kept) && kept.IsList {
		field = fieldSaveList
	}
	if service.UnknownDataset(c.err) {
		field = fieldDataset
	}
	var wrong *model.RequestError
	if !errors.As(c.err, &wrong) {
		return field, why
	}
	fields := map[string]string{
		"dataset": fieldDataset, "discover": fieldDiscover, "inputs": l.sourceField(), "source": fieldPath, "columns": fieldColumns, "key": fieldKey,
		"limit": fieldTotal, "limit_total": fieldTotal, "limit_per_input": fieldPerInput, "max_cost": l.costField(), "save_list": fieldSaveList,
		"notify": fieldNotify, "endpoint": fieldEndpoint, "format": fieldFormat, "auth_header": fieldAuth, "only_unlaunched": fieldUnlaunched,
	}
	switch wrong.Field() {
	case "source", "columns", "discover", "save_list", "only_unlaunched", "key":
		why = wrong.Problems[0].Err.Error() // the field is shown beside it
	case "inputs", "notify", "endpoint":
		if len(c.Request.Inputs) == 0 || c.Estimate.Inputs == 0 {
			why = wrong.Problems[0].Err.Error()
		}
	}
	if missing := service.MissingColumns(c.err); len(missing) > 0 {
		why += "; name one here, as COLUMN=" + missing[0]
	}
	return fields[wrong.Field()], why
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
