package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// settling finds out what became of jobs that may have started.
type settling struct {
	m    *Model
	slot kit.Slot
}

// whyNot returns the reason why a job cannot be settled, or "".
func (st *settling) whyNot(j model.Job) string {
	switch {
	case j.State != model.JobMayHave:
		return "the job " + j.State.Predicate()
	case st.m.foreign(j):
		return "it belongs to profile " + j.Profile + st.m.foreignKey()
	case st.slot.Running():
		return "the service's list is being asked for"
	}
	return cmp.Or(st.m.session.Refused("settle jobs"), st.m.session.NotReady())
}

// begin asks for the service's list, and offers what can be done about a job that may have started.
func (st *settling) begin(j model.Job) tea.Cmd {
	jobs := st.m.deps.Jobs
	return kit.Load(kit.Jobs, &st.slot, st.m.deps.Ctx, func(ctx context.Context) (service.Settlement, error) {
		return jobs.Settle(ctx, j.ID)
	}, func(s service.Settlement, err error) tea.Cmd {
		if err != nil {
			return kit.Fail(j.ID + ": " + service.Explain(err))
		}
		return st.offer(s)
	})
}

// offer offers the answers to what a job that may have started is.
func (st *settling) offer(s service.Settlement) tea.Cmd {
	again := widget.MenuItem{Key: "w", Label: "launch it again", Note: "asks first", Intent: st.m.repeats.check(s.Job, false)}
	items := []widget.MenuItem{}
	for i, o := range s.Options {
		item := widget.MenuItem{Label: o.Text, Intent: kit.Call(kit.Jobs, func() tea.Cmd { return st.by(s, nil, o) })}
		switch o.Fate {
		case service.DidNotStart:
			item.Key, item.Note = "x", "marks it"
			if o.Against != "" {
				item.Note = "asks first"
			}
		case service.Await:
			item.Key, item.Note = "b", "nothing is sent"
			if s.Job.WebhookToken == "" {
				item.Disabled = "the service has no inbox address"
			}
		default:
			item.Key, item.Label, item.Note = fmt.Sprint((i+1)%10), "it is "+fmt.Sprint(o.Fate), o.Text
			if o.Against != "" {
				item.Note = "✗ " + o.Against + " · " + o.Text
			}
		}
		items = append(items, item)
	}
	if s.Problem == nil {
		title := fmt.Sprintf("%s: %s in the service's list", s.Job.ID, text.Counted(len(s.Candidates), "candidate"))
		return widget.OpenMenu(st.m.deps.Theme, title, "", append(items, again))
	}
	// Nobody has looked: what marks the job is neither the first nor done by one key.
	look := widget.MenuItem{Key: "l", Label: "look again", Note: "asks for the list", Intent: kit.Call(kit.Jobs, func() tea.Cmd { return st.begin(s.Job) })}
	open := widget.OpenMenu(st.m.deps.Theme, s.Job.ID+": the service's list could not be read", "", []widget.MenuItem{look, items[1], again, items[0]})
	if why := st.m.detail.showVerdict("The service's list could not be read", "", s.Problem); why != nil {
		return tea.Sequence(open, why)
	}
	return tea.Batch(open, kit.Fail(s.Problem.Error()))
}

// by settles a job as it was chosen. Where something speaks against that, it asks first.
func (st *settling) by(s service.Settlement, given ask.Answers, o service.FateOption) tea.Cmd {
	jobs, hooks, now := st.m.deps.Jobs, st.m.deps.Inbox, st.m.deps.Clock.Now
	type settled struct {
		model.Job
		text string // in place of the job's state
	}
	return kit.Load(kit.Jobs, &st.slot, st.m.deps.Ctx, func(ctx context.Context) (out settled, err error) {
		if out.Job, err = jobs.Decide(ctx, s, o.Fate, given); err != nil || o.Fate != service.Await {
			return out, err
		}
		out.text = "waiting for its webhook until " + text.Clock(out.WebhookDue, now()) + "; nothing was sent"
		if hooks == nil {
			return out, nil
		}
		_, warning, err := hooks.NewAddress(ctx)
		if err != nil {
			warning = err.Error()
		}
		if warning != "" {
			out.text += "; none can arrive now: " + warning
		}
		return out, nil
	}, func(out settled, err error) tea.Cmd {
		if open, ok := errors.AsType[*ask.Unanswered](err); ok {
			return st.askDoubt(s, given, o, open.Questions[0])
		}
		if err != nil {
			return kit.Fail(s.Job.ID + ": " + service.Explain(err))
		}
		st.m.list.put(out.Job)
		return tea.Batch(st.m.follow.begin(), kit.Info(out.ID+": "+cmp.Or(out.text, out.State.Label())))
	})
}

// askDoubt asks whether a job is settled so although something speaks against it.
func (st *settling) askDoubt(s service.Settlement, given ask.Answers, o service.FateOption, q ask.Question) tea.Cmd {
	id := s.Job.ID
	spec := widget.Asking{
		Title: "Is it " + fmt.Sprint(o.Fate) + "?", Yes: "it is " + id,
		Body:      fmt.Sprintf("%s: %s. If it is another job, %s counts as launched although its inputs may never have run.", fmt.Sprint(o.Fate), q.Text, id),
		Questions: []ask.Question{q}, Then: func(yes ask.Answers) tea.Msg {
			maps.Copy(yes, given)
			return kit.Call(kit.Jobs, func() tea.Cmd { return st.by(s, yes, o) })
		},
	}
	if o.Fate == service.DidNotStart {
		spec.Title, spec.Yes = "Mark "+id+" as not started?", "mark it as not started"
		spec.Body = fmt.Sprintf("%s If %s has started, the same inputs launched again are billed a second time.", widget.Sentence(q.Text), id)
	}
	return widget.Ask(st.m.deps.Theme, spec)
}
