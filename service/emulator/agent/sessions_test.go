package agent

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/internal/noerr"
)

// session opens one by hand and gives its id.
func (b *bench) session(key string) string {
	b.t.Helper()
	status, header, text := b.post("/mcp?token="+key, initialize, nil)
	if status != 200 || header.Get("Mcp-Session-Id") == "" {
		b.t.Fatalf("%d %s", status, text)
	}
	return header.Get("Mcp-Session-Id")
}

func TestASessionBelongsToItsCallerAndEndsWithTheKey(t *testing.T) {
	b := newBench(t, nil)
	id := map[string]string{"Mcp-Session-Id": b.session("key-of-ana-0001")}
	if status, _, text := b.post("/mcp?token=key-of-ana-0001", listTools, id); status != 200 {
		t.Errorf("its owner: %d %s", status, text)
	}
	if status, _, _ := b.post("/mcp?token=key-of-bob-0002", listTools, id); status != 403 {
		t.Errorf("somebody else: %d", status)
	}
	b.mu.Lock()
	delete(b.keys, "key-of-ana-0001") // refreshed
	b.mu.Unlock()
	if status, _, _ := b.post("/mcp?token=key-of-ana-0001", listTools, id); status != 401 {
		t.Errorf("with a key that is no more: %d", status)
	}
}

// listen opens /sse by hand and gives the address of its messages.
func (b *bench) listen(key string) (endpoint string, events *bufio.Scanner) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.server.URL+"/sse?token="+key, nil)
	noerr.Must(b.t, err)
	resp, err := b.server.Client().Do(req)
	noerr.Must(b.t, err)
	b.t.Cleanup(func() { resp.Body.Close() })
	events = bufio.NewScanner(resp.Body)
	for events.Scan() {
		if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
			return data, events
		}
	}
	b.t.Fatalf("no endpoint: %s %v", resp.Status, events.Err())
	return "", nil
}

func TestAStreamBelongsToItsCallerAndEndsWithTheKey(t *testing.T) {
	b := newBench(t, nil)
	endpoint, events := b.listen("key-of-ana-0001")
	if strings.Contains(endpoint, "key-of") || !strings.HasPrefix(endpoint, "/sse?sessionid=") {
		t.Fatalf("endpoint %q", endpoint)
	}
	if status, _, text := b.post(endpoint, initialize, nil); status != 202 {
		t.Errorf("without a key of its own: %d %s", status, text)
	}
	for events.Scan() {
		if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
			if !strings.Contains(data, "zonedeck-emulator") {
				t.Errorf("%s", data)
			}
			break
		}
	}
	if status, _, _ := b.post(endpoint, listTools, map[string]string{"Authorization": "Bearer key-of-bob-0002"}); status != 403 {
		t.Errorf("somebody else: %d", status)
	}
	b.mu.Lock()
	delete(b.keys, "key-of-ana-0001")
	b.mu.Unlock()
	if status, _, _ := b.post(endpoint, listTools, nil); status != 401 {
		t.Errorf("with a key that is no more: %d", status)
	}
}

func TestSessionsAreBoundedInNumberAndTheMostSilentMakesRoom(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxSessions = 3 })
	first, second := b.session("key-of-ana-0001"), b.session("key-of-ana-0001")
	b.listen("key-of-ana-0001")
	b.post("/mcp?token=key-of-ana-0001", listTools, map[string]string{"Mcp-Session-Id": first})
	b.session("key-of-ana-0001")
	for id, want := range map[string]int{first: 200, second: 404} {
		if status, _, _ := b.post("/mcp?token=key-of-ana-0001", listTools, map[string]string{"Mcp-Session-Id": id}); status != want {
			t.Errorf("%s: %d, want %d", map[string]string{first: "the one that was used", second: "the silent one"}[id], status, want)
		}
	}
}

func TestASessionThatIsListenedToMakesNoRoom(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxSessions = 2 })
	b.listen("key-of-ana-0001")
	endpoint, _ := b.listen("key-of-ana-0001")
	if status, header, _ := b.post("/mcp?token=key-of-ana-0001", initialize, nil); status != 503 || header.Get("Retry-After") == "" {
		t.Errorf("the third session: %d", status)
	}
	if status, _, _ := b.post(endpoint, initialize, nil); status != 202 {
		t.Errorf("the second: %d", status)
	}
}

// eager is a recorder whose client acts on the first byte of the answer.
type eager struct {
	*deadlined
	first func()
}

func (e *eager) Write(b []byte) (int, error) {
	e.first()
	return e.deadlined.Write(b)
}

