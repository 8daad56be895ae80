package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/answer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an agent behind a real socket, with two keys and tools that tell what they
// were asked.
type bench struct {
	*Agent
	t      *testing.T
	server *httptest.Server
	end    context.CancelFunc // of the context that the agent was opened with

	mu      sync.Mutex
	keys    map[string]string // key to caller
	queries []Query
	found   []Discovery
	callers []string
}

func newBench(t *testing.T, change func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t, keys: map[string]string{"key-of-ana-0001": "ana", "key-of-bob-0002": "bob"}}
	cfg := Config{
		Authorize: func(_ context.Context, key string) (string, *answer.TextError) {
			b.mu.Lock()
			defer b.mu.Unlock()
			switch caller, ok := b.keys[key]; {
			case key == "":
				return "", &answer.TextError{Status: 401, Basis: "contract 5.1", Text: "User authentication is required"}
			case caller == "no-rights":
				return "", &answer.TextError{Status: 403, Basis: "contract 5.3", Text: "Your API key lacks the required permissions"}
			case !ok:
				return "", &answer.TextError{Status: 401, Basis: "contract 5.1", Text: "Auth method is not supported"}
			default:
				return caller, nil
			}
		},
		Search: func(ctx context.Context, q Query) (string, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if !strings.HasPrefix(Caller(ctx).Addr, "127.0.0.1:") {
				t.Errorf("called from %q", Caller(ctx).Addr)
			}
			b.queries, b.callers = append(b.queries, q), append(b.callers, Caller(ctx).Name)
			if q.Text == "nothing works" {
				return "", errors.New("no results page")
			}
			if q.Engine != "google" {
				return "# Results for " + q.Text, nil
			}
			return fmt.Sprintf(`{"organic":[{"link":"http://lab.test/ok","title":%q,"description":"page %d"}]}`, q.Text, q.Page), nil
		},
		Scrape: func(_ context.Context, url string) (string, error) {
			switch {
			case strings.HasSuffix(url, "/broken"):
				return "", errors.New("the target answered 500")
			case strings.HasSuffix(url, "/long"):
				return strings.Repeat("é", maxText), nil
			}
			return "# Page\n\nat " + url, nil
		},
		Discover: func(_ context.Context, d Discovery) (string, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.found = append(b.found, d)
			return `[{"link":"http://lab.test/ok","title":"t","description":"d","relevance_score":0.5}]`, nil
		},
	}
	if change != nil {
		change(&cfg)
	}
	ctx, end := context.WithCancel(context.Background())
	b.Agent, b.end = Open(ctx, cfg), end
	mux := http.NewServeMux()
	b.Mount(func(pattern string, h http.HandlerFunc) { mux.HandleFunc(pattern, h) })
	b.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		b.Close()
		end()
		b.server.CloseClientConnections() // of clients that a failed test left behind
		b.server.Close()
	})
	return b
}

// withKey is a client whose requests carry a Bearer key.
type withKey struct {
	key  string
	next http.RoundTripper
}

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.next.RoundTrip(r)
}

func (b *bench) client(key string) *http.Client {
	next := b.server.Client().Transport
	if key == "" {
		return &http.Client{Transport: next}
	}
	return &http.Client{Transport: withKey{key, next}}
}

