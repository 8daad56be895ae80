// Package overview asks a service what an account has: its state, its money, what its zones
// cost, its data sets and its jobs. It reads and changes nothing.
//
// The contract shows none of these calls; a dialect does. The console, the command line and
// the tools of agents are the callers. Every function is safe for concurrent use.
package overview

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/rates"
)

// Config is what the calls need. All fields must be set.
type Config struct {
	Source exchange.Source
	Wire   *exchange.Wire
	Now    func() time.Time
}

// Account is what an account says of itself. A part that could not be had has a problem.
type Account struct {
	Profile string
	ID      model.AccountID
	// Active says that it is not suspended, Word is the service's own word.
	Active bool
	Word   string

	Balance        model.Balance
	BalanceProblem string

	// NetworksUp says that the service's networks are.
	NetworksUp      bool
	NetworksProblem string

	Zones        []model.ZoneCost
	ZonesProblem string
}

// asker makes the calls by one key.
type asker struct {
	cfg    Config
	p      model.Profile
	d      dialect.Dialect
	key    model.Key
	secret keystore.Secret
	mask   exchange.Mask
}

// begin takes the key: one of the inventory or, without a name, the profile's.
func begin(ctx context.Context, cfg Config, keyName string) (*asker, error) {
	p, d, err := exchange.Current(ctx, cfg.Source)
	if err != nil {
		return nil, err
	}
	if !d.ListsDatasets() {
		return nil, fmt.Errorf("asking what an account has: %w; the dialect %s knows where", dialect.ErrNotShown, dialect.WithOverview())
	}
	key, secret, err := exchange.KeyFor(ctx, cfg.Source, p, keyName)
	if err != nil {
		return nil, err
	}
	return &asker{cfg: cfg, p: p, d: d, key: key, secret: secret, mask: exchange.MaskOf(secret, exchange.Login{})}, nil
}

// GetAccount asks for state, money and zones of the account of the profile in use. Without its
// state nothing else is asked; money and zones need access to billing, so that each has a
// problem of its own.
func (cfg Config) GetAccount(ctx context.Context, keyName string) (Account, error) {
	defer cfg.Wire.Begin()()
	a, err := begin(ctx, cfg, keyName)
	if err != nil {
		return Account{}, err
	}
	out := Account{Profile: a.p.Name}
	const doing = "the account's state"
	body, err := a.get(ctx, doing, a.d.AccountStatus(), nil)
	if err != nil {
		return out, err
	}
	status, err := a.d.ReadStatus(body)
	if err != nil {
		return out, a.malformed(doing, err)
	}
	out.ID, out.Active, out.Word = status.ID, status.Active, a.mask.Text(status.Word)
	if out.Balance, out.BalanceProblem, err = a.balance(ctx); err != nil {
		return out, err
	}
	err = a.read(ctx, "the networks", a.d.Networks(), nil, func(body []byte) (err error) {
		out.NetworksUp, err = a.d.ReadNetworks(body)
		return err
	})
	if out.NetworksProblem, err = a.problem(ctx, err); err != nil {
		return out, err
	}
	out.Zones, err = cfg.MeasureRates(ctx, keyName)
	out.ZonesProblem, err = a.problem(ctx, err)
	return out, err
}

