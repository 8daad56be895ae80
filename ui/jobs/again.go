package jobs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// repeats launches jobs again.
type repeats struct {
	m    *Model
	slot kit.Slot // reads what a job asked for
}

// maxTyped bounds the inputs that the form is filled with, in bytes.
const maxTyped = 1 << 20

// whyNot returns the reason why a job cannot be launched again, or "".
func (rs *repeats) whyNot(j model.Job) string {
	switch {
	case rs.m.foreign(j):
		return "it belongs to profile " + j.Profile + rs.m.foreignKey()
	case j.State == model.JobIntent || j.State == model.JobSending:
		return "the job " + j.State.Predicate()
	case rs.slot.Running():
		return "the job's request is being read"
	}
	return rs.m.launches.whyNot()
}

// ask offers the ways to launch a job again.
func (rs *repeats) ask(j model.Job) tea.Cmd {
	missing := widget.MenuItem{Key: "o", Label: "only what is missing", Note: "inputs that gave nothing or an error", Intent: rs.check(j, true)}
	if !j.State.HasResult() && j.File == "" {
		missing.Disabled = "the job " + j.State.Predicate() + ": no rows to compare with"
	}
	return widget.OpenMenu(rs.m.deps.Theme, "Launch "+j.ID+" again", "", []widget.MenuItem{
		{Key: "w", Label: "the whole job", Note: text.Counted(j.Inputs, "input"), Intent: rs.check(j, false)},
		missing,
		{Key: "e", Label: "change it first", Note: "in the form", Intent: kit.Call(kit.Jobs, func() tea.Cmd { return rs.read(j) })},
	})
}

// check is the message that checks what a job asked for, and asks whether to launch it.
func (rs *repeats) check(j model.Job, missing bool) tea.Msg {
	jobs := rs.m.deps.Jobs
	return kit.Call(kit.Jobs, func() tea.Cmd {
		return kit.Load(kit.Jobs, &rs.slot, rs.m.deps.Ctx, func(ctx context.Context) (service.Report, error) {
			return jobs.Check(ctx, service.Draft{From: service.Again{Job: j.ID, Missing: missing}})
		}, func(r service.Report, err error) tea.Cmd { return rs.confirm(j, r, err) })
	})
}

// read reads what a job asked for, and opens the form with it.
func (rs *repeats) read(j model.Job) tea.Cmd {
	jobs := rs.m.deps.Jobs
	return kit.Load(kit.Jobs, &rs.slot, rs.m.deps.Ctx, func(ctx context.Context) (model.TriggerRequest, error) {
		return jobs.Request(ctx, j.ID)
	}, func(r model.TriggerRequest, err error) tea.Cmd {
		if err != nil {
			return notAgain(j, err)
		}
		return rs.change(j, r)
	})
}

func notAgain(j model.Job, err error) tea.Cmd {
	if errors.Is(err, service.ErrNoRequest) {
		return kit.Warn(j.ID + " cannot be launched again: " + service.ErrNoRequest.Error())
	}
	return kit.Fail(j.ID + " was not launched again: " + service.Explain(err))
}

// confirm asks whether to launch what a job asked for.
func (rs *repeats) confirm(j model.Job, r service.Report, err error) tea.Cmd {
	_, whyAdmin := ask.Missing(ask.Answers{}.Open(r.Questions), ask.AdminReason)
	var refused *model.RequestError
	switch {
	case errors.As(err, &refused) && refused.Field() == "key":
		return kit.Warn(refused.Problems[0].Err.Error() + ": change it first (" + rs.m.deps.Theme.Key("jobs.again") + ", then e)")
	case err != nil:
		return notAgain(j, err)
	case len(r.Request.Inputs) == 0:
		return kit.Info("every input of " + j.ID + " gave data: nothing is left to launch")
	case whyAdmin:
		return kit.Warn("key " + rs.m.launches.keyNamed(r.Request.Key).Name + " is ADMIN, which a job never uses (contract 5.4): change it first (" + rs.m.deps.Theme.Key("jobs.again") + ", then e)")
	}
	for _, n := range r.Notes {
		if n.Warn { // the job would wait for its webhook in vain
			return kit.Fail(j.ID + " was not launched again: " + n.Text)
		}
	}
	// It is asked about in any case.
	return widget.Ask(rs.m.deps.Theme, rs.m.launches.question(r, r.Questions, func(given ask.Answers) tea.Cmd {
		if why := rs.m.launches.whyNot(); why != "" {
			return kit.Warn("launch again: " + why)
		}
		return rs.m.launches.send(r, given, func() bool { return rs.m.launches.whyNot() == "" })
	}))
}

// change opens the form filled with what a job asked for.
func (rs *repeats) change(j model.Job, r model.TriggerRequest) tea.Cmd {
	var typed bytes.Buffer
	for _, in := range r.Inputs {
		typed.Write(service.InputLine(in))
		typed.WriteByte('\n')
	}
	if typed.Len() > maxTyped {
		return kit.Warn(fmt.Sprintf("the request of %s (%s) is too long for the form; '%s' launches it again", j.ID, text.Counted(len(r.Inputs), "input"), service.CommandAbout(j, "relaunch")))
	}
	if why := rs.m.launches.whyNot(); why != "" {
		return kit.Warn("new job: " + why)
	}
	cmd := rs.m.launches.openForm(nil)
	l := rs.m.launches.form
	l.base = r
	s := r.Settings
	for name, value := range map[string]string{
		fieldDataset: r.Dataset, fieldPaste: strings.TrimSuffix(typed.String(), "\n"), fieldKey: cmp.Or(r.Key, l.form.Value(fieldKey)),
		fieldDiscover: wayValue(s.Discover), fieldPerInput: bound(s.LimitPerInput), fieldTotal: bound(s.LimitTotal),
		fieldNotify: s.Notify, fieldEndpoint: s.Endpoint, fieldAuth: s.Auth, fieldFormat: s.Format,
	} {
		l.form.SetValue(name, value)
	}
	if r.MaxCost > 0 {
		l.form.SetValue(fieldMaxCost, strconv.FormatFloat(r.MaxCost, 'f', -1, 64))
	}
	if s.Plain {
		l.form.SetValue(fieldPlain, "true")
	}
	if s != (model.JobSettings{}) || r.MaxCost > 0 {
		l.form.SetValue(fieldMore, "true")
	}
	l.changed()
	return tea.Batch(cmd, rs.m.dataSets.load(false))
}

// bound is a limit as the form has it.
func bound(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
