package password

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

// A change may take a moment to reach the proxy: what may pass with time is tried again, and
// nothing else is.
func TestAPasswordIsTriedAgainWhileThatMayHelp(t *testing.T) {
	var (
		ok       = model.Diagnosis{Class: model.ClassOK}
		rejected = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseLoginRejected, Summary: "the login was rejected"}
		page     = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseTargetError, Summary: "the target answered with an error"}
		trust    = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseTLSTrust, Summary: "a certificate is not trusted"}
		untold   = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseTLSTrust, Summary: "the proxy's certificate is not trusted"} // before any CONNECT
		broken   = model.Diagnosis{Class: model.ClassOutside, Cause: model.CauseNetwork, Summary: "no connection"}
	)
	for name, c := range map[string]struct {
		accepted bool
		answers  []model.Diagnosis
		took     time.Duration
		says     string
	}{
		"works at once":             {true, []model.Diagnosis{ok}, 0, ""},
		"works in the end":          {true, []model.Diagnosis{rejected, rejected, rejected, ok}, 9 * time.Second, ""},
		"works, not the page":       {true, []model.Diagnosis{rejected, page}, time.Second, ""},
		"old gets to the page":      {false, []model.Diagnosis{page, page, page, page}, 9 * time.Second, "it is still accepted"},
		"old got to the page":       {false, []model.Diagnosis{page, rejected}, time.Second, ""},
		"works, not trusted":        {true, []model.Diagnosis{rejected, trust}, time.Second, ""},
		"old gets to what it fails": {false, []model.Diagnosis{trust, rejected}, time.Second, ""},
		"the proxy is not trusted":  {true, []model.Diagnosis{untold}, 0, "the proxy's certificate is not trusted"},
		"nor for an old one":        {false, []model.Diagnosis{untold}, 0, "not known: the proxy's certificate is not trusted"},
		"never works":               {true, []model.Diagnosis{rejected, rejected, rejected, rejected}, 9 * time.Second, "the login was rejected"},
		"cannot be tried":           {true, []model.Diagnosis{broken}, 0, "no connection"},
		"cannot be tried any more":  {true, []model.Diagnosis{rejected, broken}, time.Second, "no connection"},
		"is refused at once":        {false, []model.Diagnosis{rejected}, 0, ""},
		"is refused after a moment": {false, []model.Diagnosis{ok, ok, rejected}, 4 * time.Second, ""},
		"is never refused":          {false, []model.Diagnosis{ok, ok, ok, ok}, 9 * time.Second, "it is still accepted"},
		"nobody can say":            {false, []model.Diagnosis{broken}, 0, "not known: no connection"},
	} {
		synctest.Test(t, func(t *testing.T) {
			left := c.answers
			r := New(Config{Prover: prover(func() (model.ProbeResult, error) {
				if len(left) == 0 {
					t.Errorf("%s: one more call", name)
					return model.ProbeResult{Diagnosis: ok}, nil
				}
				d := left[0]
				left = left[1:]
				res := model.ProbeResult{Diagnosis: d, ConnectStatus: http.StatusOK}
				if d.Summary == untold.Summary {
					res.ConnectStatus = 0
				}
				return res, nil
			})})
			began := time.Now()
			_, err := r.Login(t.Context(), model.Profile{}, model.Zone{}, exchange.LoginProof{Password: keystore.NewSecret("value-0123456789"), Refusal: !c.accepted})
			if took := time.Since(began); len(left) > 0 || took != c.took || c.says == "" && err != nil || c.says != "" && (err == nil || err.Error() != c.says) {
				t.Errorf("%s: %v after %s, %d answers left", name, err, took, len(left))
			}
		})
	}
}

// A reference that follows the service may need a moment, another one does not.
func TestAReferenceIsReadAgainWhileThatMayHelp(t *testing.T) {
	unreadable := errors.New("unreadable")
	for name, c := range map[string]struct {
		follows bool
		values  []string
		fails   string // "profile" or "secret"
		took    time.Duration
		says    string
	}{
		"it leads there":        {false, []string{"new"}, "", 0, ""},
		"it does not":           {false, []string{"old"}, "", 0, "it gives another value"},
		"it follows at once":    {true, []string{"new"}, "", 0, ""},
		"it follows later":      {true, []string{"old", "old", "new"}, "", 4 * time.Second, ""},
		"it never follows":      {true, []string{"old", "old", "old", "old"}, "", 9 * time.Second, "it gives another value"},
		"there is no profile":   {true, nil, "profile", 0, "unreadable"},
		"it cannot be resolved": {true, nil, "secret", 0, "unreadable"},
	} {
		synctest.Test(t, func(t *testing.T) {
			left := c.values
			source := servicetest.Source{
				ProfileBy: func(context.Context) (model.Profile, error) {
					if c.fails == "profile" {
						return model.Profile{}, unreadable
					}
					return model.Profile{}, nil
				},
				SecretBy: func(context.Context, string) (keystore.Secret, error) {
					if c.fails == "profile" {
						return keystore.NewSecret("new"), nil
					}
					if len(left) == 0 {
						return keystore.Secret{}, unreadable
					}
					v := left[0]
					left = left[1:]
					return keystore.NewSecret(v), nil
				},
			}
			r := New(Config{Source: source})
			ref := "file:zone"
			if c.follows {
				ref = "demo:zone"
			}
			began := time.Now()
			err := r.Leads(t.Context(), ref, keystore.NewSecret("new"))
			if took := time.Since(began); len(left) > 0 || took != c.took || c.says == "" && err != nil || c.says != "" && (err == nil || err.Error() != c.says) {
				t.Errorf("%s: %v after %s, %d values left", name, err, took, len(left))
			}
		})
	}
}

// prover answers each login with what the function gives.
type prover func() (model.ProbeResult, error)

func (p prover) ProvePasswordAs(context.Context, model.Profile, model.Zone, exchange.LoginProof) (model.ProbeResult, error) {
	return p()
}
