package fetch

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/exchange"
	"zonedeck/service/profile"
	"zonedeck/service/servicetest"
)

func TestAKeyIsProvedByOneCall(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	ft := New(Config{Access: exchange.Access{
		Profile: func(context.Context) (profile.Profile, error) { return demo.Profile, nil }, Secret: demo.Secret, Key: demo.Key,
	}, Wire: exchange.New(exchange.Config{})})
	before := ft.Spent()
	right, err := demo.Secret(t.Context(), "demo:key/ci-fetch")
	if err != nil {
		t.Fatal(err)
	}
	k := model.Key{Name: "not-recorded", Secret: "env:NOT_SET"}
	res, err := ft.ProveKey(t.Context(), demo.Profile, "", k, right, "the rotation of etl, create")
	if err != nil || !res.Diagnosis.OK() || res.ServiceStatus != http.StatusOK || len(res.Attempts) != 1 || res.KeyName != "not-recorded" || res.Proves != "the rotation of etl, create" {
		t.Errorf("the right value: %+v, %v", res.Diagnosis, err)
	}
	if now := ft.Spent(); now.Priced+now.Unpriced != before.Priced+before.Unpriced+1 {
		t.Errorf("the call that proved it is not counted: %+v, then %+v", before, now)
	}
	res, err = ft.ProveKey(t.Context(), demo.Profile, "", k, keystore.NewSecret("another-value"), "")
	if err != nil || res.Diagnosis.Cause != model.CauseKeyRejected || res.ServiceStatus != http.StatusUnauthorized {
		t.Errorf("another value: %+v, %v", res.Diagnosis, err)
	}
}

func TestWhatAKeyIsProvedBy(t *testing.T) {
	p := servicetest.Profile("http://api.test")
	if r, err := ProofCall(p); err != nil || r.Zone.Name != "unlocker1" || r.Via != model.ViaAPI || r.Retries != 0 || r.URL == "" {
		t.Errorf("%+v, %v", r, err)
	}
	for want, change := range map[string]func(p *profile.Profile){
		"the contract shows no test page for profile test":              func(p *profile.Profile) { p.Dialect = "documented" },
		"profile test names no zone of a proxy network or the unlocker": func(p *profile.Profile) { p.Zones = p.Zones[2:] },
		`dialect "none" is not known`:                                   func(p *profile.Profile) { p.Dialect = "none" },
	} {
		p := servicetest.Profile("http://api.test")
		change(&p)
		if r, err := ProofCall(p); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, r, err)
		}
	}
}
