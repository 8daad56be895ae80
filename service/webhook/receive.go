package webhook

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/database"
)

// Bounds of a receiver.
const (
	// maxBody is the default of Settings.MaxBody (public documentation of a service: 1 GB).
	maxBody = 1 << 30

	maxHeaderBytes = 64 << 10
	maxTarget      = 2 << 10
	maxConnections = 512
	chunk          = 64 << 10

	headerPatience = 10 * time.Second
	idlePatience   = 15 * time.Second // without a byte
	restPatience   = 4 * time.Second  // for what is not kept; less than Close has
	maxReceiving   = 15 * time.Minute
	// A sender may be slow, but must not hold its connection forever.
	slowAfter   = 30 * time.Second
	slowestRate = 1 << 10 // bytes a second, on average
)

// mask replaces a secret value.
const mask = "••••"

var (
	errSlow     = errors.New("the body came too slowly")
	errBody     = errors.New("the body cannot be read") // from the connection: the sender's fault
	errTooLarge = errors.New("the body is too large")
	errFull     = errors.New("the inbox is full")
	errDisk     = errors.New("the disk is nearly full")
	errStopping = errors.New("nothing is received any more")
)

// buffers holds the buffers for copying bodies, shared by all connections.
var buffers = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

// ServeHTTP stores a webhook and then answers. Any status but 200 means that it is not stored.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	status, say := r.receive(w, q)
	if status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	if status >= 500 {
		w.Header().Set("Retry-After", "5")
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(say)+1))
	if status != http.StatusOK {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, say+"\n")
	// Closing while a refused sender still sends would reset the connection, and the answer would be lost.
	if c := http.NewResponseController(w); status != http.StatusOK && c.Flush() == nil && c.SetReadDeadline(time.Now().Add(restPatience)) == nil {
		_, _ = io.Copy(io.Discard, q.Body)
	}
}

func (r *Receiver) receive(w http.ResponseWriter, q *http.Request) (status int, say string) {
	switch {
	case q.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "webhooks are POSTed"
	case len(q.Header.Values("Origin")) > 0: // a page that the operator visits may POST to this machine
		return http.StatusForbidden, "webhooks do not come from a browser"
	case len(q.RequestURI) > maxTarget:
		return http.StatusRequestURITooLong, "the address is too long"
	case q.ContentLength > r.settings.Load().MaxBody:
		r.refused.add(whyLarge, r.conf.Wall.Now())
		return http.StatusRequestEntityTooLarge, errTooLarge.Error()
	}
	r.conf.disk.step("begin")
	got, err := r.store(w, q)
	switch {
	case err == nil:
		r.conf.disk.step("answer")
		r.refused.stored(r.conf.Wall.Now())
		r.stored(got)
		return http.StatusOK, "stored"
	case errors.Is(err, errTooLarge):
		r.refused.add(whyLarge, r.conf.Wall.Now())
		return http.StatusRequestEntityTooLarge, errTooLarge.Error()
	case errors.Is(err, errSlow), errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, errSlow.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return http.StatusBadRequest, "the body ended early"
	case errors.Is(err, errBody):
		return http.StatusBadRequest, errBody.Error()
	case errors.Is(err, errStopping):
		return http.StatusServiceUnavailable, errStopping.Error()
	case errors.Is(database.Classify(err), database.ErrFull):
		r.refused.add(whyDisk, r.conf.Wall.Now())
		return http.StatusInsufficientStorage, "the disk is full"
	case errors.Is(err, errDisk):
		r.refused.add(whyReserve, r.conf.Wall.Now())
		return http.StatusInsufficientStorage, errDisk.Error()
	case errors.Is(err, errFull):
		r.refused.add(whyKept, r.conf.Wall.Now())
		return http.StatusInsufficientStorage, errFull.Error()
	default:
		r.conf.Log.Error("a webhook was not stored", "error", err)
		r.refused.add(whyElse, r.conf.Wall.Now())
		return http.StatusServiceUnavailable, "it could not be stored"
	}
}

