package rotate_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
)

// TestAValueThatIsRefusedIsGivenAgain gives a mistyped value first, where a person works the account
// settings.
func TestAValueThatIsRefusedIsGivenAgain(t *testing.T) {
	demo := start(t)
	for _, method := range []keystore.RotationMethod{keystore.RotateByNewKey, keystore.RotateByRefresh} {
		t.Run(string(method), func(t *testing.T) {
			p := newPlace(t, demo, "mistyped-"+string(method[:3]))
			c := p.config()
			c.Settings = nil
			at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
			c.Now = func(keystore.RotationPlan) time.Time { at = at.Add(time.Second); return at }
			e, plan := p.begin(t, c, method)
			wantAsked := func(again bool) {
				t.Helper()
				var err error
				var stop *rotate.StopError
				plan, err = e.Run(t.Context(), plan.ID, "", nil)
				if !errors.As(err, &stop) || !stop.Value || strings.Contains(stop.Advice, "the service does not accept") != again {
					t.Fatalf("asked for the value, again %v: %v", again, err)
				}
				if again && (!strings.Contains(stop.Advice, "••••"+plan.NewLast4) || strings.Contains(stop.Advice, "mistyped-value")) {
					t.Errorf("it says %q", stop.Advice)
				}
			}
			wantAsked(false)
			var made rehearsal.Key
			var err error
			if method == keystore.RotateByRefresh {
				made, err = p.settings().RefreshKey(t.Context(), p.Key.Name)
			} else {
				made, err = p.settings().CreateKey(t.Context(), rehearsal.Key{Name: p.Key.Name + "-2", Level: "OPS", Duty: "batch job", Expires: "Unlimited"})
			}
			noerr.Must(t, err)
			if _, err := e.Give(t.Context(), plan.ID, keystore.NewSecret("Bearer "+made.Value), ""); !errors.Is(err, keystore.ErrKeyValue) {
				t.Errorf("a header is given: %v", err)
			}
			noerr.Must(t, noerr.From(e.Give(t.Context(), plan.ID, keystore.NewSecret("mistyped-value-0123456789"), "2027-01-31")))
			wantAsked(true)
			wantAsked(true) // the same again without a value
			outage := "last call with the old value that worked was at " + plan.LastOld.Format(time.DateTime)
			if says := strings.Contains(rotate.Report(plan), outage) && strings.Contains(rotate.Report(plan), "none with a new one has worked"); says != (method == keystore.RotateByRefresh) {
				t.Errorf("of the outage the report says %q\n%s", outage, rotate.Report(plan))
			}
			noerr.Must(t, noerr.From(e.Give(t.Context(), plan.ID, keystore.NewSecret(made.Value), "")))
			plan, _ = e.Run(t.Context(), plan.ID, keystore.WordTest, nil)
			created := plan.Steps[0]
			if !created.Done || created.By != keystore.Measured || created.Status != http.StatusOK || plan.NewExpires != "" {
				t.Errorf("it is %+v, expires %q", created, plan.NewExpires)
			}
			if got, err := p.secrets().Resolve(t.Context(), p.Key.Secret); err != nil || got.Reveal() != made.Value {
				t.Errorf("the reference gives ••••%s, %v", got.Last4(), err)
			}
			if says := strings.Contains(rotate.Report(plan), "no value worked everywhere for "); says != (method == keystore.RotateByRefresh) {
				t.Errorf("of the outage:\n%s", rotate.Report(plan))
			}
			for _, name := range []string{"| old key | not known | ", "| new key | not known | "} { // a person saw them
				if !strings.Contains(rotate.Report(plan), name) {
					t.Errorf("no %q in\n%s", name, rotate.Report(plan))
				}
			}
			if _, err := e.Give(t.Context(), plan.ID, keystore.NewSecret("mistyped-value-0123456789"), ""); !errors.Is(err, keystore.ErrStepOrder) {
				t.Errorf("a value after the proof: %v", err)
			}
		})
	}
}

// TestAValueTheConsoleMakesIsNotGiven leaves alone what the console itself made in the account settings.
func TestAValueTheConsoleMakesIsNotGiven(t *testing.T) {
	p := newPlace(t, start(t), "made")
	e, plan := p.begin(t, p.config(), keystore.RotateByNewKey)
	if _, err := e.Give(t.Context(), plan.ID, keystore.NewSecret("mistyped-value-0123456789"), ""); !errors.Is(err, keystore.ErrStepOrder) {
		t.Errorf("%v", err)
	}
}

