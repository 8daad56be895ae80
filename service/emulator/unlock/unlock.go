package unlock

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

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
		attempt, err := again(ctx, req, jar)
		if err != nil {
			return nil, out, err
		}
		resp, err := rt.RoundTrip(attempt)
		if err != nil {
			return nil, out, err
		}
		head, whole, err := look(resp)
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

// again makes the next attempt: the request as it was, with the clearances.
func again(ctx context.Context, req *http.Request, jar map[string]*http.Cookie) (*http.Request, error) {
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

// look reads the beginning of an answer that may be a block, and puts it back in front
// of the rest. whole says that it was all there is, which a block always is.
func look(resp *http.Response) (head []byte, whole bool, err error) {
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
