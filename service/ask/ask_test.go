package ask_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"zonedeck/model"
	"zonedeck/service/ask"
)

func TestAnAnswerIsToOneQuestionAlone(t *testing.T) {
	one := ask.Question{Kind: ask.SameInputs, About: "job-1", Text: "one"}
	other := ask.Question{Kind: ask.SameInputs, About: "job-2", Text: "other"}
	answers := ask.Answers(nil).With(one, ask.Agreed)
	if err := answers.Open([]ask.Question{one}); err != nil {
		t.Errorf("an answered question is open: %v", err)
	}
	want := &ask.Unanswered{Questions: []ask.Question{other}}
	if err := answers.Open([]ask.Question{one, other}); !reflect.DeepEqual(err, error(want)) {
		t.Errorf("open: %v, want %v", err, want)
	}
	if answers.AllOf(ask.SameInputs) {
		t.Error("one answer is not one to all of its kind")
	}
}

func TestAFlagAnswersEveryQuestionOfItsKind(t *testing.T) {
	answers := ask.Answers(nil).Always(ask.SameInputs)
	same := ask.Question{Kind: ask.SameInputs, About: "job-9"}
	if !answers.To(same).Yes || !answers.AllOf(ask.SameInputs) {
		t.Error("Always does not answer a question of its kind")
	}
	if answers.To(ask.Question{Kind: ask.OverCap, About: "job-9"}).Yes {
		t.Error("Always answers a question of another kind")
	}
}

func TestAnAnswerGivesWhatIsWanted(t *testing.T) {
	for _, c := range []struct {
		answer ask.Answer
		want   ask.Want
		gives  bool
	}{
		{ask.Answer{}, ask.YesNo, false},
		{ask.Agreed, ask.YesNo, true},
		{ask.Agreed, ask.Reason, false},
		{ask.Answer{Text: " "}, ask.Reason, false},
		{ask.Answer{Text: "migration"}, ask.Reason, true},
		{ask.Agreed, ask.Secret, false},
	} {
		if got := c.answer.Answers(c.want); got != c.gives {
			t.Errorf("%+v gives %v: %v", c.answer, c.want, got)
		}
	}
}

// person answers the same to everything.
type person struct {
	answer ask.Answer
	asked  []ask.Kind
}

func (p *person) Ask(_ context.Context, q ask.Question) (ask.Answer, error) {
	p.asked = append(p.asked, q.Kind)
	return p.answer, nil
}

func TestOnlyOpenQuestionsAreAsked(t *testing.T) {
	questions := []ask.Question{{Kind: ask.Cost}, {Kind: ask.SameInputs, About: "job-1"}}
	p := &person{answer: ask.Agreed}
	answers, err := ask.Answers(nil).Always(ask.Cost).Complete(t.Context(), p, questions)
	if err != nil || answers.Open(questions) != nil {
		t.Errorf("answers %v: %v", answers, err)
	}
	if want := []ask.Kind{ask.SameInputs}; !reflect.DeepEqual(p.asked, want) {
		t.Errorf("asked %v, want %v", p.asked, want)
	}
	_, err = ask.Answers(nil).Complete(t.Context(), &person{}, questions)
	refused, ok := errors.AsType[*ask.Unanswered](err)
	if !ok || !refused.Refused || len(refused.Questions) != 1 || refused.Questions[0].Kind != ask.Cost {
		t.Errorf("after a no: %v", err)
	}
}

func TestNobodyLeavesAQuestionOpen(t *testing.T) {
	q := ask.Question{Kind: ask.Passphrase, Text: "the passphrase of the secrets", Want: ask.Secret}
	ctx := ask.By(t.Context(), ask.Nobody)
	_, err := ask.In(ctx, &person{answer: ask.Agreed}).Ask(ctx, q)
	if open, ok := ask.Missing(err, ask.Passphrase); !ok || !reflect.DeepEqual(open, q) {
		t.Errorf("a question in the background: %v", err)
	}
	if _, ok := ask.Missing(err, ask.Cost); ok {
		t.Error("a question that nobody put is missing")
	}
	again := ask.By(ctx, nil)
	if _, err := ask.In(again, &person{answer: ask.Agreed}).Ask(again, q); err != nil {
		t.Errorf("a person who can be asked again: %v", err)
	}
	if _, err := ask.In(t.Context(), nil).Ask(t.Context(), q); err == nil {
		t.Error("without an Asker a question has an answer")
	}
}

func TestAQuestionNamesItsJobs(t *testing.T) {
	q := ask.Question{Facts: []ask.Fact{{Text: "launched"}, {Job: model.Job{ID: "job-4"}}, {Job: model.Job{ID: "job-2"}}}}
	if got, want := q.Jobs(), []string{"job-4", "job-2"}; !reflect.DeepEqual(got, want) {
		t.Errorf("jobs %v, want %v", got, want)
	}
}
