package fetch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// The bounds of a test of a proxy login.
const (
	MaxRounds    = 50 // of one test
	stickyRounds = 2
	probeBody    = 64 << 10
)

// ProbeRequest asks for a test of a zone's proxy login.
type ProbeRequest struct {
	Zone   model.Zone
	Params []model.Param
	// Target is the page to fetch, http or https; empty means the profile's own
	// test page, where it is known.
	Target string
	// Rounds is how many calls to make to see the exits rotate: 1 to 50, and anything
	// beyond is brought to the nearest of the two.
	Rounds int
	// Session, when set, also tests whether the exit stays the same within that
	// session. It may also be one of Params.
	Session string

	proof exchange.LoginProof // what it is made for
}

// Probe tests a zone's proxy login (service.md 5.2): it opens a tunnel, or sends
// absolute-form for an http target, and fetches the page. The diagnosis distinguishes
// no connection, a refused login, restricted access, a dead target, TLS trust and a
// target's own error. It stops at the first call that fails; nothing is retried. With
// more than one round, or without a session, the rounds are made without the session,
// each on its own connection; two more are then made within it.
//
// on receives one line per step on the calling goroutine; it may be nil. Errors are
// as for Fetch.
func (ft *Fetcher) Probe(ctx context.Context, q ProbeRequest, on func(string)) (model.ProbeResult, error) {
	if on == nil {
		on = func(string) {}
	}
	defer ft.cfg.Wire.Begin()()
	p, d, err := exchange.Current(ctx, ft.cfg.Source)
	if err != nil {
		return model.ProbeResult{}, err
	}
	pr, err := ft.prepareProbe(p, d, q)
	if err != nil {
		return model.ProbeResult{}, err
	}
	pr.on, pr.res.Started, pr.res.Proves, pr.res.WantsRefusal = on, ft.cfg.Now(), q.proof.Proves, q.proof.Refusal
	if err := pr.run(ctx); err != nil {
		return model.ProbeResult{}, err
	}
	if err := ft.cfg.Journal.PutProbe(context.WithoutCancel(ctx), p.Name, pr.res); err != nil {
		ft.cfg.Log.Warn("a probe was not kept", "error", err)
	}
	return pr.res, nil
}

// probe is one test under way.
type probe struct {
	ft       *Fetcher
	p        model.Profile
	d        dialect.Dialect
	q        ProbeRequest
	rotating []model.Param // without the session
	res      model.ProbeResult
	on       func(string)
}

func (ft *Fetcher) prepareProbe(p model.Profile, d dialect.Dialect, q ProbeRequest) (*probe, error) {
	if known, ok := p.Zone(string(q.Zone.Name)); ok {
		q.Zone.Password, q.Zone.Rate = cmp.Or(q.Zone.Password, known.Password), cmp.Or(q.Zone.Rate, known.Rate)
	}
	if q.Target == "" {
		q.Target = d.TestPage(p)
	}
	if q.Target == "" {
		return nil, model.BadField("url", "name a page to fetch through the proxy; the contract shows no test page")
	}
	q.Rounds = min(max(q.Rounds, 1), MaxRounds)
	isSession := func(m model.Param) bool { return m.Name == "session" }
	if i := slices.IndexFunc(q.Params, isSession); i >= 0 && q.Session == "" {
		q.Session = q.Params[i].Value
	}
	pr := &probe{ft: ft, p: p, d: d, q: q, rotating: slices.DeleteFunc(slices.Clone(q.Params), isSession)}
	err := check(p, d, model.FetchRequest{Zone: q.Zone, URL: q.Target, Via: model.ViaNative, Session: q.Session})
	if err != nil {
		return nil, err
	}
	params := pr.params()
	if err := d.RefuseParams(params); err != nil {
		return nil, model.BadField(params[0].Name, "%w", err)
	}
	name, err := exchange.Username(p, q.Zone.Name, params)
	if err != nil {
		return nil, err
	}
	pr.res = model.ProbeResult{Zone: q.Zone, Username: name, Proxy: p.ProxyAddr(), Target: q.Target, Timing: exchange.NoTiming()}
	return pr, nil
}

// params are the parameters, with the session if there is one.
func (pr *probe) params() []model.Param {
	if pr.q.Session == "" {
		return pr.rotating
	}
	return append(slices.Clone(pr.rotating), model.Param{Name: "session", Value: pr.q.Session})
}

func (pr *probe) run(ctx context.Context) error {
	var rotated []string
	if pr.q.Session == "" || pr.q.Rounds > 1 {
		exits, err := pr.rounds(ctx, pr.rotating, pr.q.Rounds, "call")
		rotated = exits
		if err != nil || !pr.res.Diagnosis.OK() {
			pr.res.Exits = rotated
			return err
		}
	}
	pr.res.Exits = rotated
	if pr.q.Session == "" {
		return nil
	}
	exits, err := pr.rounds(ctx, pr.params(), stickyRounds, "call within session "+pr.q.Session)
	if rotated == nil {
		pr.res.Exits = exits
	}
	if err != nil || !pr.res.Diagnosis.OK() {
		return err
	}
	// Exits that were not reported cannot be compared.
	if !slices.Contains(exits, "") {
		pr.res.StickyRun = true
		pr.res.Sticky = len(slices.Compact(slices.Clone(exits))) == 1
	}
	return nil
}

