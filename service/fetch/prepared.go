package fetch

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/pace"
)

// currentFor is how long a setup is used before it is compared with what there is now.
const currentFor = 500 * time.Millisecond

// Prepared sends the fetches of one template. What they have in common is made once: key or login with their values,
// the checks that hold for each, the mask, the rules. It is safe for concurrent use.
//
// Twice a second at most a Send compares profile, key and rules with what there is now. If the profile or the key's
// record has changed, all is made again. The sends end with the error of exchange.Source's Permit as long as the key may
// not be used. What a reference stands for is read again only then, and behind an answer that rejects key or login.
type Prepared struct {
	ft       *Fetcher
	template model.FetchRequest
	columns  []string // the fields whose texts hold variables
	// Unpaced says that no pace of zone or host holds the sends back, nor learns of them: they look for it. It is set before
	// the first Send.
	Unpaced bool
	idle    int // connections that wait for the next send; 0: each has its own

	turn    chan struct{} // holds one token while the fields below are in use
	setup   *setup
	checked time.Time

	rejected atomic.Bool // key or login, since all was made
}

// Slots bound how many tries are in flight by more than their product.
type Slots interface {
	// Enter waits for a slot, and calls product for the product's. lasting ends when the try must, ctx at the latest.
	Enter(ctx context.Context, product func() (leave func(), err error)) (lasting context.Context, leave func(), err error)
}

// ProfileInUse is the profile whose key and login fetches use.
func (ft *Fetcher) ProfileInUse(ctx context.Context) (model.Profile, error) {
	return ft.cfg.Source.Profile(ctx)
}

