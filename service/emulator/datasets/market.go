package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/jobs"
)

const (
	maxFilterBytes = 64 << 10
	maxHits        = 10
)

const (
	basisMarket   = "public documentation; the records are those that jobs here have collected, the filter's shape: assumption"
	basisSearch   = "public documentation; the filter's shape, what search_after holds: assumption"
	basisSnapshot = "public documentation; cost is not counted here"
)

// mountMarket mounts the marketplace (public documentation): its datasets hold what jobs
// here have collected.
func (a *API) mountMarket(handle func(pattern string, h http.HandlerFunc)) {
	handle("POST /datasets/filter", a.withParameters(a.serveFilter))
	handle("POST /datasets/search/{id}", a.withParameters(a.serveSearch))
	handle("GET /datasets/snapshots", a.serve(a.serveKept))
	// Two documented paths that one pattern cannot tell apart: {id}/metadata and snapshots/{id}.
	handle("GET /datasets/{id}/{part}", a.withParameters(a.serveOneOf))
	handle("GET /datasets/snapshots/{id}/download", a.serve(a.serveSnapshot))
	handle("GET /datasets/snapshots/{id}/parts", a.serve(a.serveParts))
	handle("POST /datasets/snapshots/{id}/deliver", a.withParameters(a.serveDeliver, "notify"))
}

func (a *API) serveOneOf(w http.ResponseWriter, r *http.Request) error {
	id, part := r.PathValue("id"), r.PathValue("part")
	switch {
	case part == "metadata":
		return a.serveMetadata(w, id)
	case id == "snapshots":
		return a.serveKeptOne(w, part)
	default:
		answer.Text(w, http.StatusNotFound, answer.BasisRefusal, "There is no such endpoint here")
	}
	return nil
}

func (a *API) filterOf(id string, raw jsontext.Value) (c condition, err error) {
	if id == "" {
		return c, badRequest("dataset missing")
	}
	d, err := jobs.Find(id)
	if err != nil {
		return c, errNoDataset()
	}
	return readCondition(raw, d, a.conf.Loose)
}

// serveFilter is POST /datasets/filter: a snapshot of the records that match.
func (a *API) serveFilter(w http.ResponseWriter, r *http.Request) error {
	t, err := a.readBody(w, r, maxFilterBytes)
	if err != nil {
		return err
	}
	dataset, filter := t.Text("dataset_id"), t.Raw("filter")
	limit := t.Number("records_limit", 1, jobs.MaxKept, jobs.MaxKept)
	if err := finishBody(w, t); err != nil {
		return err
	}
	c, err := a.filterOf(dataset, filter)
	if err != nil {
		return err
	}
	var records []json.RawMessage
	size := 0
	err = a.conf.Jobs.Select(r.Context(), dataset, func(raw json.RawMessage) bool {
		if matches(c, raw) {
			records = append(records, raw)
			size += len(raw)
		}
		// One more byte than a snapshot holds is enough for Keep to refuse it.
		return len(records) < limit && size <= jobs.MaxKeptBytes
	})
	if err != nil {
		return fmt.Errorf("records could not be filtered: %w", err)
	}
	if len(records) == 0 {
		answer.JSON(w, http.StatusUnprocessableEntity, answer.BasisDataset, map[string]string{"error": "Provided filter did not match any records"})
		return nil
	}
	snap, err := a.conf.Jobs.Keep(jobs.Spec{
		Dataset: dataset, Inputs: []json.RawMessage{json.RawMessage(filter)}, Format: "json", Via: r.URL.Path,
	}, records)
	switch {
	case errors.Is(err, jobs.ErrTooMany):
		answer.JSON(w, http.StatusTooManyRequests, answer.BasisDataset, map[string]string{
			"error": fmt.Sprintf("Maximum limit of %d jobs per dataset has been exceeded", a.conf.Jobs.MaxRunning()),
		})
	case errors.Is(err, jobs.ErrTooLarge):
		return refused("records_limit", "The records are too long for one snapshot; ask for fewer")
	case err != nil:
		return fmt.Errorf("a filtered snapshot was not kept: %w", err)
	default:
		answer.JSON(w, http.StatusOK, basisMarket, map[string]string{"snapshot_id": snap.ID})
	}
	return nil
}

