package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/jobs"
)

const (
	maxDeliverBytes = 64 << 10
	maxNameBytes    = 200
)

const (
	basisDeliver    = "public documentation; the webhook's fields endpoint, auth_header and uncompressed: assumption"
	basisDelivery   = "public documentation; status running, attempts: addition of this emulator"
	basisDeliveries = "addition of this emulator"
)

// Messages turns the webhooks of a job into messages of package deliver, for
// jobs.Config.HandOver. Only a job that is ready sends records to an endpoint.
func Messages(s jobs.Snapshot, hooks []jobs.Webhook) []deliver.Message {
	var out []deliver.Message
	for _, h := range hooks {
		m := deliver.Message{
			Snapshot: s.ID, Status: string(s.Status), Kind: deliver.Notify, URL: h.URL, Auth: h.Auth, Format: h.Format, Plain: h.Plain,
		}
		if h.Kind == jobs.Endpoint {
			m.Kind = deliver.Endpoint
		}
		if m.Kind == deliver.Notify || s.Status == jobs.Ready {
			out = append(out, m)
		}
	}
	return out
}

// serveDeliver is POST /datasets/v3/deliver/{id}: it sends the records of a snapshot to a
// webhook. Other destinations need accounts elsewhere, and are refused by name.
func (a *API) serveDeliver(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	snap, err := a.conf.Jobs.Get(id)
	if err != nil {
		return err
	}
	m, err := a.readOrder(w, r, snap)
	if err != nil {
		return err
	}
	if m.Parts, err = a.conf.Jobs.Parts(id, m.Batch); err != nil {
		return unusable(snap, err)
	}
	d, err := a.conf.Deliver.Deliver(m)
	switch {
	case errors.Is(err, deliver.ErrTooMany):
		return &answer.TextError{Status: http.StatusTooManyRequests, Basis: answer.BasisTarget, Text: "Too many deliveries are waiting"}
	case err != nil:
		return fmt.Errorf("a delivery was not taken: %w", err)
	}
	return answerJSON(w, basisDeliver, map[string]string{"delivery_id": d.ID})
}

func (a *API) readOrder(w http.ResponseWriter, r *http.Request, snap jobs.Snapshot) (m deliver.Message, err error) {
	if v := r.URL.Query().Get("notify"); v != "" && v != "true" && v != "false" {
		return m, refused("notify", "Not supported by this emulator")
	}
	t, err := a.readBody(w, r, maxDeliverBytes)
	if err != nil {
		return m, err
	}
	to := t.Object("deliver")
	switch kind := to.Text("type"); kind {
	case "webhook":
	case "":
		return m, badRequest("Deliver options are missing")
	default: // a destination with other fields
		return m, refused("deliver.type", "Not supported by this emulator: it delivers to webhooks")
	}
	file := to.Object("filename")
	m = deliver.Message{
		Snapshot: snap.ID, Status: string(snap.Status), Kind: deliver.Endpoint, URL: to.Text("endpoint"), Auth: to.Text("auth_header"),
		Plain: to.Bool("uncompressed"), Batch: t.Number("batch_size", 0, math.MaxInt32, 0), Name: file.Text("template"),
		Format: cmp.Or(file.Text("extension"), snap.Format),
	}
	if t.Has("compress") {
		m.Plain = !t.Bool("compress")
	}
	if reason := wrongWebhook(m.URL); reason != "" {
		to.Refuse("endpoint", "%s", reason)
	}
	if reason := wrongAuth(m.Auth); reason != "" {
		to.Refuse("auth_header", "%s", reason)
	}
	if !slices.Contains(jobs.Formats(), m.Format) {
		file.Refuse("extension", "must be one of %s", strings.Join(jobs.Formats(), ", "))
	}
	if len(m.Name) > maxNameBytes {
		file.Refuse("template", "must be at most %d bytes", maxNameBytes)
	}
	file.Done()
	to.Done()
	if err := finishBody(w, t); err != nil {
		return m, err
	}
	if m.Batch != 0 && m.Batch < jobs.MinBatch {
		return m, errSmallBatch()
	}
	return m, nil
}

type attempt struct {
	At     time.Time `json:"ts"`
	Part   int       `json:"part"`
	Status int       `json:"status,omitempty"`
	Error  string    `json:"error,omitempty"`
	Millis int64     `json:"duration"`
	Fault  string    `json:"fault,omitempty"`
}

// delivery is the JSON form of a delivery; the first three fields are public documentation.
type delivery struct {
	ID       string         `json:"id"`
	Files    []deliver.File `json:"delivery_files"`
	Status   deliver.Status `json:"status"`
	Snapshot string         `json:"snapshot_id"`
	Kind     string         `json:"kind"`
	URL      string         `json:"url"`
	Next     time.Time      `json:"next_attempt,omitzero"`
	Attempts []attempt      `json:"attempts"`
}

func publicDelivery(d deliver.Delivery) delivery {
	v := delivery{
		ID: d.ID, Files: append([]deliver.File{}, d.Files...), Status: d.Status, Snapshot: d.Message.Snapshot, Kind: d.Message.Kind,
		URL: d.Message.URL, Next: d.Next, Attempts: []attempt{},
	}
	for _, x := range d.Attempts {
		v.Attempts = append(v.Attempts, attempt{x.At, x.Part, x.Status, x.Error, x.Millis, x.Fault})
	}
	return v
}

// serveDelivery is GET /datasets/v3/delivery/{id}.
func (a *API) serveDelivery(w http.ResponseWriter, r *http.Request) error {
	d, err := a.conf.Deliver.Get(r.PathValue("id"))
	if err != nil {
		return notFound("Delivery does not exist")
	}
	return answerJSON(w, basisDelivery, publicDelivery(d))
}

// serveDeliveries is GET /datasets/v3/deliveries?snapshot_id=. It is how a client learns the
// ids of the deliveries of a job's webhooks.
func (a *API) serveDeliveries(w http.ResponseWriter, r *http.Request) error {
	out := []delivery{}
	for _, d := range a.conf.Deliver.List(r.URL.Query().Get("snapshot_id")) {
		out = append(out, publicDelivery(d))
	}
	return answerJSON(w, basisDeliveries, out)
}
