package async

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"zonedeck/service/emulator/clock"
)

// Hook is the webhook of a response (public documentation: webhook_url, webhook_method,
// webhook_data).
type Hook struct {
	URL string `json:"url,omitempty"`
	// Method is GET or POST; empty is POST.
	Method string `json:"method,omitempty"`
	// Payload comes from the caller, and is repeated as hook_data.
	Payload json.RawMessage `json:"payload,omitempty"`
}

const (
	// ackTimeout is how long a receiver may take (public documentation of the other
	// webhooks: 30 s).
	ackTimeout = 30 * time.Second
	maxAck     = 64 << 10
)

// notice is the body of a notification. It says where to collect the page (public documentation).
type notice struct {
	Status     string          `json:"status"`
	ResponseID string          `json:"response_id"`
	RequestURL string          `json:"request_url"`
	HookData   json.RawMessage `json:"hook_data,omitempty"`
}

// tell sends the notice until the receiver acknowledges it, at most once for each wait and once
// more, and keeps the outcome. If the process dies in between, the next one sends it again.
func (s *Store) tell(id string, done response) {
	n := notice{Status: statusWord(done), ResponseID: id, RequestURL: done.URL, HookData: done.Hook.Payload}
	for i := 0; ; i++ {
		err := s.attempt(done.Hook, n)
		if err == nil {
			break
		}
		if s.ctx.Err() != nil {
			return // sent at the next start
		}
		if i == len(s.conf.Waits) {
			s.conf.Log.Warn("a notice was not taken", "response", id, "error", err)
			break
		}
		if clock.Pause(s.ctx, s.conf.Waits[i]) != nil {
			return
		}
	}
	done.Told, done.Hook = true, Hook{} // its address can contain a login
	s.noting.Lock()
	defer s.noting.Unlock()
	s.mu.Lock()
	known := s.entries[id] != nil
	s.mu.Unlock()
	if !known {
		return // expired meanwhile
	}
	if err := s.put(s.conf.State.Erase, id, done); err != nil {
		s.conf.Log.Error("a notice was not noted", "error", err)
	}
}

// statusWord says how the fetch ended. The words are assumptions.
func statusWord(done response) string {
	if done.Header.Get("x-brd-error-code") != "" || done.Status >= http.StatusBadRequest {
		return "error"
	}
	return "done"
}

func (s *Store) attempt(h Hook, n notice) error {
	ctx, cancel := context.WithTimeout(s.ctx, ackTimeout)
	defer cancel()
	req, err := n.request(ctx, h)
	if err != nil {
		return err
	}
	resp, err := s.conf.Send(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAck)) // only the status counts
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("the receiver answered %s", resp.Status)
	}
	return nil
}

func (n notice) request(ctx context.Context, h Hook) (*http.Request, error) {
	if h.Method == http.MethodGet {
		u, err := url.Parse(h.URL)
		if err != nil {
			return nil, err
		}
		q := u.Query()
		q.Set("status", n.Status)
		q.Set("response_id", n.ResponseID)
		q.Set("request_url", n.RequestURL)
		if n.HookData != nil {
			q.Set("hook_data", string(n.HookData))
		}
		u.RawQuery = q.Encode()
		return http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	}
	b, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(b))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}