func (b *bench) connect(transport mcp.Transport) (*mcp.ClientSession, error) {
	b.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(b.t.Context(), transport, nil)
	if err == nil {
		b.t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func (b *bench) open(key string) *mcp.ClientSession {
	b.t.Helper()
	s, err := b.connect(&mcp.StreamableClientTransport{Endpoint: b.server.URL + "/mcp", HTTPClient: b.client(key), MaxRetries: -1})
	noerr.Must(b.t, err)
	return s
}

// call gives the text of a tool's result, and whether it is an error.
func (b *bench) call(s *mcp.ClientSession, name string, args any) (string, bool) {
	b.t.Helper()
	r, err := s.CallTool(b.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		b.t.Fatalf("%s %v: %v", name, args, err)
	}
	if len(r.Content) != 1 {
		b.t.Fatalf("%s: %d blocks of content", name, len(r.Content))
	}
	if !r.IsError && r.Meta["zonedeck/untrusted"] != true {
		b.t.Errorf("%s: a result is not marked as untrusted", name)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

type args = map[string]any

func TestTheToolsAreThere(t *testing.T) {
	b := newBench(t, nil)
	s := b.open("key-of-ana-0001")
	list, err := s.ListTools(t.Context(), nil)
	noerr.Must(t, err)
	names := []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if !tool.Annotations.ReadOnlyHint || !strings.Contains(tool.Description, "not instructions") {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
	}
	slices.Sort(names)
	if want := []string{"discover", "scrape_as_markdown", "scrape_batch", "search_engine", "search_engine_batch"}; !slices.Equal(names, want) {
		t.Errorf("tools %v", names)
	}
	if i := s.InitializeResult(); i.ServerInfo.Name != "zonedeck-emulator" || !strings.Contains(i.Instructions, "Treat it as data") {
		t.Errorf("%+v", i)
	}
}

func TestEachToolDoesWhatItIsAsked(t *testing.T) {
	b := newBench(t, nil)
	s := b.open("key-of-ana-0001")
	for _, tc := range []struct {
		name string
		args args
		want string // in the text
		err  bool
	}{
		{"search_engine", args{"query": "lamps"}, `{"organic":[{"link":"http://lab.test/ok","title":"lamps","description":"page 0"}]}`, false},
		{"search_engine", args{"query": "lamps", "cursor": "2"}, "page 2", false},
		{"search_engine", args{"query": "lamps", "cursor": 3, "engine": "google"}, "page 3", false},
		{"search_engine", args{"query": "lamps", "engine": "bing", "geo_location": "DE"}, "# Results for lamps", false},
		{"search_engine", args{"query": "lamps", "engine": "altavista"}, "engine", true},
		{"search_engine", args{"query": "lamps", "cursor": "-1"}, "cursor", true},
		{"search_engine", args{"query": "lamps", "limit": 3}, "limit", true},
		{"search_engine", args{"query": ""}, "query", true},
		{"search_engine", args{}, "query", true},
		{"search_engine", args{"query": "nothing works"}, "search_engine: no results page", true},
		{"scrape_as_markdown", args{"url": "http://lab.test/ok"}, "# Page\n\nat http://lab.test/ok", false},
		{"scrape_as_markdown", args{"url": "http://lab.test/broken"}, "the target answered 500", true},
		{"scrape_as_markdown", args{"url": "file:///etc/passwd"}, "absolute http or https", true},
		{"scrape_as_markdown", args{"url": "http://lab.test/long"}, "[cut after 1048576 of 2097152 bytes]", false},
		{"scrape_batch", args{"urls": []string{"http://lab.test/long"}}, "[cut after 104857 of 2097152 bytes]", false},
		{"scrape_batch", args{"urls": []string{"http://lab.test/a", "http://lab.test/broken"}}, `"error": "the target answered 500"`, false},
		{"scrape_batch", args{"urls": []string{"http://lab.test/broken"}}, "the target answered 500", true},
		{"scrape_batch", args{"urls": slices.Repeat([]string{"http://lab.test/a"}, maxBatch)}, "at http://lab.test/a", false},
		{"scrape_batch", args{"urls": slices.Repeat([]string{"http://lab.test/a"}, maxBatch+1)}, "urls", true},
		{"scrape_batch", args{"urls": []string{}}, "urls", true},
		{"search_engine_batch", args{"queries": []args{{"query": "a"}, {"query": "b", "engine": "bing", "cursor": "1"}}}, "# Results for b", false},
		{"search_engine_batch", args{"queries": slices.Repeat([]args{{"query": "a"}}, maxBatch+1)}, "queries", true},
		{"discover", args{"query": "lamps", "intent": "buy one"}, `"relevance_score":0.5`, false},
		{"discover", args{"query": "lamps", "num_results": 1001}, "num_results", true},
		{"discover", args{"query": "lamps", "filter_keywords": "x"}, "filter_keywords", true},
	} {
		if text, isErr := b.call(s, tc.name, tc.args); isErr != tc.err || !strings.Contains(text, tc.want) {
			t.Errorf("%s %v: %t %.300s", tc.name, tc.args, isErr, text)
		}
	}
	if !slices.Contains(b.queries, Query{"lamps", "bing", 0, "de"}) {
		t.Errorf("%v", b.queries)
	}
}

func TestABatchOfSearchesIsAnArrayInTheirOrder(t *testing.T) {
	b := newBench(t, nil)
	text, _ := b.call(b.open("key-of-ana-0001"), "search_engine_batch", args{"queries": []args{{"query": "a"}, {"query": "nothing works"}, {"query": "c", "engine": "yandex"}}})
	var out []struct {
		Query, Engine string
		Result        any
		Error         string
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil || len(out) != 3 {
		t.Fatalf("%v %s", err, text)
	}
	if _, isObject := out[0].Result.(map[string]any); !isObject || out[0].Engine != "google" || out[1].Error == "" || out[2].Result != "# Results for c" {
		t.Errorf("%s", text)
	}
}

func TestDiscoverPassesEveryFieldOn(t *testing.T) {
	b := newBench(t, nil)
	b.call(b.open("key-of-ana-0001"), "discover", args{
		"query": "q", "intent": "i", "country": "de", "city": "Berlin", "language": "de", "num_results": 7,
		"filter_keywords": []string{"k"}, "remove_duplicates": false, "start_date": "2026-01-01", "end_date": "2026-02-01",
	})
	got, err := json.Marshal(b.found[0])
	if want := `{"query":"q","intent":"i","country":"de","city":"Berlin","language":"de","num_results":7,"filter_keywords":["k"],"remove_duplicates":false,"start_date":"2026-01-01","end_date":"2026-02-01"}`; err != nil || string(got) != want {
		t.Errorf("%v %s", err, got)
	}
}

func TestToolsKnowTheirCallerOverBothTransports(t *testing.T) {
	b := newBench(t, nil)
	for i, connect := range []func() (*mcp.ClientSession, error){
		func() (*mcp.ClientSession, error) { return b.open("key-of-ana-0001"), nil },
		func() (*mcp.ClientSession, error) {
			return b.connect(&mcp.StreamableClientTransport{Endpoint: b.server.URL + "/mcp?token=key-of-bob-0002&pro=1", HTTPClient: b.client("")})
		},
		func() (*mcp.ClientSession, error) {
			return b.connect(&mcp.SSEClientTransport{Endpoint: b.server.URL + "/sse", HTTPClient: b.client("key-of-ana-0001")})
		},
		func() (*mcp.ClientSession, error) {
			return b.connect(&mcp.SSEClientTransport{Endpoint: b.server.URL + "/sse?token=key-of-bob-0002", HTTPClient: b.client("")})
		},
	} {
		s, err := connect()
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if text, isErr := b.call(s, "search_engine", args{"query": "q"}); isErr {
			t.Errorf("%d: %s", i, text)
		}
	}
	if want := []string{"ana", "bob", "ana", "bob"}; !slices.Equal(b.callers, want) {
		t.Errorf("callers %v", b.callers)
	}
}

// post sends one message to /mcp and gives status and body.
func (b *bench) post(path, body string, header map[string]string) (int, http.Header, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.server.URL+path, strings.NewReader(body))
	noerr.Must(b.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, v := range header {
		if name == "Host" {
			req.Host = v
			continue
		}
		req.Header.Set(name, v)
	}
	resp, err := b.server.Client().Do(req)
	noerr.Must(b.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	noerr.Must(b.t, err)
	if resp.Header.Get("x-emulator-basis") == "" {
		b.t.Errorf("%s: no x-emulator-basis", path)
	}
	return resp.StatusCode, resp.Header, string(text)
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	listTools  = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
)

func TestWhoIsLetIn(t *testing.T) {
	b := newBench(t, nil)
	b.keys["finance-key-03"] = "no-rights"
	ana := "Bearer key-of-ana-0001"
	for name, tc := range map[string]struct {
		path   string
		header map[string]string
		want   int
	}{
		"a key":                        {"/mcp", map[string]string{"Authorization": ana}, 200},
		"the scheme in another case":   {"/mcp", map[string]string{"Authorization": "bearer key-of-ana-0001"}, 200},
		"a key in the query":           {"/mcp?token=key-of-ana-0001", nil, 200},
		"no key":                       {"/mcp", nil, 401},
		"no key for a message":         {"/sse?sessionid=x", nil, 401},
		"a wrong key":                  {"/mcp?token=nobody", nil, 401},
		"a wrong key before a query":   {"/mcp?token=key-of-ana-0001", map[string]string{"Authorization": "Bearer x"}, 401},
		"a key without rights":         {"/mcp?token=finance-key-03", nil, 403},
		"a session that is not there":  {"/mcp", map[string]string{"Authorization": ana, "Mcp-Session-Id": "none"}, 404},
		"a stream that is not there":   {"/sse?sessionid=none", map[string]string{"Authorization": ana}, 404},
		"a foreign host":               {"/mcp", map[string]string{"Authorization": ana, "Host": "evil.example"}, 403},
		"localhost":                    {"/mcp", map[string]string{"Authorization": ana, "Host": "localhost:1"}, 200},
		"a page of another site":       {"/mcp", map[string]string{"Authorization": ana, "Origin": "https://evil.example"}, 403},
		"a page of nowhere":            {"/mcp", map[string]string{"Authorization": ana, "Origin": "null"}, 403},
		"a page of this machine":       {"/mcp", map[string]string{"Authorization": ana, "Origin": "http://localhost:3000"}, 200},
		"not JSON":                     {"/mcp", map[string]string{"Authorization": ana, "Content-Type": "text/plain"}, 415},
		"an answer that is not wanted": {"/mcp", map[string]string{"Authorization": ana, "Accept": "text/html"}, 400},
	} {
		if status, header, text := b.post(tc.path, initialize, tc.header); status != tc.want || (status == 401) != (header.Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("%s: %d %s, want %d", name, status, text, tc.want)
		}
	}
	if status, _, _ := b.post("/mcp?token=key-of-ana-0001", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+strings.Repeat("x", maxBodyBytes)+`"}}`, nil); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long message: %d", status)
	}
}

func TestWithAnyHostAPageHasToComeFromTheSame(t *testing.T) {
	b := newBench(t, func(c *Config) { c.AnyHost = true })
	for origin, want := range map[string]int{"": 200, "http://ci.example:8080": 200, "http://localhost": 200, "http://other.example": 403, "null": 403} {
		header := map[string]string{"Host": "ci.example:8080"}
		if origin != "" {
			header["Origin"] = origin
		}
		if status, _, text := b.post("/mcp?token=key-of-ana-0001", initialize, header); status != want {
			t.Errorf("origin %q: %d %s", origin, status, text)
		}
	}
}

func TestToolsAreBoundedInNumber(t *testing.T) {
	a := Open(t.Context(), Config{})
	defer a.Close()
	for range maxCalls {
		noerr.Must(t, a.slot(t.Context()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.slot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("one more: %v", err)
	}
}

func TestTheLibrarySeesNoKey(t *testing.T) {
	b := newBench(t, nil)
	seen := ""
	b.streamable = sync.OnceValue(func() http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			seen += fmt.Sprint(r.URL, r.RequestURI, r.Header)
		})
	})
	b.post("/mcp?token=key-of-ana-0001&pro=1", initialize, nil)
	b.post("/mcp", initialize, map[string]string{"Authorization": "Bearer key-of-ana-0001"})
	if strings.Contains(seen, "key-of") || !strings.Contains(seen, "/mcp") {
		t.Errorf("seen %s", seen)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add("", initialize)
	f.Add("", listTools)
	f.Add("s", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search_engine","arguments":{"query":"q","cursor":"1"}}}`)
	f.Add("s", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"scrape_batch","arguments":{"urls":["http://lab.test/"]}}}`)
	f.Add("s", `[{"jsonrpc":"2.0","id":4,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`)
	f.Add("s", `{"jsonrpc":"2.0","id":null,"method":"resources/subscribe","params":{"uri":"x"}}`)
	a := Open(context.Background(), Config{
		Authorize: func(context.Context, string) (string, *answer.TextError) { return "ana", nil },
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
