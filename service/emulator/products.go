package emulator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/browser"
	"zonedeck/service/emulator/datasets"
	"zonedeck/service/emulator/deliver"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/fetch"
	"zonedeck/service/emulator/guard"
	"zonedeck/service/emulator/index"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/record"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/username"
)

func (s *Server) openFetch(chromium string) {
	s.browsers = browser.Open(s.ctx, browser.Config{Path: chromium, Trust: []*x509.Certificate{s.ca.Root()}, Now: s.now, Login: s.loginCDP, Log: s.log})
	s.fetch = fetch.New(fetch.Config{
		Account: s.account, Meter: s.meter, Route: s.way, Log: s.log, Now: s.now, Loose: s.loose, Browser: s.browsers,
		Faults: s.rehearsal.faults, Async: s.asyncMode,
	})
}

// asyncMode returns how a zone of the scenario accepts requests.
func (s *Server) asyncMode(z account.Zone) fetch.AsyncMode {
	for _, own := range s.scenario.Zones {
		if own.Name == z.Name {
			return map[string]fetch.AsyncMode{"off": fetch.AsyncOff, "only": fetch.AsyncOnly}[own.Async]
		}
	}
	return fetch.AsyncToo
}

// The prices of a record of a deep lookup and of each value added to it, in dollars, as in the
// examples of public documentation.
const (
	lookupRecordRate = 1.00
	lookupColumnRate = 0.05
)

func (s *Server) openIndex() (err error) {
	s.index, err = index.Open(s.ctx, index.Config{
		Documents: labDocuments, Now: s.now, Wait: s.waitMoved, Loose: s.loose, RecordRate: lookupRecordRate, ColumnRate: lookupColumnRate, Log: s.log, State: s.state,
		Fail: func() error {
			if s.account.Suspended() {
				return &jobs.FailedError{Message: textSuspended}
			}
			return nil
		},
	})
	return err
}

// waitMoved waits by the emulator's clock, which may be moved meanwhile.
func (s *Server) waitMoved(ctx context.Context, d time.Duration) error {
	return s.rehearsal.clock.Wait(ctx, s.now().Add(d))
}

func labDocuments() []index.Document {
	pages := lab.Documents()
	docs := make([]index.Document, len(pages))
	for i, p := range pages {
		docs[i] = index.Document(p)
	}
	return docs
}

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
		HandOver: func(snap jobs.Snapshot, hooks []jobs.Webhook) error {
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

// webhookRouter is how webhooks leave: like requests or, with Options.LoopbackWebhooks, to loopback
// addresses, too.
func (s *Server) webhookRouter(o Options, rules *guard.Rules, lab, control netip.AddrPort) (route.Router, error) {
	if !o.LoopbackWebhooks {
		return s.way, nil
	}
	loopback, err := guard.Parse([]string{"127.0.0.0/8", "::1"})
	if err != nil {
		return route.Router{}, err
	}
	dialer := exits.NewDialer(lab, &tls.Config{RootCAs: s.ca.Pool()}, rules.And(loopback).Never(control))
	dialer.UseLabFor(s.scenario.Hosts())
	return route.Router{Pool: s.way.Pool, Dialer: dialer}, nil
}

func (s *Server) closeDialers() {
	for _, d := range []*exits.Dialer{s.dialer, s.webhooks.Dialer} {
		if d != nil {
			d.Close()
		}
	}
}

// sendWebhook sends one POST of a webhook through the dialer, which checks the receiver like
// any target.
func (s *Server) sendWebhook(r *http.Request) (*http.Response, error) {
	if refused := s.webhooks.PortRefused(r.URL.Hostname(), r.URL.Port()); refused != nil {
		return nil, fmt.Errorf("%s: %s", refused.Code, refused.Msg)
	}
	exit, err := s.webhooks.Pick(account.Zone{Name: "\x00webhooks", Product: "datasets"}, username.Flags{})
	if err != nil {
		return nil, err
	}
	x := s.rehearsal.requests.Begin(time.Now(), "webhook", r.Method, r.URL.String())
	defer x.End()
	resp, err := s.webhooks.Dialer.Transport(r.URL.Hostname(), exit).RoundTrip(r)
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
