package webhook

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// stored puts webhooks into an inbox as if they had been received, newest last.
func stored(t testing.TB, in *Inbox, list ...row) {
	t.Helper()
	group := make([]*arrival, len(list))
	for i, r := range list {
		r.File = cmp.Or(r.File, "body-x")
		group[i] = &arrival{row: r, identity: strconv.Itoa(i), done: make(chan placed, 1)}
	}
	in.commitGroup(t.Context(), group)
	for i, a := range group {
		if got := <-a.done; got.err != nil {
			t.Fatal(got.err)
		}
		n, r := i+1, list[i]
		if r.Verdict == "" {
			continue
		}
		err := in.change(t.Context(), "working on it", "UPDATE deliveries SET verdict = $1, job = $2, snapshot = $3, why = $4, worked = 1 WHERE n = $5",
			string(r.Verdict), r.Job, r.Snapshot, r.Reason, n)
		noerr.Must(t, err)
	}
}

func TestAFilterFindsWhatIsStored(t *testing.T) {
	in := openInbox(t, t.TempDir())
	in.ledger = ledger(func(jobs []string) (map[string]model.WebhookJob, error) {
		if !slices.IsSorted(jobs) || len(jobs) == 0 {
			t.Errorf("asked for %q", jobs)
		}
		return map[string]model.WebhookJob{"job-1": {Dataset: "gd_Products", State: model.JobReady}, "job-2": {Dataset: "gd_reviews", State: model.JobRunning}}, nil
	})
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	one := func(ago time.Duration, verdict model.WebhookVerdict, remote, job, snapshot, why string) row {
		return row{Webhook: model.Webhook{At: now.Add(-ago), Verdict: verdict, Remote: remote, Job: job, Snapshot: snapshot, Reason: why, Target: "/zonedeck/x%_"}}
	}
	stored(
		t, in,
		one(3*time.Hour, model.WebhookVerified, "192.0.2.1", "job-1", "sd_1", "verified by Standard Webhooks"),
		one(time.Hour, model.WebhookRejected, "192.0.2.10", "", "", "its signature is not one of the secret"),
		one(time.Minute, model.WebhookUnverified, "2001:db8::1", "job-2", "sd_2", "no check of the sender is set up"),
		one(time.Minute, "", "127.0.0.1", "", "", ""),
	)
	again := row{Webhook: model.Webhook{At: now, Remote: "198.51.100.7"}}
	a := &arrival{row: again, identity: "1", done: make(chan placed, 1)}
	in.commitGroup(t.Context(), []*arrival{a})
	for filter, want := range map[string]string{
		"":                   "4 3 2 1",
		"verdict:rejected":   "2",
		"verdict:ver":        "1",
		"verdict:pending":    "4",
		"from:192.0.2.1":     "2 1", // the beginning of an address
		"from:2001:DB8:":     "3",
		"from:198.51":        "2", // the sender of its repeat
		"from:192%":          "",
		"from:192_0":         "",
		"job:job-1":          "1",
		"job:sd_2":           "3",
		"job:-":              "4 2",
		"dataset:gd_prod":    "1",
		"dataset:gd_":        "3 1",
		"since:2h":           "4 3 2",
		"since:30m":          "4 3 2", // the second came again
		"SIGNATURE secret":   "2",
		"signature since:1m": "2",
		"sd_ verified":       "3 1", // unverified, too
		"%":                  "4 3 2 1",
		"x%_y":               "",
		"hook-3":             "3",
		"running":            "3", // the job
		"-verdict:rejected":  "4 3 1",
		"-from:192.0.2.1":    "4 3",
		"has:job -job:job-1": "3",
		"since:2h -hook-3":   "4 2",
	} {
		f, err := ParseFilter(filter, now)
		noerr.Must(t, err)
		numbers, total, err := in.Numbers(t.Context(), f)
		var got []string
		for _, n := range numbers {
			got = append(got, strconv.FormatInt(n, 10))
		}
		if err != nil || total != 4 || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v, want %q", filter, got, err, want)
		}
		list, _, err := in.List(t.Context(), f, 1)
		if err != nil || len(list) != min(len(got), 1) || len(list) == 1 && list[0].ID != "hook-"+got[0] {
			t.Errorf("%q: the newest is %+v, %v", filter, list, err)
		}
	}
	rows, err := in.Rows(t.Context(), []int64{4, 2, 99})
	if err != nil || len(rows) != 2 || rows[0].ID != "hook-4" || rows[1].Remote != "192.0.2.10" || rows[1].Headers != nil {
		t.Errorf("%+v, %v", rows, err)
	}
	state := func(d model.Webhook, err error) string {
		t.Helper()
		noerr.Want(t, err)
		return d.ID + " " + string(d.JobState)
	}
	if got := state(in.Get(t.Context(), "hook-1")); got != "hook-1 ready" {
		t.Error(got)
	}
	var states []string
	if err := in.Each(t.Context(), Filter{}, 0, func(d model.Webhook) error {
		states = append(states, state(d, nil))
		return nil
	}); err != nil || strings.Join(states, ", ") != "hook-4 , hook-3 running, hook-2 , hook-1 ready" {
		t.Errorf("%q, %v", states, err)
	}
	if rows, err := in.Rows(t.Context(), []int64{1, 3}); err != nil || rows[0].JobState != model.JobRunning || rows[1].JobState != model.JobReady {
		t.Errorf("%+v, %v", rows, err)
	}
	broken := errors.New("the ledger is locked")
	in.ledger = ledger(func([]string) (map[string]model.WebhookJob, error) { return nil, broken })
	if got := state(in.Get(t.Context(), "hook-1")); got != "hook-1 " {
		t.Errorf("of a ledger that cannot be read: %s", got)
	}
	if _, _, err := in.Numbers(t.Context(), filtered(t, "dataset:gd")); !errors.Is(err, broken) {
		t.Errorf("data sets that cannot be read: %v", err)
	}
}

