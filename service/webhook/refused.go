package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// The reasons why webhooks are not stored, with the settings behind them.
const (
	whyReserve = "less than reserve_mb would stay free on the disk"
	whyKept    = "the inbox has reached keep_mb, and all of it is bookmarked or not yet processed"
	whyDisk    = "the disk is full"
	whyElse    = "storing failed; zonedeck.log says why"
	whyLarge   = "the body is larger than max_body_mb"
)

const (
	tellEvery  = time.Minute      // how often a run that continues is reported
	quietAfter = 10 * time.Minute // a run may be over after so long without a refusal
	lookAgain  = 10 * time.Second
)

// refusals are the runs of refused webhooks, one for each reason. Senders learn of each refusal, the
// operator only of runs.
type refusals struct {
	wake chan struct{}

	mu     sync.Mutex
	runs   []refusalRun
	latest time.Time // when the last webhook was stored
}

type refusalRun struct {
	model.WebhookRefusals
	notified  time.Time
	toldCount int
}

func (f *refusals) add(why string, now time.Time) {
	f.mu.Lock()
	i := slices.IndexFunc(f.runs, func(r refusalRun) bool { return r.Reason == why })
	if i < 0 {
		i = len(f.runs)
		f.runs = append(f.runs, refusalRun{WebhookRefusals: model.WebhookRefusals{Reason: why, First: now}})
	}
	f.runs[i].Count++
	f.runs[i].Last = now
	first := f.runs[i].notified.IsZero()
	f.mu.Unlock()
	if first {
		poke(f.wake)
	}
}

func (f *refusals) stored(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latest = now
}

// due returns the runs to report now, and those that are not over. Except for bodies that are too large, a
// run is over only once a webhook was stored after it: until then nobody knows.
func (f *refusals) due(now time.Time) (tell, on []model.WebhookRefusals) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = slices.DeleteFunc(f.runs, func(r refusalRun) bool {
		over := now.Sub(r.Last) >= quietAfter && (r.Reason == whyLarge || f.latest.After(r.Last))
		if over {
			r.Over = true
			tell = append(tell, r.WebhookRefusals)
		}
		return over
	})
	for i := range f.runs {
		r := &f.runs[i]
		if on = append(on, r.WebhookRefusals); r.notified.IsZero() || r.Count > r.toldCount && now.Sub(r.notified) >= tellEvery {
			r.notified, r.toldCount = now, r.Count
			tell = append(tell, r.WebhookRefusals)
		}
	}
	return tell, on
}

// end returns the runs that are not over, and those of them whose latest count was not reported.
func (f *refusals) end() (untold, on []model.WebhookRefusals) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.runs {
		if on = append(on, r.WebhookRefusals); r.Count > r.toldCount {
			untold = append(untold, r.WebhookRefusals)
		}
	}
	return untold, on
}

// refuse reports refusals until ctx ends, and then those not reported yet.
func (r *Receiver) refuse(ctx context.Context) {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			untold, on := r.refused.end()
			r.tellRefused(untold)
			r.openRefusals = on
			return
		case <-r.refused.wake:
		case <-again.C:
		}
		tell, on := r.refused.due(r.conf.Wall.Now())
		if r.tellRefused(tell); len(tell) > 0 {
			if err := r.inbox.setRefused(on); err != nil {
				r.conf.Log.Warn("other processes do not see what is refused", "error", err)
			}
		}
	}
}

func (r *Receiver) tellRefused(runs []model.WebhookRefusals) {
	for _, run := range runs {
		r.conf.Log.Error("webhooks were not stored", "count", run.Count, "first", run.First, "last", run.Last, "why", run.Reason, "over", run.Over)
		if r.conf.Observer != nil {
			r.conf.Observer.Refused(run)
		}
	}
}

// OpenRefusals returns the runs of refusals that were not over when Close ended the receiver.
func (r *Receiver) OpenRefusals() []model.WebhookRefusals { return r.openRefusals }

func (in *Inbox) refusedFile() string { return filepath.Join(in.dir, "refused.json") }

// setRefused tells this process and others which runs are not over.
func (in *Inbox) setRefused(runs []model.WebhookRefusals) error {
	if len(runs) == 0 {
		in.refused.Store(nil)
		if err := os.Remove(in.refusedFile()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	in.refused.Store(&runs)
	b, err := json.Marshal(runs)
	if err != nil {
		return err
	}
	return textfile.Write(in.refusedFile(), b)
}

// Refused returns the runs of refusals, not yet over, of the process that receives.
func (in *Inbox) Refused() []model.WebhookRefusals {
	if runs := in.refused.Load(); runs != nil { // the disk may be too full for the file
		return *runs
	}
	b, err := textfile.ReadBounded(in.refusedFile(), 64<<10)
	if err != nil {
		return nil
	}
	var runs []model.WebhookRefusals
	if _, on := in.Listening(); !on || json.Unmarshal(b, &runs) != nil {
		return nil
	}
	return runs
}
