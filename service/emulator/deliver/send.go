package deliver

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"zonedeck/service/emulator/answer"
)

var (
	errSilent = errors.New("the receiver did not answer in time")
	errLong   = fmt.Errorf("the receiver took longer than %s", maxAttempt)
	errLarge  = errors.New("the records are too many to be signed in one file")
)

// attempt tries a delivery once and keeps the outcome.
func (e *Engine) attempt(id string) {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-e.ctx.Done():
		return
	}
	d, fault, ok := e.begin(id)
	if !ok {
		return
	}
	started := e.conf.Wall()
	var status int
	var err error
	switch {
	case fault.Never:
		err = errors.New("lost by a fault")
	case fault.Status > 0:
		status, err = fault.Status, acknowledged(fault.Status)
	default:
		status, err = e.post(d)
		for n := 1; err == nil && n < min(fault.Copies, maxCopies); n++ {
			// The first was acknowledged, so the copies may fail.
			_, _ = e.post(d)
		}
	}
	if e.ctx.Err() != nil && err != nil {
		return // cut by the end of the emulator; the attempt counts
	}
	e.finish(d, status, err, e.conf.Wall().Sub(started), fault)
}

// begin writes an attempt to disk before it is made. ok is false when there is nothing to
// send: the attempts are used up, or a fault makes this one late.
func (e *Engine) begin(id string) (d *Delivery, fault Fault, ok bool) {
	e.mu.Lock()
	shown := e.deliveries[id]
	fault, delayed := e.delayed[id]
	delete(e.delayed, id)
	e.mu.Unlock()
	if shown == nil || shown.Status != Waiting {
		return nil, fault, false
	}
	d = shown.clone()
	part := len(d.Files) + 1
	tries := d.tries(part)
	if tries > len(e.conf.Schedule) {
		e.end(d, Failed)
		e.saveOrPublish(d)
		return nil, fault, false
	}
	now := e.conf.Now().UTC()
	if !delayed && e.conf.Fault != nil {
		fault = e.conf.Fault(d.public())
		if fault.Delay > 0 {
			e.mu.Lock()
			e.delayed[id] = fault
			e.mu.Unlock()
			d.Next = now.Add(fault.Delay)
			e.saveOrPublish(d)
			return nil, fault, false
		}
	}
	d.Attempts = append(d.Attempts, Attempt{At: now, Part: part, Fault: fault.String()})
	// If the process dies now, the next one tries again then.
	if tries < len(e.conf.Schedule) {
		d.Next = now.Add(e.conf.Schedule[tries])
	}
	if err := e.save(d); err != nil {
		e.log(err, id)
		d = shown.clone()
		d.Next = now.Add(diskPause)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.publish(d)
		return nil, fault, false
	}
	return d, fault, true
}

// finish keeps the outcome of an attempt at d.
func (e *Engine) finish(d *Delivery, status int, err error, elapsed time.Duration, fault Fault) {
	d = d.clone()
	a := &d.Attempts[len(d.Attempts)-1]
	a.Over, a.Status, a.Millis = true, status, elapsed.Milliseconds()
	if err != nil {
		a.Error = errorText(err)
	}
	now, tries := e.conf.Now().UTC(), d.tries(a.Part)
	switch {
	case err == nil:
		d.Files, d.Next = append(d.Files, File{fileName(d.Message, a.Part), now}), now
		if len(d.Files) >= d.Message.Parts {
			e.end(d, Done)
		}
	case fault.Never || tries > len(e.conf.Schedule):
		e.end(d, Failed)
	default:
		d.Next = now.Add(e.conf.Schedule[tries-1])
	}
	e.saveOrPublish(d)
}

// saveOrPublish saves a delivery, and goes on without the disk if that fails. If the process
// dies then, the next one repeats the last attempt.
func (e *Engine) saveOrPublish(d *Delivery) {
	if err := e.save(d); err != nil {
		e.log(err, d.ID)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.publish(d)
	}
}

func (d *Delivery) tries(part int) int {
	n := 0
	for _, a := range d.Attempts {
		if a.Part == part {
			n++
		}
	}
	return n
}

func (e *Engine) log(err error, id string) {
	e.conf.Log.Error("could not write the state of a delivery", "delivery", id, "error", err)
}

// errorText is an error without control characters, cut to maxErrorText bytes.
func errorText(err error) string {
	return answer.Shortened(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, err.Error()), maxErrorText)
}

func fileName(m Message, part int) string {
	name := cmp.Or(m.Name, m.Snapshot)
	if m.Parts > 1 {
		name += "." + strconv.Itoa(part)
	}
	if m.Kind == Notify {
		return name
	}
	name += "." + m.Format
	if !m.Plain {
		name += ".gz"
	}
	return name
}