func TestASessionIsCountedOnceFromTheFirstByteOfItsAnswer(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxSessions = 2 })
	open := func(w http.ResponseWriter) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp?token=key-of-ana-0001", strings.NewReader(initialize))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		b.ServeStreamable(w, r)
	}
	second := &deadlined{httptest.NewRecorder()}
	open(&eager{&deadlined{httptest.NewRecorder()}, sync.OnceFunc(func() { open(second) })})
	if second.Code != http.StatusOK {
		t.Errorf("the second of two: %d %s", second.Code, second.Body)
	}
}

func TestSessionsAreCountedWhileNoOtherIsOpened(t *testing.T) {
	b := newBench(t, nil)
	server := b.Agent.server()
	b.Agent.server = func() *mcp.Server {
		if b.Agent.mu.TryLock() {
			b.Agent.mu.Unlock()
			t.Error("another session could be opened meanwhile")
		}
		return server
	}
	release, ok := b.reserve(httptest.NewRecorder())
	if !ok {
		t.Fatal("refused")
	}
	release()
	b.Agent.server = func() *mcp.Server { return server }
}

func TestADeletedSessionMakesRoom(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxSessions = 1 })
	id := b.session("key-of-ana-0001")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, b.server.URL+"/mcp?token=key-of-ana-0001", nil)
	noerr.Must(t, err)
	req.Header.Set("Mcp-Session-Id", id)
	resp, err := b.server.Client().Do(req)
	noerr.Must(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatalf("DELETE: %s", resp.Status)
	}
	b.session("key-of-ana-0001")
	b.post("/mcp?token=key-of-ana-0001", listTools, map[string]string{"Mcp-Session-Id": "of nobody"})
	if n := len(b.uses); n != 1 {
		t.Errorf("%d sessions are remembered", n)
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	b := newBench(t, func(c *Config) { c.IdleTimeout = 20 * time.Millisecond })
	b.session("key-of-ana-0001")
	_, events := b.listen("key-of-ana-0001")
	for events.Scan() { // until the server ends the stream
	}
	for deadline := time.Now().Add(time.Minute); ; {
		n := 0
		for range b.Agent.server().Sessions() {
			n++
		}
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions are still open", n)
		}
		<-time.After(time.Millisecond)
	}
}

func TestAMessageKeepsAStreamAlive(t *testing.T) {
	b := newBench(t, nil)
	endpoint, _ := b.listen("key-of-ana-0001")
	idle := b.sse[strings.TrimPrefix(endpoint, "/sse?sessionid=")].idle
	idle.Stop()
	if status, _, text := b.post(endpoint, initialize, nil); status != 202 {
		t.Fatalf("%d %s", status, text)
	}
	if !idle.Stop() {
		t.Error("the message did not start the idle time anew")
	}
}

func TestASessionWithARunningCallMakesNoRoom(t *testing.T) {
	running, goOn := make(chan struct{}), make(chan struct{})
	b := newBench(t, func(c *Config) {
		c.MaxSessions = 1
		c.Scrape = func(context.Context, string) (string, error) {
			close(running)
			<-goOn
			return "text", nil
		}
	})
	id := map[string]string{"Mcp-Session-Id": b.session("key-of-ana-0001")}
	b.post("/mcp?token=key-of-ana-0001", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, id)
	done := make(chan string)
	go func() {
		_, _, text := b.post("/mcp?token=key-of-ana-0001", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"scrape_as_markdown","arguments":{"url":"http://lab.test/ok"}}}`, id)
		done <- text
	}()
	<-running
	if status, _, _ := b.post("/mcp?token=key-of-bob-0002", initialize, nil); status != 503 {
		t.Errorf("while the call runs: %d", status)
	}
	close(goOn)
	if text := <-done; !strings.Contains(text, `"text":"text"`) {
		t.Errorf("the call: %s", text)
	}
	b.session("key-of-bob-0002")
}

func TestRunningToolsEndWithTheAgent(t *testing.T) {
	for name, end := range map[string]func(*bench){
		"its context": func(b *bench) { b.end() },
		"Close":       func(b *bench) { b.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			running := make(chan struct{})
			b := newBench(t, func(c *Config) {
				c.Scrape = func(ctx context.Context, _ string) (string, error) {
					close(running)
					<-ctx.Done()
					return "", ctx.Err()
				}
			})
			s := b.open("key-of-ana-0001")
			ended := make(chan error)
			go func() {
				_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "scrape_as_markdown", Arguments: args{"url": "http://lab.test/ok"}})
				ended <- err
			}()
			<-running
			end(b)
			<-ended // with an error or with an error result: the call may still be answered
			if name != "Close" {
				return
			}
			if status, _, _ := b.post("/mcp?token=key-of-ana-0001", initialize, nil); status != 503 {
				t.Errorf("after Close: %d", status)
			}
		})
	}
}
