package emulator

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/accountapi"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/datasets"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/native"
	"zonedeck/service/emulator/record"
)

// The texts of a 401 and a 403 (public documentation). The two families of endpoints differ in
// that for a missing key.
const (
	textNoKey        = "User authentication is required"
	textNoDatasetKey = "Credentials are missing"
	textUnknownKey   = "Auth method is not supported"
	textExpiredKey   = "Invalid credentials"
	textForbidden    = "Your API key lacks the required permissions for this action. Use a key with a sufficient permission level."
)

// endpoint is a row of a server's route table. The tests check the table for every level.
type endpoint struct {
	pattern string
	action  level.Action
	serve   http.HandlerFunc
}

// basisNotThere is the basis of the answer for an unknown path or method.
const basisNotThere = "assumption: status and text of what is not there"

func mux(endpoints []endpoint, guard func(endpoint) http.HandlerFunc) http.Handler {
	m := http.NewServeMux()
	for _, e := range endpoints {
		serve := e.serve
		if e.action != level.Anyone {
			serve = guard(e)
		}
		m.HandleFunc(e.pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Del(answer.BasisHeader) // each endpoint sets its basis
			serve(w, r)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(answer.BasisHeader, basisNotThere)
		m.ServeHTTP(w, r)
	})
}

func (s *Server) apiHandler() http.Handler {
	return mux(s.apiEndpoints(), func(e endpoint) http.HandlerFunc {
		missing := textNoKey
		if strings.Contains(e.pattern, " /datasets/") {
			missing = textNoDatasetKey
		}
		return s.withKey(missing, e.action, e.serve)
	})
}

// apiEndpoints lists the endpoints of the API, with the action that a key needs.
func (s *Server) apiEndpoints() []endpoint {
	sessions := s.browsers.ListHandler().ServeHTTP
	return slices.Concat(
		[]endpoint{
			{"POST /request", level.Use, s.fetch.ServeRequest},
			{"GET /request", level.Use, s.fetch.ServeGet},
			{"GET /response", level.Use, s.fetch.ServeResult},
			{"POST /unblocker/req", level.Use, s.fetch.ServeUnblock},
			{"GET /unblocker/get_result", level.Use, s.fetch.ServeResult},
			{"POST /serp/req", level.Use, s.fetch.ServeSearch},
			{"GET /serp/get_result", level.Use, s.fetch.ServeResult},
			{"GET " + native.CAPath, level.Anyone, s.proxy.ServeCA},
			{"GET " + native.BundlePath, level.Anyone, s.proxy.ServeBundle},
			{"GET /browser_sessions", level.Use, sessions}, // public documentation
			{"GET /browser_sessions/{id}", level.Use, sessions},
		},
		s.accountEndpoints(),
		mounted(datasets.New(datasets.Config{
			Jobs: s.jobs, Deliver: s.deliver, Account: s.account.ID, Loose: s.loose, Log: s.log,
		}).Mount, level.Use),
		mounted(s.index.Mount, level.Use),
		mounted(s.agents.Mount, level.Anyone), // it asks for keys itself
	)
}

// mounted lists the endpoints of a package that need the same action.
func mounted(mount func(handle func(pattern string, h http.HandlerFunc)), needs level.Action) (out []endpoint) {
	mount(func(pattern string, h http.HandlerFunc) { out = append(out, endpoint{pattern, needs, h}) })
	return out
}

func (s *Server) accountEndpoints() []endpoint {
	var out []endpoint
	accountapi.New(accountapi.Config{
		Account: s.account, Meter: s.meter, Now: s.now, Level: s.levelOf, Loose: s.loose, Log: s.log,
	}).Mount(func(pattern string, needs level.Action, h http.HandlerFunc) {
		out = append(out, endpoint{pattern, needs, h})
	})
	return out
}

// levelOf returns the level of a request's key, "" if the key has become unusable.
func (s *Server) levelOf(r *http.Request) level.Level {
	k, err := s.account.Authenticate(bearer(r.Header))
	if err != nil {
		return ""
	}
	return k.Level
}

// withKey requires a usable key (service.md 2.1, 5.1) whose level permits the action
// (service.md 5.3).
func (s *Server) withKey(missing string, a level.Action, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, refused := s.authorize(r.Context(), bearer(r.Header), missing, a); refused != nil {
			refused.Write(w)
			return
		}
		next(w, r)
	}
}

// authorize returns the name of a key, or why it is refused, and records the name. missing is the
// text for no key.
func (s *Server) authorize(ctx context.Context, value, missing string, a level.Action) (string, *answer.TextError) {
	k, err := s.account.Authenticate(value)
	switch {
	case errors.Is(err, account.ErrKeyMissing):
		return "", &answer.TextError{Status: http.StatusUnauthorized, Text: missing, Basis: answer.BasisKeyMissing}
	case errors.Is(err, account.ErrKeyExpired):
		return "", &answer.TextError{Status: http.StatusUnauthorized, Text: textExpiredKey, Basis: answer.BasisKeyExpired}
	case err != nil:
		return "", &answer.TextError{Status: http.StatusUnauthorized, Text: textUnknownKey, Basis: answer.BasisKeyMissing}
	}
	record.FromContext(ctx).Set(func(e *record.Entry) { e.Key = k.Name })
	if !k.Level.Permits(a) {
		return "", &answer.TextError{Status: http.StatusForbidden, Text: textForbidden, Basis: answer.BasisLevel}
	}
	return k.Name, nil
}

// bearer returns the token of an Authorization header. The scheme is case-insensitive (RFC
// 9110 11.1).
func bearer(h http.Header) string {
	scheme, token, ok := strings.Cut(h.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
