package jobs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/exchange"
	service "zonedeck/service/jobs"
	"zonedeck/service/rows"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// maxTyped bounds the inputs that the form is filled with, in bytes.
const maxTyped = 1 << 20

// Choices about a job that is launched again or settled, and what came of them.
type (
	// doAgain reads what a job asked for: all of it, what gave nothing or an error, or to
	// change it first.
	doAgain struct {
		job model.Job
		how again
	}
	againRead struct {
		doAgain
		rest service.Missing // its Request is what is launched
		same []model.Job     // others that ask for the same
		cost string          // what that is expected to cost
		err  error
	}
	// doLaunch confirms launching it.
	doLaunch struct{ request model.TriggerRequest }

	candidatesFound struct {
		job  model.Job
		list []service.Candidate
		err  error
	}
	// doClaim adopts a job of the service's list; doNotStarted says that none of them is it.
	doClaim struct {
		job      model.Job
		snapshot string
		sure     bool // the operator was told what speaks against it
	}
	// askClaim confirms adopting one that something speaks against.
	askClaim struct {
		doClaim
		against string
	}
	doNotStarted struct{ job model.Job }
	// askNotStarted confirms that where the list could not be read or has jobs that fit, and doLook
	// asks for it again.
	askNotStarted struct {
		job model.Job
		why string
	}
	doLook struct{ job model.Job }
	// doAwait waits for its webhook.
	doAwait struct{ job model.Job }
	settled struct {
		name string
		job  model.Job
		err  error
		said string // in place of the job's state
	}
)

type again int

const (
	againWhole again = iota
	againRest
	againChanged
)

// whyNotAgain returns the reason why a job cannot be launched again, or "".
func (m *Model) whyNotAgain(j model.Job) string {
	switch {
	case m.foreign(j):
		return "it belongs to profile " + j.Profile
	case j.State == model.JobIntent || j.State == model.JobSending:
		return "the job " + j.State.Predicate()
	case m.work.again.Running():
		return "what a job asked for is being read"
	}
	return m.whyNotLaunch()
}

// whyNotSettle returns the reason why a job cannot be settled, or "".
func (m *Model) whyNotSettle(j model.Job) string {
	switch {
	case j.State != model.JobMayHave:
		return "the job " + j.State.Predicate()
	case m.foreign(j):
		return "it belongs to profile " + j.Profile
	case m.work.settle.Running():
		return "the service's list is being asked for"
	}
	return cmp.Or(m.session.Refused("settle jobs"), m.session.NotReady())
}

// askAgain offers the ways to launch a job again.
func (m *Model) askAgain(j model.Job) tea.Cmd {
	rest := widget.MenuItem{Key: "o", Label: "only what is missing", Note: "inputs that gave nothing or an error", Intent: doAgain{j, againRest}}
	if !j.State.HasResult() && j.File == "" {
		rest.Disabled = "the job " + j.State.Predicate() + ": no rows to compare with"
	}
	return widget.OpenMenu(m.deps.Theme, "Launch "+j.ID+" again", kit.Jobs, []widget.MenuItem{
		{Key: "w", Label: "the whole job", Note: text.Counted(j.Inputs, "input"), Intent: doAgain{j, againWhole}},
		rest,
		{Key: "e", Label: "change it first", Note: "in the form", Intent: doAgain{j, againChanged}},
	})
}

// readAgain reads what is to be launched.
func (m *Model) readAgain(d doAgain) tea.Cmd {
	deps := m.deps
	l := deps.Ledger
	return kit.Do(kit.Jobs, &m.work.again, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		out := againRead{doAgain: d}
		if d.how == againRest {
			out.rest, out.err = l.Missing(ctx, d.job.ID)
		} else {
			out.rest.Request, out.err = l.Request(ctx, d.job.ID)
		}
		if out.err == nil && d.how != againChanged && len(out.rest.Request.Inputs) > 0 {
			if out.err = deps.fillHooks(ctx, &out.rest.Request.Settings); out.err == nil {
				var estimate service.Estimate
				estimate, out.err = l.Estimate(ctx, out.rest.Request)
				out.cost = estimate.String()
			}
		}
		if out.err == nil && d.how != againChanged {
			out.same, out.err = l.SameInputs(ctx, out.rest.Request, recent)
			out.same = slices.DeleteFunc(out.same, func(j model.Job) bool { return j.ID == d.job.ID })
		}
		return out
	})
}

