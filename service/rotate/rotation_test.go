package rotate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
)

// kinds are those of the questions that go with the next step.
func kinds(r rotate.Rotation) (out []ask.Kind) {
	_, questions := r.Next()
	for _, q := range questions {
		out = append(out, q.Kind)
	}
	return out
}

// look is a rotation of the place's key that has not begun.
func (p place) look(t *testing.T, c setup, method keystore.RotationMethod) rotate.Rotation {
	t.Helper()
	r := noerr.Try(c.engine().Look(t.Context(), rotate.Subject{Key: p.Key, Method: method}, keystore.RotationPlan{})).Must(t)
	return r
}

// wantUnmade checks that nothing was written, and that no key was made.
func (p place) wantUnmade(t *testing.T) {
	t.Helper()
	plans, err := p.records().List()
	keys, listed := p.settings().Keys(t.Context())
	made := slices.ContainsFunc(keys, func(k rehearsal.Key) bool { return strings.HasPrefix(k.Name, p.Key.Name+"-") })
	if len(plans) != 0 || made || errors.Join(err, listed) != nil {
		t.Fatalf("%d records, a key was made: %t, %v", len(plans), made, errors.Join(err, listed))
	}
}

// TestARotationAsksBeforeWhatCannotBeUndone takes rotations word by word: each row is a word, with the questions before it.
func TestARotationAsksBeforeWhatCannotBeUndone(t *testing.T) {
	demo := start(t)
	type word struct {
		asks  []ask.Kind // before it
		gives ask.Answers
		next  keystore.RotationStepKind // after it; "" for the end
	}
	begin := ask.Answers{}.Always(ask.BeginRotation)
	for name, c := range map[string]struct {
		method keystore.RotationMethod
		words  []word
	}{
		"new-key": {keystore.RotateByNewKey, []word{
			{[]ask.Kind{ask.BeginRotation}, begin, keystore.StepSet},
			{nil, nil, keystore.StepTest},
			{nil, nil, keystore.StepDelete},
			{[]ask.Kind{ask.EndsValue}, ask.Answers{}.Always(ask.EndsValue), ""},
		}},
		"refresh": {keystore.RotateByRefresh, []word{
			{[]ask.Kind{ask.BeginRotation, ask.EndsValue}, ask.Answers{}.Always(ask.BeginRotation).Always(ask.EndsValue), keystore.StepTest},
			{nil, nil, keystore.StepRefused},
			{nil, nil, ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, demo, "asks-"+name)
			r := p.look(t, p.config(), c.method)
			for _, w := range c.words {
				if got := kinds(r); !slices.Equal(got, w.asks) {
					t.Fatalf("before %s it asks %v, want %v", r.Plan.Steps[r.Plan.Now()].Name(), got, w.asks)
				}
				step, _ := r.Next()
				if len(w.asks) > 0 {
					var open *ask.Unanswered
					if _, err := r.Take(t.Context(), step, nil, nil); !errors.As(err, &open) || len(open.Questions) != len(w.asks) {
						t.Fatalf("without answers: %v", err)
					}
				}
				r = noerr.Try(r.Take(t.Context(), step, w.gives, nil)).Must(t)
				if next, _ := r.Next(); next.Kind != w.next {
					t.Fatalf("next is %q, want %q", next.Kind, w.next)
				}
			}
			p.wantDone(t, r.Plan)
		})
	}
}

// Whether the key may be sent for its proofs is known before a new key is made.
func TestReachIsJudgedBeforeAKeyIsMade(t *testing.T) {
	demo := start(t)
	begin := ask.Answers{}.Always(ask.BeginRotation)
	q := ask.Question{Kind: ask.OtherAccount, About: "reach=https://other.example", Text: "it is another account's"}

	p := newPlace(t, demo, "reach")
	c := p.config()
	c.Reach = []ask.Question{q}
	r := p.look(t, c, keystore.RotateByNewKey)
	if got := kinds(r); !slices.Equal(got, []ask.Kind{ask.BeginRotation, ask.OtherAccount}) {
		t.Fatalf("it asks %v", got)
	}
	step, _ := r.Next()
	if _, err := r.Take(t.Context(), step, begin, nil); !errors.As(err, new(*ask.Unanswered)) {
		t.Fatalf("without a yes: %v", err)
	}
	p.wantUnmade(t)
	if r, err := r.Take(t.Context(), step, begin.With(q, ask.Agreed), nil); err != nil || r.Plan.NewFingerprint == "" {
		t.Fatalf("agreed: %v", err)
	}

	p = newPlace(t, demo, "no-reach")
	c = p.config()
	c.Refused = errors.New("not this one")
	if _, err := c.engine().Look(t.Context(), rotate.Subject{Key: p.Key, Method: keystore.RotateByNewKey}, keystore.RotationPlan{}); !errors.Is(err, c.Refused) {
		t.Fatalf("refused: %v", err)
	}
	p.wantUnmade(t)
}

