package rotate_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rotate"
)

// If the rotation's own call broke, it was not refused: a client's refused call must not pass for it.
func TestAClientThatIsRefusedIsSeenAfterACallThatBroke(t *testing.T) {
	p := newPlace(t, start(t), "broken-call")
	old, err := p.secrets().Resolve(t.Context(), p.Key.Secret)
	noerr.Must(t, err)
	c := p.config()
	prove, broken := c.Prove, false
	c.Prove = func(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
		if !broken && call.Value.Fingerprint() == p.Key.Fingerprint {
			broken = true
			return model.FetchResult{}, errors.New("no network")
		}
		return prove(ctx, call)
	}
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	if _, err := e.Run(t.Context(), plan.ID, "", nil); !broken || err == nil || !strings.Contains(err.Error(), "no network") {
		t.Fatalf("%v", err)
	}
	if res, err := prove(t.Context(), rotate.Call{Key: p.Key, Value: old}); err != nil || res.ServiceStatus != http.StatusUnauthorized {
		t.Fatalf("the client: %d, %v", res.ServiceStatus, err)
	}
	plan, err = e.Run(t.Context(), plan.ID, "", nil)
	stop := (*rotate.StopError)(nil)
	if !errors.As(err, &stop) || stop.Step.Kind != keystore.StepWatch || plan.Over() || plan.OwnRefused != 1 {
		t.Errorf("%v, %d of its own", err, plan.OwnRefused)
	}
}

// A process that was killed between recording its own call and making it has made none: a client's refused
// call must not pass for it.
func TestACallThatAKillCameBeforeIsNotCounted(t *testing.T) {
	p := newPlace(t, start(t), "killed-before")
	old := noerr.Try(p.secrets().Resolve(t.Context(), p.Key.Secret)).Must(t)
	c := p.config()
	prove := c.Prove
	c.Prove = func(ctx context.Context, call rotate.Call) (model.FetchResult, error) {
		if call.Value.Fingerprint() == p.Key.Fingerprint {
			panic("killed")
		}
		return prove(ctx, call)
	}
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it was not killed")
			}
		}()
		_, _ = e.Run(t.Context(), plan.ID, "", nil)
	}()
	curl := noerr.Try(http.NewRequestWithContext(t.Context(), http.MethodPost, p.Profile.BaseURL+"/request", strings.NewReader(`{"zone":"unlocker_demo","url":"http://lab.test/ok","format":"raw"}`))).Must(t)
	curl.Header.Set("Authorization", "Bearer "+old.Reveal())
	res, err := http.DefaultClient.Do(curl)
	noerr.Must(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Fatalf("the client: %s", res.Status)
	}
	plan, err = p.config().engine().Run(t.Context(), plan.ID, "", nil)
	stop := (*rotate.StopError)(nil)
	if !errors.As(err, &stop) || stop.Step.Kind != keystore.StepWatch || plan.Over() || plan.OwnRefused != 1 {
		t.Errorf("%v, %d of its own", err, plan.OwnRefused)
	}
}