// againRead asks whether to launch, or opens the form.
func (m *Model) againRead(msg againRead) tea.Cmd {
	r := msg.rest.Request
	switch {
	case errors.Is(msg.err, service.ErrNoRequest):
		return kit.Warn(msg.job.ID + " cannot be launched again: " + service.ErrNoRequest.Error())
	case msg.err != nil:
		return kit.Fail("launch " + msg.job.ID + " again: " + exchange.Why(msg.err))
	case len(r.Inputs) == 0:
		return kit.Info("every input of " + msg.job.ID + " gave data: nothing is left to launch")
	case msg.how == againChanged:
		return m.change(msg.job, r)
	}
	key := m.keyNamed(r.Key)
	if f, bad := forbidden(key, m.session.KeyNow(key, m.deps.Now())); bad {
		return kit.Warn(f.Text + ": change it first (a, then e)")
	}
	body := fmt.Sprintf("This launches %s of %s as another job on %s, with key %s: %s.", text.Counted(len(r.Inputs), "input"), msg.job.ID, datasetWords(r.Dataset), key.Name, msg.cost)
	if msg.how == againRest {
		body += fmt.Sprintf("\nOf %s, %d gave nothing and %d an error.", text.Counted(msg.rest.Asked, "input"), msg.rest.Nothing, msg.rest.Failed)
		if n := msg.rest.Unmatched; n > 0 {
			body += fmt.Sprintf(" %s could not be matched to an input, so some of these may have given data.", text.Counted(n, "row"))
		}
		if n := msg.rest.Lacking; n > 0 {
			body += fmt.Sprintf(" %s that the service counted did not come, so some of these may have given data: download the result again first (d).", text.Counted(n, "record"))
		}
	}
	switch {
	case msg.job.State == model.JobMayHave:
		body += "\n" + msg.job.ID + " may have started: if it did, the same inputs are billed a second time. s looks for it in the service's list."
	case msg.job.SaidNotStarted():
		body += "\nA person said that " + msg.job.ID + " had not started: if it did, the same inputs are billed a second time."
	case msg.job.Forgotten():
		body += "\nThe service accepted " + msg.job.ID + ", but did not know it when it was last asked: if it billed that job, the same inputs are billed a second time."
	case !msg.job.State.Final():
		body += "\n" + msg.job.ID + " " + msg.job.State.Predicate() + ": the same inputs are billed a second time."
	}
	body += m.waitWords(msg.job)
	r.Guard = guardOf(msg.same)
	r.Guard.Known = append(r.Guard.Known, msg.job.ID)
	if len(msg.same) > 0 {
		body += "\n" + m.sameWords(msg.same[0], "Inputs of "+msg.job.ID+" were launched")
	}
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Launch it again?", Body: body, Yes: "launch " + text.Counted(len(r.Inputs), "input"), View: kit.Jobs, Intent: doLaunch{r},
	})
}

// waitWords say until when the service asked to wait after a job's last call, "" if that time is over.
func (m *Model) waitWords(j model.Job) string {
	now := m.deps.Now()
	at, ok := j.Fault.RetryAt()
	if !ok || !at.After(now) {
		return ""
	}
	return "\nThe service asked to wait until " + text.Clock(at, now) + ": before that it may refuse this one, too."
}

// change opens the form filled with what a job asked for.
func (m *Model) change(j model.Job, r model.TriggerRequest) tea.Cmd {
	var typed bytes.Buffer
	for _, in := range r.Inputs {
		typed.Write(rows.Input(in))
		typed.WriteByte('\n')
	}
	if typed.Len() > maxTyped {
		return kit.Warn(fmt.Sprintf("what %s asked for (%s) is too long for the form; '%s' launches it", j.ID, text.Counted(len(r.Inputs), "input"), command(j, "relaunch")))
	}
	if why := m.whyNotLaunch(); why != "" {
		return kit.Warn("new job: " + why)
	}
	cmd := m.openForm(nil)
	l := m.dialog
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
	l.changed(m)
	return tea.Batch(cmd, m.loadCollectors(false))
}

// bound is a limit as the form has it.
func bound(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// candidates asks for the service's list.
func (m *Model) candidates(j model.Job) tea.Cmd {
	l := m.deps.Ledger
	return kit.Do(kit.Jobs, &m.work.settle, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		list, err := l.Candidates(ctx, j.ID)
		return candidatesFound{j, list, err}
	})
}

// candidatesFound offers what can be done about a job that may have started.
func (m *Model) candidatesFound(msg candidatesFound) tea.Cmd {
	again := widget.MenuItem{Key: "w", Label: "launch it again", Note: "asks first", Intent: doAgain{msg.job, againWhole}}
	wait := widget.MenuItem{Key: "b", Label: "wait for its webhook", Note: "nothing is sent", Intent: doAwait{msg.job}}
	if msg.job.Hook == "" {
		wait.Disabled = "the service has no inbox address"
	}
	if msg.err != nil {
		// Nobody has looked: what marks the job is neither the first nor done by one key.
		open := widget.OpenMenu(m.deps.Theme, msg.job.ID+": the service's list could not be read", kit.Jobs, []widget.MenuItem{
			{Key: "l", Label: "look again", Note: "asks for the list", Intent: doLook{msg.job}},
			wait,
			again,
			{Key: "x", Label: "it has not started", Note: "asks first", Intent: askNotStarted{msg.job, fmt.Sprintf("Nobody has looked: the service's list could not be read (%v).", msg.err)}},
		})
		if why := m.showWhy("The service's list could not be read", "", msg.err); why != nil {
			return tea.Sequence(open, why)
		}
		return tea.Batch(open, kit.Fail("the service's list: "+msg.err.Error()))
	}
	var items []widget.MenuItem
	for i, c := range msg.list {
		note := fmt.Sprintf("%s, begun %s after the POST", c.State.Label(), c.After.Round(time.Second))
		if c.After < 0 {
			note = fmt.Sprintf("%s, begun %s before the POST", c.State.Label(), (-c.After).Round(time.Second))
		}
		if c.Inputs >= 0 && c.Against == "" {
			note = text.Counted(c.Inputs, "input") + " · " + note
		}
		var intent tea.Msg = doClaim{msg.job, c.Snapshot, false}
		if c.Against != "" {
			note, intent = "✗ "+c.Against+" · "+note, askClaim{doClaim{msg.job, c.Snapshot, true}, c.Against}
		}
		items = append(items, widget.MenuItem{Key: fmt.Sprint((i + 1) % 10), Label: "it is " + c.Snapshot, Note: note, Intent: intent})
	}
	not := widget.MenuItem{Key: "x", Label: "it has not started", Note: "mark it so", Intent: doNotStarted{msg.job}}
	if fits := fitting(msg.job, msg.list); fits != "" {
		not.Note, not.Intent = "asks first", askNotStarted{msg.job, fits}
	}
	items = append(
		items,
		not,
		wait,
		again,
	)
	return widget.OpenMenu(m.deps.Theme, fmt.Sprintf("%s: %s of the service's list can be it", msg.job.ID, text.Counted(len(msg.list), "job")), kit.Jobs, items)
}

