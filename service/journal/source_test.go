package journal

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestWhatAnAgentDoesIsMarkedAndItsCallsKeepTheirLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	operator, agent := openTest(t, path), openTest(t, path)
	agent.Attribute(model.SourceAgent)
	put := func(err error) {
		t.Helper()
		noerr.Must(t, err)
	}
	call := model.HistoryEntry{Kind: model.HistoryAgent, Ref: "a_1", URL: "http://u:pw@lab.test/", Text: "fetch: under way"}
	put(operator.PutFetch(t.Context(), "p", sampleFetch("f_1")))
	put(operator.flush(t.Context()))
	put(agent.PutCall(t.Context(), call))
	put(agent.PutFetch(t.Context(), "p", sampleFetch("f_2")))
	put(agent.PutKeyEvent(t.Context(), KeyEvent{Key: "k", Event: "used"}))
	call.Text, call.Total = "fetch: ok", time.Second
	put(agent.PutCall(t.Context(), call))
	put(agent.flush(t.Context()))

	marked, err := operator.Entries(t.Context(), model.HistoryFilter{Source: model.SourceAgent})
	put(err)
	if len(marked) != 3 || marked[0].Kind != model.HistoryKey || marked[1].Ref != "f_2" || marked[2].Text != "fetch: ok" || marked[2].Total != time.Second || marked[2].URL != "http://u:xxxxx@lab.test/" {
		t.Errorf("marked: %+v", marked)
	}
	all, err := operator.Entries(t.Context(), model.HistoryFilter{})
	put(err)
	if len(all) != 4 || all[3].Ref != "f_1" || all[3].Source != "" || all[0].Source != model.SourceAgent {
		t.Errorf("all: %+v", all)
	}
	found, err := operator.Entries(t.Context(), model.HistoryFilter{Words: []string{"agent"}, Kind: model.HistoryFetch, Source: model.SourceAgent})
	put(err)
	if len(found) != 1 || found[0].Ref != "f_2" {
		t.Errorf("by a word: %+v", found)
	}
	if agent.PutCall(t.Context(), model.HistoryEntry{}) == nil {
		t.Error("a call without an identifier is kept")
	}
	put(agent.Prune(t.Context(), Keep{Entries: 1, Fetches: 1, Comparisons: 1}))
	var left int
	if err := agent.db.QueryRowContext(t.Context(), "SELECT count(*) FROM activity_sources").Scan(&left); err != nil || left != 1 {
		t.Errorf("%d marks of one line, %v", left, err)
	}
}

// A fetch that a rotation made says for which step, and is left out where the operator's own are wanted.
func TestTheProofsOfARotationAreMarked(t *testing.T) {
	j := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	proof := sampleFetch("f_2")
	proof.Proves, proof.Request.URL = "the rotation of etl-main, test profile acme", "https://lab.test/whoami"
	for _, r := range []model.FetchResult{sampleFetch("f_1"), proof} {
		noerr.Must(t, j.PutFetch(t.Context(), "p", r))
	}
	refs := func(f model.HistoryFilter) (refs []string) {
		t.Helper()
		list, err := j.Entries(t.Context(), f)
		noerr.Must(t, err)
		for _, a := range list {
			refs = append(refs, a.Ref)
		}
		return refs
	}
	for _, c := range []struct {
		name   string
		filter model.HistoryFilter
		want   []string
	}{
		{"all", model.HistoryFilter{}, []string{"f_2", "f_1"}},
		{"those of rotations", model.HistoryFilter{Source: model.SourceRotation}, []string{"f_2"}},
		{"all but those", model.HistoryFilter{Without: model.SourceRotation}, []string{"f_1"}},
		{"all but those, by a word that both have", model.HistoryFilter{Without: model.SourceRotation, Words: []string{"lab.test"}}, []string{"f_1"}},
		{"by the key that is rotated", model.HistoryFilter{Words: []string{"etl-main"}}, []string{"f_2"}},
	} {
		if got := refs(c.filter); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	list, err := j.Entries(t.Context(), model.HistoryFilter{Limit: 1})
	if want := "Proof for the rotation of etl-main, test profile acme. " + proof.Diagnosis.Summary; err != nil || len(list) != 1 || list[0].Text != want {
		t.Errorf("%+v, %v, want %q", list, err, want)
	}
	if kept, err := j.Fetch(t.Context(), "f_2"); err != nil || kept.Proves != proof.Proves {
		t.Errorf("opened again it is for %q, %v", kept.Proves, err)
	}
	if urls, err := j.URLs(t.Context(), "p", 10); err != nil || !slices.Equal(urls, []string{sampleFetch("f_1").Request.URL}) {
		t.Errorf("offered are %q, %v", urls, err)
	}
}
