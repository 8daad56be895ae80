package emulator

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	emutime "zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/record"
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
		{"GET /ready", level.Keys, call(http.StatusOK, plainCall(func() any { return s.Ready() }))},
		{"GET /keys", level.Keys, call(http.StatusOK, plainCall(func() any { return map[string]any{"keys": withoutValues(s.account.Keys())} }))},
		{"POST /keys", level.Keys, call(http.StatusCreated, s.createKey)},
		{"POST /keys/{name}/refresh", level.Keys, call(http.StatusOK, callBy("name", s.account.RefreshKey))},
		{"DELETE /keys/{name}", level.Keys, call(http.StatusOK, callBy("name", deleting(s.account.DeleteKey)))},
		{"GET /zones", level.ZonePasswords, call(http.StatusOK, plainCall(func() any { return map[string]any{"zones": s.account.Zones()} }))},
		{"POST /zones/{name}/password", level.ZonePasswords, call(http.StatusOK, callBy("name", s.account.NewPassword))},
		{"POST /zones/{name}/limit", level.Settings, call(http.StatusOK, s.limitZone)},
	}
}

// controlCall serves one call of the control interface, and returns the answer to encode as
// JSON.
type controlCall func(http.ResponseWriter, *http.Request) (any, error)

// plainCall is a call without parameters that cannot fail.
func plainCall(do func() any) controlCall {
	return func(http.ResponseWriter, *http.Request) (any, error) { return do(), nil }
}

// callBy is a call whose only parameter is a part of the path.
func callBy[T any](part string, do func(string) (T, error)) controlCall {
	return func(_ http.ResponseWriter, r *http.Request) (any, error) { return do(r.PathValue(part)) }
}

// deleting answers with what was deleted.
func deleting(do func(string) error) func(string) (map[string]string, error) {
	return func(name string) (map[string]string, error) { return map[string]string{"deleted": name}, do(name) }
}

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
	if err := t.Finish(w); err != nil {
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
	if err := t.Finish(w); err != nil {
		return nil, err
	}
	return s.account.LimitZone(r.PathValue("name"), limit)
}

// basisRehearsal is for what the service lacks: movable time, faults, and a request log.
const basisRehearsal = "addition of this emulator"

const maxFaultBytes = 2 << 20

// rehearsalEndpoints lists the endpoints that move time, change faults and read the journal.
func (s *Server) rehearsalEndpoints() []endpoint {
	call := func(status int, do controlCall) http.HandlerFunc { return s.control(basisRehearsal, status, do) }
	faults := s.rehearsal.faults
	turn := func(on bool) func(string) (fault.Counted, error) {
		return func(id string) (fault.Counted, error) { return faults.Turn(id, on) }
	}
	return []endpoint{
		{"GET /time", level.Use, call(http.StatusOK, s.time)},
		{"POST /time", level.Settings, call(http.StatusOK, s.moveTime)},
		{"GET /faults", level.Use, call(http.StatusOK, plainCall(func() any { return map[string]any{"faults": faults.List()} }))},
		{"POST /faults", level.Settings, call(http.StatusCreated, s.addFaults)},
		{"DELETE /faults", level.Settings, call(http.StatusOK, plainCall(func() any { return map[string]int{"deleted": faults.Clear()} }))},
		{"GET /faults/{id}", level.Use, call(http.StatusOK, callBy("id", faults.Get))},
		{"PUT /faults/{id}", level.Settings, call(http.StatusOK, s.replaceFault)},
		{"DELETE /faults/{id}", level.Settings, call(http.StatusOK, callBy("id", deleting(faults.Remove)))},
		{"POST /faults/{id}/on", level.Settings, call(http.StatusOK, callBy("id", turn(true)))},
		{"POST /faults/{id}/off", level.Settings, call(http.StatusOK, callBy("id", turn(false)))},
		{"GET /requests", level.Use, s.serveRequests},
	}
}

// time returns {"now", "offset", "faults_on"}: the emulator's time (RFC 3339, UTC), its offset from the
// machine's, and how many faults are on.
func (s *Server) time(http.ResponseWriter, *http.Request) (any, error) {
	c := s.rehearsal.clock
	return map[string]any{"now": c.Now().UTC().Format(time.RFC3339Nano), "offset": c.Offset().String(), "faults_on": s.rehearsal.faults.On()}, nil
}

