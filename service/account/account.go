package account

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/rates"
)

// Prober makes one call through a profile's proxy with a password that is stored nowhere yet.
type Prober interface {
	ProbeDraft(ctx context.Context, p model.Profile, z model.Zone, password keystore.Secret) (model.ProbeResult, error)
}

// Config asks accounts what they have. Wire must be set.
type Config struct {
	Wire   *exchange.Wire
	Prober Prober // nil tests no proxy
	// Now is the clock, nil for time.Now.
	Now func() time.Time
}

// State is how a check of one value came out.
type State string

// The states of a verdict. Unknown was not asked.
const (
	Unknown State = ""
	OK      State = "ok"
	Warning State = "warning"
	Failed  State = "failed"
)

// Verdict is what a check of one value said, in one line of text.
type Verdict struct {
	State State
	Text  string
}

func good(format string, args ...any) Verdict { return Verdict{OK, fmt.Sprintf(format, args...)} }
func warn(format string, args ...any) Verdict { return Verdict{Warning, fmt.Sprintf(format, args...)} }

func bad(format string, args ...any) Verdict { return Verdict{Failed, fmt.Sprintf(format, args...)} }

func open(format string, args ...any) Verdict { return Verdict{Unknown, fmt.Sprintf(format, args...)} }

// Zone is a zone that the account has.
type Zone struct {
	// Zone has name, product and rate; no reference to its password.
	Zone model.Zone
	// Password is the one to use; empty where the account did not show it.
	Password keystore.Secret
	// Accepted are all that the account shows, with Password; none where it shows none.
	Accepted []keystore.Secret
	Verdict  Verdict
}

// Judge is the verdict on a password of the zone that was typed.
func (z Zone) Judge(typed keystore.Secret) Verdict {
	switch {
	case len(z.Accepted) == 0:
		return z.Verdict
	case !slices.ContainsFunc(z.Accepted, typed.Equal):
		return bad("the account does not have the typed password")
	case z.Verdict.State == OK:
		return good("%s, and the account has the typed password", z.Verdict.Text)
	}
	return z.Verdict
}

// Facts is what is known of an account so far.
type Facts struct {
	// Answered says that something answered at the address, be it the service or not.
	Answered bool
	ID       model.AccountID
	// KeyLevels are those that what the key was seen to be allowed leaves; none where nothing was seen.
	Levels []model.Level
	Zones  []Zone
	// Prefix, Host and Port are what the dialect publishes, or the profile's own.
	Prefix, Host string
	Port         int
	// CA is the PEM of a certificate to trust, nil for none.
	CA []byte
	// The verdicts on each of them.
	Key, Account, Listing, Rates, Passwords, Proxy, Certificates Verdict
}

// Refusal says why nothing can be read through a profile, or is nil. Nothing is asked for it.
func Refusal(p model.Profile) error {
	d, err := dialect.Find(p.Dialect)
	switch {
	case err != nil:
		return err
	case !d.ListsAccount():
		return fmt.Errorf("the contract shows no call that lists an account; the dialect %s knows them", dialect.WithAccounts())
	case p.BaseURL == "":
		return errors.New("without a base URL nothing can be asked")
	}
	return nil
}

// The bounds of reading an account.
const (
	callTimeout = 30 * time.Second
	answerBytes = 4 << 20
	// askedZones is of how many zones the passwords are asked for: one call each.
	askedZones = 200
)

// ErrRead says that the account could not be read; the verdicts say why.
var ErrRead = errors.New("the account could not be read")

