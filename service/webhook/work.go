package webhook

import (
	"bytes"
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

// work works on what is not worked on, until ctx ends: what an earlier process left, too.
func (r *Receiver) work(ctx context.Context) {
	var pruned time.Time
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if now := r.conf.Wall(); now.Sub(pruned) >= pruneEvery {
			pruned = now
			if err := r.inbox.Prune(ctx, r.conf.Keep); err != nil && ctx.Err() == nil {
				r.conf.Log.Error("the inbox could not be cleaned up", "error", err)
			}
		}
		again, err := r.workOff(ctx)
		if err != nil && ctx.Err() == nil {
			r.conf.Log.Error("webhooks wait to be worked on", "error", err)
		}
		if again {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-tick.C:
		}
	}
}

// workOff works on one group; again means that there may be more that can be worked on.
func (r *Receiver) workOff(ctx context.Context) (again bool, err error) {
	rows, err := r.inbox.rows(ctx, "WHERE worked = 0 ORDER BY n LIMIT $1", "looking for webhooks to work on", workGroup)
	if err != nil {
		return false, err
	}
	var group errgroup.Group
	group.SetLimit(workAtOnce)
	moved := make([]bool, len(rows))
	for i, d := range rows {
		group.Go(func() error {
			var err error
			moved[i], err = r.workOn(ctx, d)
			return err
		})
	}
	err = group.Wait()
	for _, m := range moved {
		again = again || m && len(rows) == workGroup
	}
	return again && err == nil, err
}

// workOn verifies a delivery, finds its job and has the service asked. done is false where it has
// to come again.
func (r *Receiver) workOn(ctx context.Context, d row) (done bool, err error) {
	if d.Verdict, d.By, d.Why, err = r.verify(d); err != nil {
		return false, err
	}
	d.Snapshot = d.named()
	switch {
	case d.Verdict == model.HookRejected:
		d.Outcome = "nobody was told of it, because it was rejected"
	case r.conf.Heard != nil:
		news := model.HookNews{Delivery: d.ID, Token: d.token, Snapshot: d.Snapshot, How: string(d.Verdict)}
		if len(d.By) > 0 {
			news.How = d.Why
		}
		var job string
		job, d.Outcome, err = r.conf.Heard(ctx, news)
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if errors.Is(err, ErrLater) && r.conf.Wall().Sub(d.wall) < laterFor {
			return false, nil
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
		string(d.Verdict), text(d.By), d.Why, d.Job, d.Snapshot, d.Outcome, d.n, database.Micros(d.wall))
	if errors.Is(err, ErrUnknown) {
		return true, nil // it came once more meanwhile, and is looked at again
	}
	if err == nil && r.conf.On != nil {
		if now, err := r.inbox.Get(context.WithoutCancel(ctx), d.ID); err == nil {
			r.conf.On(Event{Delivery: now})
		}
	}
	return true, err
}

// verify asks every verifier, and reads the body once for each that needs it.
func (r *Receiver) verify(d row) (model.HookVerdict, []string, string, error) {
	checks := d.early
	for _, v := range r.conf.Verifiers {
		if v.late == nil {
			continue
		}
		c, err := withBody(d.File, func(body io.Reader) (check, error) { return v.late(d.Delivery, d.wall, body) })
		if errors.Is(err, os.ErrNotExist) {
			c, err = check{By: v.name, Is: absent, Why: "its body is gone from the disk"}, nil
		}
		if err != nil {
			return "", nil, "", err
		}
		checks = append(checks, c)
	}
	verdict, by, why := verdictOf(checks)
	return verdict, by, why, nil
}

func withBody(path string, use func(io.Reader) (check, error)) (check, error) {
	f, err := os.Open(path)
	if err != nil {
		return check{}, err
	}
	defer f.Close()
	return use(f)
}

// named is the service's identifier of a job that a delivery names, or empty: in the small
// message of a notification, the query of the address, or a header. Records name none.
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
