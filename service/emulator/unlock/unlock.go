// Package unlock gets past the blocks of targets: it recognises a challenge by the
// marks on the page, as an unlocker does, solves it and asks again. It
// reports a challenge that it cannot solve with the codes of the public documentation.
//
// The unlocker and SERP products call [Fetch] for every page. The package knows no
// target: it reads the challenge off the HTML (an element with data-challenge, the
// address of a puzzle on the same host), and solves proofs of work. Everything is safe
// for concurrent use, and starts no goroutines. Pages and puzzles are remote bytes and
// bounded: how much of a page is looked at, how hard a puzzle may be.
package unlock

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"zonedeck/service/emulator/page"
)

// Bounds.
const (
	// maxLook is how much of an answer is read before it is passed on as it is: a
	// challenge page is smaller.
	maxLook = 64 << 10
	// maxRounds is how many challenges in a row are solved for one page.
	maxRounds = 3
)

// Outcome says what stood in the way of a page.
type Outcome struct {
	// Kind is the last block, or "".
	Kind page.BlockKind
	// Mark is how the block was recognised.
	Mark string
	// Cleared reports whether the page came, with or without a block before it.
	Cleared bool
	// Rounds is how many challenges were solved.
	Rounds int
	// Reason says why the last challenge was not solved, in words.
	Reason string
}

// Failure is the status and the x-brd-error-code that the service reports for a page that was
// not cleared (public documentation); 0 and "" where it was.
func (o Outcome) Failure() (status int, code string) {
	switch {
	case o.Cleared:
		return 0, ""
	case o.Kind == page.TooFast:
		return http.StatusTooManyRequests, "sr_rate_limit"
	case o.Kind == page.Captcha:
		return http.StatusBadGateway, "resolve_failed_captcha"
	case o.Kind == page.Challenge:
		return http.StatusBadGateway, "resolve_failed_challenge"
	default:
		return http.StatusBadGateway, "reject_block"
	}
}

// Fetch sends a request and gets past what blocks it. Every request goes through rt, which must
// leave from one exit, because a clearance is bound to the visitor's address. The answer is the
// last one that came, whether the outcome is cleared or not; the caller closes its body. If the
// request's body cannot be sent again (GetBody), blocks are only reported. At most 64 KiB of an
// answer are held back until they are known not to be a block; the rest streams. Errors are
// those of rt and of the context.
func Fetch(ctx context.Context, rt http.RoundTripper, req *http.Request) (*http.Response, Outcome, error) {
	var out Outcome
	jar := map[string]*http.Cookie{} // the clearances earned so far, by name
	for {
		attempt, err := nextAttempt(ctx, req, jar)
		if err != nil {
			return nil, out, err
		}
		resp, err := rt.RoundTrip(attempt)
		if err != nil {
			return nil, out, err
		}
		head, whole, err := peekBody(resp)
		if err != nil {
			resp.Body.Close()
			return nil, out, err
		}
		block := page.Block{}
		if whole {
			block = page.Detect(resp.StatusCode, resp.Header, head)
		}
		if block.Kind == page.NotBlocked {
			out.Cleared = true
			return resp, out, nil
		}
		out.Kind, out.Mark = block.Kind, block.Mark
		if reason := unsolvable(req, out.Rounds); reason != "" {
			out.Reason = reason
			return resp, out, nil
		}
		won, err := solve(ctx, rt, attempt, head)
		if err != nil {
			if ctx.Err() != nil {
				resp.Body.Close()
				return nil, out, context.Cause(ctx)
			}
			out.Reason = err.Error()
			return resp, out, nil
		}
		resp.Body.Close()
		for _, c := range won {
			jar[c.Name] = c
		}
		out.Rounds++
	}
}

func unsolvable(req *http.Request, rounds int) string {
	switch {
	case rounds == maxRounds:
		return fmt.Sprintf("the target asked again after %d solved challenges", maxRounds)
	case req.Body != nil && req.Body != http.NoBody && req.GetBody == nil:
		return "the request's body cannot be sent again"
	}
	return ""
}

// nextAttempt makes the next attempt: the request as it was, with the clearances.
func nextAttempt(ctx context.Context, req *http.Request, jar map[string]*http.Cookie) (*http.Request, error) {
	r := req.Clone(ctx)
	if req.GetBody != nil {
		b, err := req.GetBody()
		if err != nil {
			return nil, fmt.Errorf("sending the request's body again: %w", err)
		}
		r.Body = b
	}
	for _, c := range jar {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	return r, nil
}

// peekBody reads the beginning of an answer that may be a block, and puts it back in front
// of the rest. whole says that it was all there is, which a block always is.
func peekBody(resp *http.Response) (head []byte, whole bool, err error) {
	if !suspect(resp) {
		return nil, false, nil
	}
	head, err = io.ReadAll(io.LimitReader(resp.Body, maxLook+1))
	if err != nil {
		return nil, false, fmt.Errorf("reading the target's answer: %w", err)
	}
	resp.Body = &rejoined{Reader: io.MultiReader(bytes.NewReader(head), resp.Body), Closer: resp.Body}
	return head, len(head) <= maxLook, nil
}

// suspect reports whether an answer may be a block: an HTML page small enough, or a
// status or header that says so.
func suspect(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusMethodNotAllowed:
		return true
	}
	if resp.ContentLength > maxLook || resp.ContentLength == 0 {
		return resp.Header.Get("Cf-Mitigated")+resp.Header.Get("X-Amzn-Waf-Action") != ""
	}
	ct := strings.ToLower(resp.Header.Get("Content-Type"))
	return ct == "" || strings.Contains(ct, "html")
}

