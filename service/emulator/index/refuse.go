package index

import (
	"errors"
	"fmt"
	"net/http"

	"zonedeck/service/emulator/answer"
)

// handler returns the value of an answer, or nil if it has answered itself. An error other
// than a [*refusedError] or errIndex says what is wrong with the request.
type handler func(http.ResponseWriter, *http.Request) (any, error)

// refusedError is an error with its answer. A string as its body is the error of an object.
type refusedError struct {
	status int
	basis  string
	body   any
}

func (e *refusedError) Error() string { return fmt.Sprint(e.body) }

type plain string

func refuseText(text string) error {
	return &refusedError{http.StatusBadRequest, basisBetaGuess, plain(text)}
}

var (
	// errBusy refuses a task when too many of them wait or run.
	errBusy = &refusedError{http.StatusTooManyRequests, basisBusy, "Too many tasks are waiting"}
	// errIndex is a failure of the index, not of the request.
	errIndex = errors.New("the index failed")
)

// answers writes the answer of h. An unknown parameter of the query is refused, or noted if
// the service is loose.
func (s *Service) answers(basis string, h handler, names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		bad := &answer.InvalidError{}
		for _, name := range answer.UnknownParameters(w, r, s.cfg.Loose, names...) {
			bad.Add("query parameter %s is not allowed", name)
		}
		if len(bad.Details) > 0 {
			s.refuse(w, bad)
			return
		}
		switch v, err := h(w, r); {
		case err != nil:
			s.refuse(w, err)
		case v != nil:
			answer.JSON(w, http.StatusOK, basis, v)
		}
	}
}

func (s *Service) refuse(w http.ResponseWriter, err error) {
	no := (*refusedError)(nil)
	if !errors.As(err, &no) {
		no = s.refusalOf(err)
	}
	if no == errBusy {
		w.Header().Set("Retry-After", "5")
	}
	switch body := no.body.(type) {
	case plain:
		answer.Text(w, no.status, no.basis, string(body))
	case string:
		answer.JSON(w, no.status, no.basis, map[string]string{"error": body})
	default:
		answer.JSON(w, no.status, no.basis, body)
	}
}

// refusalOf is 500 for a failure of the index, and otherwise 400 in the form that public
// documentation shows for /request.
func (s *Service) refusalOf(err error) *refusedError {
	if errors.Is(err, errIndex) {
		s.cfg.Log.Error("a request was not answered", "error", err)
		return &refusedError{http.StatusInternalServerError, basisBetaGuess, "Internal server error"}
	}
	details := []string{err.Error()}
	if bad := (*answer.InvalidError)(nil); errors.As(err, &bad) {
		details = bad.Details
	}
	return &refusedError{http.StatusBadRequest, basisInvalid, map[string]any{
		"error": "Request validation failed", "error_code": "validation", "details": details,
	}}
}
