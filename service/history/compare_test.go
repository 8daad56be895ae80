package history

import (
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/servicetest"
)

func TestTwoFetchesOfTheHistoryAreCompared(t *testing.T) {
	kept, _ := servicetest.Journal(t)
	h := New(kept, config.Paths{}, "test", time.Now)
	for id, r := range map[string]model.FetchResult{
		"f_1": {Status: 200, Body: model.BodyRef{Bytes: []byte("<p>one"), Size: 6}},
		"f_2": {Status: 403, Body: model.BodyRef{Bytes: []byte("<p>two"), Size: 6}},
		"f_3": {Status: 200, Body: model.BodyRef{File: "/nowhere/gone", Size: 6}},
	} {
		r.ID = id
		noerr.Must(t, kept.PutFetch(t.Context(), "test", r))
	}
	d, err := h.Difference(t.Context(), [2]string{"dc by API", "unlocker by API"}, [2]string{"f_1", "f_2"})
	if err != nil || !strings.Contains(d.Text, "--- dc by API") || !strings.Contains(d.Text, "+<p>two") || len(d.Verdict) != 1 || d.Verdict[0].B != "403" {
		t.Errorf("%+v, %v", d, err)
	}
	for id, want := range map[string]string{"f_0": "unlocker by API: ", "f_3": "no longer exists"} {
		if _, err := h.Difference(t.Context(), [2]string{"dc by API", "unlocker by API"}, [2]string{"f_1", id}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %s: %v, want %q", id, err, want)
		}
	}
	if a, err := h.Answer(t.Context(), "f_1", 3); err != nil || string(a.Body) != "<p>" || a.Result.Status != 200 {
		t.Errorf("the beginning of a body: %q, %v", a.Body, err)
	}
}
