// Package ask is how the application asks a person: what is asked, what was answered, and who is there to
// answer. Use cases put questions, faces answer them: the tab with a dialog, the command by its flags or a
// prompt, an agent by its arguments.
//
// Questions that are known before an act are answered together: a report carries them, and the act takes
// Answers. What comes up during an act, such as a passphrase, goes to an Asker. Values are safe to use
// concurrently; whether an Asker is, says its implementation.
package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
)

// Kind is what a question is about. Faces map it to the flag, field or argument that answers it.
type Kind string

// The kinds of questions.
const (
	// Passphrase unlocks the secrets. It wants a Secret.
	Passphrase Kind = "passphrase"
	// AdminReason is why automation uses an ADMIN key (contract 5.4). It wants a Reason.
	AdminReason Kind = "admin reason"
	// Value is the value of a request's variable. It wants a Reason or a Secret.
	Value Kind = "value"
	// UnfitKey sends a key that will be refused.
	UnfitKey Kind = "unfit key"
	// OtherAccount sends a key to an account that is not its own.
	OtherAccount Kind = "other account"
	// Cost launches a job on a real account: the question says its price.
	Cost Kind = "cost"
	// OverCap goes above the cap on a cost.
	OverCap Kind = "over the cap"
	// SameInputs launches inputs again that a job of the last hour has.
	SameInputs Kind = "same inputs"
	// SharedInputs launches some inputs that jobs of the last hour have, or may have.
	SharedInputs Kind = "shared inputs"
	// UnknownInputs launches inputs that jobs of the last hour may have, although these were to be left out.
	UnknownInputs Kind = "unknown inputs"
	// Unsettled launches again what a job has that may have started or is not over.
	Unsettled Kind = "unsettled job"
	// Unmatched launches inputs that may have given data, because rows could not be matched to inputs.
	Unmatched Kind = "unmatched rows"
	// Lacking is Unmatched because records did not come that the service counted.
	Lacking Kind = "lacking records"
	// Unlisted launches a job of a data set that the service does not list.
	Unlisted Kind = "unlisted data set"
	// BadRows launches the good rows without the bad ones.
	BadRows Kind = "bad rows"
	// Unfitting takes a candidate although something speaks against it.
	Unfitting Kind = "unfitting candidate"
	// BeginRotation begins the rotation of a key, RotateAgain another one though the last is done.
	BeginRotation Kind = "begin rotation"
	RotateAgain   Kind = "rotate again"
	// EndsValue ends the old key, its value or the old password.
	EndsValue Kind = "ends the old value"
	// NewValue is the value that a person made in the account settings. It wants a Secret.
	NewValue Kind = "new value"
	// Vouch records a step on a person's word. It wants a Reason.
	Vouch Kind = "vouch"
)

// Want is the kind of answer that a question wants.
type Want int

// The kinds of answers.
const (
	YesNo  Want = iota
	Reason      // a text
	Secret
)

// ID identifies a question: an answer to it is not one to another job, key or profile.
type ID struct {
	Kind  Kind
	About string
}

// Question is one question to a person.
type Question struct {
	Kind Kind
	// About is the key, job or profile that it is about.
	About string
	// Text says what would happen, as sentences. It names no flag and no key press.
	Text string
	// Facts are what an operator decides by, in order.
	Facts []Fact
	Want  Want
}

// Fact is one thing to decide by: what happened, by which job (the zero value for none), and what follows from it.
// Texts are clauses without a capital or a full stop; a face adds when the job was begun.
type Fact struct {
	Text    string
	Job     model.Job
	Outcome string
}

// ID identifies the question.
func (q Question) ID() ID { return ID{q.Kind, q.About} }

// Jobs are the jobs that the question names.
func (q Question) Jobs() (ids []string) {
	for _, f := range q.Facts {
		if f.Job.ID != "" {
			ids = append(ids, f.Job.ID)
		}
	}
	return ids
}

// Note is something to say that needs no answer. About is what it is about, a kind or a field.
type Note struct {
	About string
	Text  string
	Warn  bool
}

// Answer is the answer to one question.
type Answer struct {
	// Yes agrees to a YesNo.
	Yes bool
	// Text is a Reason.
	Text   string
	Secret keystore.Secret
}

// Agreed is the answer yes.
var Agreed = Answer{Yes: true}

