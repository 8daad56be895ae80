package rehearsal

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Request is one request that the emulator saw, and how it ended. Keys and passwords are
// masked in it. Every text was written by a client or a target.
type Request struct {
	// Seq counts from 1, in the order in which requests ended.
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"` // when it came, by the emulator's clock
	// Point is where it came in: api, proxy, inner (in a re-signed connection), socks, …
	Point  string `json:"point"`
	Method string `json:"method"`
	URL    string `json:"url"`
	Target string `json:"target"` // the page it was about, where that is not the URL
	Remote string `json:"remote"`
	Zone   string `json:"zone"`
	Key    string `json:"key"`  // the key's name
	User   string `json:"user"` // a proxy login's username
	// Header holds what was sent, by canonical names.
	Header map[string]string `json:"header"`
	// Body is the beginning of the body; BodyCut says that there was more.
	Body    string `json:"body"`
	BodyCut bool   `json:"body_cut"`
	// Status is the answer's, 0 where there was none; Inner the target's own.
	Status int    `json:"status"`
	Inner  int    `json:"inner_status"`
	Code   string `json:"code"`  // the service's error code
	Fault  string `json:"fault"` // the faults that hit
	Cut    bool   `json:"cut"`   // the answer was broken off, or never came
	// BytesIn and BytesOut count bodies; for a tunnel everything that passed.
	BytesIn    int64   `json:"bytes_in"`
	BytesOut   int64   `json:"bytes_out"`
	DurationMS float64 `json:"duration_ms"`
	Basis      string  `json:"basis"`
}

// Duration is how long the request took.
func (r Request) Duration() time.Duration {
	return time.Duration(r.DurationMS * float64(time.Millisecond))
}

// Page is a part of the emulator's journal, oldest first.
type Page struct {
	Requests []Request `json:"requests"`
	// Last is the number of the newest entry there is: what Follow goes on from.
	Last uint64 `json:"last"`
}

// Newest gives the newest requests, at most limit of them.
func (c *Client) Newest(ctx context.Context, limit int) (Page, error) {
	var p Page
	err := c.call(ctx, http.MethodGet, "/requests", url.Values{"limit": {strconv.Itoa(limit)}}, nil, &p)
	return p, err
}

// Follow calls each for every request that ends after the one with number since, until
// ctx or the emulator ends or each gives an error. lost counts the requests before this
// one that were gone before they could be read. It always ends with an error.
func (c *Client) Follow(ctx context.Context, since uint64, each func(r Request, lost uint64) error) error {
	resp, err := c.send(ctx, http.MethodGet, "/requests", url.Values{"follow": {"true"}, "since": {strconv.FormatUint(since, 10)}}, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxLine)
	lost := uint64(0)
	for lines.Scan() {
		var line struct {
			Request
			Lost uint64 `json:"lost"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("reading the emulator's journal: %w", err)
		}
		if line.Seq == 0 {
			lost += line.Lost
			continue
		}
		if err := each(line.Request, lost); err != nil {
			return err
		}
		lost = 0
	}
	switch err := lines.Err(); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNoAnswer, err)
	default:
		return fmt.Errorf("%w: it ended its journal", ErrNoAnswer)
	}
}