// rounds makes n calls and gives the exits seen. The first call, and one that fails,
// fill the result.
func (pr *probe) rounds(ctx context.Context, params []model.Param, n int, what string) ([]string, error) {
	login, err := exchange.LoginFor(ctx, pr.ft.cfg.Source, pr.p, pr.q.Zone, params)
	if err != nil {
		return nil, err
	}
	var exits []string
	for i := range n {
		pr.on(fmt.Sprintf("%s %d of %d", what, i+1, n))
		c, err := pr.call(ctx, login)
		if err != nil {
			return exits, err
		}
		exits = append(exits, c.run.Login.Exit)
		pr.res.Diagnosis = c.diagnosis
		if !c.diagnosis.OK() {
			break
		}
	}
	return exits, nil
}

// probeCall is what one call of a probe showed.
type probeCall struct {
	run       model.Run
	diagnosis model.Diagnosis
}

// call is one call through the proxy. The first one, and one that fails, fill the result.
func (pr *probe) call(ctx context.Context, login exchange.Login) (probeCall, error) {
	timeout := exchange.Timeout(pr.p, pr.q.Zone.Product)
	f := &flight{
		setup: pr.ft.newSetup(pr.p, pr.d), login: login, mask: exchange.MaskOf(keystore.Secret{}, login),
		timeout: timeout, bodyCap: probeBody, id: pr.ft.newID("p"),
		r: model.FetchRequest{Zone: pr.q.Zone, URL: pr.q.Target, Via: model.ViaNative},
		on: func(e Event) {
			if e.Reason != "" && pr.on != nil {
				pr.on("waiting: " + e.Reason)
			}
		},
	}
	t, d, err := f.send(ctx, model.Attempt{N: 1})
	t.body.Discard()
	if err != nil {
		return probeCall{}, err
	}
	var spend model.Spend
	if t.held == nil {
		cost, priced := model.Attempt{Class: d.Class, Status: t.outcome.TargetStatus, Unanswered: t.outcome.Unanswered, Bytes: t.body.Ref.Size}.Cost(pr.q.Zone.Rate)
		pr.ft.cfg.Wire.Spend(cost, priced)
		spend.Add(cost, priced)
	}
	d = f.mask.Diagnosis(d)
	page := whereInPage(t.header, t.body.Head)
	run := model.Run{
		Class: d.Class, Cause: d.Cause, Summary: d.Summary, Status: t.outcome.TargetStatus, Bytes: t.body.Ref.Size, FirstByte: t.timing.FirstByte, Total: t.timing.Total,
		Login: &model.LoginCall{
			Connect: t.timing.Connect, ConnectStatus: t.connect, Code: f.mask.Text(t.outcome.ServiceCode), Reason: dialect.CodeWords(t.outcome.ServiceCode),
			Exit: cmp.Or(f.mask.Text(t.exit), page.exit), Country: page.country, Spend: spend,
		},
	}
	run.Login.Trust, run.Login.Root = trust(t)
	pr.res.Spend = pr.res.Spend.Plus(spend)
	if first := pr.res.Timing.Total < 0; first || !d.OK() {
		pr.show(f, t)
		pr.res.Country = page.country
	}
	return probeCall{run, d}, nil
}

// trust says what became of the chain that was presented, and who signed it.
func trust(t try) (model.ChainVerdict, string) {
	chain := t.chain.Certificates
	if len(chain) == 0 {
		return model.ChainUnknown, ""
	}
	root := chain[len(chain)-1].IssuerName()
	switch {
	case t.chain.Unchecked:
		return model.ChainUnchecked, root
	case t.timing.TLS >= 0:
		return model.ChainTrusted, root
	default:
		return model.ChainUntrusted, root
	}
}

// show fills the result with what one call showed on its way.
func (pr *probe) show(f *flight, t try) {
	pr.res.ConnectStatus, pr.res.ConnectHeader, pr.res.ConnectHead = t.connect, t.proxyHeader, t.connectHead
	pr.res.Code, pr.res.Reason = f.mask.Text(t.outcome.ServiceCode), dialect.CodeWords(t.outcome.ServiceCode)
	pr.res.Chain = t.chain
	pr.res.TargetStatus, pr.res.Timing = t.outcome.TargetStatus, t.timing
}

// callerPlace is what a page tells of its caller.
type callerPlace struct{ exit, country string }

// whereInPage finds the exit and its country in the answer of a page that reports its caller:
// {"address":"…"} or {"ip":"…"}, and {"country":"…"}.
func whereInPage(h http.Header, head []byte) callerPlace {
	if !strings.Contains(h.Get("Content-Type"), "json") {
		return callerPlace{}
	}
	var answer struct {
		Address, IP, Country any
	}
	if json.Unmarshal(head, &answer) != nil {
		return callerPlace{}
	}
	var out callerPlace
	if country, _ := answer.Country.(string); model.ValidCountry(strings.ToLower(country)) {
		out.country = strings.ToUpper(country)
	}
	for _, value := range []any{answer.Address, answer.IP} {
		s, _ := value.(string)
		if host, _, err := net.SplitHostPort(s); err == nil {
			s = host
		}
		if addr, err := netip.ParseAddr(s); err == nil {
			out.exit = addr.WithZone("").String()
			return out
		}
	}
	return out
}
