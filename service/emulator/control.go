package emulator

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
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

func (s *Server) handleCreateKey(w http.ResponseWriter, r *http.Request) {
	body, err := answer.ReadBody(w, r, maxControlBytes)
	if err != nil {
		answerError(w, http.StatusBadRequest, "the body could not be read")
		return
	}
	name, lv, duty, expires, err := parseNewKey(body)
	if err != nil {
		answerError(w, http.StatusBadRequest, err.Error())
		return
	}
	k, err := s.account.CreateKey(name, lv, duty, expires)
	s.answerControl(w, http.StatusCreated, k, err)
}

// handleLimit sets what a zone may cost: {"value": dollars, "cycle": "d" or "m"}; a value
// of null takes the limit off.
func (s *Server) handleLimit(w http.ResponseWriter, r *http.Request) {
	body, err := answer.ReadBody(w, r, maxControlBytes)
	if err != nil {
		answerError(w, http.StatusBadRequest, "the body could not be read")
		return
	}
	var ask struct {
		Value *float64 `json:"value"`
		Cycle string   `json:"cycle"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&ask); err != nil {
		answerError(w, http.StatusBadRequest, "body must be {\"value\": dollars or null, \"cycle\": \"d\" or \"m\"}")
		return
	}
	var limit *account.Limit
	if ask.Value != nil {
		if *ask.Value < 0 || ask.Cycle != "d" && ask.Cycle != "m" {
			answerError(w, http.StatusBadRequest, "value must not be negative, cycle must be d or m")
			return
		}
		limit = &account.Limit{Value: *ask.Value, Cycle: ask.Cycle}
	}
	z, err := s.account.LimitZone(r.PathValue("name"), limit)
	s.answerControl(w, http.StatusOK, z, err)
}

// parseNewKey reads {"name", "level", "expires", "duty"}. expires is a date, an RFC
// 3339 moment or "Unlimited" (a zero time); it has to be said.
func parseNewKey(b []byte) (name string, lv level.Level, duty string, expires time.Time, err error) {
	var fields map[string]string
	if err := json.Unmarshal(b, &fields); err != nil {
		return "", "", "", time.Time{}, errors.New("body must be a JSON object of strings")
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		switch field {
		case "name", "level", "duty", "expires":
		default:
			return "", "", "", time.Time{}, fmt.Errorf("%s is not a field of a key", field)
		}
	}
	name, lv, duty = fields["name"], level.Level(fields["level"]), fields["duty"]
	if !account.ValidName(name) {
		return "", "", "", time.Time{}, errors.New("name must be 1 to 64 letters, digits, '.', '_' or '-'")
	}
	if !lv.Valid() {
		return "", "", "", time.Time{}, errors.New("level must be ADMIN, FINANCE, OPS, LIMIT or USER")
	}
	if len(duty) > 64 {
		return "", "", "", time.Time{}, errors.New("duty is longer than 64 bytes")
	}
	expires, err = parseExpires(fields["expires"])
	return name, lv, duty, expires, err
}

func parseExpires(v string) (time.Time, error) {
	if v == "Unlimited" {
		return time.Time{}, nil
	}
	for _, layout := range [...]string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, v); err == nil && !t.IsZero() { // the year 1 is no Unlimited
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("expires must be a date like 2027-01-31, or Unlimited")
}
