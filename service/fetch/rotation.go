package fetch

import (
	"context"
	"fmt"

	"zonedeck/model"
	"zonedeck/service/exchange"
)

// failuresInARow ends a measurement: what is refused again and again shows no exit.
const failuresInARow = 3

// Rotate makes n calls through the proxy, one after the other and each on its own connection,
// and records where each left from. With a session, as ProbeRequest.Session or one of its
// Params, all calls are made in it. q.Rounds is not used; n is brought to the nearest of 1 and
// model.MaxExitCalls. It ends early, and says so, at a failure that the next call would only
// repeat, or at the third in a row.
//
// on receives the measurement after each call on the calling goroutine; it may be nil. What was
// measured before the caller's context ended is returned with its cause. Other errors are as
// for Probe. It is kept in the timeline.
func (ft *Fetcher) Rotate(ctx context.Context, q ProbeRequest, n int, on func(model.ExitRotation)) (model.ExitRotation, error) {
	if on == nil {
		on = func(model.ExitRotation) {}
	}
	defer ft.cfg.Wire.Begin()()
	p, d, err := exchange.Current(ctx, ft.cfg.Source)
	if err != nil {
		return model.ExitRotation{}, err
	}
	pr, err := ft.prepareProbe(p, d, q)
	if err != nil {
		return model.ExitRotation{}, err
	}
	r := model.ExitRotation{
		Zone: pr.q.Zone, Username: pr.res.Username, Target: pr.q.Target, Session: pr.q.Session,
		Started: ft.cfg.Now(), Asked: min(max(n, 1), model.MaxExitCalls),
	}
	params := pr.rotating
	if pr.q.Session != "" {
		params = pr.within()
	}
	login, err := exchange.LoginFor(ctx, ft.cfg.Source, p, pr.q.Zone, params)
	if err != nil {
		return r, err
	}
	failed := 0
	for r.Ended == "" && len(r.Calls) < r.Asked {
		c, callErr := pr.call(ctx, login)
		if callErr != nil {
			err, r.Ended = callErr, "stopped"
			break
		}
		r.Calls, r.Spend = append(r.Calls, c.seen), pr.res.Spend
		failed++
		if c.diagnosis.OK() {
			failed = 0
		}
		switch {
		case failed > 0 && lasting(c.diagnosis):
			r.Ended = c.diagnosis.Summary
		case failed == failuresInARow:
			r.Ended = fmt.Sprintf("%d calls in a row failed: %s", failed, c.diagnosis.Summary)
		}
		on(r)
	}
	if len(r.Calls) > 0 {
		ft.keepRotation(ctx, p.Name, r)
	}
	return r, err
}

// lasting reports whether the next call would fail the same way.
func lasting(d model.Diagnosis) bool {
	switch d.Cause {
	case model.CauseLoginRejected, model.CauseTLSTrust, model.CauseNetwork, model.CausePolicy, model.CauseRequestRefused:
		return true
	default:
		return d.Class == model.ClassTooFast
	}
}

func (ft *Fetcher) keepRotation(ctx context.Context, profile string, r model.ExitRotation) {
	last := r.Calls[len(r.Calls)-1]
	text := fmt.Sprintf("rotation over %d of %d calls: %s", len(r.Calls), r.Asked, r.Verdict())
	if r.Ended != "" {
		text += "; ended: " + r.Ended
	}
	var bytes int64
	for _, c := range r.Calls {
		bytes += c.Bytes
	}
	ft.keepLine(ctx, model.Activity{
		At: r.Started, Profile: profile, Zone: string(r.Zone.Name), Class: last.Class, Cause: last.Cause, Total: r.Median(), Bytes: bytes, Text: text,
		Cost: r.Spend.Dollars, Priced: r.Spend.Priced > 0,
	})
}

// keepLine puts a line about tests of logins into the timeline.
func (ft *Fetcher) keepLine(ctx context.Context, a model.Activity) {
	if ft.cfg.Journal == nil {
		return
	}
	a.Kind, a.Via = model.ActivityProbe, model.ViaNative
	if err := ft.cfg.Journal.PutActivity(context.WithoutCancel(ctx), a); err != nil {
		ft.cfg.Log.Warn("a measurement was not kept", "error", err)
	}
}
