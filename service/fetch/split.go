package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
	"zonedeck/service/exchange"
)

// The bounds of a split, beside the number of its probes: how long one of them may take
// and, with the waiting for places among the product's fetches, all.
const (
	splitProbeTime = time.Minute
	splitTime      = 5 * time.Minute
)

// PlanSplit plans the fetches that tell whether the key's level, the zone or the site
// refused a fetch with 403, as model.PlanSplit does. Profile, zones, time and, unless
// choice names one, the page known to be good are the profile's. The other key is the first of
// which the value can be got. Nothing is sent.
//
// Errors are as for Fetch.
func (ft *Fetcher) PlanSplit(ctx context.Context, subject model.FetchResult, choice model.SplitChoice) (model.Split, error) {
	p, d, err := exchange.Current(ctx, ft.cfg.Source)
	if err != nil {
		return model.Split{}, err
	}
	choice.Profile, choice.Zones, choice.Now = p.Name, p.Zones, ft.cfg.Now()
	if choice.GoodPage == "" {
		choice.GoodPage = d.TestPage(p.Local)
	}
	plan := model.PlanSplit(subject, choice)
	i := slices.IndexFunc(plan.Probes, func(q model.SplitProbe) bool { return q.Kind == model.SplitOtherKey })
	probe := &plan.Probes[i]
	if probe.Problem != "" { // there is none to resolve
		return plan, nil
	}
	for _, name := range choice.OtherKeys(subject.KeyName) {
		if choice.Key != "" && name != choice.Key {
			continue
		}
		if _, _, err = exchange.KeyFor(ctx, ft.cfg.Source, p, name); err == nil {
			probe.Request.Key, probe.Problem = name, ""
			return plan, nil
		}
		if ctx.Err() != nil {
			return model.Split{}, context.Cause(ctx)
		}
		probe.Problem = fmt.Sprintf("the value of key %s cannot be used: %v", name, err)
	}
	return plan, nil
}

// Split sends the probes of a plan, one after the other and each once, and returns it
// with what came of them. One that can no longer change the verdict is not sent, because
// each is billed. Each is a fetch of its own in the history. on receives a probe before and
// after it is sent, on the calling goroutine; it may be nil.
//
// A probe that cannot be sent as it stands gets a Problem. Errors are as for Fetch; what came
// before is returned with them.
func (ft *Fetcher) Split(ctx context.Context, s model.Split, on func(i int, p model.SplitProbe, sending bool)) (model.Split, error) {
	defer ft.cfg.Wire.Begin()()
	if on == nil {
		on = func(int, model.SplitProbe, bool) {}
	}
	s.Probes = slices.Clone(s.Probes)
	whole, stop := context.WithTimeoutCause(ctx, splitTime, exchange.ErrTimeout)
	defer stop()
	for i := range s.Probes {
		p := &s.Probes[i]
		switch {
		case p.Problem != "":
		case !s.Needs(p.Kind):
			p.Problem = "not needed: what was sent decides it"
		case whole.Err() != nil && ctx.Err() == nil:
			p.Problem = "the time for all of them is over"
		default:
			on(i, *p, true)
			if err := ft.sendProbe(whole, p); err != nil {
				if ctx.Err() != nil {
					return s, context.Cause(ctx)
				}
				if !errors.Is(err, exchange.ErrTimeout) {
					return s, err
				}
				p.Problem = "the time for all of them is over"
			}
		}
		on(i, *p, false)
	}
	return s, nil
}

func (ft *Fetcher) sendProbe(ctx context.Context, p *model.SplitProbe) error {
	r := p.Request
	r.Timeout = min(exchange.LimitOf(r.Zone.Product).Timeout, splitProbeTime)
	result, err := ft.Fetch(ctx, r, nil)
	switch {
	case errors.Is(err, model.ErrRequest):
		p.Problem = "cannot be sent: " + strings.ReplaceAll(err.Error(), "\n", "; ")
		return nil
	case err != nil:
		return err
	}
	p.Result = &result
	return nil
}