func TestAFilterThatIsNoneSaysWhy(t *testing.T) {
	for filter, want := range map[string]string{
		"verdict:good":  `verdict "good" is not one of pending, verified, unverified, rejected`,
		"state:pending": `unknown term "state": use words and verdict:rejected, from:192.0.2., job:job-3, dataset:gd_products, since:2h`,
		"from:":         `from: has no value: write one, or "" for an empty one`,
		"since:soon":    `since "soon": write 2h, 3d, 1w or a date like 2026-11-20`,
	} {
		if f, err := ParseFilter(filter, time.Now()); err == nil || err.Error() != want || len(f.Terms()) > 0 {
			t.Errorf("%q: %v", filter, err)
		}
	}
}

// filtered parses a filter as typed.
func filtered(t testing.TB, text string) Filter {
	t.Helper()
	f, err := ParseFilter(text, time.Now())
	noerr.Must(t, err)
	return f
}

func TestEachChangeOfTheInboxIsSeen(t *testing.T) {
	dir := t.TempDir()
	in, other := openInbox(t, dir), openInbox(t, dir)
	var last int64
	changed := func(what string, do func()) {
		t.Helper()
		do()
		now, err := other.Changes(t.Context())
		if err != nil || now == last {
			t.Errorf("%s: %d, %v", what, now, err)
		}
		last = now
	}
	one := row{Webhook: model.Webhook{At: time.Now()}}
	changed("one comes", func() { stored(t, in, one) })
	changed("it comes again", func() { stored(t, in, one) })
	changed("it is worked on", func() {
		one.Verdict = model.WebhookVerified
		stored(t, in, one)
	})
	changed("a bookmark", func() { noerr.Want(t, in.Bookmark(t.Context(), "hook-1", true)) })
	changed("none", func() { noerr.Want(t, in.Bookmark(t.Context(), "hook-1", false)) })
	changed("it is cleaned up", func() {
		in.clock = clock(func() time.Time { return time.Now().Add(time.Hour) })
		noerr.Want(t, noerr.From(in.Prune(t.Context(), Retention{Age: time.Minute})))
	})
	if n, err := other.Count(t.Context()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if now, err := other.Changes(t.Context()); now != last || err != nil {
		t.Errorf("without a change: %d, %v", now, err)
	}
}

// Of an inbox full by default: all webhooks, those with a verdict, and those with words.
func BenchmarkNumbers(b *testing.B) {
	in := openInbox(b, b.TempDir())
	list := make([]row, defaultRetention().Count)
	for i := range list {
		list[i] = row{Webhook: model.Webhook{At: time.Now(), Remote: "192.0.2.1", Target: "/zonedeck/t0kent0kent0kent0ken", Headers: []model.WebhookHeader{{Name: "User-Agent", Value: strings.Repeat("x", 500)}}}}
	}
	stored(b, in, list...)
	for name, f := range map[string]Filter{"all": {}, "verdict": filtered(b, "verdict:rejected"), "words": filtered(b, "rejected")} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, total, err := in.Numbers(b.Context(), f); err != nil || total != len(list) {
					b.Fatal(total, err)
				}
			}
		})
	}
}
