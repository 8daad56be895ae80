package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"zonedeck/model"
)

// Replay sends a webhook again, to an address of this machine.
type Replay struct {
	Webhook model.Webhook
	// To is the URL. Its host must be this machine.
	To string
}

// Replayed is the outcome of a Replay.
type Replayed struct {
	Status int
	// Answer is the beginning of the answer's body.
	Answer string
	// Redirect is the target of a redirect, which was not followed, or empty. It is one line, cut if long.
	Redirect string
	Bytes    int64
	// Without are the secret headers that were not sent, because their values are not kept.
	Without []string
}

// Accepted reports whether the receiver accepted the webhook: the status is 2xx.
func (r Replayed) Accepted() bool { return r.Status/100 == 2 }

// AnswerText describes the receiver's answer.
func (r Replayed) AnswerText() string {
	said := strconv.Itoa(r.Status)
	if r.Redirect != "" {
		said += ", a redirect to " + r.Redirect + " that was not followed"
	}
	if r.Answer != "" {
		said += ": " + r.Answer
	}
	return said
}

// maxRedirect bounds Replayed.Redirect.
const maxRedirect = 200

// ErrOtherMachine says that an address is another machine's.
var ErrOtherMachine = errors.New("a webhook is replayed to an address of this machine alone: 127.0.0.1, ::1 or localhost")

const (
	replayTimeout = time.Minute
	maxReplayWord = 4 << 10
)

// hopHeaders returns the headers that belong to a webhook's connection and are not replayed.
func hopHeaders() []string {
	return []string{"Connection", "Content-Length", "Host", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Connection"}
}

// ReplayHost returns the host and port of an address for replays. Errors: ErrElsewhere, or what is wrong with
// the address.
func ReplayHost(to string) (string, error) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q is not an address like http://127.0.0.1:8080/hook", to)
	}
	if !loopback(u.Hostname()) {
		return "", fmt.Errorf("%s: %w", u.Host, ErrOtherMachine)
	}
	return u.Host, nil
}

// Send sends the webhook, with its bytes and headers as they came. It follows no redirect and uses no proxy.
// Errors: ErrElsewhere, those of the file and the connection.
func (r Replay) Send(ctx context.Context) (Replayed, error) {
	host, err := ReplayHost(r.To)
	if err != nil {
		return Replayed{}, err
	}
	body, err := openBody(r.Webhook)
	if err != nil {
		return Replayed{}, fmt.Errorf("its bytes cannot be read: %w", err)
	}
	defer body.Close()
	info, err := body.Stat()
	if err != nil {
		return Replayed{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, replayTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.To, body)
	if err != nil {
		return Replayed{}, err
	}
	q.ContentLength = info.Size()
	out := Replayed{Bytes: info.Size(), Without: r.head(q.Header)}
	transport := &http.Transport{DialContext: dialLoopback, DisableKeepAlives: true, DisableCompression: true}
	resp, err := transport.RoundTrip(q)
	if err != nil {
		return out, fmt.Errorf("replaying to %s: %w", host, err)
	}
	defer resp.Body.Close()
	word, err := io.ReadAll(io.LimitReader(resp.Body, maxReplayWord))
	out.Status, out.Answer = resp.StatusCode, strings.TrimSpace(string(word))
	if resp.StatusCode/100 == 3 {
		out.Redirect = model.Line(resp.Header.Get("Location"), maxRedirect)
	}
	if err != nil {
		return out, fmt.Errorf("the receiver answered %d and broke off: %w", resp.StatusCode, err)
	}
	return out, nil
}

// head copies the webhook's headers, and returns the names of masked ones, which it leaves out.
func (r Replay) head(to http.Header) (without []string) {
	for _, h := range r.Webhook.Headers {
		switch {
		case h.Value == mask:
			without = append(without, h.Name)
		case slices.ContainsFunc(hopHeaders(), func(hop string) bool { return strings.EqualFold(hop, h.Name) }):
		default:
			to.Add(h.Name, h.Value)
		}
	}
	return without
}

// dialLoopback connects only to this machine, whatever a name resolves to.
func dialLoopback(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Control: func(_, to string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(to)
		if err != nil || !a.Addr().Unmap().IsLoopback() {
			return ErrOtherMachine
		}
		return nil
	}}
	return d.DialContext(ctx, network, address)
}