// Prepare prepares the fetches of a template, a request whose texts may hold variables ({{name}}) beside those of its
// Secrets: see Prepared. It refuses what no row can make good, and a variable in the zone's name: product, rate and login
// belong to the zone. The errors are those of Fetch. The caller calls Close.
func (ft *Fetcher) Prepare(ctx context.Context, template model.FetchRequest) (*Prepared, error) {
	p := ft.repeated(template)
	p.mapColumns(template, func(field string) { p.columns = append(p.columns, field) })
	switch {
	case slices.Contains(p.columns, "zone"):
		return nil, model.BadField("zone", "a variable cannot stand for the zone: prepare the fetches of each zone")
	case template.BodyFile != "":
		return nil, model.BadField("body", "one file cannot take the bodies of many fetches")
	}
	p.idle = int(exchange.LimitOf(template.Zone.Product).Concurrency)
	if _, err := p.current(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// repeated prepares nothing yet. The texts of r are what is sent.
func (ft *Fetcher) repeated(r model.FetchRequest) *Prepared {
	return &Prepared{ft: ft, template: r, turn: make(chan struct{}, 1)}
}

// Send sends the fetch of one row; row gives the values of its columns, which are put in plainly. Result and errors are
// those of Fetch. A *model.RequestError names the field, and wraps a *model.UnknownVariableError for a column that the row
// does not have. Nothing of it is in the history, and drift does not learn of it. A body on disk is the caller's.
func (p *Prepared) Send(ctx context.Context, row func(name string) (string, bool), on func(Event)) (model.FetchResult, error) {
	return p.SendIn(ctx, row, nil, on)
}

// SendIn is Send for a fetch whose tries take slots beside the product's. It ends with the error of Slots.
func (p *Prepared) SendIn(ctx context.Context, row func(name string) (string, bool), slots Slots, on func(Event)) (model.FetchResult, error) {
	defer p.ft.cfg.Wire.Begin()()
	f, err := p.flight(ctx, row, on)
	if err != nil {
		return model.FetchResult{}, err
	}
	f.batch, f.unpaced, f.slots = true, p.Unpaced, slots
	res, _, err := f.result(ctx, p.ft.cfg.Now())
	if c := res.Diagnosis.Cause; c == model.CauseKeyRejected || c == model.CauseLoginRejected {
		p.rejected.Store(true)
	}
	return res, err
}

// Limits are what bounds each try in time, and how many tries in a second the key may make, all that send with it
// together; 0 has no bound.
func (p *Prepared) Limits(ctx context.Context) (timeout time.Duration, keyRate float64, err error) {
	s, err := p.current(ctx)
	if err != nil {
		return 0, 0, err
	}
	if p.template.Via == model.ViaAPI && !s.p.Local {
		keyRate = cmp.Or(s.p.KeyRate, exchange.KeyRate)
	}
	return cmp.Or(p.template.Timeout, exchange.Timeout(s.p, p.template.Zone.Product)), keyRate, nil
}

// Key is the name of the key that is used, also where the template leaves it to the profile; empty by a login.
func (p *Prepared) Key(ctx context.Context) (string, error) {
	s, err := p.current(ctx)
	if err != nil {
		return "", err
	}
	return s.key.Name, nil
}

// Pace says how many of the sends go at once, of how many, and why not more; empty where nothing holds them back.
func (p *Prepared) Pace(ctx context.Context) string {
	s, err := p.current(ctx)
	if err != nil {
		return ""
	}
	return p.ft.cfg.Pace.Words(ctx, pace.Call{Profile: s.p.Name, Zone: string(s.template.Zone.Name)})
}

// KeepSafe keeps what a probe of the template's page found.
func (p *Prepared) KeepSafe(ctx context.Context, found pace.Safe) error {
	f, err := p.flight(ctx, nil, nil)
	if err != nil || p.ft.cfg.Pace == nil {
		return err
	}
	return p.ft.cfg.Pace.Safes.Keep(ctx, f.call(), found)
}

// Request is what Send would send for a row, without its secrets. Its errors are those of Send.
func (p *Prepared) Request(ctx context.Context, row func(name string) (string, bool)) (model.FetchRequest, error) {
	f, err := p.flight(ctx, row, nil)
	if err != nil {
		return model.FetchRequest{}, err
	}
	return f.r, nil
}

// flight begins the fetch of a row.
func (p *Prepared) flight(ctx context.Context, row func(name string) (string, bool), on func(Event)) (*flight, error) {
	s, err := p.current(ctx)
	if err != nil {
		return nil, err
	}
	r, problems := s.template.Resolve(func(name string) (model.Variable, bool) {
		if ref, ok := p.template.Secrets[name]; ok {
			return model.Variable{Ref: ref}, true
		}
		value, ok := row(name)
		return model.Variable{Value: value}, ok
	})
	if len(problems) > 0 {
		return nil, &model.RequestError{Problems: problems}
	}
	return s.flight(r, on)
}

// Close closes the connections that wait.
func (p *Prepared) Close() {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if p.setup != nil {
		p.setup.wire.Close()
	}
}

// current is the setup of now.
func (p *Prepared) current(ctx context.Context) (*setup, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	now := p.ft.cfg.Timer()
	if p.setup != nil && now.Sub(p.checked) < currentFor {
		return p.setup, nil
	}
	s, err := p.setup.renewed(ctx)
	if err == nil && (s == nil || p.rejected.Load()) {
		p.rejected.Store(false)
		s, err = p.prepare(ctx)
	}
	if err != nil {
		return nil, err
	}
	p.setup, p.checked = s, now
	return s, nil
}

// setup is what the fetches of a template have in common. It does not change.
type setup struct {
	ft        *Fetcher
	wire      *exchange.Wire
	p         model.Profile
	d         dialect.Dialect
	template  model.FetchRequest
	values    map[string]keystore.Secret // of its secrets
	key       model.Key
	secret    keystore.Secret // the key's value, by API
	rules     []model.UserRule
	fault     error             // why they cannot be used
	baseLogin exchange.Login    // by Native; the columns are empty in it
	typed     []keystore.Secret // typedSecrets of the template
	baseMask  exchange.Mask     // of these two
}

// newSetup has nothing of a request yet.
func (ft *Fetcher) newSetup(p model.Profile, d dialect.Dialect) *setup {
	s := &setup{ft: ft, wire: ft.cfg.Wire, p: p, d: d}
	s.readRules()
	return s
}

func (s *setup) readRules() {
	if s.ft.cfg.Rules != nil {
		s.rules, s.fault = s.ft.cfg.Rules(s.p.Name)
	}
}

// prepare checks the template and takes the secrets from their references.
func (p *Prepared) prepare(ctx context.Context) (*setup, error) {
	ft, r := p.ft, p.template
	profile, d, err := exchange.Current(ctx, ft.cfg.Source)
	if err != nil {
		return nil, err
	}
	if r.Via == "" {
		r.Via = model.ViaAPI
	}
	if r.Via == model.ViaAgent {
		r.Zone = model.AgentZone()
	}
	if known, ok := profile.Zone(string(r.Zone.Name)); ok {
		r.Zone.Rate = known.Rate // of today, whatever an earlier result says
		if r.Zone.Password == "" {
			r.Zone.Password = known.Password
		}
	}
	s := ft.newSetup(profile, d)
	s.template = r
	if p.columns != nil {
		r = p.mapColumns(r, func(string) {})
	}
	r = d.Locate(r)
	if err := check(profile, d, r, p.columns...); err != nil {
		return nil, err
	}
	switch {
	case r.Via.Login():
		s.baseLogin, err = exchange.LoginFor(ctx, ft.cfg.Source, profile, r.Zone, d.Params(r))
	case r.Via == model.ViaAgent:
		s.key, s.secret, err = exchange.KeyFor(ctx, ft.cfg.Source, profile.AtAgent(), r.Key)
	default:
		s.key, s.secret, err = exchange.KeyFor(ctx, ft.cfg.Source, profile, r.Key)
	}
	if err != nil {
		return nil, err
	}
	if s.values, err = exchange.Variables(ctx, ft.cfg.Source, s.template); err != nil {
		return nil, err
	}
	s.typed = typedSecrets(s.written(r).Header)
	s.baseMask = s.masking(s.baseLogin, s.typed)
	if p.setup != nil {
		p.setup.wire.Close()
	}
	if p.idle > 0 {
		s.wire = ft.cfg.Wire.Keep(p.idle)
	}
	return s, nil
}

// mapColumns is a request whose texts that hold columns are empty, and names their fields.
func (p *Prepared) mapColumns(r model.FetchRequest, found func(field string)) model.FetchRequest {
	isColumn := func(name string) bool { return r.Secrets[name] == "" }
	return r.MapTexts(func(field, text string) string {
		if slices.ContainsFunc(model.Variables(text), isColumn) {
			found(field)
			return ""
		}
		return text
	})
}

// renewed is the setup with the rules of now, or nil if all has to be made again. An error says that its key may not be
// used any more.
func (s *setup) renewed(ctx context.Context) (*setup, error) {
	if s == nil {
		return nil, nil
	}
	source := s.ft.cfg.Source
	p, _, err := exchange.Current(ctx, source)
	was, is := s.p, p
	was.Can, is.Can = nil, nil // follow from Dialect, and functions cannot be compared
	if err != nil || !reflect.DeepEqual(is, was) {
		return nil, err
	}
	if s.key.Name != "" {
		key, _ := source.Key(s.key.Name)
		if !reflect.DeepEqual(key, s.key) {
			return nil, nil
		}
		if s.template.Via == model.ViaAgent {
			p = p.AtAgent()
		}
		if _, err := source.Permit(ctx, p, key, func() (keystore.Secret, error) { return s.secret, nil }); err != nil {
			return nil, err
		}
	}
	again := *s
	again.readRules()
	return &again, nil
}

// flight is one fetch, which is not sent yet.
func (s *setup) flight(r model.FetchRequest, on func(Event)) (*flight, error) {
	if on == nil {
		on = func(Event) {}
	}
	r = s.d.Locate(r)
	if err := check(s.p, s.d, r); err != nil {
		return nil, err
	}
	f := &flight{setup: s, r: r, id: s.ft.newID("f"), login: s.baseLogin, timeout: r.Timeout, on: on, bodyCap: r.BodyLimit}
	if f.timeout <= 0 {
		f.timeout = exchange.Timeout(s.p, r.Zone.Product)
	}
	if r.Via.Login() {
		name, err := exchange.Username(s.p, r.Zone.Name, s.d.Params(r))
		if err != nil {
			return nil, err
		}
		f.login.Username = name
	}
	written := s.written(r)
	if len(r.Secrets) > 0 {
		if ps := problems(s.p, s.d, written); len(ps) > 0 { // their errors may repeat a secret
			return nil, model.BadField(ps[0].Field, "it cannot be sent with the values of its variables")
		}
	}
	f.mask = s.baseMask
	if typed := typedSecrets(written.Header); f.login.Username != s.baseLogin.Username || !slices.EqualFunc(typed, s.typed, keystore.Secret.Equal) {
		f.mask = s.masking(f.login, typed)
	}
	return f, nil
}

// written is a request with its secrets.
func (s *setup) written(r model.FetchRequest) model.FetchRequest {
	return r.Reveal(func(name string) string { return s.values[name].Reveal() })
}

// masking makes the mask of a login and of the secrets of a request.
func (s *setup) masking(login exchange.Login, typed []keystore.Secret) exchange.Mask {
	return exchange.MaskOf(s.secret, login, slices.AppendSeq(slices.Clone(typed), maps.Values(s.values))...)
}
