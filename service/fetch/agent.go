package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"zonedeck/model"
	"zonedeck/service/agent"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/pace"
)

// tool is the tool of a request by agent access and its arguments: the one that fetches a
// page, unless it names another.
func tool(d dialect.Dialect, r model.FetchRequest) (name string, args json.RawMessage) {
	if r.Tool != "" {
		return r.Tool, json.RawMessage(r.Args)
	}
	args, _ = agent.PageArgs(r.URL) // a text always encodes
	return d.Sends().PageTool, args
}

// place is where a flight's tools are.
func (f *flight) place() agent.Place {
	return agent.Place{Wire: f.ft.cfg.Wire, Profile: f.p, Dialect: f.d, KeyName: f.key.Name, Key: f.secret, Mask: f.mask, Timer: f.ft.cfg.Timer}
}

// tryAgent is one attempt by agent access: a session with the MCP endpoint, and one call.
func (f *flight) tryAgent(ctx context.Context, now model.Attempt) (try, error) {
	name, args := tool(f.d, f.written(f.r))
	answer, err := agent.Call(ctx, f.place(), name, args)
	t := try{outcome: f.outcomeOf(), phases: answer.Phases, timing: timingOf(answer, err)}
	o := &t.outcome
	if err := f.readTalk(&t, answer, err); err != nil {
		return t, err
	}
	o.Unrepeatable = f.r.Tool != "" && len(answer.Exchanges) > 1
	o.Elapsed = t.timing.Total
	if o.Broke != model.BreakNone || o.ServiceStatus >= http.StatusBadRequest {
		return t, nil
	}
	o.ContentType = answer.ContentType
	f.on(Event{Phase: PhaseReceiving, Attempt: now, Bytes: int64(len(answer.Content))})
	t.body = exchange.Receive(f.sink(), bytes.NewReader(answer.Content), nil)
	t.readText()
	switch {
	case answer.Refused != nil:
		o.ServiceText, o.ServiceClass, o.ServiceCause = f.mask.Text(answer.Refused.Error()), model.ClassOutside, model.CauseServiceError
		if answer.Refused.Invalid() {
			o.ServiceCause = model.CauseRequestRefused
		}
	case answer.Failed:
		read(o, f.d.ReadText(string(answer.Content)))
		if o.ServiceText == "" {
			o.ServiceText = "the tool reports an error without a text"
		}
	}
	f.finish(&t)
	return t, nil
}

// readTalk fills a try from the exchanges of a conversation, and from the error by which it
// ended. It returns an error that is no outcome.
func (f *flight) readTalk(t *try, answer agent.Answer, err error) error {
	o := &t.outcome
	last := decisive(answer, err)
	if last == nil {
		return err
	}
	if last.Err != nil {
		if over := broken(o, f.mask, last.Trace, last.Err); over != nil {
			return over
		}
		o.Elapsed = t.timing.Total
		return nil
	}
	t.header = last.Header
	o.ServiceStatus = last.Status
	if o.ServiceStatus < http.StatusBadRequest && err == nil {
		return nil
	}
	o.ContentType = last.Header.Get("Content-Type")
	t.body = exchange.Receive(f.sink(), bytes.NewReader(last.Head()), nil)
	t.readText()
	if o.ServiceStatus >= http.StatusBadRequest {
		read(o, f.d.ReadHeader(last.Header, f.ft.cfg.Now()))
		if o.ServiceText == "" {
			o.ServiceText = dialect.ErrorText(o.ContentType, o.BodyHead)
		}
		return nil
	}
	o.Broke, o.Peer, o.BrokeText = model.BreakMalformed, exchange.PeerService, model.Line(f.mask.Text(fmt.Sprintf("not an answer of MCP: %v", err)), 500)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, exchange.ErrTimeout) {
		o.Broke, o.BrokeText = model.BreakTimeout, exchange.ErrTimeout.Error()
	}
	return nil
}

// decisive is the exchange that says how a conversation went, or nil: of one that broke off
// the first that failed, of an answered one that of the answer. Replies to the endpoint's own
// requests, which are accepted by 202, may come after it, still be under way, or fail.
func decisive(answer agent.Answer, err error) *exchange.Relayed {
	var last *exchange.Relayed
	for _, x := range answer.Exchanges {
		failed := x.Err != nil || x.Status >= http.StatusBadRequest
		switch {
		case failed && (err != nil || answer.Refused != nil):
			return x
		case failed, err == nil && x.Status == 0:
		case last == nil || x.Status != http.StatusAccepted || last.Status == http.StatusAccepted:
			last = x
		}
	}
	return last
}

// timingOf is where the time of a conversation went: connecting, which each exchange does
// anew, as the first did; waiting and transfer those of the decisive exchange.
func timingOf(a agent.Answer, err error) model.Timing {
	out := exchange.NoTiming()
	if x := decisive(a, err); x != nil {
		first, t := a.Exchanges[0].Trace.Timing(), x.Trace.Timing()
		out.DNS, out.Connect, out.TLS = first.DNS, first.Connect, first.TLS
		out.FirstByte, out.Transfer = t.FirstByte, t.Transfer
	}
	out.Total = a.Total
	return out
}

// Tools lists the tools of the profile's MCP endpoint with a key of the inventory, "" for
// the profile's. The diagnosis says how it went; an error is that of Fetch.
func (ft *Fetcher) Tools(ctx context.Context, key string) ([]agent.Tool, model.Diagnosis, error) {
	defer ft.cfg.Wire.Begin()()
	f, err := ft.prepareTools(ctx, key)
	if err != nil {
		return nil, model.Diagnosis{}, err
	}
	leave, err := ft.cfg.Wire.Enter(ctx, model.ProductAgent)
	if err != nil {
		return nil, model.Diagnosis{}, err
	}
	defer leave()
	actx, cancel := context.WithTimeoutCause(ctx, toolsTimeout, exchange.ErrTimeout)
	defer cancel()
	tools, answer, err := agent.Tools(actx, f.place())
	t := try{outcome: f.outcomeOf(), timing: timingOf(answer, err)}
	err = f.readTalk(&t, answer, err)
	t.body.Discard()
	var held *pace.TooFastError
	switch {
	case errors.As(err, &held):
		return nil, held.Diagnosis(), nil
	case err != nil:
		return nil, model.Diagnosis{}, err
	case answer.Refused != nil:
		t.outcome.ServiceText, t.outcome.ServiceClass, t.outcome.ServiceCause = f.mask.Text(answer.Refused.Error()), model.ClassOutside, model.CauseServiceError
	case len(tools) > 0:
		t.outcome.BodyHead, t.outcome.BodySize = []byte(tools[0].Name), 1
	}
	return tools, f.mask.Diagnosis(model.Diagnose(t.outcome)), nil
}

// toolsTimeout bounds the listing of tools, which does no work at the service.
const toolsTimeout = 30 * time.Second

func (ft *Fetcher) prepareTools(ctx context.Context, key string) (*flight, error) {
	p, d, err := exchange.Current(ctx, ft.cfg.Source)
	if err != nil {
		return nil, err
	}
	if err := agentProblem(p); err != nil {
		return nil, model.BadField("profile", "%w", err)
	}
	f := &flight{setup: ft.newSetup(p, d), r: model.FetchRequest{Via: model.ViaAgent, Zone: model.AgentZone()}, timeout: toolsTimeout}
	f.key, f.secret, err = exchange.KeyFor(ctx, ft.cfg.Source, p.AtAgent(), key)
	f.mask = exchange.MaskOf(f.secret, exchange.Login{})
	return f, err
}