// Read asks an account what it has, by a key's value. p needs a base URL and a dialect; what else
// stands in it (proxy, account, CA) is used and not asked for again. on receives what is known after
// each step, on the calling goroutine; it may be nil. The error is Refusal's, the context's, or wraps
// ErrRead: the verdicts of Facts then say what was refused. Nothing is written anywhere.
func (cfg Config) Read(ctx context.Context, p model.Profile, key keystore.Secret, on func(Facts)) (Facts, error) {
	if on == nil {
		on = func(Facts) {}
	}
	if err := Refusal(p); err != nil {
		return Facts{}, err
	}
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return Facts{}, err
	}
	defer cfg.Wire.Begin()()
	r := reader{cfg: cfg, p: p, d: d, key: key, mask: exchange.MaskOf(key, exchange.Login{})}
	r.publish()
	if r.status(ctx) {
		on(r.found)
		for _, step := range []func(context.Context){r.zones, r.rates, r.passwords, r.certificates, r.proxy} {
			if ctx.Err() == nil {
				step(ctx)
				on(r.found)
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return r.found, context.Cause(ctx)
	case r.found.Key.State == Failed:
		return r.found, fmt.Errorf("%w: %s", ErrRead, r.found.Key.Text)
	case r.found.Account.State == Failed:
		return r.found, fmt.Errorf("%w: %s", ErrRead, r.found.Account.Text)
	}
	return r.found, nil
}

// reader is one reading under way.
type reader struct {
	cfg   Config
	p     model.Profile
	d     dialect.Dialect
	key   keystore.Secret
	mask  exchange.Mask
	found Facts

	listing dialect.AccountStatus
	// seesCosts and seesPasswords are what the key was seen to be allowed.
	seesCosts, seesPasswords allowed
}

// allowed is whether a key may do something: not known, yes or no.
type allowed int

const (
	notAsked allowed = iota
	yes
	no
)

// keyName names the key for its rate: it may have no name yet.
const keyName = "(account)"

// publish proposes what needs no call.
func (r *reader) publish() {
	f := &r.found
	f.Prefix, f.Host, f.Port = r.p.UsernamePrefix, r.p.ProxyHost, r.p.ProxyPort
	if f.Prefix == "" {
		f.Prefix = r.d.UsernamePrefix()
	}
	if entries := r.d.ProxyEntries(); f.Host == "" && len(entries) > 0 && r.p.BaseURL == r.d.BaseURL() {
		f.Host, f.Port = entries[0].Host, entries[0].Port
	}
	f.Proxy = open("not tested")
}

// answer is what the service answered to one call.
type answer struct {
	status int
	body   []byte
	text   string // what the service says about a failure, one line, masked
}

func (a answer) ok() bool { return a.status >= 200 && a.status <= 299 }

func (a answer) describe() string {
	if a.text == "" {
		return fmt.Sprintf("the service answered %d", a.status)
	}
	return fmt.Sprintf("the service answered %d: %s", a.status, a.text)
}

func (r *reader) get(ctx context.Context, path string, query url.Values) (answer, error) {
	return r.ask(ctx, exchange.Call{Profile: r.p, KeyName: keyName, Key: r.key, Method: http.MethodGet, Path: path, Query: query})
}

func (r *reader) ask(ctx context.Context, c exchange.Call) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, exchange.ErrTimeout)
	defer cancel()
	resp, _, err := r.cfg.Wire.API(ctx, c)
	if err != nil {
		return answer{}, errors.New(model.Line(r.mask.Text(err.Error()), 300))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerBytes+1))
	switch {
	case err != nil:
		return answer{}, errors.New(model.Line(r.mask.Text(err.Error()), 300))
	case len(body) > answerBytes:
		return answer{status: resp.StatusCode}, fmt.Errorf("the answer has more than %d MB", answerBytes>>20)
	}
	return answer{resp.StatusCode, body, r.mask.Text(dialect.ErrorText(resp.Header.Get("Content-Type"), body))}, nil
}

// status asks for the account's identifier, which proves the key as well.
func (r *reader) status(ctx context.Context) (ok bool) {
	f, path := &r.found, r.d.AccountStatus()
	a, err := r.get(ctx, path, nil)
	f.Answered = a.status > 0
	switch {
	case err != nil:
		f.Key, f.Account = open("not known: %v", err), bad("%v", err)
		return false
	case a.status == http.StatusUnauthorized:
		f.Key, f.Account = bad("%s refuses the key: check that it is whole, and neither expired nor replaced (%s)", r.host(), a.describe()), open("not asked: the key is refused")
		return false
	case !a.ok():
		f.Key, f.Account = open("not known"), bad("%s", a.describe())
		return false
	}
	if r.listing, err = r.d.ReadStatus(a.body); err != nil { // a page that asks to sign in to a network is answered with 200, too
		f.Key, f.Account = open("not known"), bad("%v", err)
		return false
	}
	f.Key = good("%s accepts it (GET %s)", r.host(), path)
	f.ID = r.listing.ID
	switch {
	case r.p.Account != "" && r.p.Account != f.ID:
		f.Account = bad("the key belongs to account %s, not to %s", f.ID, r.p.Account)
	case !r.listing.Active:
		f.Account = warn("the service calls it %s", r.listing.Word)
	default:
		f.Account = good("%s, active", f.ID)
	}
	return true
}

func (r *reader) host() string {
	if u, err := url.Parse(r.p.BaseURL); err == nil && u.Host != "" {
		return u.Host
	}
	return "the service"
}

// zones asks which zones there are.
func (r *reader) zones(ctx context.Context) {
	f := &r.found
	a, err := r.get(ctx, r.d.AccountZones(), nil)
	if err == nil && !a.ok() {
		err = errors.New(a.describe())
	}
	var list []dialect.ListedZone
	skipped := 0
	if err == nil {
		list, skipped, err = r.d.ReadZones(a.body)
	}
	if err != nil {
		f.Listing = bad("%v", err)
		return
	}
	for _, z := range list {
		one := Zone{Zone: model.Zone{Name: z.Name, Product: z.Product}}
		switch {
		case z.Status == "deleted":
			continue
		case !z.Usable:
			one.Verdict = warn("the service calls it %s", z.Status)
		case z.Product == model.ProductUnknown:
			one.Verdict = warn("of type %q, which is not known here", z.Type)
		default:
			one.Verdict = good("active")
		}
		f.Zones = append(f.Zones, one)
	}
	f.Listing = good("%s at the account", model.Counted(len(f.Zones), "zone"))
	if skipped > 0 {
		f.Listing = warn("%s at the account, and %d whose names cannot be read", model.Counted(len(f.Zones), "zone"), skipped)
	}
}

