package browser

import (
	"slices"
	"sync"
	"time"
)

// The statuses of a session (public documentation).
const (
	StatusRunning  = "running"
	StatusFinished = "finished"
	StatusFailed   = "failed"
)

// maxKnown bounds the sessions in the list; the oldest ended ones go first.
const maxKnown = 1000

// Session is one CDP session in the list of sessions. The names are those of public
// documentation.
type Session struct {
	ID          string        `json:"session_id"`
	Zone        string        `json:"api_name"`
	Status      string        `json:"status"`
	TargetURL   string        `json:"target_url"`
	EndURL      string        `json:"end_url"`
	Navigations int           `json:"navigations"`
	Timestamp   time.Time     `json:"timestamp"`
	Duration    float64       `json:"duration"`  // seconds
	Captcha     string        `json:"captcha"`   // "none", "solved" or "failed"
	Bandwidth   int64         `json:"bandwidth"` // bytes
	Error       *SessionError `json:"error"`
}

// SessionError is the reason why the service ended a session.
type SessionError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *SessionError) Error() string { return e.Code + ": " + e.Message }

// register lists the sessions in the order of their start.
type register struct {
	mu  sync.Mutex
	all []*session
}

func (r *register) add(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) >= maxKnown {
		if i := slices.IndexFunc(r.all, (*session).over); i >= 0 {
			r.all = slices.Delete(r.all, i, i+1)
		}
	}
	r.all = append(r.all, s)
}

// Sessions returns the CDP sessions since Open, the newest first, at most [maxKnown].
func (b *Browsers) Sessions() []Session {
	b.known.mu.Lock()
	defer b.known.mu.Unlock()
	out := make([]Session, 0, len(b.known.all))
	for _, s := range slices.Backward(b.known.all) {
		out = append(out, s.value())
	}
	return out
}