// store writes the bytes to a file and a row to the inbox. Both are on disk when it returns.
func (r *Receiver) store(w http.ResponseWriter, q *http.Request) (got placed, err error) {
	if err := r.fits(q.ContentLength); err != nil {
		return placed{}, err
	}
	remote := remoteOf(q.RemoteAddr)
	name := "body-" + strings.ToLower(rand.Text())
	file, err := textfile.NewTemp(filepath.Join(r.inbox.dir, name))
	if err != nil {
		return placed{}, err
	}
	defer file.Discard() //nolint:errcheck // of a webhook that is not stored; what stays is swept up
	digest := sha256.New()
	into, checked := r.checking(q.Header, remote, file, digest)
	size, err := r.copyBody(into, w, q.Body)
	defer func() {
		if !got.keep {
			r.bufferedBytes.Add(-size)
		}
	}()
	if err != nil {
		return placed{}, err
	}
	r.conf.disk.step("sync")
	if err := file.Keep(); err != nil {
		return placed{}, err
	}
	r.conf.disk.step("commit")
	id := q.Header.Get(standardwebhooks.HeaderWebhookID)
	d := row{
		Webhook: model.Webhook{
			At: r.inbox.clock.Now(), Target: strings.ToValidUTF8(maskedTarget(q.URL), "�"), Remote: remote.String(), Headers: r.maskedHeaders(q), Size: size, SHA256: hex.EncodeToString(digest.Sum(nil)),
			File: r.inbox.origin + name, SenderID: strings.ToValidUTF8(id, "�"),
		},
		token: model.WebhookToken(q.URL.Path), wall: r.conf.Wall.Now(),
	}
	d.checks = checked()
	a := &arrival{row: d, identity: identity(id, q.URL.RequestURI(), d.SHA256), done: make(chan placed, 1)}
	select {
	case r.arrivals <- a:
		got = <-a.done
	case <-r.stopped:
		got.err = errStopping
	}
	if !got.keep {
		_ = os.Remove(filepath.Join(r.inbox.dir, name)) // what stays is swept up
	}
	return got, got.err
}

// checking starts the verifiers on a head. A body must be written to into before checked is called.
func (r *Receiver) checking(h http.Header, remote netip.Addr, ways ...io.Writer) (into io.Writer, checked func() []check) {
	var finish []func() check
	for _, v := range r.settings.Load().Verifiers {
		hashing, f := v.begin(h, remote, r.conf.Wall.Now())
		if finish = append(finish, f); hashing != nil {
			ways = append(ways, hashing)
		}
	}
	return io.MultiWriter(ways...), func() (out []check) {
		for _, f := range finish {
			out = append(out, f())
		}
		return out
	}
}

// copyBody copies a body, within bounds on its size and speed. It adds the size to bufferedBytes, even
// after an error.
func (r *Receiver) copyBody(to io.Writer, w http.ResponseWriter, body io.Reader) (size int64, err error) {
	pooled, _ := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	control := http.NewResponseController(w)
	began := r.conf.Wall.Now()
	for {
		if err := control.SetReadDeadline(time.Now().Add(idlePatience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return size, err
		}
		n, err := body.Read(*pooled)
		size += int64(n)
		switch held, s := r.bufferedBytes.Add(int64(n)), r.settings.Load(); {
		case size > s.MaxBody:
			return size, errTooLarge
		case held > s.Keep.Bytes+s.MaxBody: // the last body may exceed the bytes that are kept
			poke(r.full)
			return size, errFull
		}
		if n > 0 {
			if err := r.fits(0); err != nil { // others write there, too
				return size, err
			}
			r.conf.disk.step("write")
			if _, err := to.Write((*pooled)[:n]); err != nil {
				return size, err
			}
		}
		if errors.Is(err, io.EOF) {
			return size, control.SetReadDeadline(time.Time{})
		}
		if err != nil {
			return size, fmt.Errorf("%w: %w", errBody, err)
		}
		if took := r.conf.Wall.Now().Sub(began); took > maxReceiving || took > slowAfter && float64(size) < took.Seconds()*slowestRate {
			return size, errSlow
		}
	}
}

func remoteOf(address string) netip.Addr {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap()
}

// maskedTarget is the path and query with the values of secret parameters masked.
func maskedTarget(u *url.URL) string {
	if u.RawQuery == "" {
		return u.EscapedPath()
	}
	parts := strings.Split(u.RawQuery, "&")
	for i, p := range parts {
		name, _, ok := strings.Cut(p, "=")
		plain, err := url.QueryUnescape(name)
		if ok && (err != nil || model.SecretName(plain)) {
			parts[i] = name + "=" + mask
		}
	}
	return u.EscapedPath() + "?" + strings.Join(parts, "&")
}

// maskedHeaders are the headers, sorted by name, with the values of secret ones masked. Signatures are not
// secret: they are good for these bytes only, and a replay needs them.
func (r *Receiver) maskedHeaders(q *http.Request) []model.WebhookHeader {
	out := []model.WebhookHeader{{Name: "Host", Value: q.Host}}
	for name, values := range q.Header {
		for _, v := range values {
			if secretHeader(name) && !r.signatureHeader(name) {
				v = mask
			}
			out = append(out, model.WebhookHeader{Name: name, Value: v})
		}
	}
	slices.SortStableFunc(out, func(a, b model.WebhookHeader) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func secretHeader(name string) bool {
	return model.SecretName(name) && !strings.Contains(strings.ToLower(name), "signature")
}
