package batch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
)

// victimDir is the folder whose newest batch the process of a test works on, and victimURL the service. With victimItems
// it begins one.
const victimDir, victimURL, victimItems = "ZONEDECK_BATCH_VICTIM", "ZONEDECK_BATCH_URL", "ZONEDECK_BATCH_MEASURED"

// victimFull bounds the files of the process, in bytes: beyond it a disk is full.
const victimFull = "ZONEDECK_BATCH_FULL"

// victim works on the newest batch of a folder until it is killed.
func victim(dir string) error {
	if items := os.Getenv(victimItems); items != "" {
		return measured(dir, items)
	}
	if most, err := strconv.ParseUint(os.Getenv(victimFull), 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	ctx := context.Background()
	b, _, closing, err := open(ctx, dir, os.Getenv(victimURL))
	if err != nil {
		return err
	}
	all, err := b.List(ctx)
	if err == nil {
		_, err = b.Run(ctx, all[0].ID, func(batch.State) {})
	}
	return errors.Join(err, closing())
}

// kill lets a process work on the newest batch for a while, and kills it.
func (r *rig) kill(t *testing.T, after time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	var said strings.Builder
	cmd.Env, cmd.Stderr = append(os.Environ(), victimDir+"="+r.dir, victimURL+"="+r.URL), &said
	noerr.Must(t, cmd.Start())
	<-time.After(after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if said.Len() > 0 {
		t.Errorf("the process said %s", said.String())
	}
}

// ZONEDECK_BATCH_KILLS is the number of kills; docs/reliability.md has the figures.
func kills(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("ZONEDECK_BATCH_KILLS"), "5"))
	noerr.Must(t, err)
	return n
}

func TestNoKillLosesOrDoublesAResult(t *testing.T) {
	const atOnce = 6
	n := kills(t)
	items := max(3000, 500*n)
	for method, resends := range map[string]bool{"": true, "POST": false} {
		t.Run(cmp.Or(method, "GET"), func(t *testing.T) {
			r := newRig(t)
			r.pause = time.Millisecond
			d := draft(urls(items))
			d.AtOnce, d.Cap, d.Request.Method = atOnce, float64(items)*0.003, method
			s := r.start(t, d)
			done := 0
			for done < n && s.Remaining() > 0 {
				r.kill(t, time.Duration(50+rand.IntN(400))*time.Millisecond)
				done++
				s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t)
			}
			s = r.run(t, s.ID)
			lines := r.lines(t, s.ID)
			repeated := 0
			for _, hits := range r.hits {
				repeated += hits - 1
			}
			t.Logf("%d kills: %d results, %d sent again, %d announced, %d held, spent %s", done, len(lines), repeated, s.Tally.Again, s.Tally.Unanswered, model.Dollars(batch.Dollars(s.Spent)))
			if int64(len(lines))+s.Tally.Unanswered != int64(items) || s.Tally.Answered != int64(len(lines)) {
				t.Errorf("%d results and %d lost of %d; counted %d", len(lines), s.Tally.Unanswered, items, s.Tally.Answered)
			}
			if int64(repeated) > s.Tally.Again || s.Tally.Again > int64(done*atOnce) || !resends && repeated > 0 {
				t.Errorf("%d sent again, %d announced, after %d kills with %d in flight", repeated, s.Tally.Again, done, atOnce)
			}
			if price := int64(1_500_000); s.Spent < price*int64(r.all()) || s.Spent > price*(int64(r.all())+s.Tally.Again+s.Tally.Unanswered) || s.Reserved != 0 {
				t.Errorf("spent %d for %d requests, %d announced; reserved %d", s.Spent, r.all(), s.Tally.Again, s.Reserved)
			}
			if s.Tally.Unconfirmed != 1_500_000*(s.Tally.Again+s.Tally.Unanswered) {
				t.Errorf("%d of what is spent is unconfirmed", s.Tally.Unconfirmed)
			}
			if !resends {
				r.decide(t, s)
			}
		})
	}
}

// decide sends the lost items of a batch again.
func (r *rig) decide(t *testing.T, s batch.State) {
	t.Helper()
	lost := noerr.Try(r.LostItems(t.Context(), s.ID, 1000)).Must(t)
	if int64(len(lost)) != s.Tally.Unanswered || len(lost) > 0 && s.State != store.Held {
		t.Errorf("%s with %d lost, %d shown", s.State, s.Tally.Unanswered, len(lost))
	}
	noerr.Try(r.Decide(t.Context(), s.ID, true)).Must(t)
	if s = r.run(t, s.ID); s.State != store.Done || s.Tally.Unanswered != 0 || s.Remaining() != 0 {
		t.Errorf("after the decision: %s, %+v", s.State, s.Tally)
	}
	r.lines(t, s.ID)
}

