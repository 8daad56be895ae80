package emulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/agent"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/level"
)

const (
	// maxInside bounds the answer of an internal call.
	maxInside = 8 << 20
	// agentZone is the zone that public clients create. Without it, the account's first zone
	// of the product serves.
	agentZone = "mcp_unlocker"
	// perPage is the number of results on a page of the lab's search.
	perPage = 10
)

func (s *Server) openAgents() {
	s.agents = agent.Open(s.ctx, agent.Config{
		Authorize: func(ctx context.Context, key string) (string, *answer.TextError) {
			return s.authorize(ctx, key, textNoKey, level.Use)
		},
		Search: s.searchForAgent, Scrape: s.scrapeForAgent, Discover: s.discoverForAgent, AnyHost: s.remote,
	})
}

// searchForAgent fetches the lab's search page, which plays the engine, through a SERP zone.
// For Google, clients expect the light JSON with only what is needed to cite a result.
func (s *Server) searchForAgent(ctx context.Context, q agent.Query) (string, error) {
	v := url.Values{"q": {q.Text}}
	form := "markdown"
	switch q.Engine {
	case "bing":
		v.Set("engine", q.Engine)
		v.Set("first", strconv.Itoa(q.Page*perPage+1))
		v.Set("cc", q.Country)
	case "yandex":
		v = url.Values{"engine": {q.Engine}, "text": {q.Text}, "p": {strconv.Itoa(q.Page)}}
	default:
		form = "parsed_light"
		v.Set("start", strconv.Itoa(q.Page*perPage))
		v.Set("gl", q.Country)
	}
	text, err := s.pageForAgent(ctx, "serp", lab.Base+"/search?"+v.Encode(), form)
	if err != nil || form == "markdown" {
		return text, err
	}
	var light struct {
		Organic []struct {
			Link        string `json:"link"`
			Title       string `json:"title"`
			Description string `json:"description"`
		} `json:"organic"`
	}
	if err := json.Unmarshal([]byte(text), &light); err != nil {
		return "", fmt.Errorf("reading the search results: %w", err)
	}
	b, err := json.MarshalIndent(light, "", "  ")
	return string(b), err
}

func (s *Server) scrapeForAgent(ctx context.Context, address string) (string, error) {
	return s.pageForAgent(ctx, "unlocker", address, "markdown")
}

func (s *Server) discoverForAgent(ctx context.Context, d agent.Discovery) (string, error) {
	body, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	found, err := s.index.Discover(ctx, body)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(found)
	return string(b), err
}

// pageForAgent is POST /request through a zone of the product, as public clients call it: with
// the same refusals, the same cost, and the caller's address for the zone's lists.
func (s *Server) pageForAgent(ctx context.Context, product, address, form string) (string, error) {
	zone, err := s.zoneForAgent(product)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]string{"zone": zone, "url": address, "format": "raw", "data_format": form})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/request", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.RemoteAddr = agent.Caller(ctx).Addr
	w := &inside{header: http.Header{}}
	if err := w.serve(s.fetch.ServeRequest, r); err != nil {
		return "", err
	}
	text := strings.TrimSpace(w.body.String())
	switch failed := w.header.Get("x-brd-error"); {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case w.status != http.StatusOK:
		return "", fmt.Errorf("HTTP %d: %.500s", w.status, text)
	case failed != "":
		return "", fmt.Errorf("%s: %s (status %s)", w.header.Get("x-brd-error-code"), failed, w.header.Get("x-brd-status-code"))
	case text == "":
		return "", errors.New("the page is empty")
	}
	return text, nil
}

// zoneForAgent finds a zone. Unlocker zones serve search pages, too (public documentation).
func (s *Server) zoneForAgent(product string) (string, error) {
	zones := s.account.Zones()
	for _, fits := range [...]func(account.Zone) bool{
		func(z account.Zone) bool { return z.Name == agentZone && z.Product == "unlocker" },
		func(z account.Zone) bool { return z.Product == product },
		func(z account.Zone) bool { return z.Product == "unlocker" },
	} {
		if i := slices.IndexFunc(zones, fits); i >= 0 {
			return zones[i].Name, nil
		}
	}
	return "", fmt.Errorf("the account has no %s zone: create one", product)
}

// inside is the response of an internal call. It ignores deadlines.
type inside struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var errInside = errors.New("the answer is too long")

// serve calls the endpoint. An answer that breaks off is an error.
func (w *inside) serve(h http.HandlerFunc, r *http.Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			if e, ok := v.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
				panic(v)
			}
			err = errors.New("the answer broke off")
		}
	}()
	h(w, r)
	return nil
}

func (w *inside) Header() http.Header { return w.header }

func (w *inside) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *inside) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(b) > maxInside {
		return 0, errInside
	}
	return w.body.Write(b)
}

func (w *inside) Flush()                           {}
func (w *inside) SetReadDeadline(time.Time) error  { return nil }
func (w *inside) SetWriteDeadline(time.Time) error { return nil }
