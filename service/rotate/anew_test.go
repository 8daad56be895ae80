package rotate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/rehearsal"
	"zonedeck/service/rotate"
	"zonedeck/service/servicetest"
)

// begunAnew are account settings whose journal has its numbers from 1 again after restart, as that of
// an emulator which is started with each console.
type begunAnew struct {
	*rehearsal.Client
	before atomic.Uint64
}

func (s *begunAnew) Newest(ctx context.Context, limit int) (page rehearsal.Page, err error) {
	all, err := s.Client.Newest(ctx, limit)
	before := s.before.Load()
	for _, q := range all.Requests {
		if q.Seq > before {
			q.Seq -= before
			page.Requests = append(page.Requests, q)
		}
	}
	page.Last = all.Last - before
	return page, err
}

func (s *begunAnew) restart(t *testing.T) {
	t.Helper()
	page := noerr.Try(s.Client.Newest(t.Context(), 1)).Must(t)
	s.before.Store(page.Last)
}

// TestAUseIsSeenInAJournalThatWasBegunAnew sends the old value when the emulator was started again, more
// often than there were entries before, while a rotation watches and when it is over.
func TestAUseIsSeenInAJournalThatWasBegunAnew(t *testing.T) {
	demo := start(t)
	for _, method := range []keystore.RotationMethod{keystore.RotateByNewKey, keystore.RotateByRefresh} {
		for _, over := range []bool{false, true} {
			t.Run(fmt.Sprintf("%.3s-%v", method, over), func(t *testing.T) { seenInAJournalBegunAnew(t, demo, method, over) })
		}
	}
}

func seenInAJournalBegunAnew(t *testing.T, demo servicetest.Demo, method keystore.RotationMethod, over bool) {
	p := newPlace(t, demo, fmt.Sprintf("anew-%.3s-%v", method, over))
	old, err := p.secrets().Resolve(t.Context(), p.Key.Secret)
	noerr.Must(t, err)
	settings := &begunAnew{Client: p.settings()}
	c := p.config()
	c.Settings = func(keystore.RotationPlan) rotate.Settings { return settings }
	settings.restart(t)
	restartAndSend := func(plan keystore.RotationPlan) (calls int) {
		settings.restart(t)
		calls = int(max(plan.SetSeq, plan.DeletedSeq)) + 1
		for range calls {
			if res, err := c.Prove(t.Context(), rotate.Call{Key: p.Key, Value: old}); err != nil || res.ServiceStatus != http.StatusUnauthorized {
				t.Fatalf("the client: %d, %v", res.ServiceStatus, err)
			}
		}
		return calls
	}
	calls := 0
	e, plan := p.begin(t, c, method)
	plan, err = e.Run(t.Context(), plan.ID, "", func(now keystore.RotationPlan) {
		if s, _ := now.Step(keystore.StepRefused, ""); s.Done && calls == 0 && !over {
			calls = restartAndSend(now)
		}
	})
	var says string
	if over {
		if err != nil || !plan.Over() {
			t.Fatalf("%v, %+v", err, plan.Steps)
		}
		calls = restartAndSend(plan)
		says = strings.Join(e.UsesAfterEnd(t.Context(), plan).Used, "; ")
	} else {
		stop := (*rotate.StopError)(nil)
		if !errors.As(err, &stop) || stop.Step.Kind != keystore.StepWatch {
			t.Fatalf("%v, over %v, want that the watch stops", err, plan.Over())
		}
		says = stop.Advice
	}
	if !strings.Contains(says, fmt.Sprintf("%d calls, the last at", calls)) {
		t.Errorf("of %d refused calls it says %q", calls, says)
	}
}
