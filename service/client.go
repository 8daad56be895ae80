package service

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/catalogue"
	"zonedeck/service/drift"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/jobs"
	"zonedeck/service/journal"
	"zonedeck/service/ledger"
	"zonedeck/service/overview"
	"zonedeck/service/password"
	"zonedeck/service/rates"
)

// ClientOptions are the parts of a Client. Source must be set.
type ClientOptions struct {
	Source exchange.Source
	// Rules returns the operator's rules for a profile; nil for none. See fetch.Config.
	Rules func(profile string) ([]model.UserRule, error)
	// Inventory, Queues and Webhooks are those of jobs.Config.
	Inventory jobs.Inventory
	Queues    jobs.Queues
	Webhooks  jobs.Webhooks
	// Used is that of exchange.Config.
	Used func(profile, key, fingerprint string)
	// Journal keeps the history; nil keeps none.
	Journal *journal.Journal
	// Ledger accounts for jobs; without one none is started.
	Ledger *ledger.Ledger
	// Launch is what launching also needs: keys, the inbox and the lists.
	Launch jobs.LaunchConfig
	// Drift keeps profiles of the fields of results and fetches; nil keeps none.
	Drift *drift.Monitor
	// OtherProfiles are the other accounts whose jobs are followed, too; nil for none. They need a Ledger.
	OtherProfiles *OtherProfiles
	// Name is the profile's name, for look-ups that need no addresses.
	Name string
	// BodiesDir holds large bodies, DownloadsDir results of jobs.
	BodiesDir, DownloadsDir string
	// CatalogueDir holds the service's lists of data sets.
	CatalogueDir string
	// Now is the clock, nil for time.Now.
	Now func() time.Time
	// Timer measures durations, because Now may jump: an emulator's time can be
	// moved during a call. Nil means Now.
	Timer func() time.Time
	// Log takes errors that are reported nowhere else; nil discards them.
	Log *slog.Logger
}

// Client joins the use cases for one profile.
type Client struct {
	*fetch.Fetcher
	*jobs.Runner
	*jobs.Launching
	// Passwords changes the passwords of zones.
	Passwords *password.Changer
	// Drift reports on the profile's collectors.
	Drift        Drift
	source       exchange.Source
	wire         *exchange.Wire
	catalogue    *catalogue.Catalogue
	now          func() time.Time
	otherRunners *otherRunners // nil for none
	log          *slog.Logger
}

// New makes a Client. It does no I/O.
func New(o ClientOptions) *Client {
	wire := exchange.New(exchange.Config{Now: o.Now, Timer: o.Timer, Used: o.Used})
	now := o.Now
	if now == nil {
		now = time.Now
	}
	f := fetch.Config{
		Source: o.Source, Wire: wire, Bodies: exchange.Bodies{Dir: o.BodiesDir}, Rules: o.Rules, Now: o.Now, Timer: o.Timer, Log: o.Log,
	}
	j := jobs.Config{
		Source: o.Source, Wire: wire, Ledger: o.Ledger, Queues: o.Queues, Webhooks: o.Webhooks, Inventory: o.Inventory, DownloadsDir: o.DownloadsDir,
		Clock: clockBy(now), Log: o.Log, List: remoteJobs{Source: o.Source, Wire: wire, Now: now},
	}
	if o.Journal != nil { // a nil pointer in an interface would not be nil
		f.Journal, j.Journal = o.Journal, o.Journal
	}
	if o.Drift != nil {
		f.Drift = o.Drift
		j.Coverages = coverages{o.Drift}
	}
	c := &Client{
		Fetcher: fetch.New(f),
		Runner:  jobs.New(j),
		source:  o.Source,
		wire:    wire,
		now:     now,
		log:     cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
	}
	if o.OtherProfiles != nil && o.Ledger != nil {
		c.otherRunners = newOthers(o, j)
	}
	c.Drift = Drift{o.Drift, o.Name, c.Jobs}
	c.catalogue = catalogue.New(catalogue.Config{Dir: o.CatalogueDir, Place: c.place, Ask: c.scrapers, Now: c.now})
	o.Launch.Machine, o.Launch.Settler, o.Launch.Catalogue = c.Runner, c.Settler(), c.catalogue
	c.Launching = jobs.NewLaunching(o.Launch)
	c.Passwords = password.New(password.Config{Source: o.Source, Wire: wire, Prover: c})
	return c
}

