package rehearsal_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"zonedeck/keystore"
	"zonedeck/service/rehearsal"
)

// answering is a client of a control interface that gives one answer, and the
// requests that it got.
func answering(t *testing.T, status int, body string) (*rehearsal.Client, *[]string) {
	t.Helper()
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		asked = append(asked, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+string(sent)))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return client(rehearsal.Place{URL: s.URL, Token: keystore.NewSecret("token")}), &asked
}

func TestARefusalSaysWhatTheEmulatorSays(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":"no such fault"}`: "no such fault", `{}`: "it answers 404 Not Found", "<html>": "it answers 404 Not Found", "": "it answers 404 Not Found",
	} {
		c, _ := answering(t, 404, body)
		var refused *rehearsal.RefusedError
		if _, err := c.Time(t.Context()); !errors.As(err, &refused) || refused.Reason != want || refused.Status != 404 {
			t.Errorf("%q: %v, want %s", body, err, want)
		}
	}
	c, _ := answering(t, 399, `{"now":"2026-11-21T12:00:00Z","offset":"1s"}`)
	if got, err := c.Time(t.Context()); err != nil || got.Ahead.Seconds() != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	c, _ = answering(t, 400, `{"now":"2026-11-21T12:00:00Z","offset":"1s"}`)
	if _, err := c.Time(t.Context()); err == nil {
		t.Error("a refusal is taken for the time")
	}
}

func TestAnswersThatAreNotUnderstoodAreErrors(t *testing.T) {
	for name, body := range map[string]string{"no offset": `{"now":"2026-11-21T12:00:00Z"}`, "another offset": `{"offset":"a while"}`, "no JSON": "<html>", "nothing": ""} {
		c, _ := answering(t, 200, body)
		if got, err := c.Time(t.Context()); err == nil || got != (rehearsal.Time{}) {
			t.Errorf("%s: %+v", name, got)
		}
		if _, err := c.Advance(t.Context(), 1); err == nil {
			t.Errorf("%s: time was moved", name)
		}
	}
	for name, body := range map[string]string{"none": `{"faults":[]}`, "two": `{"faults":[{"id":"a"},{"id":"b"}]}`, "no faults": `{"faults":[3]}`, "no JSON": "<html>"} {
		c, _ := answering(t, 200, body)
		if got, err := c.AddFault(t.Context(), rehearsal.Rule{Point: "api", Action: "drop"}); err == nil || got.ID != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	c, _ := answering(t, 200, "<html>")
	if _, err := c.Faults(t.Context()); err == nil {
		t.Error("a page is taken for faults")
	}
	if _, err := c.Newest(t.Context(), 1); err == nil {
		t.Error("a page is taken for requests")
	}
}

func TestWhatIsAskedOfTheEmulator(t *testing.T) {
	c, asked := answering(t, 200, `{"id":"a b"}`)
	_ = c.TurnFault(t.Context(), "a b", true)
	_ = c.TurnFault(t.Context(), "a/b", false)
	_ = c.RemoveFault(t.Context(), "x")
	_, _ = c.Newest(t.Context(), 7)
	_ = c.Follow(t.Context(), 12, func(rehearsal.Request, uint64) error { return nil })
	want := []string{
		"POST /faults/a%20b/on", "POST /faults/a%2Fb/off", "DELETE /faults/x", "GET /requests?limit=7", "GET /requests?follow=true&since=12",
	}
	if got := strings.Join(*asked, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("asked\n%s", got)
	}
}

func TestWhatIsLostIsToldWithTheNextRequest(t *testing.T) {
	c, _ := answering(t, 200, `{"seq":0,"lost":2}`+"\n"+`{"seq":0,"lost":3}`+"\n"+`{"seq":9,"method":"GET"}`+"\n"+`{"seq":10}`+"\n")
	var seqs, losses []uint64
	err := c.Follow(t.Context(), 0, func(r rehearsal.Request, lost uint64) error {
		seqs, losses = append(seqs, r.Seq), append(losses, lost)
		return nil
	})
	if !errors.Is(err, rehearsal.ErrNoAnswer) || !strings.Contains(err.Error(), "ended its journal") {
		t.Errorf("at its end: %v", err)
	}
	if len(seqs) != 2 || seqs[0] != 9 || seqs[1] != 10 || losses[0] != 5 || losses[1] != 0 {
		t.Errorf("requests %v, lost %v", seqs, losses)
	}
	c, _ = answering(t, 200, "{\"seq\":1}\n<html>\n")
	if err := c.Follow(t.Context(), 0, func(rehearsal.Request, uint64) error { return nil }); err == nil || errors.Is(err, rehearsal.ErrNoAnswer) {
		t.Errorf("a line that is not JSON: %v", err)
	}
}

func TestFollowingEndsWithItsContext(t *testing.T) {
	gone := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "{\"seq\":1}\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	err := client(rehearsal.Place{URL: s.URL}).Follow(ctx, 0, func(rehearsal.Request, uint64) error { cancel(gone); return nil })
	if !errors.Is(err, gone) || errors.Is(err, rehearsal.ErrNoAnswer) {
		t.Errorf("%v", err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	half := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"now":`)
		_ = http.NewResponseController(w).Flush()
		cancel(gone)
		<-r.Context().Done()
	}))
	defer half.Close()
	if _, err := client(rehearsal.Place{URL: half.URL}).Time(ctx); !errors.Is(err, gone) {
		t.Errorf("in the middle of an answer: %v", err)
	}
}

func TestAnEmulatorThatIsNowhereIsAnError(t *testing.T) {
	lost := errors.New("no announcement")
	c := rehearsal.New(func(context.Context) (rehearsal.Place, error) { return rehearsal.Place{}, lost })
	if _, err := c.Time(t.Context()); !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
	if _, err := client(rehearsal.Place{URL: "http://a b"}).Time(t.Context()); err == nil || !strings.Contains(err.Error(), "asking the emulator") {
		t.Errorf("an address that is none: %v", err)
	}
}
