package jobs

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/servicetest"
	"zonedeck/service/work"
)

// A follow that asks nobody for a passphrase goes on beside a watch that may: it began the worker, and it
// has seen that the key is locked.
func TestOnlyTheJobsOfAWatchMayHaveAPassphraseAskedFor(t *testing.T) {
	locked := errors.New("the key is locked")
	var mu sync.Mutex
	mayAsk := map[string]bool{} // whether a passphrase could have been asked for, by reference
	p := servicetest.API(t, text(200, `{"status":"ready"}`))
	p.Local = true
	ledger, _ := withLedger(t)
	rn := newRunner(t, p, ledger, func(c *Config) {
		c.Source = servicetest.Source{Base: c.Source, KeyBy: func(name string) (model.Key, bool) {
			return model.Key{Name: name, Level: model.LevelUser, Secret: "env:" + name}, true
		}}
		c.Source = servicetest.Source{Base: c.Source, SecretBy: func(ctx context.Context, ref string) (keystore.Secret, error) {
			mu.Lock()
			defer mu.Unlock()
			mayAsk[ref] = mayAsk[ref] || ask.MayAsk(ctx)
			if !ask.MayAsk(ctx) {
				return keystore.Secret{}, locked
			}
			return keystore.NewSecret(servicetest.KeyValue), nil
		}}
	})
	watched, other := accepted(t, rn), accepted(t, rn)
	changed(t, rn, other.ID, func(job *model.Job) { job.KeyName, job.Snapshot = "other", "sd_2" })
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	var once sync.Once
	lacked, left := make(chan struct{}), map[string]bool{}
	var following sync.WaitGroup
	following.Go(func() {
		noerr.Want(t, rn.Follow(ask.By(ctx, ask.Nobody), func(f Followed) {
			if left[f.Job.ID] = errors.Is(f.Err, locked); left[watched.ID] && left[other.ID] {
				once.Do(func() { close(lacked) })
			}
		}))
	})
	select {
	case <-lacked:
	case <-ctx.Done():
		t.Fatal("the follow did not see that the key is locked")
	}
	job, err := rn.Watch(ctx, watched.ID, nil)
	if err != nil || job.State != model.JobReady {
		t.Errorf("the watch ended with %s, %v", job.State, err)
	}
	end()
	following.Wait()
	if got, err := rn.Job(t.Context(), other.ID); err != nil || got.State != model.JobAccepted {
		t.Errorf("the other job: %s, %v", got.State, err)
	}
	if !mayAsk["env:batch-user"] || mayAsk["env:other"] {
		t.Errorf("a passphrase could have been asked for: %v", mayAsk)
	}
}

// A question that began before a watch, and in which nobody could be asked for a passphrase, does not end the watch.
func TestAQuestionFromBeforeAWatchDoesNotEndIt(t *testing.T) {
	locked := errors.New("the key is locked")
	var rn *Runner
	ledger, _ := withLedger(t)
	rn = newRunner(t, servicetest.API(t, func(http.ResponseWriter, *http.Request) { t.Error("the service was asked") }), ledger, func(c *Config) {
		c.Source = servicetest.Source{Base: c.Source, SecretBy: func(ctx context.Context, _ string) (keystore.Secret, error) {
			if ask.MayAsk(ctx) {
				t.Error("a passphrase could have been asked for")
			}
			_, leave, err := rn.watching.join(t.Context(), "other", "batch-user", false) // as a watch does
			noerr.Want(t, err)
			t.Cleanup(leave)
			return keystore.Secret{}, locked
		}}
	})
	job := accepted(t, rn)
	_, leave, err := rn.watching.join(ask.By(t.Context(), ask.Nobody), "other", "", true) // as a follow does
	noerr.Must(t, err)
	t.Cleanup(leave)
	if again, err := rn.watching.ask(t.Context(), work.Item{Key: job.ID}); again != notMine || err != nil {
		t.Errorf("again in %s, %v", again, err)
	}
	if why := rn.watching.about(job.ID).err; why != nil {
		t.Errorf("the watch would end with: %v", why)
	}
}
