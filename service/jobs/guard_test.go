package jobs

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/ledger"
)

// Several consoles are asked for the same at once.
func TestOneOfManyGuardedLaunchesIsSent(t *testing.T) {
	cl, posts := script(t, text(200, `{"snapshot_id":"sd_1"}`))
	r := trigger("http://lab.test/1")
	r.Guard = &model.LaunchGuard{Within: time.Hour}
	errs := make([]error, 6)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = cl.Trigger(t.Context(), r) })
	}
	all.Wait()
	refused := 0
	for _, err := range errs {
		if same := (*ledger.SameError)(nil); errors.As(err, &same) && same.Job == "job-1" && strings.HasPrefix(err.Error(), "the same was launched as job-1 (") {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if _, total, err := cl.Jobs(t.Context(), 0); refused != 5 || posts.Load() != 1 || total != 1 || err != nil {
		t.Errorf("%d refused, %d sent, %d jobs, %v", refused, posts.Load(), total, err)
	}
	r.Guard.Known = []string{"job-1"}
	if job, err := cl.Trigger(t.Context(), r); err != nil || job.ID != "job-2" {
		t.Errorf("one that is known: %+v, %v", job, err)
	}
}

func TestASecondLaunchOfAJobIsGuarded(t *testing.T) {
	cl, posts := script(t, text(503, ""))
	first, err := cl.Trigger(t.Context(), trigger("http://lab.test/1", "http://lab.test/2"))
	if err != nil || first.State != model.JobMayHave {
		t.Fatalf("%+v, %v", first, err)
	}
	rest := trigger("http://lab.test/2")
	rest.Repeats, rest.Guard = first.ID, &model.LaunchGuard{Within: time.Hour}
	noerr.Must(t, noerr.From(cl.Trigger(t.Context(), rest)))
	for name, r := range map[string]model.TriggerRequest{"the same rest": trigger("http://lab.test/2"), "another rest": trigger("http://lab.test/1")} {
		r.Repeats, r.Guard = first.ID, &model.LaunchGuard{}
		var same *ledger.SameError
		if _, err := cl.Trigger(t.Context(), r); !errors.As(err, &same) || same.Job != "job-2" || same.State != model.JobMayHave {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := cl.SameInputs(t.Context(), r, time.Hour); err != nil || len(list) != 1 || list[0].ID != "job-2" {
			t.Errorf("%s is not warned of: %+v, %v", name, list, err)
		}
	}
	if posts.Load() != 2 {
		t.Errorf("%d sent", posts.Load())
	}
}
