package emulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"zonedeck/service/emulator/answer"
	emutime "zonedeck/service/emulator/clock"
	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/record"
)

// basisRehearsal is for what the service lacks: movable time, faults, and a request log.
const basisRehearsal = "addition of this emulator"

const maxFaultBytes = 2 << 20

// rehearsalEndpoints lists the endpoints that move time, change faults and read the journal.
func (s *Server) rehearsalEndpoints() []endpoint {
	call := func(status int, do controlCall) http.HandlerFunc { return s.control(basisRehearsal, status, do) }
	faults := s.rehearsal.faults
	return []endpoint{
		{"GET /time", level.Use, call(http.StatusOK, s.time)},
		{"POST /time", level.Settings, call(http.StatusOK, s.moveTime)},
		{"GET /faults", level.Use, call(http.StatusOK, func(http.ResponseWriter, *http.Request) (any, error) {
			return map[string]any{"faults": faults.List()}, nil
		})},
		{"POST /faults", level.Settings, call(http.StatusCreated, s.addFaults)},
		{"DELETE /faults", level.Settings, call(http.StatusOK, func(http.ResponseWriter, *http.Request) (any, error) {
			return map[string]int{"deleted": faults.Clear()}, nil
		})},
		{"GET /faults/{id}", level.Use, call(http.StatusOK, func(_ http.ResponseWriter, r *http.Request) (any, error) {
			return faults.Get(r.PathValue("id"))
		})},
		{"PUT /faults/{id}", level.Settings, call(http.StatusOK, s.replaceFault)},
		{"DELETE /faults/{id}", level.Settings, call(http.StatusOK, func(_ http.ResponseWriter, r *http.Request) (any, error) {
			id := r.PathValue("id")
			return map[string]string{"deleted": id}, faults.Remove(id)
		})},
		{"POST /faults/{id}/on", level.Settings, call(http.StatusOK, func(_ http.ResponseWriter, r *http.Request) (any, error) {
			return faults.Turn(r.PathValue("id"), true)
		})},
		{"POST /faults/{id}/off", level.Settings, call(http.StatusOK, func(_ http.ResponseWriter, r *http.Request) (any, error) {
			return faults.Turn(r.PathValue("id"), false)
		})},
		{"GET /requests", level.Use, s.serveRequests},
	}
}

// time returns {"now", "offset"}: the emulator's time (RFC 3339, UTC), and its offset from the
// machine's.
func (s *Server) time(http.ResponseWriter, *http.Request) (any, error) {
	c := s.rehearsal.clock
	return map[string]string{"now": c.Now().UTC().Format(time.RFC3339Nano), "offset": c.Offset().String()}, nil
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
		return nil, &answer.InvalidError{Details: []string{fmt.Sprintf("one fault is replaced by one, not by %d", len(rules))}}
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
