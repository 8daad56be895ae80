package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/ask"
)

// The answers to which job a job that may have started is, besides the identifiers of the service's jobs.
const (
	// DidNotStart says that it is none of them, Await that its webhook will say.
	DidNotStart = "not started"
	Await       = "webhook"
)

// Settlement is what is known of a job that may have started, and what it can be.
type Settlement struct {
	Job        model.Job
	Candidates []Candidate
	// Problem is why the service's list could not be read.
	Problem error
	// Question is which of the candidates it is. An option that something speaks against is taken once a question of kind
	// ask.Unfitting is answered.
	Question ask.Question
}

// Settle looks for a job that may have started in the service's list. Nothing is changed. The error is the ledger's, or that
// of a job that is settled already; a list that cannot be read is the Settlement's Problem.
func (l *Launching) Settle(ctx context.Context, id string) (Settlement, error) {
	s := Unlisted(id)
	var err error
	if s.Job, err = l.cfg.Machine.Job(ctx, id); err != nil {
		return s, err
	}
	s.Candidates, s.Problem = l.cfg.Machine.Candidates(ctx, id)
	if errors.Is(s.Problem, ErrSettled) || context.Cause(ctx) != nil {
		return s, s.Problem
	}
	for _, c := range s.Candidates {
		text := fmt.Sprintf("%s, begun %s", c.State.Label(), c.Begun())
		if c.Inputs >= 0 && c.Against == "" {
			text = counted(c.Inputs, "input") + " · " + text
		}
		s.Question.Options = append(s.Question.Options, ask.Option{Value: c.Snapshot, Text: text, Against: c.Against})
	}
	none := ask.Option{Value: DidNotStart, Text: "it has not started", Against: s.fitting()}
	if s.Problem != nil {
		none.Against = fmt.Sprintf("nobody has looked: the service's list could not be read (%v)", s.Problem)
	}
	s.Question.Options = append(s.Question.Options, none, ask.Option{Value: Await, Text: "wait for its webhook"})
	return s, nil
}

// Unlisted is the settlement of a job by somebody who knows what became of it: the service's list is not looked at before.
func Unlisted(id string) Settlement {
	return Settlement{Job: model.Job{ID: id}, Question: ask.Question{
		Kind: ask.Candidate, About: id, Want: ask.OneOf, Text: "which job of the service's list is " + id,
	}}
}

// fitting names the candidates that have the job's number of inputs, or may have, and what speaks against each; "" for none.
func (s Settlement) fitting() string {
	var names []string
	for _, c := range s.Candidates {
		switch {
		case c.Inputs != s.Job.Inputs && c.Inputs >= 0:
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
	text := "in the service's list it can be " + strings.Join(names[:min(len(names), most)], " or ")
	if more := len(names) - most; more > 0 {
		text += " or " + counted(more, "more job")
	}
	return text
}

// Only is the only candidate with the job's number of inputs, if nothing speaks against it. Of several it is none, even if
// something speaks against the others: the one in doubt may be the job, and so may one whose number of inputs is not known.
// The error says what keeps it from being found; Snapshot is then set if one candidate is nearest.
func (s Settlement) Only() (one Candidate, err error) {
	var same []Candidate // with the job's number of inputs
	for _, c := range s.Candidates {
		switch {
		case c.Inputs < 0:
			return one, fmt.Errorf("the number of inputs of %s is not known", c.Snapshot)
		case c.Inputs == s.Job.Inputs:
			same = append(same, c)
		}
	}
	inputs := counted(s.Job.Inputs, "input")
	switch {
	case len(same) == 1 && same[0].Against == "":
		return same[0], nil
	case len(same) == 1:
		return same[0], fmt.Errorf("%s of the service's list has its %s, but %s", same[0].Snapshot, inputs, same[0].Against)
	case len(same) > 1:
		each := make([]string, len(same))
		for i, c := range same {
			each[i] = fmt.Sprintf("%s (begun %s; %s)", c.Snapshot, c.Begun(), cmp.Or(c.Against, "nothing against it"))
		}
		return one, fmt.Errorf("%d jobs of the service's list have its %s: %s", len(same), inputs, strings.Join(each, ", "))
	case len(s.Candidates) > 0 && s.Candidates[0].Unseen:
		return one, fmt.Errorf("no job that was seen in the service's list has its %s, and not every job of that time could be looked at", inputs)
	}
	return one, ErrNoneFits
}

// ErrNoneFits says that no job of the service's list can be a job that may have started.
var ErrNoneFits = errors.New("no job of the service's list fits")

// Begun says how long before or after the POST a candidate began: "5s after the POST".
func (c Candidate) Begun() string { return fromPost(c.After.Round(time.Second)) + " the POST" }

// Decide settles a job by the answer to its question. An answer that something speaks against needs another one to an
// ask.Unfitting question about the job, which the *ask.Unanswered has.
//
// Other errors: those of Runner.Claim, NotStarted and AwaitHook.
func (l *Launching) Decide(ctx context.Context, s Settlement, a ask.Answers) (model.Job, error) {
	if err := a.Open([]ask.Question{s.Question}); err != nil {
		return s.Job, err
	}
	id, value := s.Job.ID, strings.TrimSpace(a.To(s.Question).Text)
	doubt := func(against string) ask.Question {
		return ask.Question{Kind: ask.Unfitting, About: id + " " + value, Text: against}
	}
	for _, o := range s.Question.Options {
		if o.Value != value || o.Against == "" {
			continue
		}
		if err := a.Open([]ask.Question{doubt(o.Against)}); err != nil {
			return s.Job, err
		}
	}
	switch value {
	case DidNotStart:
		return l.cfg.Machine.NotStarted(ctx, id)
	case Await:
		return l.cfg.Machine.AwaitHook(ctx, id)
	}
	job, err := l.cfg.Machine.Claim(ctx, id, value, a.To(doubt("")).Yes)
	if in, ok := errors.AsType[*DoubtError](err); ok {
		return job, &ask.Unanswered{Questions: []ask.Question{doubt(in.Error())}}
	}
	return job, err
}
