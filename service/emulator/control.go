package emulator

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	emutime "zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/level"
)

const maxControlBytes = 64 << 10

// controlHandler serves the account settings of the contract (service.md 2.1, 2.2, 3). The
// interface itself is an addition of this emulator.
func (s *Server) controlHandler() http.Handler {
	return mux(s.controlEndpoints(), func(e endpoint) http.HandlerFunc { return s.withControl(e.action, e.serve) })
}

// controlEndpoints lists the endpoints of the control API, with the action that an acting key
// needs.
func (s *Server) controlEndpoints() []endpoint {
	return slices.Concat(s.settingsEndpoints(), s.rehearsalEndpoints())
}

func (s *Server) settingsEndpoints() []endpoint {
	call := func(status int, do controlCall) http.HandlerFunc { return s.control(answer.BasisControl, status, do) }
	return []endpoint{
		{"GET /ready", level.Keys, call(http.StatusOK, func(http.ResponseWriter, *http.Request) (any, error) { return s.Ready(), nil })},
		{"GET /keys", level.Keys, call(http.StatusOK, func(http.ResponseWriter, *http.Request) (any, error) {
			return map[string]any{"keys": withoutValues(s.account.Keys())}, nil
		})},
		{"POST /keys", level.Keys, call(http.StatusCreated, s.createKey)},
		{"POST /keys/{name}/refresh", level.Keys, call(http.StatusOK, func(_ http.ResponseWriter, r *http.Request) (any, error) {
			return s.account.RefreshKey(r.PathValue("name"))
		})},
		{"DELETE /keys/{name}", level.Keys, call(http.StatusOK, func(_ http.ResponseWriter, r *http.Request) (any, error) {
			name := r.PathValue("name")
			return map[string]string{"deleted": name}, s.account.DeleteKey(name)
		})},
		{"GET /zones", level.ZonePasswords, call(http.StatusOK, func(http.ResponseWriter, *http.Request) (any, error) {
			return map[string]any{"zones": s.account.Zones()}, nil
		})},
		{"POST /zones/{name}/password", level.ZonePasswords, call(http.StatusOK, func(_ http.ResponseWriter, r *http.Request) (any, error) {
			return s.account.NewPassword(r.PathValue("name"))
		})},
		{"POST /zones/{name}/limit", level.Settings, call(http.StatusOK, s.limitZone)},
	}
}

// controlCall serves one call of the control interface, and returns the answer to encode as
// JSON.
type controlCall func(http.ResponseWriter, *http.Request) (any, error)

// control writes the answer of a call, or the refusal that its error means.
func (s *Server) control(basis string, status int, do controlCall) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := do(w, r)
		if err == nil {
			answer.JSON(w, status, basis, v)
			return
		}
		status, text := s.controlRefusal(err)
		answer.JSON(w, status, basis, map[string]string{"error": text})
	}
}

func (s *Server) controlRefusal(err error) (status int, text string) {
	var malformed *document.Error
	var invalid *answer.InvalidError
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case errors.As(err, &malformed), errors.As(err, &invalid), is(account.ErrTooMany):
		return http.StatusBadRequest, err.Error()
	case is(account.ErrNoSuchKey, account.ErrNoSuchZone, fault.ErrNoSuchRule):
		return http.StatusNotFound, err.Error()
	case is(account.ErrKeyExists, fault.ErrRuleExists, fault.ErrTooMany, emutime.ErrBackwards, emutime.ErrTooFar):
		return http.StatusConflict, err.Error()
	}
	s.log.Error("a change was not kept", "error", err)
	return http.StatusInternalServerError, "the change could not be kept"
}

// withoutValues removes the values of keys, which are shown once, at creation (service.md 2.1).
// Ready has the plain values of the scenario, for the demo.
func withoutValues(keys []account.Key) []account.Key {
	for i := range keys {
		keys[i].Value = ""
	}
	return keys
}

// withControl requires the control token and, if the caller acts as a key, that the key's level
// permits the action (service.md 5.3).
func (s *Server) withControl(a level.Action, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(bearer(r.Header)), []byte(s.ready.ControlToken)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			answerError(w, http.StatusUnauthorized, "the control token is missing or wrong")
			return
		}
		if value := r.Header.Get("X-Acting-Key"); value != "" {
			k, err := s.account.Authenticate(value)
			if err != nil {
				answerError(w, http.StatusUnauthorized, "acting key: "+err.Error())
				return
			}
			if !k.Level.Permits(a) {
				answerError(w, http.StatusForbidden, fmt.Sprintf("level %s does not permit this", k.Level))
				return
			}
		}
		next(w, r)
	}
}

func answerError(w http.ResponseWriter, status int, text string) {
	answer.JSON(w, status, answer.BasisControl, map[string]string{"error": text})
}

// createKey reads {"name", "level", "expires", "duty"}. The required expires is a date, an RFC
// 3339 time or "Unlimited" (the zero time).
func (s *Server) createKey(w http.ResponseWriter, r *http.Request) (any, error) {
	t, err := readObject(w, r)
	if err != nil {
		return nil, err
	}
	name, lv, duty := t.Text("name"), level.Level(t.Text("level")), t.Text("duty")
	t.RefuseIf(!account.ValidName(name), "name", "must be 1 to 64 letters, digits, '.', '_' or '-'")
	t.RefuseIf(!lv.Valid(), "level", "must be ADMIN, FINANCE, OPS, LIMIT or USER")
	t.RefuseIf(len(duty) > 64, "duty", "is longer than 64 bytes")
	expires, err := document.ParseTime(t.Text("expires"))
	if t.Text("expires") != "Unlimited" && (err != nil || expires.IsZero()) { // the year 1 is not Unlimited
		t.Refuse("expires", "must be a date like 2027-01-31, or Unlimited")
	}
	t.Done()
	if err := t.Invalid(); err != nil {
		return nil, err
	}
	return s.account.CreateKey(name, lv, duty, expires)
}

// limitZone sets a zone's usage limit: {"value": dollars, "cycle": "d" or "m"}. The value null
// removes it.
func (s *Server) limitZone(w http.ResponseWriter, r *http.Request) (any, error) {
	t, err := readObject(w, r)
	if err != nil {
		return nil, err
	}
	var limit *account.Limit
	value, cycle := t.Float("value", 0, math.MaxFloat64), t.OneOf("cycle", "d", "m")
	if t.Has("value") {
		t.Require("cycle")
		limit = &account.Limit{Value: value, Cycle: cycle}
	}
	t.Done()
	if err := t.Invalid(); err != nil {
		return nil, err
	}
	return s.account.LimitZone(r.PathValue("name"), limit)
}