// GetMoney asks for the balance, and for what the account spent on each day of this month, by the key that
// rates.KeyFor takes of keys. Nothing is asked by a key whose level has no access to billing.
func (cfg Config) GetMoney(ctx context.Context, keys []model.Key) (out model.Money, err error) {
	defer cfg.Wire.Begin()()
	p, err := cfg.Source.Profile(ctx)
	if err != nil {
		return out, err
	}
	own, _ := cfg.Source.Key(p.Key)
	k := rates.KeyFor(own, keys)
	if err := rates.RefuseKey(k); err != nil {
		return out, err
	}
	a, err := begin(ctx, cfg, k.Name)
	if err != nil {
		return out, err
	}
	out.Key = a.key.Name
	if out.Balance, out.BalanceProblem, err = a.balance(ctx); err != nil {
		return out, err
	}
	now := cfg.Now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	path, question := a.d.Spend(month, month.AddDate(0, 0, now.Day()))
	body, err := a.ask(ctx, "what was spent", exchange.Call{Method: http.MethodPost, Path: path, Body: question})
	var spent map[time.Time]float64
	if err == nil {
		spent, err = a.d.ReadSpend(body)
	}
	for day := month; err == nil && !day.After(now); day = day.AddDate(0, 0, 1) {
		out.Days, out.Spent = append(out.Days, model.DaySpend{Day: day, Dollars: spent[day]}), out.Spent+spent[day]
	}
	out.SpentProblem, err = a.problem(ctx, a.byLevel(err))
	return out, err
}

// balance asks for the balance; err is that ctx ended.
func (a *asker) balance(ctx context.Context) (out model.Balance, problem string, err error) {
	body, err := a.get(ctx, "the balance", a.d.Balance(), nil)
	if err == nil {
		out, err = a.d.ReadBalance(body)
	}
	problem, err = a.problem(ctx, a.byLevel(err))
	return out, problem, err
}

// byLevel has a refusal say which keys may read the money, unless this key is one.
func (a *asker) byLevel(err error) error {
	var call *exchange.CallError
	if errors.As(err, &call) && call.Status == http.StatusForbidden && a.key.Level.Permission(model.CapBilling) != model.PermYes {
		return fmt.Errorf("%w; keys of level FINANCE and ADMIN may read it", err)
	}
	return err
}

// problem is an error as a problem of one part; err is that ctx ended.
func (a *asker) problem(ctx context.Context, cause error) (text string, err error) {
	switch {
	case cause == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	default:
		return a.mask.Text(model.Line(cause.Error(), 500)), nil
	}
}

// Datasets lists the data sets that jobs can be started for, with their inputs: all, or one by
// its identifier. skipped counts entries that could not be read. The list of all has how many records each holds;
// beside an error, it lacks them.
func (cfg Config) Datasets(ctx context.Context, keyName, dataset string) (list []model.Dataset, skipped int, err error) {
	defer cfg.Wire.Begin()()
	a, err := begin(ctx, cfg, keyName)
	if err != nil {
		return nil, 0, err
	}
	const doing = "the list of scrapers"
	path, query := a.d.Scrapers(a.p.APIVersion, dataset)
	body, err := a.get(ctx, doing, path, query)
	if err != nil {
		return nil, 0, err
	}
	if list, skipped, err = a.d.ReadScrapers(body); err != nil {
		return nil, 0, a.malformed(doing, err)
	}
	if dataset == "" {
		err = a.countRecords(ctx, list)
	}
	for i := range list {
		a.maskDataset(&list[i])
	}
	return list, skipped, err
}

// countRecords asks how many records the data sets hold: another list of the service has that.
func (a *asker) countRecords(ctx context.Context, list []model.Dataset) error {
	const doing = "how many records data sets hold"
	body, err := a.get(ctx, doing, a.d.Datasets(), nil)
	if err != nil {
		return err
	}
	records, err := a.d.ReadDatasets(body)
	if err != nil {
		return a.malformed(doing, err)
	}
	for i, c := range list {
		if n, known := records[c.ID]; known {
			list[i].Records = &n
		}
	}
	return nil
}

// maskDataset masks what was decoded.
func (a *asker) maskDataset(c *model.Dataset) {
	for _, s := range []*string{&c.ID, &c.Name, &c.Domain, &c.Description} {
		*s = a.mask.Text(*s)
	}
	for i := range c.Methods {
		c.Methods[i].Discover = a.mask.Text(c.Methods[i].Discover)
		for j := range c.Methods[i].Fields {
			f := &c.Methods[i].Fields[j]
			f.Name, f.Type, f.Description, f.Example = a.mask.Text(f.Name), a.mask.Text(f.Type), a.mask.Text(f.Description), a.mask.Text(f.Example)
		}
	}
}

