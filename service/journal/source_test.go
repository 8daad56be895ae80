package journal

import (
	"path/filepath"
	"testing"
	"time"

	"zonedeck/model"
)

func TestWhatAnAgentDoesIsMarkedAndItsCallsKeepTheirLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	operator, agent := openTest(t, path), openTest(t, path)
	agent.Attribute(model.SourceAgent)
	put := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	call := model.Activity{Kind: model.ActivityAgent, Ref: "a_1", URL: "http://u:pw@lab.test/", Text: "fetch: under way"}
	put(operator.PutFetch(t.Context(), "p", sampleFetch("f_1")))
	put(operator.flush(t.Context()))
	put(agent.PutCall(t.Context(), call))
	put(agent.PutFetch(t.Context(), "p", sampleFetch("f_2")))
	put(agent.PutKeyEvent(t.Context(), KeyEvent{Key: "k", Event: "used"}))
	call.Text, call.Total = "fetch: ok", time.Second
	put(agent.PutCall(t.Context(), call))
	put(agent.flush(t.Context()))

	marked, err := operator.Activity(t.Context(), model.ActivityFilter{Source: model.SourceAgent})
	put(err)
	if len(marked) != 3 || marked[0].Kind != model.ActivityKey || marked[1].Ref != "f_2" || marked[2].Text != "fetch: ok" || marked[2].Total != time.Second || marked[2].URL != "http://u:xxxxx@lab.test/" {
		t.Errorf("marked: %+v", marked)
	}
	all, err := operator.Activity(t.Context(), model.ActivityFilter{})
	put(err)
	if len(all) != 4 || all[3].Ref != "f_1" || all[3].Source != "" || all[0].Source != model.SourceAgent {
		t.Errorf("all: %+v", all)
	}
	found, err := operator.Activity(t.Context(), model.ActivityFilter{Words: []string{"agent"}, Kind: model.ActivityFetch, Source: model.SourceAgent})
	put(err)
	if len(found) != 1 || found[0].Ref != "f_2" {
		t.Errorf("by a word: %+v", found)
	}
	if agent.PutCall(t.Context(), model.Activity{}) == nil {
		t.Error("a call without an identifier is kept")
	}
	put(agent.Prune(t.Context(), Keep{Entries: 1, Fetches: 1, Twins: 1}))
	var left int
	if err := agent.db.QueryRowContext(t.Context(), "SELECT count(*) FROM activity_sources").Scan(&left); err != nil || left != 1 {
		t.Errorf("%d marks of one line, %v", left, err)
	}
}