// fitting names the jobs of the service's list that have a job's number of inputs, or may have, and
// what speaks against each; "" for none.
func fitting(j model.Job, list []service.Candidate) string {
	var names []string
	for _, c := range list {
		switch {
		case c.Inputs != j.Inputs && c.Inputs >= 0:
		case c.Against != "":
			names = append(names, c.Snapshot+" ("+c.Against+")")
		default:
			names = append(names, c.Snapshot)
		}
	}
	const most = 3
	if len(names) == 0 {
		return ""
	}
	said := "In the service's list it can be " + strings.Join(names[:min(len(names), most)], " or ")
	if more := len(names) - most; more > 0 {
		said += " or " + text.Counted(more, "more job")
	}
	return said + "."
}

// settle carries out what was chosen.
func (m *Model) settle(j model.Job, do func(ctx context.Context) (model.Job, error)) tea.Cmd {
	return kit.Do(kit.Jobs, &m.work.settle, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		job, err := do(ctx)
		return settled{name: j.ID, job: job, err: err}
	})
}

// await waits for a job's webhook.
func (m *Model) await(j model.Job) tea.Cmd {
	deps, now := m.deps, m.deps.Now
	return kit.Do(kit.Jobs, &m.work.settle, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		job, err := deps.Ledger.AwaitHook(ctx, j.ID)
		out := settled{name: j.ID, job: job, err: err, said: "waiting for its webhook until " + text.Clock(job.HookDue, now()) + "; nothing was sent"}
		if err == nil && deps.FillHooks != nil {
			if err := deps.fillHooks(ctx, &model.JobSettings{Notify: model.HookInbox}); err != nil {
				out.said += "; none can come now: " + err.Error()
			}
		}
		return out
	})
}

// againResult handles the messages of launching again and of settling.
func (m *Model) againResult(msg tea.Msg) (tea.Cmd, bool) {
	l := m.deps.Ledger
	switch msg := msg.(type) {
	case doAgain:
		return m.readAgain(msg), true
	case againRead:
		return m.againRead(msg), true
	case doLaunch:
		if why := m.whyNotLaunch(); why != "" {
			return kit.Warn("launch again: " + why), true
		}
		return m.trigger(msg.request, kept{}), true
	case candidatesFound:
		return m.candidatesFound(msg), true
	case askClaim:
		return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
			Title: "Is it " + msg.snapshot + "?", Body: fmt.Sprintf("%s: %s. If it is another job, %s counts as launched although its inputs may never have run.", msg.snapshot, msg.against, msg.job.ID),
			Yes: "it is " + msg.job.ID, View: kit.Jobs, Intent: msg.doClaim,
		}), true
	case doClaim:
		return m.settle(msg.job, func(ctx context.Context) (model.Job, error) { return l.Claim(ctx, msg.job.ID, msg.snapshot, msg.sure) }), true
	case doLook:
		return m.candidates(msg.job), true
	case askNotStarted:
		return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
			Title: "Has " + msg.job.ID + " not started?", Body: fmt.Sprintf("%s If %s has started, the same inputs launched again are billed a second time.", msg.why, msg.job.ID),
			Yes: "mark it as not started", View: kit.Jobs, Intent: doNotStarted{msg.job},
		}), true
	case doNotStarted:
		return m.settle(msg.job, func(ctx context.Context) (model.Job, error) { return l.NotStarted(ctx, msg.job.ID) }), true
	case doAwait:
		return m.await(msg.job), true
	case settled:
		if msg.err != nil {
			return kit.Fail(msg.name + ": " + exchange.Why(msg.err)), true
		}
		m.put(msg.job)
		return tea.Batch(m.follow(), kit.Info(msg.job.ID+": "+cmp.Or(msg.said, msg.job.State.Label()))), true
	}
	return nil, false
}