// clockBy makes a function a clock, coverages give results to drift, and remoteJobs reads the service's list of jobs.
type (
	clockBy    func() time.Time
	coverages  struct{ *drift.Monitor }
	remoteJobs overview.Config
)

func (c clockBy) Now() time.Time                         { return c() }
func (c coverages) Coverage(job model.Job) jobs.Coverage { return c.Result(job) }
func (c remoteJobs) RemoteJobs(ctx context.Context, key, dataset string, most int) ([]model.RemoteJob, int, error) {
	return overview.Jobs(ctx, overview.Config(c), key, dataset, most)
}

// Close waits until ctx ends, or until the calls under way have ended, each by its
// context, and their outcomes are written. It does not close the journal and the
// ledger: their opener does so afterwards.
func (c *Client) Close(ctx context.Context) error { return c.wire.Wait(ctx) }

// Overview asks the account what it has, with the named key of the inventory or else the profile's.
// See overview.GetAccount.
func (c *Client) Overview(ctx context.Context, key string) (overview.Account, error) {
	return overview.GetAccount(ctx, c.overview(), key)
}

// ListedDatasets lists the data sets of the service. See overview.ListedDatasets.
func (c *Client) ListedDatasets(ctx context.Context, key string) (sets []model.ListedDataset, skipped int, err error) {
	return overview.ListedDatasets(ctx, c.overview(), key)
}

// Datasets lists the data sets that jobs can be started for. See catalogue.Catalogue.
func (c *Client) Datasets(ctx context.Context, key string, anew bool) (catalogue.Listing, error) {
	return c.catalogue.List(ctx, key, anew)
}

// Dataset finds a data set by its identifier or name. See catalogue.Catalogue.
func (c *Client) Dataset(ctx context.Context, key, name string) (model.Dataset, catalogue.Listing, error) {
	return c.catalogue.Find(ctx, key, name)
}

// place identifies the service of the profile in use. The embedded emulator has different addresses
// each time, so it has a fixed name.
func (c *Client) place(ctx context.Context) (catalogue.Place, error) {
	p, d, err := exchange.Current(ctx, c.source)
	if err != nil {
		return catalogue.Place{}, err
	}
	out := catalogue.Place{Name: p.BaseURL + " " + string(p.Account) + " " + p.APIVersion, HasList: d.ListsScrapers() && p.BaseURL != "", Products: d.Products()}
	if p.Local {
		out.Name = "the embedded emulator"
	}
	return out, nil
}

func (c *Client) scrapers(ctx context.Context, key, dataset string) ([]model.Dataset, int, error) {
	return overview.Datasets(ctx, c.overview(), key, dataset)
}

// ShowZone asks what the account says of one zone. See overview.GetZone.
func (c *Client) ShowZone(ctx context.Context, key string, zone model.ZoneName) (overview.Zone, error) {
	return overview.GetZone(ctx, c.overview(), key, zone)
}

func (c *Client) overview() overview.Config {
	return overview.Config{Source: c.source, Wire: c.wire, Now: c.now}
}

// MeasureRates asks the account what the zones of the profile cost, with the named key of the inventory
// or else the profile's. See rates.Measure.
func (c *Client) MeasureRates(ctx context.Context, key string) ([]model.ZoneCost, error) {
	return rates.Measure(ctx, rates.Config{Source: c.source, Wire: c.wire}, key)
}

// KeyLevels returns the levels that a key may have, by what it can see of an account. The key need not be
// stored. Nothing is changed. See account.Levels.
func (c *Client) KeyLevels(ctx context.Context, p model.Profile, key keystore.Secret) ([]model.Level, error) {
	return c.account().Levels(ctx, p, key)
}

// account configures questions to accounts.
func (c *Client) account() account.Config {
	return account.Config{Wire: c.wire, Now: c.now, Prober: c}
}

// ProbeDraft makes one call through the proxy of any profile, to prove a zone's password.
func (c *Client) ProbeDraft(ctx context.Context, p model.Profile, z model.Zone, password keystore.Secret) (model.ProbeResult, error) {
	f := fetch.New(fetch.Config{
		Source: exchange.Fixed(p, model.Key{}, password), Wire: c.wire, Now: c.now,
	})
	return f.ProvePassword(ctx, z, password)
}
