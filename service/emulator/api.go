package emulator

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// authTexts are the 401 texts, which differ between the two families of endpoints
// (public documentation).
type authTexts struct{ missing, unknown, expired string }

func requestTexts() authTexts {
	return authTexts{"User authentication is required", "Auth method is not supported", "Invalid credentials"}
}

func datasetTexts() authTexts {
	return authTexts{"Credentials are missing", "Auth method is not supported", "Invalid credentials"}
}

const textForbidden = "Your API key lacks the required permissions for this action. Use a key with a sufficient permission level."

func (s *Server) apiHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /request", s.withKey(requestTexts(), actUse, s.handleRequest))
	ds := func(pattern string, h http.HandlerFunc) {
		mux.HandleFunc(pattern, s.withKey(datasetTexts(), actUse, h))
	}
	ds("POST /datasets/v3/trigger", s.handleTrigger)
	ds("GET /datasets/v3/progress/{id}", s.handleProgress)
	ds("GET /datasets/v3/snapshot/{id}", s.handleSnapshot)
	ds("POST /datasets/v3/snapshot/{id}/cancel", s.handleCancel)
	ds("GET /datasets/v3/snapshots", s.handleSnapshots)
	ds("GET /datasets/list", s.handleDatasets)
	return mux
}

// withKey lets a request through when its key is usable (service.md 2.1, 5.1) and its
// level permits the action (service.md 5.3).
func (s *Server) withKey(t authTexts, a action, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		k, err := s.account.authenticate(bearer(r.Header))
		if err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			switch {
			case errors.Is(err, errKeyMissing):
				answerText(w, http.StatusUnauthorized, basisKeyMissing, t.missing)
			case errors.Is(err, errKeyExpired):
				answerText(w, http.StatusUnauthorized, basisKeyExpired, t.expired)
			default:
				answerText(w, http.StatusUnauthorized, basisKeyMissing, t.unknown)
			}
			return
		}
		if !k.Level.permits(a) {
			answerText(w, http.StatusForbidden, basisLevel, textForbidden)
			return
		}
		next(w, r)
	}
}

// bearer is the token of an Authorization header; the scheme's case does not matter
// (RFC 9110 11.1).
func bearer(h http.Header) string {
	scheme, token, ok := strings.Cut(h.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func answerText(w http.ResponseWriter, status int, basis, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set(basisHeader, basis)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may be gone; there is nobody else to tell
}

func answerJSON(w http.ResponseWriter, status int, basis string, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set(basisHeader, basis)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // as above
}

func isJSON(h http.Header) bool {
	ct, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(ct), "application/json")
}
