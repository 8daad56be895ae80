package unlock

import (
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
