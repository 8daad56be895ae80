package emulator

import (
	"encoding/json"
	"errors"
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

// basisRehearsal: the service has neither movable time nor faults nor a request log.
const basisRehearsal = "addition of this emulator"

const maxFaultBytes = 2 << 20

// rehearsalEndpoints move time, change faults and read the request journal.
func (s *Server) rehearsalEndpoints() []endpoint {
	return []endpoint{
		{"GET /time", level.Use, s.serveTime},
		{"POST /time", level.Settings, s.serveMoveTime},
		{"GET /faults", level.Use, s.serveFaults},
		{"POST /faults", level.Settings, s.serveAddFaults},
		{"DELETE /faults", level.Settings, s.serveClearFaults},
		{"GET /faults/{id}", level.Use, s.serveFault},
		{"PUT /faults/{id}", level.Settings, s.serveReplaceFault},
		{"DELETE /faults/{id}", level.Settings, s.serveRemoveFault},
		{"POST /faults/{id}/on", level.Settings, s.serveTurnFault(true)},
		{"POST /faults/{id}/off", level.Settings, s.serveTurnFault(false)},
		{"GET /requests", level.Use, s.serveRequests},
	}
}

func answerRehearsal(w http.ResponseWriter, status int, v any) {
	answer.JSON(w, status, basisRehearsal, v)
}

func refuseRehearsal(w http.ResponseWriter, status int, err error) {
	answerRehearsal(w, status, map[string]string{"error": err.Error()})
}

// serveTime gives {"now", "offset"}: the emulator's time (RFC 3339, UTC), and how far it
// is ahead of the machine's.
func (s *Server) serveTime(w http.ResponseWriter, _ *http.Request) {
	c := s.rehearsal.clock
	answerRehearsal(w, http.StatusOK, map[string]string{
		"now": c.Now().UTC().Format(time.RFC3339Nano), "offset": c.Offset().String(),
	})
}

// serveMoveTime takes {"advance": "36h"} or {"to": "2026-12-01T00:00:00Z"}.
func (s *Server) serveMoveTime(w http.ResponseWriter, r *http.Request) {
	t, err := readObject(w, r)
	if err != nil {
		refuseRehearsal(w, http.StatusBadRequest, err)
		return
	}
	advance, to := t.Signed("advance", emutime.MaxOffset), t.Time("to")
	if t.Has("advance") == t.Has("to") {
		t.Fail("", "time is moved by advance or to", `{"advance": "36h"} or {"to": "2026-12-01T00:00:00Z"}`)
	}
	t.Done()
	if err := t.Err(); err != nil {
		refuseRehearsal(w, http.StatusBadRequest, err)
		return
	}
	_, err = s.moveClock(func() (time.Time, error) {
		if t.Has("advance") {
			return s.rehearsal.clock.Advance(advance)
		}
		return s.rehearsal.clock.Set(to)
	})
	switch {
	case errors.Is(err, emutime.ErrBackwards), errors.Is(err, emutime.ErrTooFar):
		refuseRehearsal(w, http.StatusConflict, err)
	case err != nil:
		s.log.Error("the clock was moved, but the move was not kept", "error", err)
		refuseRehearsal(w, http.StatusInternalServerError, errors.New("the clock was moved, but the move could not be kept"))
	default:
		s.serveTime(w, r)
	}
}

// readObject reads the body of a call to the control interface, whatever type it says it
// has.
func readObject(w http.ResponseWriter, r *http.Request) (*document.Table, error) {
	body, err := answer.ReadBody(w, r, maxControlBytes)
	if err != nil {
		return nil, errors.New("the body could not be read")
	}
	return document.JSON(body)
}

// serveFaults gives {"faults": [...]}, each with its counters calls and hits.
func (s *Server) serveFaults(w http.ResponseWriter, _ *http.Request) {
	answerRehearsal(w, http.StatusOK, map[string]any{"faults": s.rehearsal.faults.List()})
}

// readRules reads one rule or an array of them.
func readRules(w http.ResponseWriter, r *http.Request) ([]fault.Rule, error) {
	body, err := answer.ReadBody(w, r, maxFaultBytes)
	if err != nil {
		return nil, errors.New("the body could not be read")
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

// serveAddFaults takes one rule or an array of them, all or none.
func (s *Server) serveAddFaults(w http.ResponseWriter, r *http.Request) {
	rules, err := readRules(w, r)
	if err != nil {
		refuseRehearsal(w, http.StatusBadRequest, err)
		return
	}
	added, err := s.rehearsal.faults.Add(rules...)
	if err != nil {
		refuseRehearsal(w, http.StatusConflict, err)
		return
	}
	answerRehearsal(w, http.StatusCreated, map[string]any{"faults": added})
}

func (s *Server) serveClearFaults(w http.ResponseWriter, _ *http.Request) {
	answerRehearsal(w, http.StatusOK, map[string]int{"deleted": s.rehearsal.faults.Clear()})
}

func answerFault(w http.ResponseWriter, c fault.Counted, err error) {
	if err != nil {
		refuseRehearsal(w, http.StatusNotFound, err)
		return
	}
	answerRehearsal(w, http.StatusOK, c)
}

func (s *Server) serveFault(w http.ResponseWriter, r *http.Request) {
	c, err := s.rehearsal.faults.Get(r.PathValue("id"))
	answerFault(w, c, err)
}

func (s *Server) serveReplaceFault(w http.ResponseWriter, r *http.Request) {
	rules, err := readRules(w, r)
	if err == nil && len(rules) != 1 {
		err = fmt.Errorf("one fault is replaced by one, not by %d", len(rules))
	}
	if err != nil {
		refuseRehearsal(w, http.StatusBadRequest, err)
		return
	}
	c, err := s.rehearsal.faults.Replace(r.PathValue("id"), rules[0])
	answerFault(w, c, err)
}

func (s *Server) serveRemoveFault(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if err := s.rehearsal.faults.Remove(id); err != nil {
		refuseRehearsal(w, http.StatusNotFound, err)
		return
	}
	answerRehearsal(w, http.StatusOK, map[string]string{"deleted": id})
}

func (s *Server) serveTurnFault(on bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := s.rehearsal.faults.Turn(r.PathValue("id"), on)
		answerFault(w, c, err)
	}
}

// serveRequests reads the journal: ?since= (the last number seen), zone, point, limit;
// follow=true goes on as NDJSON, one entry a line, as requests end.
func (s *Server) serveRequests(w http.ResponseWriter, r *http.Request) {
	q, follow, err := requestsQuery(r)
	if err != nil {
		refuseRehearsal(w, http.StatusBadRequest, err)
		return
	}
	if follow {
		s.followRequests(w, r, q)
		return
	}
	answerRehearsal(w, http.StatusOK, s.rehearsal.requests.Read(q))
}

func requestsQuery(r *http.Request) (q record.Query, follow bool, err error) {
	for name, vs := range r.URL.Query() {
		v := vs[0]
		switch name {
		case "since":
			if q.Since, err = strconv.ParseUint(v, 10, 64); err != nil {
				return q, false, fmt.Errorf("since: %q is no number of a request", v)
			}
		case "limit":
			if q.Limit, err = strconv.Atoi(v); err != nil || q.Limit < 1 || q.Limit > record.MaxLimit {
				return q, false, fmt.Errorf("limit: %q is no number from 1 to %d", v, record.MaxLimit)
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

// followRequests ends with its client or the server. A line {"lost": n} stands where
// entries were gone before they could be sent.
func (s *Server) followRequests(w http.ResponseWriter, r *http.Request, q record.Query) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set(answer.BasisHeader, basisRehearsal)
	out, rc := answer.NewPatient(w), http.NewResponseController(w)
	defer out.Done()
	if err := rc.Flush(); err != nil {
		return
	}
	enc := json.NewEncoder(out)
	// How it ended is nothing to anyone: the client left, or the server ends.
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
