package overview

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/emulator"
	"zonedeck/service/servicetest"
)

func TestTheEmulatorsZoneIsShown(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	cfg := configOf(demo.Profile, &demo)
	z, err := cfg.GetZone(t.Context(), "ops-zones", "isp_demo")
	if err != nil || z.State != "active" || z.Plan.Type == "" || z.Plan.Created.IsZero() || !slices.Equal(z.Plan.Callers, []string{"any"}) ||
		z.StateProblem+z.TrafficProblem+z.CallersProblem != "" || z.From.Day() != 1 || !z.To.After(z.From) || !strings.Contains(z.Cost.Problem, "billing") {
		t.Errorf("%+v, %v", z, err)
	}
	if z, err = cfg.GetZone(t.Context(), "batch-user", "isp_demo"); err != nil || z.State != "active" || !strings.Contains(z.TrafficProblem, "403") || !strings.Contains(z.CallersProblem, "403") {
		t.Errorf("by USER: %+v, %v", z, err)
	}
	if z, err = cfg.GetZone(t.Context(), "finance-review", "isp_demo"); err != nil || z.Cost.From.IsZero() || z.Cost.Zone.Name != "isp_demo" {
		t.Errorf("by FINANCE: %+v, %v", z.Cost, err)
	}
	other := demo.Profile
	other.Zones = nil
	if z, err = configOf(other, &demo).GetZone(t.Context(), "finance-review", "unlocker_demo"); err != nil || z.Cost.From.IsZero() || z.Cost.Zone.Product != model.ProductUnlocker {
		t.Errorf("of a zone that the profile lacks: %+v, %v", z.Cost, err)
	}
	if _, err = cfg.GetZone(t.Context(), "ops-zones", "nowhere"); err == nil || !strings.Contains(err.Error(), "zone nowhere: HTTP 422") {
		t.Errorf("a zone that there is not: %v", err)
	}
}

// Each call names the zone, no part hides another, and a secret that is repeated is masked.
func TestEachPartOfAZoneHasAProblemOfItsOwn(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	key, err := servicetest.Secret(t.Context(), "env:KEY")
	noerr.Must(t, err)
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.RequestURI())
		mu.Unlock()
		switch r.URL.Path {
		case "/zone":
			_, _ = io.WriteString(w, `{"password":["hunter2"],"plan":{"type":"`+key.Reveal()+`"},"ips":["`+key.Reveal()+`"]}`)
		case "/zone/status":
			_, _ = io.WriteString(w, `{"status":"`+key.Reveal()+`"}`)
		case "/zone/bw":
			_, _ = io.WriteString(w, `<html>`)
		default:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "no "+key.Reveal())
		}
	})
	p.Dialect = dialect.Embedded().Name()
	z, err := configOf(p, nil).GetZone(t.Context(), "", "a zone&of=mine")
	if !errors.Is(err, model.ErrRequest) {
		t.Errorf("a name that is none: %v", err)
	}
	if z, err = configOf(p, nil).GetZone(t.Context(), "", "z1"); err != nil || z.StateProblem != "" || !strings.Contains(z.TrafficProblem, "does not show the traffic") ||
		!strings.Contains(z.CallersProblem, "HTTP 500: no ***") || !strings.Contains(z.Cost.Problem, "no access to billing") {
		t.Errorf("%+v, %v", z, err)
	}
	servicetest.NoSecret(t, "a zone", strings.Join([]string{z.State, z.Plan.Type, z.CallersProblem, strings.Join(z.Plan.Callers, " ")}, " "))
	mu.Lock()
	defer mu.Unlock()
	for _, uri := range asked {
		if strings.Count(uri, "z1") != 1 {
			t.Errorf("%s does not name the zone", uri)
		}
	}
	if len(asked) != 4 {
		t.Errorf("asked for %v", asked)
	}
}

func TestTheContractShowsNoZone(t *testing.T) {
	p := servicetest.API(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	p.Dialect = dialect.Default().Name()
	if _, err := configOf(p, nil).GetZone(t.Context(), "", "z1"); !errors.Is(err, dialect.ErrNotShown) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Dialect = dialect.Embedded().Name()
	if _, err := configOf(p, nil).GetZone(ctx, "", "z1"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
