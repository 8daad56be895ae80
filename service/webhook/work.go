package webhook

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/database"
)

// ErrLater says that a job cannot hear of a webhook yet, because its trigger is still on its way.
var ErrLater = errors.New("the trigger of the job is still on its way")

const (
	workAtOnce   = 4
	workGroup    = 64
	lookEvery    = 5 * time.Second
	laterFor     = 5 * time.Minute // how long after its arrival a webhook waits because of ErrLater
	maxNaming    = 64 << 10        // bytes; larger bodies are not searched for an identifier
	maxReference = 200
)

// work processes new webhooks, and those that an earlier process left, until ctx ends.
func (r *Receiver) work(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := r.workOff(ctx); err != nil && ctx.Err() == nil {
			r.conf.Log.Error("webhooks wait to be worked on", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-tick.C:
		}
	}
}

// workOff processes each unprocessed webhook of this machine once, oldest first. One that has to wait, or fails, does not
// hold up the others.
func (r *Receiver) workOff(ctx context.Context) error {
	var failed error
	for after := int64(0); ; {
		rows, err := r.inbox.rows(ctx, "WHERE worked = 0 AND n > $1 ORDER BY n LIMIT $2", "looking for webhooks to work on", after, workGroup)
		if err != nil {
			return err
		}
		var group errgroup.Group
		group.SetLimit(workAtOnce)
		for _, d := range rows {
			if after = d.n; d.Machine != "" {
				continue
			}
			group.Go(func() error { return r.workOn(ctx, d) })
		}
		failed = cmp.Or(failed, group.Wait())
		if len(rows) < workGroup || ctx.Err() != nil {
			return failed
		}
	}
}

// workOn finds the job of a webhook and has the service asked, unless the webhook is rejected. A webhook
// that has to be tried again stays unchanged.
func (r *Receiver) workOn(ctx context.Context, d row) (err error) {
	d.Verdict, d.By, d.Reason = verdictOf(d.checks)
	d.Snapshot = d.snapshotNamed()
	switch {
	case d.Verdict == model.WebhookRejected:
		d.Outcome = "no job was updated: it was rejected"
	case r.conf.Jobs != nil:
		news := model.WebhookNews{ID: d.ID, Token: d.token, Snapshot: d.Snapshot, How: string(d.Verdict), Verified: d.Verdict == model.WebhookVerified}
		if news.Verified {
			news.How = d.Reason
		}
		var job string
		job, d.Outcome, err = r.conf.Jobs.HeardWebhook(ctx, news)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, ErrLater) && r.conf.Wall.Now().Sub(d.wall) < laterFor {
			return nil
		}
		if job != "" {
			d.Job = job
		}
		if err != nil {
			d.Outcome = err.Error()
		}
	}
	err = r.inbox.change(context.WithoutCancel(ctx), "writing what became of "+d.ID,
		`UPDATE deliveries SET verdict = $1, passed = $2, why = $3, job = $4, snapshot = $5, outcome = $6, worked = 1 WHERE n = $7 AND wall = $8`,
		string(d.Verdict), text(d.By), d.Reason, d.Job, d.Snapshot, d.Outcome, d.n, database.Micros(d.wall))
	switch {
	case errors.Is(err, ErrUnknown): // a verified one has replaced it, and is processed next
		return nil
	case err != nil:
		return err
	}
	r.queueNews(placed{id: d.ID})
	return nil
}

// snapshotNamed is the service's identifier of a job, or empty: from the query of the address, a header, or the
// small message of a notification. Records name none.
func (d row) snapshotNamed() string {
	if _, query, ok := strings.Cut(d.Target, "?"); ok {
		if values, err := url.ParseQuery(query); err == nil {
			if id := reference(values.Get("snapshot_id")); id != "" {
				return id
			}
		}
	}
	for _, h := range d.Headers {
		if strings.HasSuffix(strings.ToLower(h.Name), "-snapshot") || strings.HasSuffix(strings.ToLower(h.Name), "-snapshot-id") {
			if id := reference(h.Value); id != "" {
				return id
			}
		}
	}
	if d.Size > maxNaming {
		return ""
	}
	b, err := readPlain(d.Webhook, maxNaming)
	if err != nil {
		return ""
	}
	var said struct {
		Snapshot string `json:"snapshot_id"`
	}
	if json.Unmarshal(b, &said) != nil {
		return ""
	}
	return reference(said.Snapshot)
}

// reference returns id if it looks like a service's identifier, or "".
func reference(id string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.", r)
	}
	if len(id) > maxReference || strings.ContainsFunc(id, odd) {
		return ""
	}
	return id
}

// Head is the beginning of a body.
type Head struct {
	Raw []byte
	// Plain is the beginning, inflated as far as possible; nil if the body is not gzip.
	Plain []byte
}

// openBody opens a webhook's body, unless others may have written it.
func openBody(d model.Webhook) (*os.File, error) {
	if d.Machine != "" {
		return nil, fmt.Errorf("the body of %s is on %s, which received it", d.ID, d.Machine)
	}
	if err := textfile.Trusted(d.File); err != nil {
		return nil, err
	}
	return os.Open(d.File)
}

// HeadOf reads the beginning of a webhook's body: at most most bytes of it, raw and inflated.
func HeadOf(d model.Webhook, most int64) (Head, error) {
	f, err := openBody(d)
	if err != nil {
		return Head{}, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil || !strings.EqualFold(d.Header("Content-Encoding"), "gzip") {
		return Head{Raw: raw}, err
	}
	h := Head{Raw: raw}
	if z, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
		h.Plain, _ = io.ReadAll(io.LimitReader(z, most)) // it is cut, and may not be gzip: show what there is
	}
	return h, nil
}

// errInflates says that an inflated body exceeds its bound.
var errInflates = errors.New("the inflated body is too large")

// readPlain reads a body of at most most bytes, inflated if it is gzip.
func readPlain(d model.Webhook, most int64) ([]byte, error) {
	f, err := openBody(d)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.EqualFold(d.Header("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, err
		}
		in = z
	}
	var b bytes.Buffer
	if n, err := io.Copy(&b, io.LimitReader(in, most+1)); err != nil || n > most {
		return nil, errors.Join(errInflates, err)
	}
	return b.Bytes(), nil
}