// A person's answers are taken with the step that asked for them, and the steps go on to the end of its word.
func TestTheAnswersOfAPersonAreTaken(t *testing.T) {
	p := newPlace(t, start(t), "answers")
	c := p.byHand("brightdata")
	p.Users = append(p.Users, keystore.RotationUser{Name: "job-7", InFlight: true}, keystore.RotationUser{Name: "nightly"})
	c.Users = func(context.Context, model.Key) ([]keystore.RotationUser, error) { return p.Users, nil }
	r := p.look(t, c, keystore.RotateByNewKey)
	take := func(a ask.Answers, wants ...ask.Kind) {
		t.Helper()
		step, _ := r.Next()
		var err error
		if r, err = r.Take(t.Context(), step, a.Always(ask.BeginRotation), nil); err != nil && !errors.As(err, new(*rotate.StopError)) {
			t.Fatal(err)
		}
		if got := kinds(r); !slices.Equal(got, wants) {
			t.Fatalf("it asks %v, want %v: %v", got, wants, err)
		}
	}
	answer := func(a ask.Answer) ask.Answers {
		_, questions := r.Next()
		return ask.Answers{}.With(questions[len(questions)-1], a)
	}
	take(nil, ask.Vouch) // of the job
	take(answer(ask.Answer{Yes: true}), ask.NewValue)
	made, err := p.settings().CreateKey(t.Context(), rehearsal.Key{Name: "answers-2", Level: "OPS", Duty: "batch job", Expires: "Unlimited"})
	noerr.Must(t, err)
	broken, stopped := keystore.NewSecret("Bearer abc"), r.Stop
	step, _ := r.Next()
	if r, err = r.Take(t.Context(), step, answer(ask.Answer{Secret: broken}), nil); !errors.Is(err, keystore.ErrKeyValue) || r.Stop != stopped {
		t.Fatalf("a value that is none: %v, it waits for %v", err, r.Stop)
	}
	take(answer(ask.Answer{Secret: keystore.NewSecret(made.Value), Text: "2097-01-31"}))
	if r.Plan.NewExpires != "2097-01-31" {
		t.Errorf("it expires %q", r.Plan.NewExpires)
	}
	take(nil, ask.Vouch) // where nightly takes it from
	take(answer(ask.Answer{Text: "its log"}))
	take(nil, ask.Vouch) // a call of nightly
	take(answer(ask.Answer{Yes: true}))
	if vouched, _ := r.Plan.Step(keystore.StepSet, "nightly"); vouched.Note != "its log" {
		t.Errorf("%+v", vouched)
	}
	if next, _ := r.Next(); next.Kind != keystore.StepDelete || !r.WorkedByPerson() {
		t.Errorf("next is %s", next.Name())
	}
}

// A completed rotation begins again only on a yes; one that was given up, without asking.
func TestADoneRotationBeginsAnewOnAYes(t *testing.T) {
	p := newPlace(t, start(t), "again")
	for name, c := range map[string]struct {
		abandoned bool
		asks      []ask.Kind
	}{
		"done":     {false, []ask.Kind{ask.RotateAgain, ask.BeginRotation}},
		"given up": {true, []ask.Kind{ask.BeginRotation}},
	} {
		last := keystore.RotationPlan{Key: p.Key.Name, Ended: p.config().Now(keystore.RotationPlan{}), Abandoned: c.abandoned}
		r, err := p.config().engine().Look(t.Context(), rotate.Subject{Key: p.Key, Method: keystore.RotateByNewKey}, last)
		if got := kinds(r); err != nil || !slices.Equal(got, c.asks) {
			t.Errorf("%s: it asks %v, %v", name, got, err)
		}
	}
	p = newPlace(t, start(t), "zone-again").withPassword(t)
	last := keystore.RotationPlan{Zone: string(p.Zone.Name), Ended: p.config().Now(keystore.RotationPlan{})}
	r, err := p.config().engine().Look(t.Context(), p.password(), last)
	if got := kinds(r); err != nil || !slices.Equal(got, []ask.Kind{ask.RotateAgain}) {
		t.Errorf("a password: it asks %v, %v", got, err)
	}
}

