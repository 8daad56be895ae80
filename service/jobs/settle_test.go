package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
	"zonedeck/service/servicetest"
)

// ended answers for a job with so many inputs that is ready, and with its rows.
func ended(inputs int, rows string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/progress/") {
			text(200, fmt.Sprintf(`{"status":"ready","inputs":%d}`, inputs))(w, r)
			return
		}
		text(200, rows)(w, r)
	}
}

func TestAJobOfAnotherProfileIsNotSettled(t *testing.T) {
	cl, asked := script(t, text(503, ""))
	job := launched(t, cl, trigger("http://lab.test/1"), model.JobMayHave)
	inProfile(t, cl, func(p *model.Profile) { p.Name = "other" })
	var re *model.RequestError
	if _, err := cl.Settler().NotStarted(t.Context(), job.ID); !errors.As(err, &re) || re.Field() != "profile" {
		t.Errorf("marked as not started: %v", err)
	}
	if _, err := cl.Settler().Candidates(t.Context(), job.ID); !errors.As(err, &re) || re.Field() != "profile" {
		t.Errorf("candidates: %v", err)
	}
	if _, err := cl.Settler().Claim(t.Context(), job.ID, "sd_1", false); !errors.As(err, &re) || re.Field() != "profile" {
		t.Errorf("claimed: %v", err)
	}
	if now, err := cl.Job(t.Context(), job.ID); err != nil || now.State != model.JobMayHave || asked.Load() != 1 {
		t.Errorf("%+v, %v, %d calls", now, err, asked.Load())
	}
}

// What is listed by the service can be a colleague's, or be cut.
func TestACandidateThatLeavesADoubtSaysSo(t *testing.T) {
	var post time.Time // of the job
	at := func(after time.Duration, n int) (list []model.RemoteJob) {
		for i := range n {
			list = append(list, model.RemoteJob{Snapshot: fmt.Sprintf("sd_%d", i), Created: post.Add(after)})
		}
		return list
	}
	const cut = "not every job of that time could be looked at"
	for name, c := range map[string]struct {
		list    func() []model.RemoteJob
		skipped int
		want    string
	}{
		"it fits":                   {list: func() []model.RemoteJob { return at(0, 1) }},
		"named like the job itself": {list: func() []model.RemoteJob { return []model.RemoteJob{{Snapshot: "job-1", Created: post}} }},
		"begun before":              {list: func() []model.RemoteJob { return at(-5*time.Minute, 1) }, want: "it began "},
		"begun after it was over":   {list: func() []model.RemoteJob { return at(5*time.Minute, 1) }, want: "it began "},
		"more than are looked at":   {list: func() []model.RemoteJob { return at(time.Second, 11) }, want: cut},
		"the list is cut":           {list: func() []model.RemoteJob { return append(at(0, 1), at(35*time.Minute, 499)...) }, want: cut},
		"entries cannot be read":    {list: func() []model.RemoteJob { return at(0, 1) }, skipped: 1, want: cut},
		"an entry without its time": {list: func() []model.RemoteJob { return append(at(0, 1), model.RemoteJob{Snapshot: "sd_x"}) }, want: cut},
	} {
		t.Run(name, func(t *testing.T) {
			cl, _ := script(t, text(503, ""), ended(1, `{"input":{"url":"http://lab.test/1"}}`))
			job := launched(t, cl, trigger("http://lab.test/1"), model.JobMayHave)
			post = job.Created
			cl.cfg.List = remoteList(func(context.Context, string, string, int) ([]model.RemoteJob, int, error) {
				return c.list(), c.skipped, nil
			})
			found, err := cl.Settler().Candidates(t.Context(), job.ID)
			if err != nil || len(found) == 0 || found[0].Inputs != 1 || (found[0].Against == "") != (c.want == "") || !strings.HasPrefix(found[0].Against, c.want) || found[0].Unseen != (c.want == cut) {
				t.Errorf("%+v, %v; want %q", found, err, c.want)
			}
		})
	}
}

// A job with another number of inputs is not it, and nothing more is said of it.
func TestOfAJobWithOtherInputsTheirNumberIsEnough(t *testing.T) {
	for inputs, want := range map[int]string{0: "it has 0 inputs and not 1", 3: "it has 3 inputs and not 1"} {
		cl, _ := script(t, text(503, ""), ended(inputs, ""))
		job := launched(t, cl, trigger("http://lab.test/1"), model.JobMayHave)
		cl.cfg.List = remoteList(func(context.Context, string, string, int) ([]model.RemoteJob, int, error) {
			return []model.RemoteJob{{Snapshot: "sd_1", Created: job.Created.Add(-5 * time.Minute)}}, 0, nil
		})
		found, err := cl.Settler().Candidates(t.Context(), job.ID)
		if err != nil || len(found) != 1 || found[0].Against != want {
			t.Errorf("%+v, %v; want %q", found, err, want)
		}
	}
}