type rejoined struct {
	io.Reader
	io.Closer
}

// Bounds of a puzzle.
const (
	maxPuzzleBytes = 16 << 10
	// maxToken bounds the token, which every try hashes again.
	maxToken = 1 << 10
	// maxDifficulty is the most leading zero bits that are tried for: a million tries.
	maxDifficulty = 20
	// triesPerCheck is how many tries are made between two looks at the context.
	triesPerCheck = 4096
)

// errNoChallenge is a block that offers no way past.
var errNoChallenge = errors.New("the page has no challenge that could be solved")

// solve solves the challenge on a block's page: it reads where the puzzle is, fetches
// it, works it out and hands the answer in. The cookies are the clearance that the
// target gave for it. asked is the request that the page answered; its User-Agent is
// also used for the puzzle, as a browser would.
func solve(ctx context.Context, rt http.RoundTripper, asked *http.Request, body []byte) ([]*http.Cookie, error) {
	at, err := endpoint(asked.URL, body)
	if err != nil {
		return nil, err
	}
	p, err := fetchPuzzle(ctx, rt, asked, at)
	if err != nil {
		return nil, err
	}
	n, err := p.work(ctx)
	if err != nil {
		return nil, err
	}
	return p.handIn(ctx, rt, asked, at, n)
}

// endpoint finds the address of the puzzle. It has to be on the page's own host: a
// page never sends the unlocker elsewhere.
func endpoint(pageURL *url.URL, body []byte) (*url.URL, error) {
	doc, err := page.Parse(body)
	if err != nil {
		return nil, err
	}
	ref, found := goquery.NewDocumentFromNode(doc).Find("[data-challenge]").Attr("data-challenge")
	if !found {
		return nil, errNoChallenge
	}
	u, err := pageURL.Parse(ref)
	if err != nil || u.Scheme != pageURL.Scheme || !strings.EqualFold(u.Host, pageURL.Host) {
		return nil, errors.New("the page's challenge is not on its own host")
	}
	return u, nil
}

type puzzle struct {
	Algorithm  string `json:"algorithm"`
	Difficulty int    `json:"difficulty"`
	Token      string `json:"token"`
}

func fetchPuzzle(ctx context.Context, rt http.RoundTripper, asked *http.Request, at *url.URL) (puzzle, error) {
	resp, err := send(ctx, rt, asked, http.MethodGet, at, "")
	if err != nil {
		return puzzle{}, fmt.Errorf("asking for the puzzle: %w", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxPuzzleBytes))
	if err != nil {
		return puzzle{}, fmt.Errorf("reading the puzzle: %w", err)
	}
	var p puzzle
	switch err := json.Unmarshal(b, &p); {
	case resp.StatusCode != http.StatusOK:
		return puzzle{}, fmt.Errorf("the target gives no puzzle (%d)", resp.StatusCode)
	case err != nil:
		return puzzle{}, fmt.Errorf("reading the puzzle: %w", err)
	case p.Algorithm != "sha256" || p.Token == "":
		return puzzle{}, fmt.Errorf("a puzzle of a kind that is not known (%.20q)", p.Algorithm)
	case len(p.Token) > maxToken:
		return puzzle{}, fmt.Errorf("the puzzle is too hard (a token of %d bytes, at most %d are tried)", len(p.Token), maxToken)
	case p.Difficulty < 0 || p.Difficulty > maxDifficulty:
		return puzzle{}, fmt.Errorf("the puzzle is too hard (%d bits, at most %d are tried)", p.Difficulty, maxDifficulty)
	}
	return p, nil
}

// work finds the number n for which the SHA-256 of "token:n" begins with Difficulty
// zero bits.
func (p puzzle) work(ctx context.Context) (uint64, error) {
	text := append(make([]byte, 0, len(p.Token)+1+20), p.Token+":"...) // with room for the number
	for n := uint64(0); ; n++ {
		if n%triesPerCheck == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		sum := sha256.Sum256(strconv.AppendUint(text, n, 10))
		if bits.LeadingZeros32(binary.BigEndian.Uint32(sum[:4])) >= p.Difficulty {
			return n, nil
		}
	}
}

func (p puzzle) handIn(ctx context.Context, rt http.RoundTripper, asked *http.Request, at *url.URL, n uint64) ([]*http.Cookie, error) {
	form := url.Values{"token": {p.Token}, "answer": {strconv.FormatUint(n, 10)}}
	for name, vs := range at.Query() {
		form[name] = vs
	}
	to := *at
	to.RawQuery = ""
	resp, err := send(ctx, rt, asked, http.MethodPost, &to, form.Encode())
	if err != nil {
		return nil, fmt.Errorf("handing in the answer: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return nil, fmt.Errorf("the target did not take the answer (%d)", resp.StatusCode)
	}
	won := resp.Cookies()
	if len(won) == 0 {
		return nil, errors.New("the target took the answer and gave nothing for it")
	}
	return won, nil
}

// send sends a request, with a form where it is a POST, that looks as if it came from the
// same browser.
func send(ctx context.Context, rt http.RoundTripper, asked *http.Request, method string, to *url.URL, form string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, to.String(), strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	for _, name := range [...]string{"User-Agent", "Accept-Language"} {
		if v, ok := asked.Header[name]; ok {
			req.Header[name] = v
		}
	}
	req.Header.Set("Referer", (&url.URL{Scheme: asked.URL.Scheme, Host: asked.URL.Host, Path: asked.URL.Path}).String())
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return rt.RoundTrip(req)
}
