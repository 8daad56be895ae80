package emulator

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/datasets"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/record"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/username"
)

// openJobs opens the deliveries and the jobs. Unfinished jobs continue at once and need the
// lab. Deliveries need the jobs for their records.
func (s *Server) openJobs() (err error) {
	s.deliver, err = deliver.Open(s.ctx, deliver.Config{
		State: s.state, Now: s.now, Send: s.sendWebhook, Source: s.recordsFor, Log: s.log,
		Fault: s.webhookFault, Secret: s.scenario.WebhookSecret,
	})
	if err != nil {
		return fmt.Errorf("opening the deliveries: %w", err)
	}
	s.jobs, err = jobs.Open(s.ctx, jobs.Config{
		State: s.state, Fetch: s.fetch.ForJob, Now: s.now, PageDelay: s.scenario.PageDelay,
		Fault: s.jobFault, Grace: s.scenario.Grace404,
		HandOver: func(snap jobs.Snapshot, hooks []jobs.Hook) error {
			return s.deliver.Add(datasets.Messages(snap, hooks)...)
		},
		Log: s.log,
	})
	if err != nil {
		return fmt.Errorf("opening the jobs: %w", err)
	}
	s.deliver.Start()
	return nil
}

func (s *Server) recordsFor(snapshot, format string, batch, part int) (func(io.Writer) error, error) {
	return s.jobs.Records(snapshot, format, jobs.Slice{Batch: batch, Part: part})
}

// sendWebhook sends one POST of a webhook through the dialer, which checks the receiver like
// any target.
func (s *Server) sendWebhook(r *http.Request) (*http.Response, error) {
	if refused := s.way.PortRefused(r.URL.Hostname(), r.URL.Port()); refused != nil {
		return nil, fmt.Errorf("%s: %s", refused.Code, refused.Msg)
	}
	exit, err := s.way.Pick(account.Zone{Name: "\x00webhooks", Product: "datasets"}, username.Flags{})
	if err != nil {
		return nil, err
	}
	x := s.rehearsal.requests.Begin(time.Now(), "webhook", r.Method, r.URL.String())
	defer x.End()
	resp, err := s.way.Dialer.Transport(r.URL.Hostname(), exit).RoundTrip(r)
	if err != nil {
		x.Set(func(e *record.Entry) { e.Code = route.RefusalOf(err).Code })
		if errors.Is(err, exits.ErrBlocked) {
			// The receiver gets no request at all.
			s.log.Error("a webhook was not sent: its receiver is not a public address", "opened_by", "--allow-private "+r.URL.Host)
		}
		return nil, err
	}
	x.Set(func(e *record.Entry) { e.Status = resp.StatusCode })
	return resp, nil
}
