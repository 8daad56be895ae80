package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/agent"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

// tools is an MCP server whose tool scrape_as_markdown answers with answer.
func tools(answer func(url string) (*mcp.CallToolResult, error)) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		type in struct {
			URL string `json:"url"`
		}
		mcp.AddTool(s, &mcp.Tool{Name: "scrape_as_markdown", Description: "A page"}, func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
			r, err := answer(in.URL)
			return r, nil, err
		})
		return s
	}, &mcp.StreamableHTTPOptions{DisableLocalhostProtection: true})
}

func said(texts ...string) *mcp.CallToolResult {
	r := &mcp.CallToolResult{}
	for _, s := range texts {
		r.Content = append(r.Content, &mcp.TextContent{Text: s})
	}
	return r
}

// agentProfile is a profile whose MCP endpoint is h, and what its requests carried.
func agentProfile(t *testing.T, h http.Handler) (model.Profile, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	p := servicetest.Profile(s.URL)
	p.AgentURL = s.URL + "/mcp"
	return p, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(seen) }
}

// page asks for a page by the tool that fetches one.
func page() model.FetchRequest {
	return model.FetchRequest{Via: model.ViaAgent, URL: "http://lab.test/ok", Zone: model.Zone{Name: "unlocker1"}}
}

func TestAToolFetchesAPage(t *testing.T) {
	p, seen := agentProfile(t, tools(func(url string) (*mcp.CallToolResult, error) { return said("# Page of " + url), nil }))
	keep, j, dir := withJournal(t)
	ft := newFetcher(t, p, keep)
	r := fetched(t, ft, page())
	wantVerdict(t, r, model.ClassOK, "")
	if got, want := string(r.Body.Bytes), "# Page of http://lab.test/ok"; got != want || r.ContentType != "text/plain; charset=utf-8" {
		t.Errorf("body %q of type %s", got, r.ContentType)
	}
	if r.Request.Zone != model.AgentZone() || r.KeyName != "batch-user" || r.ServiceStatus != 200 || r.Status != 0 {
		t.Errorf("zone %+v, key %s, statuses %d and %d", r.Request.Zone, r.KeyName, r.ServiceStatus, r.Status)
	}
	if len(r.Phases) != 2 || r.Phases[0].Name != "initialize" || r.Phases[1].Name != "tools/call" || r.Timing.Connect < 0 || r.Timing.Total <= 0 {
		t.Errorf("phases %v, timing %+v", r.Phases, r.Timing)
	}
	for _, line := range seen() {
		if !strings.Contains(line, "/mcp?token="+servicetest.KeyValue+" ") || strings.Contains(line, "Bearer") {
			t.Errorf("the key did not go as the dialect has it: %s", line)
		}
	}
	again, err := j.Fetch(t.Context(), r.ID)
	if err != nil || again.Request.Via != model.ViaAgent || string(again.Body.Bytes) != string(r.Body.Bytes) || len(again.Phases) != 2 {
		t.Errorf("kept as %+v, %v", again, err)
	}
	noerr.Must(t, j.Close())
	servicetest.NoSecretUnder(t, dir)
}

func TestByTheContractAloneAKeyGoesAsBearer(t *testing.T) {
	p, seen := agentProfile(t, tools(func(string) (*mcp.CallToolResult, error) { return said("x"), nil }))
	p.Dialect = ""
	q := page()
	q.Tool, q.Args = "scrape_as_markdown", `{"url":"http://lab.test/"}`
	noerr.Must(t, noerr.From(newFetcher(t, p).Fetch(t.Context(), q, nil)))
	for _, line := range seen() {
		if !strings.HasSuffix(line, " /mcp Bearer "+servicetest.KeyValue) {
			t.Errorf("sent %s", line)
		}
	}
	if _, err := newFetcher(t, p).Fetch(t.Context(), page(), nil); !errors.Is(err, model.ErrRequest) || !strings.Contains(err.Error(), "via: the tool that fetches a page by agent access is not shown by the contract") {
		t.Errorf("without a tool: %v", err)
	}
}