// TestAValueThatNothingIsSaidOfIsNotAskedForAgain has a service that fails without refusing the value.
func TestAValueThatNothingIsSaidOfIsNotAskedForAgain(t *testing.T) {
	p := newPlace(t, start(t), "unheard")
	c := p.config()
	c.Settings = nil
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	noerr.Must(t, noerr.From(e.Give(t.Context(), plan.ID, keystore.NewSecret("good-or-bad-value-0123456789"), "")))
	p.Profile.BaseURL = "http://127.0.0.1:1"
	c = p.config()
	c.Settings = nil
	var stop *rotate.StopError
	if _, err := c.engine().Run(t.Context(), plan.ID, "", nil); err == nil || errors.As(err, &stop) {
		t.Errorf("%v", err)
	}
}

func TestAnExpiryThatWasGivenStandsAsAWordInTheRecord(t *testing.T) {
	p := newPlace(t, start(t), "said")
	c := p.config()
	c.Settings = nil
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	made := noerr.Try(p.settings().CreateKey(t.Context(), rehearsal.Key{Name: "said-2", Level: "OPS", Duty: "batch job", Expires: "Unlimited"})).Must(t)
	noerr.Must(t, noerr.From(e.Give(t.Context(), plan.ID, keystore.NewSecret(made.Value), "2027-01-31")))
	plan = noerr.Try(e.Run(t.Context(), plan.ID, keystore.WordCreate, nil)).Must(t)
	if want := "expires 2027-01-31 by the word of whoever gave the value"; !strings.HasSuffix(plan.Steps[0].Note, want) {
		t.Errorf("the record says %q, want %q at its end", plan.Steps[0].Note, want)
	}
}

// Where no call can tell, a person takes each step of the account settings and vouches for it, and nothing passes for
// measured but what was read back.
func TestWhatNoCallCanShowIsVouchedFor(t *testing.T) {
	demo := start(t)
	for _, method := range []keystore.RotationMethod{keystore.RotateByNewKey, keystore.RotateByRefresh} {
		t.Run(string(method), func(t *testing.T) {
			p := newPlace(t, demo, "unproved-"+string(method[:3]))
			p.Users = slices.DeleteFunc(p.Users, func(u keystore.RotationUser) bool { return u.InFlight })
			for i := range p.Users {
				p.Users[i].Profile, p.Users[i].Reason = "acme", "no test page is known"
			}
			c := p.config()
			c.Settings = nil
			c.Prove = func(context.Context, rotate.Call) (model.FetchResult, error) {
				t.Error("a call was made")
				return model.FetchResult{}, nil
			}
			e, plan := p.begin(t, c, method)
			if _, err := e.Vouch(t.Context(), plan.ID, plan.Steps[0], ""); err == nil {
				t.Error("a value that was not given is vouched for")
			}
			plan, _ = e.Run(t.Context(), plan.ID, "", nil)
			noerr.Must(t, noerr.From(e.Give(t.Context(), plan.ID, keystore.NewSecret("a-new-value-0123456789"), "")))
			var advice []string
			for !plan.Over() {
				var stop *rotate.StopError
				var err error
				if plan, err = e.Run(t.Context(), plan.ID, "", nil); !errors.As(err, &stop) || !stop.Vouch || !strings.Contains(stop.Advice, "no test page is known") {
					t.Fatalf("%v: %+v", err, plan.Steps)
				}
				advice = append(advice, stop.Advice)
				plan = noerr.Try(e.Vouch(t.Context(), plan.ID, stop.Step, "its log")).Must(t)
			}
			for _, s := range plan.Steps {
				want, note := keystore.Vouched, "its log"
				if s.Kind == keystore.StepSet {
					want, note = keystore.Measured, "written and read back"
				}
				if s.By != want || s.Note != note || s.Status != 0 {
					t.Errorf("%+v, want %s, %q", s, want, note)
				}
			}
			all := strings.Join(advice, "\n")
			for _, words := range []string{"make a call of your own with the value that was given (••••6789)", "make a call of your own with the old value (••••" + plan.OldLast4 + ") and see it refused", "see that nothing else is refused; then vouch for it"} {
				if !strings.Contains(all, words) {
					t.Errorf("no %q in\n%s", words, all)
				}
			}
			if deletes := strings.Contains(all, "in the account settings, delete the old key"); deletes != (method == keystore.RotateByNewKey) {
				t.Errorf("of the old key it says\n%s", all)
			}
		})
	}
}