// RemoteJobs lists the newest jobs of a data set as the service lists them, whoever started them.
func (cfg Config) RemoteJobs(ctx context.Context, of exchange.Source, keyName, dataset string, most int) (jobs []model.RemoteJob, skipped int, err error) {
	cfg.Source = of
	defer cfg.Wire.Begin()()
	if dataset == "" {
		return nil, 0, model.BadField("dataset", "name the data set whose jobs are asked for")
	}
	a, err := begin(ctx, cfg, keyName)
	if err != nil {
		return nil, 0, err
	}
	if product, ok := a.d.ProductOf(dataset); ok {
		return nil, 0, fmt.Errorf("listing the jobs of %s: %w, and neither do other public sources", product.Label(), dialect.ErrNotShown)
	}
	doing := "the list of jobs of " + dataset
	path, query := a.d.Snapshots(a.p.APIVersion, dataset, most)
	body, err := a.get(ctx, doing, path, query)
	if err != nil {
		return nil, 0, err
	}
	if jobs, skipped, err = a.d.ReadSnapshots(body); err != nil {
		return nil, 0, a.malformed(doing, err)
	}
	for i := range jobs {
		jobs[i].Snapshot, jobs[i].Dataset, jobs[i].Wire = a.mask.Text(jobs[i].Snapshot), a.mask.Text(jobs[i].Dataset), a.mask.Text(jobs[i].Wire)
	}
	return jobs, skipped, nil
}

// callTimeout and answerBytes bound a call. The catalogue of a real service was seen with
// 1,755 rows.
const (
	callTimeout = 30 * time.Second
	answerBytes = 8 << 20
)

// get asks by GET; see ask.
func (a *asker) get(ctx context.Context, doing, path string, query url.Values) ([]byte, error) {
	return a.ask(ctx, doing, exchange.Call{Method: http.MethodGet, Path: path, Query: query})
}

// ask asks once, and gives the body of a 200. Other errors than an *exchange.CallError are those of
// access, and ctx's.
func (a *asker) ask(ctx context.Context, doing string, call exchange.Call) ([]byte, error) {
	inner, cancel := context.WithTimeoutCause(ctx, callTimeout, exchange.ErrTimeout)
	defer cancel()
	call.Profile, call.KeyName, call.Key = a.p, a.key.Name, a.secret
	resp, _, err := a.cfg.Wire.API(inner, call)
	if err != nil {
		return nil, a.broken(ctx, doing, err)
	}
	defer resp.Body.Close()
	body, err := a.mask.ReadAnswer(resp, answerBytes+1)
	switch {
	case err != nil:
		return nil, a.broken(ctx, doing, err)
	case len(body) > answerBytes:
		return nil, a.malformed(doing, fmt.Errorf("it is longer than %d bytes", answerBytes))
	case resp.StatusCode != http.StatusOK:
		seen := exchange.Answered(a.cfg.Now(), a.d, a.key, a.mask, resp, body[:min(len(body), 64<<10)])
		return nil, a.cfg.Wire.Refused(doing, a.p.BaseURL, a.mask, seen)
	}
	return body, nil
}

// broken is the error of a call without an answer, or with half of one.
func (a *asker) broken(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, model.ErrRequest) {
		return err
	}
	return exchange.Unanswered(doing, model.CallProgress, a.mask, err, false)
}

// malformed is the error of an answer with HTTP 200 that is not what was asked for.
func (a *asker) malformed(doing string, err error) error {
	call := exchange.Unanswered(doing, model.CallProgress, a.mask, exchange.Unusable(err), false)
	call.Status = http.StatusOK
	return call
}

// MeasureRates asks what the zones of the profile cost. See rates.Measure.
func (cfg Config) MeasureRates(ctx context.Context, keyName string) ([]model.ZoneCost, error) {
	return rates.Measure(ctx, rates.Config{Source: cfg.Source, Wire: cfg.Wire}, keyName)
}