func TestEveryWayThatAToolFailsHasItsClass(t *testing.T) {
	answers := func(r *mcp.CallToolResult, err error) http.Handler {
		return tools(func(string) (*mcp.CallToolResult, error) { return r, err })
	}
	status := func(code int, body string, head ...string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(head); i += 2 {
				w.Header().Set(head[i], head[i+1])
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		})
	}
	for name, c := range map[string]struct {
		h     http.Handler
		tool  string
		class model.Class
		cause model.Cause
		says  string // the last evidence that is an error
	}{
		"401":                    {status(401, "Invalid credentials"), "", model.ClassOutside, model.CauseKeyRejected, "the service says: Invalid credentials"},
		"403":                    {status(403, "Your API key lacks the required permissions for this action"), "", model.ClassAccessRestricted, model.CauseMissingPermission, "the service says: Your API key lacks the required permissions for this action"},
		"429":                    {status(429, "slow down"), "", model.ClassTooFast, "", "the service says: slow down"},
		"503":                    {status(503, `{"error":"down"}`), "", model.ClassOutside, model.CauseServiceError, "the service says: down"},
		"a redirect":             {status(302, "", "Location", "http://127.0.0.1:1/"), "", model.ClassOutside, model.CauseNetwork, "malformed (at the service) not an answer of MCP"},
		"a page":                 {status(200, servicetest.Page, "Content-Type", "text/html"), "", model.ClassOutside, model.CauseNetwork, "malformed (at the service) not an answer of MCP"},
		"an unknown tool":        {answers(said("x"), nil), "nosuch", model.ClassOutside, model.CauseRequestRefused, `the service says: JSON-RPC error -32602: unknown tool "nosuch"`},
		"an error of the tool":   {answers(nil, errors.New("it broke")), "", model.ClassOutside, model.CauseServiceError, "the service says: it broke"},
		"a CAPTCHA, by its code": {answers(nil, errors.New("resolve_failed_captcha: it stays (status 502)")), "", model.ClassCaptcha, "", "the service says: resolve_failed_captcha resolve_failed_captcha: it stays (status 502)"},
		"a 403 in the text":      {answers(nil, errors.New("HTTP 403: no permission")), "", model.ClassAccessRestricted, model.CausePolicy, "the service says: HTTP 403: no permission"},
		"nothing":                {answers(said(), nil), "", model.ClassOutside, model.CauseEmptyBody, ""},
		"white space":            {answers(said(" ", "\n"), nil), "", model.ClassOutside, model.CauseEmptyBody, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := agentProfile(t, c.h)
			q := page()
			if c.tool != "" {
				q.Tool, q.Args = c.tool, `{"url":"http://lab.test/"}`
			}
			q.Retries = 0
			r := fetched(t, newFetcher(t, p), q)
			wantVerdict(t, r, c.class, c.cause)
			if r.ServiceStatus != 0 && r.Header.Get("Date") == "" {
				t.Errorf("the headers of the answer that decided are %v", r.Header)
			}
			got := ""
			for _, e := range r.Diagnosis.Evidence {
				if e.Kind == "error" {
					got = e.Text
				}
			}
			if !strings.HasPrefix(got, c.says) || c.says == "" && got != "" {
				t.Errorf("it says %q, want %q", got, c.says)
			}
		})
	}
}

func TestWhichExchangeOfAConversationDecides(t *testing.T) {
	answer := func(codes ...int) agent.Answer {
		var a agent.Answer
		for _, code := range codes {
			a.Exchanges = append(a.Exchanges, &exchange.Relayed{Status: code})
		}
		return a
	}
	for _, c := range []struct {
		codes []int
		err   error
		want  int // its place
	}{
		{[]int{200, 202, 200}, nil, 2},
		{[]int{200, 202, 200, 202}, nil, 2},
		{[]int{200, 202, 200, 400}, nil, 2},
		{[]int{200, 202, 200, 0}, nil, 2},
		{[]int{200, 202, 403}, io.EOF, 2},
		{[]int{200, 403, 0}, io.EOF, 1},
		{[]int{200, 202, 0}, exchange.ErrTimeout, 2},
		{nil, io.EOF, -1},
	} {
		a := answer(c.codes...)
		got := -1
		if x := decisive(a, c.err); x != nil {
			got = slices.Index(a.Exchanges, x)
		}
		if got != c.want {
			t.Errorf("%v, %v: number %d, want %d", c.codes, c.err, got, c.want)
		}
	}
}