// The questions of a step follow from the record alone: nothing is asked again about what was begun, and nothing about
// what a person does.
func TestWhatIsAskedFollowsFromTheRecord(t *testing.T) {
	p := place{Key: model.Key{Name: "prod", Secret: "file:prod"}}
	byHand := setup{}
	settings := setup{Settings: func(keystore.RotationPlan) rotate.Settings { return &rehearsal.Client{} }}
	users := []keystore.RotationUser{{Name: "job-7", InFlight: true}, {Name: "profile acme", Ref: p.Key.Secret}, {Name: ".env:1", File: ".env"}}
	key := func(method keystore.RotationMethod) keystore.RotationPlan {
		return keystore.PlanRotation(p.Key, method, users, time.Now())
	}
	zone := keystore.PlanPassword(keystore.ZonePassword{Zone: "isp", Ref: "file:isp", ChangedBy: "ops"}, nil, time.Now())
	regenerated := keystore.PlanPassword(keystore.ZonePassword{Zone: "isp", Ref: "file:isp"}, nil, time.Now())
	for name, c := range map[string]struct {
		setup  setup
		plan   keystore.RotationPlan
		at     keystore.RotationStepKind
		change func(r *rotate.Rotation)
		asks   []ask.Kind
		says   string
	}{
		"the end of the old key":         {settings, key(keystore.RotateByNewKey), keystore.StepDelete, nil, []ask.Kind{ask.EndsValue}, "is deleted in the account settings. Every user above was seen"},
		"one that was begun":             {settings, key(keystore.RotateByNewKey), keystore.StepDelete, func(r *rotate.Rotation) { r.Plan.DeletedSeq = 1 }, nil, ""},
		"one by hand":                    {byHand, key(keystore.RotateByNewKey), keystore.StepDelete, nil, nil, ""},
		"the end of a password":          {byHand, zone, keystore.StepDelete, nil, []ask.Kind{ask.EndsValue}, "is removed. Every user above"},
		"a refresh, with a job before":   {settings, key(keystore.RotateByRefresh), keystore.StepDrain, nil, []ask.Kind{ask.EndsValue}, "These stop working until you give them the new value: .env."},
		"a refresh that was done":        {settings, key(keystore.RotateByRefresh), keystore.StepRefresh, func(r *rotate.Rotation) { r.Plan.NewFingerprint = "0123456789abcdef" }, nil, ""},
		"a password by hand":             {settings, regenerated, keystore.StepRefresh, nil, nil, ""},
		"a refresh by hand":              {byHand, key(keystore.RotateByRefresh), keystore.StepRefresh, nil, nil, ""},
		"a job before a new key":         {settings, key(keystore.RotateByNewKey), keystore.StepDrain, nil, nil, ""},
		"a value that was not accepted":  {byHand, key(keystore.RotateByNewKey), keystore.StepCreate, func(r *rotate.Rotation) { r.Plan.NewHeld = "file:held" }, []ask.Kind{ask.NewValue}, "has not accepted"},
		"a value that the console makes": {settings, key(keystore.RotateByNewKey), keystore.StepCreate, func(r *rotate.Rotation) { r.Plan.NewHeld = "file:held" }, nil, ""},
		"a stop":                         {byHand, key(keystore.RotateByNewKey), keystore.StepSet, func(r *rotate.Rotation) { r.Stop = &rotate.StopError{Advice: "put it there"} }, nil, ""},
		"a stop for both":                {byHand, key(keystore.RotateByNewKey), keystore.StepCreate, func(r *rotate.Rotation) { r.Stop = &rotate.StopError{Advice: "it is OPS", Value: true, Vouch: true} }, []ask.Kind{ask.NewValue, ask.Vouch}, "it is OPS"},
	} {
		for i := range c.plan.Steps {
			if c.plan.Steps[i].Kind == c.at {
				break
			}
			c.plan.Steps[i].Done, c.plan.Steps[i].By = true, keystore.Measured
		}
		r := c.setup.engine().Resume(c.plan)
		if c.change != nil {
			c.change(&r)
		}
		step, questions := r.Next()
		if got := kinds(r); step.Kind != c.at || !slices.Equal(got, c.asks) {
			t.Errorf("%s: at %s it asks %v, want %v", name, step.Name(), got, c.asks)
		} else if len(questions) > 0 && !strings.Contains(questions[0].Text, c.says) {
			t.Errorf("%s: it says %q", name, questions[0].Text)
		}
	}
}