// The service's clock is another one: what it says of the time is compared by what was measured.
func TestAJobIsFoundByTheClockOfTheService(t *testing.T) {
	for name, c := range map[string]struct {
		ahead   time.Duration
		moved   time.Duration // how far this console's clock follows it
		noDate  bool
		inputs  int
		found   bool
		against string
	}{
		"an hour ahead":                      {ahead: time.Hour, inputs: 1, found: true},
		"an hour behind":                     {ahead: -time.Hour, inputs: 1, found: true},
		"moved, and followed":                {ahead: 960 * time.Hour, moved: 960 * time.Hour, inputs: 1, found: true},
		"moved, and not followed":            {ahead: 960 * time.Hour, inputs: 1, found: true},
		"it is not known":                    {ahead: time.Hour, noDate: true, inputs: 1, found: true, against: "it began 1h0m0s after the POST, and how far the service's clock is from this one is not known"},
		"it is not known, with other inputs": {ahead: time.Hour, noDate: true, inputs: 3},
	} {
		t.Run(name, func(t *testing.T) {
			dated := func(h http.HandlerFunc) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Date", time.Now().Add(c.ahead).UTC().Format(http.TimeFormat))
					if c.noDate {
						w.Header()["Date"] = nil
					}
					h(w, r)
				}
			}
			cl, _ := script(t, dated(text(503, "")), dated(ended(c.inputs, `{"input":{"url":"http://lab.test/1"}}`)))
			cl.cfg.Clock = servicetest.ClockFunc(func() time.Time { return time.Now().Add(c.moved) })
			cl.cfg.Wire = exchange.New(exchange.Config{Now: cl.cfg.Now, Timer: time.Now})
			job := launched(t, cl, trigger("http://lab.test/1"), model.JobMayHave)
			cl.cfg.List = remoteList(func(context.Context, string, string, int) ([]model.RemoteJob, int, error) {
				return []model.RemoteJob{{Snapshot: "sd_1", Created: job.Created.Add(c.ahead - c.moved)}}, 0, nil
			})
			found, err := cl.Settler().Candidates(t.Context(), job.ID)
			if err != nil || (len(found) == 1) != c.found {
				t.Fatalf("%+v, %v", found, err)
			}
			if c.found && (found[0].Against != c.against || !c.noDate && found[0].After.Abs() > 2*time.Second) {
				t.Errorf("%+v", found[0])
			}
		})
	}
}

func TestAWebhookThatTheServiceDoesNotAnswerForSaysWhy(t *testing.T) {
	rn, _ := script(t, text(429, "slow down"))
	mayHave(t, rn, testToken)
	job, said, err := rn.HandleWebhook(t.Context(), model.WebhookNews{ID: "hook-1", Token: testToken, Snapshot: "sd_1"})
	want := "not settled, because the service did not answer for sd_1: asking for the state of job job-1: HTTP 429: slow down · too fast · next: lower the concurrency and back off; try again, a few times at most"
	if err != nil || job.State != model.JobMayHave || said != want {
		t.Errorf("%+v, %q, %v", job, said, err)
	}
}

func TestOnlyAJobWithoutADoubtIsFound(t *testing.T) {
	candidate := func(snapshot string, inputs int, against string) Candidate {
		return Candidate{RemoteJob: model.RemoteJob{Snapshot: snapshot}, Inputs: inputs, Against: against}
	}
	unseen := candidate("sd_1", 3, "it has 3 inputs and not 2")
	unseen.Unseen = true
	otherInputs := candidate("sd_1", 2, "its rows are of other inputs")
	otherInputs.Other = true
	const cut = "not every job of that time could be looked at"
	for name, c := range map[string]struct {
		found      []Candidate
		want, says string
	}{
		"one that fits": {[]Candidate{candidate("sd_1", 2, ""), candidate("sd_2", 3, "it has 3 inputs and not 2")}, "sd_1", ""},
		"two that fit": {
			[]Candidate{candidate("sd_1", 2, ""), candidate("sd_2", 2, "")},
			"",
			"2 jobs of the service's list have its 2 inputs: sd_1 (begun 0s after the POST; nothing against it), sd_2 (begun 0s after the POST; nothing against it)",
		},
		"one that fits beside one in doubt": {
			[]Candidate{candidate("sd_1", 2, "it can be job-2 as well"), candidate("sd_2", 2, "")},
			"",
			"2 jobs of the service's list have its 2 inputs: sd_1 (begun 0s after the POST; it can be job-2 as well), sd_2 (begun 0s after the POST; nothing against it)",
		},
		"another that is not known":                           {[]Candidate{candidate("sd_1", 2, ""), candidate("sd_2", -1, "its number of inputs could not be asked for")}, "", "the number of inputs of sd_2 is not known"},
		"one whose rows name them beside one of other inputs": {[]Candidate{otherInputs, candidate("sd_2", 2, "")}, "sd_2", ""},
		"one of other inputs alone":                           {[]Candidate{otherInputs}, "", "sd_1 of the service's list has its 2 inputs, but its rows are of other inputs"},
		"one that leaves a doubt": {
			[]Candidate{candidate("sd_1", 2, cut), candidate("sd_2", 3, "it has 3 inputs and not 2")},
			"",
			"sd_1 of the service's list has its 2 inputs, but " + cut,
		},
		"two that leave one": {
			[]Candidate{candidate("sd_1", 2, cut), candidate("sd_2", 2, "it can be job-2 as well")},
			"",
			"2 jobs of the service's list have its 2 inputs: sd_1 (begun 0s after the POST; " + cut + "), sd_2 (begun 0s after the POST; it can be job-2 as well)",
		},
		"another beyond what was seen": {[]Candidate{unseen}, "", "no job that was seen in the service's list has its 2 inputs, and " + cut},
		"one of other inputs":          {[]Candidate{candidate("sd_1", 3, "it has 3 inputs and not 2")}, "", "no job of the service's list fits"},
		"none":                         {nil, "", "no job of the service's list fits"},
	} {
		t.Run(name, func(t *testing.T) {
			one, err := Settlement{Job: model.Job{ID: "job-9", Inputs: 2}, Candidates: c.found}.Only()
			if c.says != "" && (err == nil || err.Error() != c.says) || c.says == "" && (err != nil || one.Snapshot != c.want) {
				t.Errorf("%+v, %v; want %q, %q", one, err, c.want, c.says)
			}
		})
	}
}