// source is what rates and probes of the draft ask by.
func (r *reader) source() exchange.Source {
	p := r.p
	p.Account = r.found.ID
	p.Zones = nil
	for _, z := range r.found.Zones {
		p.Zones = append(p.Zones, z.Zone)
	}
	return exchange.Fixed(p, model.Key{Name: keyName, Secret: draftRef}, r.key)
}

// rates asks what the zones cost.
func (r *reader) rates(ctx context.Context) {
	f := &r.found
	if !r.d.ShowsCosts() || len(f.Zones) == 0 || len(f.Zones) > askedZones {
		f.Rates = open("not asked")
		return
	}
	costs, err := rates.Measure(ctx, rates.Config{Source: r.source(), Wire: r.cfg.Wire}, keyName)
	switch {
	case errors.Is(err, rates.ErrRefused):
		r.seesCosts = no
		f.Rates = open("not shown to this key: only FINANCE and ADMIN may see costs (contract 5.3). Save the profile, then %s: a cost cap refuses what has no rate", rates.Typed)
		return
	case err != nil:
		f.Rates = warn("%s", model.Line(r.mask.Text(err.Error()), 300))
		return
	}
	priced, shown, problem := 0, 0, ""
	for i, c := range costs {
		if f.Zones[i].Zone.Rate = c.Rate; c.Rate.Priced() {
			priced++
		}
		switch {
		case c.Known():
			shown++
		case problem == "" && model.Measurable(c.Zone.Product) == "":
			problem = c.Problem
		}
	}
	switch {
	case shown > 0: // anything else, such as a page of a network, says nothing of what the key may do
		r.seesCosts = yes
		f.Rates = good("%d of %d measured by the account's cost", priced, len(f.Zones))
	case problem != "":
		f.Rates = warn("not known: %s", model.Line(r.mask.Text(problem), 300))
	default:
		f.Rates = open("not asked: no zone is charged in a way that is shown")
	}
}

// passwords asks for the password of each zone that has a proxy login.
func (r *reader) passwords(ctx context.Context) {
	f, got, native, asked := &r.found, 0, 0, 0
	if f.Listing.State == Failed {
		f.Passwords = open("not asked")
		return
	}
	for i := range f.Zones {
		z := &f.Zones[i]
		if !z.Zone.Product.NativeAccess() || ctx.Err() != nil {
			continue
		}
		if native++; asked == askedZones || r.seesPasswords == no {
			continue
		}
		asked++
		if err := r.password(ctx, z); err != nil {
			if r.seesPasswords == no {
				continue
			}
			z.Verdict = warn("its password: %s", model.Line(r.mask.Text(err.Error()), 200))
		}
		if !z.Password.Empty() {
			got++
		}
	}
	switch {
	case r.seesPasswords == no:
		f.Passwords = open("not shown to this key: ADMIN, OPS or LIMIT may see them (contract 5.3)")
	case native == 0:
		f.Passwords = open("no zone has a proxy login")
	case got == native:
		f.Passwords = good("shown for %d of %d zones with a proxy login", got, native)
	default:
		f.Passwords = warn("shown for %d of %d zones with a proxy login", got, native)
	}
	f.Levels = r.levels()
}

// password asks for one zone's password; seesPasswords says when the key may not see any.
func (r *reader) password(ctx context.Context, z *Zone) error {
	path, query := r.d.AccountZone(z.Zone.Name)
	a, err := r.get(ctx, path, query)
	if err == nil && !a.ok() {
		err = errors.New(a.describe())
	}
	if err != nil {
		return err
	}
	shown, err := r.d.ReadZone(a.body)
	if err != nil {
		return err
	}
	if !shown.Known {
		path, query = r.d.AccountPasswords(z.Zone.Name)
		switch a, err = r.get(ctx, path, query); {
		case err != nil:
			return err
		case a.status == http.StatusForbidden:
			r.seesPasswords = no
			return errors.New(a.describe())
		case !a.ok():
			return errors.New(a.describe())
		}
		if shown.Passwords, err = r.d.ReadPasswords(a.body); err != nil {
			return err
		}
	}
	r.seesPasswords = yes
	for _, p := range shown.Passwords {
		z.Accepted = append(z.Accepted, keystore.NewSecret(p))
	}
	if len(z.Accepted) > 0 {
		z.Password = z.Accepted[0]
	}
	switch {
	case shown.Disabled:
		z.Verdict = warn("disabled")
	case shown.Compromised > 0:
		z.Verdict = warn("the service calls %d of its passwords compromised: remove them", shown.Compromised)
	case len(shown.Passwords) == 0:
		z.Verdict = warn("it has no password")
	}
	return nil
}
