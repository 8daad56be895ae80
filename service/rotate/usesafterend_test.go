package rotate_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/service/rotate"
)

// TestAUseAfterTheEndIsSeen sends the old value after a rotation, and puts it back behind a reference.
func TestAUseAfterTheEndIsSeen(t *testing.T) {
	p := newPlace(t, start(t), "late")
	old, err := p.secrets().Resolve(t.Context(), p.Key.Secret)
	noerr.Must(t, err)
	c := p.config()
	var told []string
	c.UsedAfterEnd = func(_ context.Context, _ keystore.RotationPlan, used []string) { told = used }
	e, plan := p.begin(t, c, keystore.RotateByNewKey)
	if plan, err = e.Run(t.Context(), plan.ID, "", nil); err != nil || !plan.Over() {
		t.Fatalf("%v, %+v", err, plan.Steps)
	}
	if late := e.UsesAfterEnd(t.Context(), plan); len(late.Used) > 0 || len(late.Blind) > 0 || told != nil {
		t.Errorf("before anything happened: %+v, told %q", late, told)
	}
	if res, err := c.Prove(t.Context(), rotate.Call{Key: p.Key, Value: old}); err != nil || res.ServiceStatus != http.StatusUnauthorized {
		t.Fatalf("the client: %d, %v", res.ServiceStatus, err)
	}
	noerr.Must(t, p.secrets().Store(t.Context(), p.Users[1].Ref, old))
	late := e.UsesAfterEnd(t.Context(), plan)
	if len(late.Used) != 2 || !strings.Contains(late.Used[0], "refused since it ended: one call") || !strings.Contains(late.Used[1], "saved request shop gives the old value again") || !slices.Equal(told, late.Used) {
		t.Errorf("%+v, told %q", late, told)
	}
	c.Settings = func(keystore.RotationPlan) rotate.Settings { return nil }
	if late = c.engine().UsesAfterEnd(t.Context(), plan); len(late.Used) != 1 || len(late.Blind) != 1 || !strings.Contains(late.Blind[0], "no journal") {
		t.Errorf("without a journal: %+v", late)
	}
}