// Answers reports whether the answer is one to a question that wants w: the zero answer is one to none.
func (a Answer) Answers(w Want) bool {
	switch w {
	case Secret:
		return !a.Secret.Empty()
	case Reason:
		return strings.TrimSpace(a.Text) != ""
	default:
		return a.Yes
	}
}

// always stands for any object of a question in Answers.
const always = "*"

// Answers are the answers to questions. The zero value answers none.
type Answers map[ID]Answer

// With adds the answer to one question, and returns the answers with it.
func (a Answers) With(q Question, answer Answer) Answers {
	if a == nil {
		a = Answers{}
	}
	a[q.ID()] = answer
	return a
}

// Always answers every question of a kind with yes, whatever it is about: a flag such as --again. It returns the
// answers with it.
func (a Answers) Always(k Kind) Answers { return a.AlwaysWith(k, Agreed) }

// AlwaysWith answers every question of a kind, whatever it is about.
func (a Answers) AlwaysWith(k Kind, answer Answer) Answers {
	return a.With(Question{Kind: k, About: always}, answer)
}

// To is the answer to a question, the zero Answer for none.
func (a Answers) To(q Question) Answer {
	if answer, ok := a[q.ID()]; ok {
		return answer
	}
	return a[ID{q.Kind, always}]
}

// AllOf reports whether every question of a kind is answered with yes.
func (a Answers) AllOf(k Kind) bool { return a[ID{k, always}].Yes }

// Open is an *Unanswered with those of the questions that have no answer, nil if each has one.
func (a Answers) Open(questions []Question) error {
	var open []Question
	for _, q := range questions {
		if !a.To(q).Answers(q.Want) {
			open = append(open, q)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return &Unanswered{Questions: open}
}

// Complete asks the questions that have no answer, in order, and returns the answers with theirs. The first that
// stays without an answer ends it with an *Unanswered.
func (a Answers) Complete(ctx context.Context, by Asker, questions []Question) (Answers, error) {
	for _, q := range questions {
		if a.To(q).Answers(q.Want) {
			continue
		}
		answer, err := by.Ask(ctx, q)
		if err == nil && !answer.Answers(q.Want) {
			err = &Unanswered{Questions: []Question{q}, Refused: true}
		}
		if err != nil {
			return a, err
		}
		a = a.With(q, answer)
	}
	return a, nil
}

// Unanswered says that an act did not begin because questions have no answer.
type Unanswered struct { //nolint:errname // it is what became of the questions, and is read by its questions
	Questions []Question
	// Refused says that a person was asked and said no.
	Refused bool
}

func (e *Unanswered) Error() string {
	texts := make([]string, len(e.Questions))
	for i, q := range e.Questions {
		texts[i] = q.Text
	}
	return strings.Join(texts, "; ")
}

// Missing is the first question of a kind that err says has no answer; ok is false for none.
func Missing(err error, k Kind) (q Question, ok bool) {
	if open, is := errors.AsType[*Unanswered](err); is {
		for _, q := range open.Questions {
			if q.Kind == k {
				return q, true
			}
		}
	}
	return Question{}, false
}

// Asker asks a person while something is being done. It returns an *Unanswered where nobody is there to ask, and
// the zero Answer for a no.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Nobody is the Asker of what runs in the background: every question stays open.
var Nobody Asker = nobody{}

type nobody struct{}

func (nobody) Ask(_ context.Context, q Question) (Answer, error) {
	return Answer{}, fmt.Errorf("nobody is there to ask: %w", &Unanswered{Questions: []Question{q}})
}

type askerKey struct{}

// By is a context in which another Asker asks: Nobody for what runs in the background, a nil one to ask as usual again.
func By(ctx context.Context, a Asker) context.Context {
	return keystore.MayAsk(context.WithValue(ctx, askerKey{}, a), a != Nobody)
}

// MayAsk reports whether a person may be asked in a context.
func MayAsk(ctx context.Context) bool { return ctx.Value(askerKey{}) != Nobody }

// In is the Asker of a context, usual where it has none, and Nobody if that is nil.
func In(ctx context.Context, usual Asker) Asker {
	if a, ok := ctx.Value(askerKey{}).(Asker); ok && a != nil {
		return a
	}
	if usual != nil {
		return usual
	}
	return Nobody
}
