package webhook

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"zonedeck/model"
	"zonedeck/service/database"
)

// ErrLater says that a job cannot be told of a delivery yet: its trigger is still on the way.
var ErrLater = errors.New("the trigger of the job is still on its way")

const (
	workAtOnce   = 4
	workGroup    = 64
	lookEvery    = 5 * time.Second
	laterFor     = 5 * time.Minute // how long ErrLater is believed
	maxNaming    = 64 << 10        // bytes of a body that an identifier is looked for in
	maxReference = 200
)

// work processes the deliveries that are not worked on yet, including those that an earlier process left,
// until ctx ends.
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

// workOff processes each of them once, the oldest first. One that has to wait, or fails, does not hold
// up the others.
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
			after = d.n
			group.Go(func() error { return r.workOn(ctx, d) })
		}
		failed = cmp.Or(failed, group.Wait())
		if len(rows) < workGroup || ctx.Err() != nil {
			return failed
		}
	}
}

// workOn finds the job of a delivery and has the service asked, unless the delivery is rejected. If it
// has to be tried again, the delivery stays as it is.
func (r *Receiver) workOn(ctx context.Context, d row) (err error) {
	d.Verdict, d.By, d.Reason = verdictOf(d.checks)
	d.Snapshot = d.named()
	switch {
	case d.Verdict == model.HookRejected:
		d.Outcome = "no job was told of it, because it was rejected"
	case r.conf.Jobs != nil:
		news := model.HookNews{Delivery: d.ID, Token: d.token, Snapshot: d.Snapshot, How: string(d.Verdict), Verified: d.Verdict == model.HookVerified}
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
	case errors.Is(err, ErrUnknown): // a verified one took its place meanwhile, and is looked at
		return nil
	case err != nil:
		return err
	}
	r.queueNews(placed{id: d.ID})
	return nil
}

// named is the service's identifier of a job, if a delivery names one: in the small message of a
// notification, in the query of the address, or in a header. Records name none.
func (d row) named() string {
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
	b, err := readPlain(d.Delivery, maxNaming)
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

// reference is an identifier as services write them, or empty.
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
	// Plain is the beginning without its gzip, as far as it could be inflated; nil if there is no gzip.
	Plain []byte
}

// HeadOf is the beginning of a delivery's body, at most most bytes of it, and of what they inflate to.
func HeadOf(d model.Delivery, most int64) (Head, error) {
	f, err := os.Open(d.File)
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
		h.Plain, _ = io.ReadAll(io.LimitReader(z, most)) // it is cut, or may be no gzip: what came of it is shown
	}
	return h, nil
}

// errInflates says that a body is larger than its bound once it is inflated.
var errInflates = errors.New("the body is larger than that once it is inflated")

// readPlain is a body without its gzip, of at most that many bytes.
func readPlain(d model.Delivery, most int64) ([]byte, error) {
	f, err := os.Open(d.File)
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