// moveTime takes {"advance": "36h"} or {"to": "2026-12-01T00:00:00Z"}.
func (s *Server) moveTime(w http.ResponseWriter, r *http.Request) (any, error) {
	t, err := readObject(w, r)
	if err != nil {
		return nil, err
	}
	advance, to := t.Signed("advance", emutime.MaxOffset), t.Time("to")
	t.FailIf(t.Has("advance") == t.Has("to"), "", "time is moved by advance or to", `{"advance": "36h"} or {"to": "2026-12-01T00:00:00Z"}`)
	t.Done()
	if err := t.Err(); err != nil {
		return nil, err
	}
	if _, err := s.moveClock(func() (time.Time, error) {
		if t.Has("advance") {
			return s.rehearsal.clock.Advance(advance)
		}
		return s.rehearsal.clock.Set(to)
	}); err != nil {
		return nil, err
	}
	s.date(w)
	return s.time(w, r)
}

// readObject reads the body of a call to the control interface, with any Content-Type.
func readObject(w http.ResponseWriter, r *http.Request) (*document.Table, error) {
	body, err := document.Body(w, r, maxControlBytes, true)
	if err != nil {
		return nil, err
	}
	return document.JSON(body)
}

func readRules(w http.ResponseWriter, r *http.Request) ([]fault.Rule, error) {
	body, err := document.Body(w, r, maxFaultBytes, true)
	if err != nil {
		return nil, err
	}
	tables, err := document.JSONList(body)
	if err != nil {
		return nil, err
	}
	rules := make([]fault.Rule, 0, len(tables))
	for _, t := range tables {
		rules = append(rules, fault.Parse(t))
		if err := t.Err(); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// addFaults takes one rule or an array of them, all or none.
func (s *Server) addFaults(w http.ResponseWriter, r *http.Request) (any, error) {
	rules, err := readRules(w, r)
	if err != nil {
		return nil, err
	}
	added, err := s.rehearsal.faults.Add(rules...)
	return map[string]any{"faults": added}, err
}

func (s *Server) replaceFault(w http.ResponseWriter, r *http.Request) (any, error) {
	rules, err := readRules(w, r)
	if err != nil {
		return nil, err
	}
	if len(rules) != 1 {
		return nil, answer.Invalid(fmt.Sprintf("one fault is replaced by one, not by %d", len(rules)))
	}
	return s.rehearsal.faults.Replace(r.PathValue("id"), rules[0])
}

// serveRequests reads the journal: ?since= (the last number seen), zone, point, limit.
// follow=true streams NDJSON, one entry a line, as requests end.
func (s *Server) serveRequests(w http.ResponseWriter, r *http.Request) {
	q, follow, err := requestsQuery(r)
	switch {
	case err != nil:
		answer.JSON(w, http.StatusBadRequest, basisRehearsal, map[string]string{"error": err.Error()})
	case follow:
		s.followRequests(w, r, q)
	default:
		answer.JSON(w, http.StatusOK, basisRehearsal, s.rehearsal.requests.Read(q))
	}
}

func requestsQuery(r *http.Request) (q record.Query, follow bool, err error) {
	for name, vs := range r.URL.Query() {
		v := vs[0]
		switch name {
		case "since":
			if q.Since, err = strconv.ParseUint(v, 10, 64); err != nil {
				return q, false, fmt.Errorf("since: %q is not the number of a request", v)
			}
		case "limit":
			if q.Limit, err = strconv.Atoi(v); err != nil || q.Limit < 1 || q.Limit > record.MaxLimit {
				return q, false, fmt.Errorf("limit: %q is not a number from 1 to %d", v, record.MaxLimit)
			}
		case "zone":
			q.Zone = v
		case "point":
			q.Point = v
		case "follow":
			if follow, err = strconv.ParseBool(v); err != nil {
				return q, false, fmt.Errorf("follow: %q is neither true nor false", v)
			}
		default:
			return q, false, fmt.Errorf("%s is not a parameter: since, zone, point, limit, follow are", name)
		}
	}
	return q, follow, nil
}

// followRequests streams until the client or the server ends. A line {"lost": n} replaces
// entries that were dropped before they could be sent.
func (s *Server) followRequests(w http.ResponseWriter, r *http.Request, q record.Query) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set(answer.BasisHeader, basisRehearsal)
	out, rc := answer.NewPatient(w), http.NewResponseController(w)
	defer out.Done()
	if err := rc.Flush(); err != nil {
		return
	}
	enc := json.NewEncoder(out)
	// It only ends because the client has left, or the server shuts down.
	_ = s.rehearsal.requests.Follow(r.Context(), q, func(e *record.Entry, lost uint64) error {
		if lost > 0 {
			if err := enc.Encode(map[string]uint64{"lost": lost}); err != nil {
				return err
			}
		}
		if err := enc.Encode(e); err != nil {
			return err
		}
		return rc.Flush()
	})
}