func matches(c condition, raw json.RawMessage) bool {
	var r map[string]any
	return json.Unmarshal(raw, &r) == nil && c.matches(r)
}

// serveSearch is POST /datasets/search/{id}: a few records at once.
func (a *API) serveSearch(w http.ResponseWriter, r *http.Request) error {
	t, err := a.readBody(w, r, maxFilterBytes)
	if err != nil {
		return err
	}
	if mode := t.Text("mode"); mode != "" && mode != "sync" {
		t.Refuse("mode", "must be sync")
	}
	size, skip := t.Number("size", 1, maxHits, maxHits), 0
	if t.Raw("sort") != nil {
		t.Refuse("sort", "not supported by this emulator")
	}
	if after := []int{0}; t.Has("search_after") {
		if json.Unmarshal(t.Raw("search_after"), &after) != nil || len(after) != 1 || after[0] < 0 {
			t.Refuse("search_after", "must be what an answer gave")
		} else {
			skip = after[0]
		}
	}
	filter := t.Raw("filter")
	if err := finishBody(w, t); err != nil {
		return err
	}
	c, err := a.filterOf(r.PathValue("id"), filter)
	if err != nil {
		return err
	}
	began := time.Now()
	hits, total := []json.RawMessage{}, 0
	err = a.conf.Jobs.Select(r.Context(), r.PathValue("id"), func(raw json.RawMessage) bool {
		if matches(c, raw) {
			if total >= skip && len(hits) < size {
				hits = append(hits, raw)
			}
			total++
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("records could not be searched: %w", err)
	}
	v := map[string]any{"hits": hits, "total_hits": total, "took": time.Since(began).Milliseconds()}
	if next := skip + len(hits); next < total {
		v["search_after"] = []int{next}
	}
	answer.JSON(w, http.StatusOK, basisSearch, v)
	return nil
}

// marketSnapshot is a snapshot of the marketplace (public documentation).
type marketSnapshot struct {
	ID       string    `json:"id"`
	Created  time.Time `json:"created"`
	Status   string    `json:"status"`
	Dataset  string    `json:"dataset_id"`
	Customer string    `json:"customer_id,omitempty"`
	Size     int       `json:"dataset_size"`
	FileSize int64     `json:"file_size"`
	Error    string    `json:"error,omitempty"`
}

func (a *API) listedSnapshot(s jobs.Snapshot) marketSnapshot {
	status := "building"
	if s.Status.Ended() {
		status = string(s.Status)
	}
	return marketSnapshot{s.ID, s.Created, status, s.Dataset, a.conf.Account, s.Records, s.Size, s.Error}
}

// serveKept is GET /datasets/snapshots.
func (a *API) serveKept(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if unknown := answer.UnknownParameters(w, r, a.conf.Loose, "dataset_id", "status"); len(unknown) > 0 {
		refuseFilter(w, unknown[0])
		return nil
	}
	out := []marketSnapshot{}
	for _, s := range a.conf.Jobs.List() {
		v := a.listedSnapshot(s)
		if !s.Kept || q.Get("dataset_id") != "" && s.Dataset != q.Get("dataset_id") || q.Get("status") != "" && v.Status != q.Get("status") {
			continue
		}
		out = append(out, v)
	}
	return answerJSON(w, basisSnapshot, out)
}

func (a *API) serveKeptOne(w http.ResponseWriter, id string) error {
	s, err := a.conf.Jobs.Get(id)
	if err != nil || !s.Kept {
		return notFound("Snapshot does not exist")
	}
	return answerJSON(w, basisSnapshot, a.listedSnapshot(s))
}
