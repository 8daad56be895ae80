package rotate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
)

// hitting are account settings under which a client sends the old value right after a refresh.
type hitting struct {
	rotate.Settings
	hit func()
}

func (s hitting) RefreshKey(ctx context.Context, name string) (rehearsal.Key, error) {
	defer s.hit()
	return s.Settings.RefreshKey(ctx, name)
}

// TestARefreshRestsWhenTheReferencesAreSet asks for the refresh alone, with a client that is refused
// before the references are set. The service may show the call before the refresh late, or have no
// entry yet: the client's is the first one then.
func TestARefreshRestsWhenTheReferencesAreSet(t *testing.T) {
	for _, empty := range []bool{false, true} {
		t.Run(fmt.Sprintf("empty-%v", empty), func(t *testing.T) { refreshRests(t, empty) })
	}
}

func refreshRests(t *testing.T, empty bool) {
	p := newPlace(t, start(t), "rests")
	old := noerr.Try(p.secrets().Resolve(t.Context(), p.Key.Secret)).Must(t)
	c := p.config()
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	c.Now = func(keystore.RotationPlan) time.Time { at = at.Add(time.Second); return at }
	journal := &begunAnew{Client: p.settings()}
	prove := c.Prove
	c.Prove = func(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
		res, err := prove(ctx, call)
		if empty && call.Value.Fingerprint() == old.Fingerprint() && journal.before.Load() == 0 {
			for page := (rehearsal.Page{}); page.Last == 0 && t.Context().Err() == nil; { // a journal may be written after the answer
				page, _ = journal.Client.Newest(t.Context(), 1)
			}
			journal.restart(t)
		}
		return res, err
	}
	settings := hitting{journal, func() {
		if res, err := prove(t.Context(), rotate.Call{Key: p.Key, Value: old}); err != nil || res.ServiceStatus != http.StatusUnauthorized {
			t.Errorf("the client: %d, %v", res.ServiceStatus, err)
		}
	}}
	c.Settings = func(keystore.RotationPlan) rotate.Settings { return settings }
	e, plan := p.begin(t, c, keystore.RotateByRefresh)
	plan = noerr.Try(e.Run(t.Context(), plan.ID, keystore.WordCreate, nil)).Must(t)
	var set time.Time
	for _, u := range p.Users {
		s, _ := plan.Step(keystore.StepSet, u.Ref)
		if got, err := p.secrets().Resolve(t.Context(), u.Ref); err != nil || !s.Done || got.Fingerprint() != plan.NewFingerprint {
			t.Errorf("%s is not set when the run rests: %v", u.Ref, err)
		}
		set = s.At
	}
	if plan.Steps[plan.Now()].Kind != keystore.StepTest {
		t.Fatalf("it rests before %s", plan.Steps[plan.Now()].Name())
	}
	at = at.Add(time.Hour) // nothing stands still any more
	plan = noerr.Try(e.Run(t.Context(), plan.ID, "", nil)).Must(t)
	p.wantDone(t, plan)
	if window := "for " + set.Sub(plan.LastOld).String() + " at most"; !set.After(plan.FirstNew) || !strings.Contains(rotate.Report(plan), window) || !strings.Contains(rotate.Report(plan), "calls refused meanwhile: 1") {
		t.Errorf("want that no value worked everywhere %s:\n%s", window, rotate.Report(plan))
	}
	if s, _ := plan.Step(keystore.StepWatch, ""); !strings.Contains(s.Note, "and 1 in the outage before") {
		t.Errorf("the watch says %q", s.Note)
	}
}

// refreshing counts the refreshes.
type refreshing struct {
	rotate.Settings
	times int
}

func (s *refreshing) RefreshKey(ctx context.Context, name string) (rehearsal.Key, error) {
	s.times++
	return s.Settings.RefreshKey(ctx, name)
}

// Without an answer to the call before it, nothing is known of the old value: it is not ended.
func TestNothingIsRefreshedUnseen(t *testing.T) {
	p := newPlace(t, start(t), "unseen")
	c := p.config()
	c.Prove = func(context.Context, rotate.Call) (model.FetchResult, error) {
		return model.FetchResult{}, errors.New("the network is down")
	}
	settings := &refreshing{Settings: p.settings()}
	c.Settings = func(keystore.RotationPlan) rotate.Settings { return settings }
	e, plan := p.begin(t, c, keystore.RotateByRefresh)
	plan, err := e.Run(t.Context(), plan.ID, "", nil)
	if err == nil || !strings.Contains(err.Error(), "before the refresh") || settings.times > 0 || plan.NewFingerprint != "" {
		t.Errorf("%d refreshes, %v", settings.times, err)
	}
}
