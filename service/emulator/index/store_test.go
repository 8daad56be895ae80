package index

import (
	"context"
	"reflect"
	"testing"
	"time"

	"zonedeck/service/emulator/state"
	"zonedeck/service/emulator/state/statetest"
)

// TestTasksOutliveTheProcess ends a service while one task of each kind is over and another
// is not: the next one has the results of the first, and those of the second in the end.
func TestTasksOutliveTheProcess(t *testing.T) {
	dir := statetest.Open(t, t.TempDir())
	hold := make(chan struct{})
	first := newBench(t, func(c *Config) {
		c.State = dir
		c.Wait = func(ctx context.Context, _ time.Duration) error {
			select {
			case <-hold:
				<-ctx.Done()
				return ctx.Err()
			default:
				return ctx.Err()
			}
		}
	})
	const lookups = "/datasets/deep_lookup/v1"
	ask := func() []string {
		return []string{
			"/discover?task_id=" + first.ask("POST", "/discover", `{"query":"brass lamp","num_results":2}`)["task_id"].(string),
			lookups + "/request/" + first.ask("POST", lookups+"/trigger", `{"query":"lamp price","spec":{"columns":[{"name":"name"},{"name":"price"}]},"result_limit":2}`)["request_id"].(string),
			lookups + "/preview/" + first.ask("POST", lookups+"/preview", `{"query":"lamp with price"}`)["preview_id"].(string),
		}
	}
	over := ask()
	first.settle()
	var before []map[string]any
	for _, at := range over {
		before = append(before, first.ask("GET", at, ""))
	}
	close(hold)
	cut := ask()
	first.server.Close()
	first.Close()

	next := newBench(t, func(c *Config) { c.State = dir })
	for i, at := range over {
		if after := next.ask("GET", at, ""); !reflect.DeepEqual(after, before[i]) {
			t.Errorf("%s was %v and is %v", at, before[i], after)
		}
	}
	next.settle()
	for i, at := range cut {
		after := next.ask("GET", at, "")
		if i == 0 && !reflect.DeepEqual(after["results"], before[i]["results"]) || i == 1 && !reflect.DeepEqual(after["data"], before[i]["data"]) || after["status"] != before[i]["status"] {
			t.Errorf("%s began again and is %v, not as %v", at, after, before[i])
		}
	}
	added := next.ask("POST", over[1]+"/enrich", `{"column_name":"sku"}`)
	next.settle()
	if added["status"] != "processing" {
		t.Error(added)
	}
	enriched := next.ask("GET", over[1], "")
	third := newBench(t, func(c *Config) { c.State = dir })
	if after := third.ask("GET", over[1], ""); !reflect.DeepEqual(after, enriched) || reflect.DeepEqual(after["columns"], before[1]["columns"]) {
		t.Errorf("enriched, it was %v and is %v", enriched, after)
	}
}

func TestWhatIsTooOldGoesFromTheDiskToo(t *testing.T) {
	dir := statetest.Open(t, t.TempDir())
	b := newBench(t, func(c *Config) { c.State = dir })
	old := b.ask("POST", "/discover", `{"query":"lamp"}`)["task_id"].(string)
	b.settle()
	b.clock(b.now.Load().Add(retention + time.Minute))
	fresh := b.ask("POST", "/discover", `{"query":"lamp"}`)["task_id"].(string)
	b.settle()
	for id, want := range map[string]bool{old: false, fresh: true} {
		if _, ok, err := tasksTable.Get(dir, id); ok != want || err != nil {
			t.Errorf("%s is on disk: %t, %v", id, ok, err)
		}
	}
}

func TestAStoredTaskThatCannotBeReadIsLeftOut(t *testing.T) {
	dir := statetest.Open(t, t.TempDir())
	for id, v := range map[string]stored{"a": {Kind: kindDiscover, Ask: []byte("[]")}, "b": {Kind: kindLookup}, "c": {Kind: "other", Lookup: &storedLookup{}}} {
		if err := dir.Update(func(tx *state.Tx) error { return tasksTable.Put(tx, id, v) }); err != nil {
			t.Fatal(err)
		}
	}
	newBench(t, func(c *Config) { c.State = dir })
	if len(dir.Notes()) != 3 {
		t.Errorf("%q", dir.Notes())
	}
}