func TestAnotherProcessTakesOver(t *testing.T) {
	r := newRig(t)
	r.pause = 5 * time.Millisecond
	d := draft(urls(1000))
	d.AtOnce = 4
	s := r.start(t, d)
	watched := make(chan batch.State, 1)
	go r.kill(t, 600*time.Millisecond)
	<-time.After(200 * time.Millisecond)
	seen := 0
	s = noerr.Try(r.Run(t.Context(), s.ID, func(now batch.State) {
		if seen++; seen == 1 {
			watched <- now
		}
	})).Must(t)
	if first := <-watched; !first.Live || s.State != store.Done || len(r.lines(t, s.ID)) != 1000 || r.most > 8 {
		t.Errorf("live %v, then %s with %d at once", first.Live, s.State, r.most)
	}
}

// TestADiskThatIsFullPausesABatchAndLosesNothing has the disk full at several sizes: of the results and bodies, and of the
// store.
func TestADiskThatIsFullPausesABatchAndLosesNothing(t *testing.T) {
	const items, atOnce = 1000, 6
	r := newRig(t)
	r.answer = func(w http.ResponseWriter, url string, _ int) bool {
		fmt.Fprintf(w, "<html><body><h1>%s</h1><p>%s</p></body></html>", url, strings.Repeat("Words of a long page. ", 900))
		return true
	}
	d := draft(urls(items))
	d.AtOnce, d.Cap = atOnce, 100
	s := r.start(t, d)
	full := 0
	for _, size := range []int{1_000_000, 2_000_000, 7_000_000} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), victimDir+"="+r.dir, victimURL+"="+r.URL, victimFull+"="+strconv.Itoa(size))
		said, err := cmd.CombinedOutput()
		s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t)
		t.Logf("%d bytes: %v, %s; %s %s", size, err, said, s.State, s.Reason)
		if s.State == store.Done {
			break
		}
		if full++; err == nil || !strings.Contains(string(said), "disk I/O error") && !strings.Contains(string(said), "file too large") {
			t.Errorf("a disk of %d bytes: %v, %s", size, err, said)
		}
	}
	sent := r.all()
	s = r.run(t, s.ID)
	lines := r.lines(t, s.ID)
	repeated := r.all() - items
	t.Logf("full %d times after %d requests; %d sent again, %d announced", full, sent, repeated, s.Tally.Again)
	if full == 0 || s.State != store.Done || len(lines) != items || s.Tally.Answered != items {
		t.Errorf("full %d times, then %s: %d results, %d counted", full, s.State, len(lines), s.Tally.Answered)
	}
	if int64(repeated) > s.Tally.Again || s.Tally.Again > int64(full*atOnce) {
		t.Errorf("%d sent again, %d announced", repeated, s.Tally.Again)
	}
	if price := int64(1_500_000); s.Spent < price*int64(r.all()) || s.Spent > price*(int64(r.all())+s.Tally.Again) || s.Reserved != 0 {
		t.Errorf("spent %d for %d requests, %d announced; reserved %d", s.Spent, r.all(), s.Tally.Again, s.Reserved)
	}
}

func TestABatchThatIsPausedEndsSoonWhenItIsToldTo(t *testing.T) {
	r := newRig(t)
	over := make(chan struct{})
	r.answer = func(http.ResponseWriter, string, int) bool { <-over; return false }
	defer close(over)
	d := draft(urls(100))
	d.AtOnce = 4
	s := r.start(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	ended := runs(ctx, r.Batches, s.ID, func(now batch.State) {
		if now.Flying == 4 {
			noerr.Try(r.Pause(t.Context(), s.ID)).Must(t)
		}
	})
	for noerr.Try(r.Show(t.Context(), s.ID)).Must(t).State != store.Paused {
		<-time.After(10 * time.Millisecond)
	}
	<-time.After(600 * time.Millisecond) // what was not sent yet has ended
	cancel()
	_ = within(t, 10*time.Second, ended)
	if s = noerr.Try(r.Show(t.Context(), s.ID)).Must(t); s.State != store.Paused || r.all() != 4 {
		t.Errorf("%s after %d requests", s.State, r.all())
	}
}
