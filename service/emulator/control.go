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
	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/level"
)

const maxControlBytes = 64 << 10

// controlHandler is what the contract calls account-settings actions (service.md 2.1,
// 2.2, 3). The interface is this emulator's own.
func (s *Server) controlHandler() http.Handler {
	return mux(s.controlEndpoints(), func(e endpoint) http.HandlerFunc { return s.withControl(e.action, e.serve) })
}

// controlEndpoints is everything the control API serves, and what an acting key needs.
func (s *Server) controlEndpoints() []endpoint {
	return slices.Concat(s.settingsEndpoints(), s.rehearsalEndpoints())
}

func (s *Server) settingsEndpoints() []endpoint {
	return []endpoint{
		{"GET /ready", level.Keys, func(w http.ResponseWriter, _ *http.Request) {
			answer.JSON(w, http.StatusOK, answer.BasisControl, s.Ready())
		}},
		{"GET /keys", level.Keys, func(w http.ResponseWriter, _ *http.Request) {
			answer.JSON(w, http.StatusOK, answer.BasisControl, map[string]any{"keys": withoutValues(s.account.Keys())})
		}},
		{"POST /keys", level.Keys, s.handleCreateKey},
		{"POST /keys/{name}/refresh", level.Keys, func(w http.ResponseWriter, r *http.Request) {
			k, err := s.account.RefreshKey(r.PathValue("name"))
			s.answerControl(w, http.StatusOK, k, err)
		}},
		{"DELETE /keys/{name}", level.Keys, func(w http.ResponseWriter, r *http.Request) {
			name := r.PathValue("name")
			s.answerControl(w, http.StatusOK, map[string]string{"deleted": name}, s.account.DeleteKey(name))
		}},
		{"GET /zones", level.ZonePasswords, func(w http.ResponseWriter, _ *http.Request) {
			answer.JSON(w, http.StatusOK, answer.BasisControl, map[string]any{"zones": s.account.Zones()})
		}},
		{"POST /zones/{name}/password", level.ZonePasswords, func(w http.ResponseWriter, r *http.Request) {
			z, err := s.account.NewPassword(r.PathValue("name"))
			s.answerControl(w, http.StatusOK, z, err)
		}},
		{"POST /zones/{name}/limit", level.Settings, s.handleLimit},
	}
}

// withoutValues: a value is shown once, at creation (service.md 2.1). The scenario's
// plain ones are in Ready, where the demo hands them out.
func withoutValues(keys []account.Key) []account.Key {
	for i := range keys {
		keys[i].Value = ""
	}
	return keys
}

// withControl checks the control token and, where the caller acts as a key, that the
// key's level permits the action (service.md 5.3).
func (s *Server) withControl(a level.Action, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(bearer(r.Header)), []byte(s.controlToken)) != 1 {
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

func (s *Server) answerControl(w http.ResponseWriter, status int, v any, err error) {
	switch {
	case errors.Is(err, account.ErrNoSuchKey), errors.Is(err, account.ErrNoSuchZone):
		answerError(w, http.StatusNotFound, err.Error())
	case errors.Is(err, account.ErrTooMany):
		answerError(w, http.StatusBadRequest, err.Error())
	case errors.Is(err, account.ErrKeyExists):
		answerError(w, http.StatusConflict, err.Error())
	case err != nil:
		s.log.Error("an account change was not kept", "error", err)
		answerError(w, http.StatusInternalServerError, "the change could not be kept")
	default:
		answer.JSON(w, status, answer.BasisControl, v)
	}
}

// handleCreateKey takes {"name", "level", "expires", "duty"}. expires is a date, an RFC
// 3339 moment or "Unlimited" (a zero time); it is required.
func (s *Server) handleCreateKey(w http.ResponseWriter, r *http.Request) {
	t, err := readObject(w, r)
	if err != nil {
		answerError(w, http.StatusBadRequest, err.Error())
		return
	}
	name, lv, duty := t.Text("name"), level.Level(t.Text("level")), t.Text("duty")
	if !account.ValidName(name) {
		t.Refuse("name", "must be 1 to 64 letters, digits, '.', '_' or '-'")
	}
	if !lv.Valid() {
		t.Refuse("level", "must be ADMIN, FINANCE, OPS, LIMIT or USER")
	}
	if len(duty) > 64 {
		t.Refuse("duty", "is longer than 64 bytes")
	}
	expires, err := document.ParseTime(t.Text("expires"))
	if t.Text("expires") != "Unlimited" && (err != nil || expires.IsZero()) { // the year 1 is not Unlimited
		t.Refuse("expires", "must be a date like 2027-01-31, or Unlimited")
	}
	t.Done()
	if err := t.Invalid(); err != nil {
		answerError(w, http.StatusBadRequest, err.Error())
		return
	}
	k, err := s.account.CreateKey(name, lv, duty, expires)
	s.answerControl(w, http.StatusCreated, k, err)
}

// handleLimit sets what a zone may cost: {"value": dollars, "cycle": "d" or "m"}; a value
// of null takes the limit off.
func (s *Server) handleLimit(w http.ResponseWriter, r *http.Request) {
	t, err := readObject(w, r)
	if err != nil {
		answerError(w, http.StatusBadRequest, err.Error())
		return
	}
	var limit *account.Limit
	value, cycle := t.Float("value", 0, math.MaxFloat64), t.OneOf("cycle", "d", "m")
	if t.Has("value") {
		t.Require("cycle")
		limit = &account.Limit{Value: value, Cycle: cycle}
	}
	t.Done()
	if err := t.Invalid(); err != nil {
		answerError(w, http.StatusBadRequest, err.Error())
		return
	}
	z, err := s.account.LimitZone(r.PathValue("name"), limit)
	s.answerControl(w, http.StatusOK, z, err)
}