func TestWhatAToolRepeatsOfTheKeyIsMasked(t *testing.T) {
	for name, answer := range map[string]func() (*mcp.CallToolResult, error){
		"in a text": func() (*mcp.CallToolResult, error) { return said("your key is " + servicetest.KeyValue), nil },
		"in a list": func() (*mcp.CallToolResult, error) { return said(`{"k":"`+servicetest.KeyValue+`"}`, "b"), nil },
		"in base64": func() (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("x" + servicetest.KeyValue)}}}, nil
		},
		"in a error": func() (*mcp.CallToolResult, error) { return nil, errors.New("bad key " + servicetest.KeyValue) },
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := agentProfile(t, tools(func(string) (*mcp.CallToolResult, error) { return answer() }))
			r := fetched(t, newFetcher(t, p), page())
			raw, err := json.Marshal(r)
			noerr.Must(t, err)
			servicetest.NoSecret(t, "the result", string(raw)+string(r.Body.Bytes))
			if !strings.Contains(string(raw)+string(r.Body.Bytes), "***") {
				t.Errorf("nothing was masked: %s", r.Body.Bytes)
			}
		})
	}
}

// A tool takes the address of a page: without one, there is nothing to compare it by.
func TestAComparisonHasTheToolWhereThereIsAPage(t *testing.T) {
	p, _ := agentProfile(t, tools(nil))
	for url, want := range map[string]bool{"http://lab.test/ok": true, "": false} {
		g := noerr.Try(newFetcher(t, p).Plan(t.Context(), model.Preset{}, model.FetchRequest{URL: url})).Must(t)
		if has := slices.ContainsFunc(g.Cells, func(c model.Cell) bool { return c.Via == model.ViaAgent }); has != want {
			t.Errorf("of %q: %+v", url, g.Cells)
		}
	}
}

func TestTheToolsAreListedWithTheirFields(t *testing.T) {
	p, _ := agentProfile(t, tools(nil))
	list, d, err := newFetcher(t, p).Tools(t.Context(), "")
	if err != nil || !d.OK() || len(list) != 1 || list[0].Name != "scrape_as_markdown" || list[0].Description != "A page" ||
		len(list[0].Inputs) != 1 || list[0].Inputs[0].Name != "url" || !list[0].Inputs[0].Required {
		t.Errorf("%+v, %+v, %v", list, d, err)
	}
	p, _ = agentProfile(t, http.NotFoundHandler())
	if list, d, err := newFetcher(t, p).Tools(t.Context(), ""); err != nil || list != nil || d.Cause != model.CauseRequestRefused {
		t.Errorf("%+v, %+v, %v", list, d, err)
	}
	p.AgentURL = ""
	if _, _, err := newFetcher(t, p).Tools(t.Context(), ""); !errors.Is(err, model.ErrRequest) || err.Error() != "profile: test has no agent_url, the address of the MCP endpoint" {
		t.Errorf("without an address: %v", err)
	}
}

func TestAToolThatDoesNotAnswerIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		dial, stop := servicetest.Serve(hang)
		defer stop()
		p := servicetest.Profile("http://api.test")
		p.AgentURL, p.Local = "http://api.test/mcp", true
		ft := newFetcher(t, p, func(c *Config) { c.Wire = exchange.New(exchange.Config{Connect: dial}) })
		q := page()
		q.Retries = 0
		r := fetched(t, ft, q)
		wantVerdict(t, r, model.ClassTimeout, model.CauseClientTimeout)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := ft.Fetch(ctx, q, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func TestThePreviewIsWhatAToolIsSent(t *testing.T) {
	for _, dialect := range []string{"brightdata", "documented"} {
		var got []string
		h := tools(func(string) (*mcp.CallToolResult, error) { return said("x"), nil })
		p, _ := agentProfile(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			raw, err := httputil.DumpRequest(r, true)
			noerr.Want(t, err)
			if strings.Contains(string(raw), "tools/call") {
				got = strings.Split(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n")
			}
			h.ServeHTTP(w, r)
		}))
		p.Dialect = dialect
		q := model.FetchRequest{Via: model.ViaAgent, Tool: "scrape_as_markdown", Args: `{"url":"http://lab.test/?a=1&b=<2>"}`}
		ft := newFetcher(t, p)
		noerr.Must(t, noerr.From(ft.Fetch(t.Context(), q, nil)))
		w := ft.Preview(p, q, "")
		if w.Problem != "" {
			t.Fatal(w.Problem)
		}
		lines := func(all []string) string {
			for i, line := range all {
				if strings.HasPrefix(line, "Mcp-Session-Id: ") {
					all[i] = "Mcp-Session-Id: S"
				}
				all[i] = strings.ReplaceAll(all[i], servicetest.KeyValue, mask)
			}
			head := slices.Index(all, "")
			slices.Sort(all[1:head]) // the dump has its own order
			return strings.Join(all, "\n")
		}
		if sent, shown := lines(got), lines(w.Lines); sent != shown {
			t.Errorf("dialect %s: shown\n%s\nsent\n%s", dialect, shown, sent)
		}
	}
}
