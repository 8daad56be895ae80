package agent

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"zonedeck/service/emulator/answer"
)

func FuzzMessages(f *testing.F) {
	f.Add("", initialize)
	f.Add("", listTools)
	f.Add("s", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search_engine","arguments":{"query":"q","cursor":"1"}}}`)
	f.Add("s", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"scrape_batch","arguments":{"urls":["http://lab.test/"]}}}`)
	f.Add("s", `[{"jsonrpc":"2.0","id":4,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`)
	f.Add("s", `{"jsonrpc":"2.0","id":null,"method":"resources/subscribe","params":{"uri":"x"}}`)
	a := Open(context.Background(), Config{
		Authorize: func(context.Context, string) (string, *answer.PlainRefusal) { return "ana", nil },
		Search:    func(context.Context, Query) (string, error) { return "{}", nil },
		Scrape:    func(context.Context, string) (string, error) { return "text", nil },
		Discover:  func(context.Context, Discovery) (string, error) { return "[]", nil },
	})
	f.Cleanup(a.Close)
	send := func(t testing.TB, session, body string) *httptest.ResponseRecorder {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel() // a message that is answered by nothing
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "*/*")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		w := &deadlined{httptest.NewRecorder()}
		a.ServeStreamable(w, r)
		if ctx.Err() != nil {
			t.Errorf("no answer to %q", body)
		}
		return w.ResponseRecorder
	}
	f.Fuzz(func(t *testing.T, session, body string) {
		if session != "" {
			session = send(t, "", initialize).Header().Get("Mcp-Session-Id")
			defer func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/mcp", nil)
				r.Host = "localhost"
				r.Header.Set("Mcp-Session-Id", session)
				a.ServeStreamable(&deadlined{httptest.NewRecorder()}, r)
			}()
		}
		if w := send(t, session, body); w.Code >= 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// deadlined is a recorder that takes deadlines, as a connection does.
type deadlined struct{ *httptest.ResponseRecorder }

func (deadlined) SetReadDeadline(time.Time) error  { return nil }
func (deadlined) SetWriteDeadline(time.Time) error { return nil }