// post makes one POST. The error says why the receiver did not acknowledge it.
func (e *Engine) post(d *Delivery) (status int, err error) {
	// Before the receiver's time begins: a signed body is written to memory first.
	body, err := e.body(d.Message, len(d.Files)+1)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	bound, end := context.WithTimeoutCause(e.ctx, maxAttempt, errLong)
	defer end()
	ctx, cancel := context.WithCancelCause(bound)
	defer cancel(nil)
	// The timeout starts again whenever bytes move.
	silent := time.AfterFunc(e.conf.AckTimeout, func() { cancel(errSilent) })
	defer silent.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Message.URL, &moving{ReadCloser: body, moved: func() { silent.Reset(e.conf.AckTimeout) }})
	if err != nil {
		return 0, fmt.Errorf("the address cannot be read: %w", err)
	}
	if err := e.head(req, d, body); err != nil {
		return 0, err
	}
	resp, err := e.conf.Send(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return 0, cause
		}
		return 0, err
	}
	defer resp.Body.Close()
	// Reading the body lets the connection be used again; its content has no meaning.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, acknowledged(resp.StatusCode)
}

// acknowledged is an error for every status that is not a success. Redirects are not
// followed.
func acknowledged(status int) error {
	if status < 200 || status > 299 {
		return fmt.Errorf("the receiver answered %d", status)
	}
	return nil
}

// head sets the headers, and the signature if there is a secret.
func (e *Engine) head(req *http.Request, d *Delivery, body io.Reader) error {
	m, h := d.Message, req.Header
	h.Set("User-Agent", "zonedeck-emulator")
	h.Set(answer.BasisHeader, "contract 6; body, gzip and Authorization: public documentation; retries, webhook-* and x-emulator-*: assumption")
	h.Set("x-emulator-delivery", d.ID)
	h.Set("x-emulator-snapshot", m.Snapshot)
	h.Set("Content-Type", answer.MediaType(m.Format))
	switch {
	case m.Kind == Notify:
		h.Set("Content-Type", answer.MediaType("json"))
	case !m.Plain:
		h.Set("Content-Encoding", "gzip")
	}
	if m.Auth != "" {
		h.Set("Authorization", m.Auth)
	} else if u := req.URL.User; u != nil {
		pass, _ := u.Password()
		req.SetBasicAuth(u.Username(), pass)
	}
	inMemory, ok := body.(*buffered)
	if !ok {
		return nil
	}
	req.ContentLength = int64(len(inMemory.body))
	if e.signer == nil {
		return nil
	}
	now := e.conf.Wall()
	sig, err := e.signer.Sign(d.ID, now, inMemory.body)
	if err != nil {
		return fmt.Errorf("signing: %w", err)
	}
	h.Set(standardwebhooks.HeaderWebhookID, d.ID)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	h.Set(standardwebhooks.HeaderWebhookSignature, sig)
	return nil
}

// body is what is sent. It is in memory if it is small or signed, otherwise streamed from
// disk.
func (e *Engine) body(m Message, part int) (io.ReadCloser, error) {
	if m.Kind == Notify {
		b, err := json.Marshal(map[string]string{"snapshot_id": m.Snapshot, "status": m.Status})
		if err != nil {
			return nil, err
		}
		return buffer(b), nil
	}
	write, err := e.conf.Source(m.Snapshot, m.Format, m.Batch, part)
	if err != nil {
		return nil, fmt.Errorf("opening the records: %w", err)
	}
	if !m.Plain {
		write = compressed(write)
	}
	if e.signer != nil {
		b := &bounded{remaining: maxSigned}
		if err := write(b); err != nil {
			return nil, err
		}
		return buffer(b.b.Bytes()), nil
	}
	return stream(write), nil
}

func compressed(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		zw := gzip.NewWriter(w)
		if err := write(zw); err != nil {
			return err
		}
		return zw.Close()
	}
}

type buffered struct {
	*bytes.Reader
	body []byte
}

func buffer(b []byte) *buffered { return &buffered{bytes.NewReader(b), b} }

func (h *buffered) Close() error { return nil }

type bounded struct {
	b         bytes.Buffer
	remaining int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.remaining -= len(p); b.remaining < 0 {
		return 0, errLarge
	}
	return b.b.Write(p)
}

// streamed is a body being written by a goroutine, which has ended when Close returns.
type streamed struct {
	*io.PipeReader
	ended chan struct{}
}

func stream(write func(io.Writer) error) *streamed {
	r, w := io.Pipe()
	s := &streamed{r, make(chan struct{})}
	go func() {
		defer close(s.ended)
		w.CloseWithError(write(w))
	}()
	return s
}

func (s *streamed) Close() error {
	err := s.PipeReader.Close()
	<-s.ended
	return err
}

type moving struct {
	io.ReadCloser
	moved func()
}

func (m *moving) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.moved()
	return n, err
}
