package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/account"
	"zonedeck/service/ask"
	"zonedeck/service/batch"
	"zonedeck/service/catalogue"
	"zonedeck/service/clients"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/drift"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/files"
	"zonedeck/service/history"
	"zonedeck/service/inbox"
	"zonedeck/service/jobs"
	"zonedeck/service/journal"
	"zonedeck/service/keys"
	"zonedeck/service/ledger"
	"zonedeck/service/local"
	"zonedeck/service/overview"
	"zonedeck/service/pace"
	"zonedeck/service/password"
	"zonedeck/service/profiles"
	"zonedeck/service/rules"
	"zonedeck/service/share"
)

// Options configure a Service. An empty string means not given.
type Options struct {
	Getenv func(string) string
	// Environ are the names and values of the environment, as NAME=VALUE, to find misspelt names; nil looks for none.
	Environ []string
	Now     func() time.Time
	Log     *slog.Logger
	// Version is the program's version, for files that name their creator.
	Version string
	// Program is the file of this program, which serves the embedded emulator in a process of its own. Empty serves it in
	// this process.
	Program string
	// Say prints one line for the operator.
	Say func(format string, args ...any)

	Profile, Config, BaseURL, ProxyHost string // the global flags of the same names
	ConfigText                          []byte // of a Config that can be read only once, as from a pipe
	Database                            string // --database of the command
	Key                                 string // --key of the command
	NoInput                             bool   // --no-input

	// Unattended is set for a command: no person decides on each call. AdminReason is why it
	// may still use an ADMIN key; empty means that it may not.
	Unattended  bool
	AdminReason string
	// AllowKeys are keys of other accounts that may be sent even so, as NAME=ADDRESS.
	AllowKeys []string
	// Console is set if a person sits at a screen, which shows notices and read errors.
	Console bool
	// Agent is set if an agent decides. The history marks what it does.
	Agent bool

	// Ask asks a person questions that come up, such as for the passphrase of the secrets; nil asks nobody.
	// Passphrase is that passphrase, if it was typed before.
	Ask        ask.Asker
	Passphrase keystore.Secret

	// Look only reads: no folder is made.
	Look bool
	// NoProfile opens the files without a profile in use: for commands about the profiles.
	NoProfile bool

	// Journal is set if the history is read or written, Ledger if jobs are, and Rules if
	// the operator's rules judge answers.
	Journal, Ledger, Rules bool
}

// Service holds what a command works with: the profile in use, its keys, the journal
// and the ledger. It is closed when the command ends. Its methods are safe for
// concurrent use.
type Service struct {
	Paths     config.Paths
	Base      model.Profile // as configured; empty addresses for the emulator
	Resolver  *keystore.Resolver
	Profiles  *profiles.Profiles
	Keys      *keys.Keys
	Fetch     *fetch.Fetcher
	Batches   *batch.Batches
	Jobs      *jobs.Jobs
	Passwords *password.Changer // of zones
	Drift     drift.Subjects    // of the profile in use
	Overview  overview.Config   // of its account
	History   *history.History
	Inbox     *inbox.Inbox
	Local     *local.Emulator // nil for a real account
	InUse     *config.InUse
	Variables *variables

	LedgerFault error    // why there is no ledger of jobs, or nil
	Notices     []string // what the operator must be told about the files
	Warnings    []string // the same of the environment, also where only failures are told
	Implied     bool     // nothing was configured, so the embedded emulator is used

	o       Options
	added   *rules.File
	asRead  stamps // of the files, when Open read them
	journal *journal.Journal
	ledger  *ledger.Ledger
	files   *files.Files
	account account.Config
	spoken  sync.Once
	trimmed sync.Map     // the references whose marks were named
	turns   atomic.Int64 // how often the session was described
}

// ReadAtOnce is the largest inventory, in bytes, that is read before the first paint: 200 keys, read in
// some milliseconds.
const ReadAtOnce = 64 << 10

// emulator is the embedded emulator of this user.
func (o Options) emulator(paths config.Paths) *local.Emulator {
	return local.New(paths, o.Getenv, o.Now, o.Log).ServedBy(o.Program, o.Version)
}

// Open reads the configuration and opens the files. It does no network I/O: the
// first call that needs an embedded emulator starts it.
func Open(ctx context.Context, o Options) (*Service, error) {
	s := &Service{o: o, Paths: config.FindPaths(o.Getenv)}
	s.asRead = s.stamps() // before anything is read, to notice any change after that
	if err := cmp.Or(s.Paths.HomeKnown(), s.choose(), s.checkDatabase(), s.Paths.Trusted()); err != nil {
		return nil, err
	}
	s.Warnings = s.unknownVariables()
	s.files = files.New(s.Paths, clock{s}, voice(o.Say), s, o.Log)
	if !o.Look {
		if err := s.Paths.Ensure(); err != nil {
			s.Notices = append(s.Notices, notKept(err))
		}
	}
	for _, path := range []string{s.configFile(), s.Paths.KeysFile(), s.Paths.RulesFile()} {
		if textfile.Marked(path) {
			s.Notices = append(s.Notices, "U+FEFF at the beginning of "+path+" was taken off")
		}
	}
	s.added = rules.New(s.Paths.RulesFile())
	if err := s.checkRules(s.added); err != nil {
		return nil, err
	}
	s.Resolver = keystore.NewResolver(keystore.ResolverOptions{
		Getenv: o.Getenv, Demo: s.demoSecret, SecretsDir: s.Paths.SecretsDir(), Passphrase: o.passphrase, Trimmed: s.sayTrimmed,
	})
	s.Variables = &variables{Service: s, answers: map[string]model.Variable{}, secrets: map[string]keystore.Secret{}}
	s.Keys = keys.New(ctx, s.keysConfig())
	inventory := s.Keys.Inventory()
	if !o.Console || s.asRead.keys.size <= ReadAtOnce {
		if err := inventory.Read(); err != nil && !o.Console {
			return nil, err
		}
		if unknown := s.Keys.UnknownRotations(); unknown != "" {
			s.Notices = append(s.Notices, unknown)
		}
	}
	if o.Journal {
		if err := s.openJournal(ctx); err != nil {
			return nil, errors.Join(err, s.files.Close())
		}
		s.files.Tidy(ctx)
	}
	if o.Ledger {
		if err := s.openLedger(ctx); err != nil {
			return nil, errors.Join(err, s.files.Close())
		}
	}
	s.Notices = append(s.Notices, s.files.Notices()...)
	kept := s.journal
	if kept == nil {
		kept = journal.None()
	}
	s.History = history.New(kept, s.Paths, o.Version, o.Now)
	s.connectKeys()
	s.Inbox = inbox.New(inbox.Config{Profiles: s.InUse, Files: s.files, Secrets: s.Keys, Jobs: jobsOfInbox{s}, History: kept, Paths: s.Paths, Log: o.Log})
	s.join()
	return s, nil
}

// sayTrimmed names the marks that were taken off a secret, once.
func (s *Service) sayTrimmed(ref, marks string) {
	if _, again := s.trimmed.LoadOrStore(ref, true); !again {
		voiceOfKeys{s}.Say("zonedeck: %s at the ends of %s was taken off", marks, ref)
	}
}

// join makes the use cases that make calls. It does no I/O.
func (s *Service) join() {
	o, now := s.o, clock{s}
	wire := exchange.New(exchange.Config{Now: now.Now, Timer: o.Now, Used: s.Keys.Events().Sent})
	monitor := drift.NewMonitor(drift.Config{Open: s.files.Drift, ContractsDir: s.Paths.ContractsDir(), Person: person(o.Getenv)})
	s.Overview = overview.Config{Source: s.Keys, Wire: wire, Now: now.Now}
	f := fetch.Config{
		Source: s.Keys, Wire: wire, Bodies: exchange.Bodies{Dir: s.Paths.BodiesDir()}, Rules: s.added.For, Drift: monitor,
		Now: now.Now, Timer: o.Now, Log: o.Log,
		Pace: s.pace(now),
	}
	j := jobs.Parts{
		Config: jobs.Config{
			Source: s.Keys, Wire: wire, Ledger: s.ledger, Queues: s.files, Webhooks: webhooks{s}, Inventory: s.Keys.Inventory(),
			DownloadsDir: s.Paths.DownloadsDir(), Clock: now, Log: o.Log, List: s.Overview, Coverages: coverages{monitor},
		},
		Launch:        jobs.LaunchConfig{Profile: s, Keys: s.Keys, Inbox: s.Inbox, InputLists: jobs.InputLists{Paths: s.Paths, Clock: s}},
		Catalogue:     catalogue.New(catalogue.Config{Dir: s.Paths.CatalogueDir(), Service: listed{s.Overview}, Now: now.Now}),
		OtherProfiles: s.Keys, Machine: machine{now}, OtherList: overview.Config{Source: s.Keys, Wire: wire, Now: machine{now}.Now},
	}
	if s.journal != nil { // a nil pointer in an interface would not be nil
		f.Journal, j.Journal = s.journal, s.journal
	}
	s.Fetch, s.Jobs = fetch.New(f), jobs.Join(j)
	b := batch.Config{Fetch: s.Fetch, Files: s.files, Dir: s.Paths.BatchesDir(), Database: s.namedDatabase(), Journal: journal.None(), Drift: monitor, Clock: machine{now}, Log: o.Log, Profiles: s}
	if s.journal != nil {
		b.Journal = s.journal
	}
	s.Batches = &batch.Batches{Config: b}
	s.Drift = drift.Subjects{Monitor: monitor, Profile: s.Base.Name, Jobs: s.Jobs}
	s.Passwords = password.New(password.Config{Source: s.Keys, Wire: wire, Prover: s.Fetch})
	s.account = account.Config{Wire: wire, Now: now.Now, Prober: s.Fetch}
	s.Profiles = profiles.New(profiles.Config{
		InUse: s.InUse, Keys: s.Keys, Secrets: s.Resolver, Account: s.account, Rotations: s.Rotations(nil), Jobs: ledgerJobs{s}, Paths: s.Paths, Env: environment{o},
	})
}

// pace is the memory of how fast zones go: on the server, if a database is named.
func (s *Service) pace(now clock) *pace.Limiter {
	zones, safes := pace.Files{Dir: s.Paths.PaceDir()}, pace.Safes{Dir: filepath.Join(s.Paths.PaceDir(), "safe")}
	l := &pace.Limiter{Store: zones, Safes: safes, Clock: now, Log: s.o.Log}
	if s.OnServer() {
		p := &share.Paces{Servers: s.files, Zones: zones, Safes: safes, Clock: now}
		l.Store, l.Safes = p, p
	}
	return l
}

// coverages give the rows of results to drift.
type coverages struct{ *drift.Monitor }

func (c coverages) Coverage(job model.Job) jobs.Coverage { return c.Result(job) }

// listed is the service as its lists of data sets are kept.
type listed struct{ overview.Config }

// Place identifies the service of the profile in use. The embedded emulator has different addresses
// each time, so it has a fixed name.
func (l listed) Place(ctx context.Context) (catalogue.Place, error) {
	p, d, err := exchange.Current(ctx, l.Source)
	if err != nil {
		return catalogue.Place{}, err
	}
	return place(p, d), nil
}

func place(p model.Profile, d dialect.Dialect) catalogue.Place {
	out := catalogue.Place{Name: p.BaseURL + " " + string(p.Account) + " " + p.APIVersion, HasList: d.ListsScrapers() && p.BaseURL != "", Products: d.Products()}
	if p.Local {
		out.Name = "the embedded emulator"
	}
	return out
}

// KnownDatasets are the data sets that are known of the profile's service without asking it.
func (s *Service) KnownDatasets() []model.Dataset {
	if s.Base.Local {
		return s.Jobs.Cached(place(s.Base, dialect.Embedded()), local.Datasets()...)
	}
	d, err := dialect.Find(s.Base.Dialect)
	if err != nil {
		return nil
	}
	return s.Jobs.Cached(place(s.Base, d))
}

// passphrase returns the passphrase of the secrets: from the environment, as typed before, or as answered now.
// It is empty if there is nobody to ask.
func (o Options) passphrase(ctx context.Context, what string) (keystore.Secret, error) {
	if env := o.Getenv(EnvPassphrase); env != "" {
		return keystore.NewSecret(env), nil
	}
	if !o.Passphrase.Empty() {
		return o.Passphrase, nil
	}
	answer, err := ask.In(ctx, o.Ask).Ask(ctx, ask.Question{Kind: ask.Passphrase, About: "secrets", Text: what, Want: ask.Secret})
	if _, open := errors.AsType[*ask.Unanswered](err); open {
		return keystore.Secret{}, nil
	}
	return answer.Secret, err
}

// Unlock asks for the passphrase of the secrets now rather than later. If no passphrase protects them, it does
// nothing.
func (o Options) Unlock(ctx context.Context) error {
	return keystore.NewResolver(keystore.ResolverOptions{SecretsDir: config.FindPaths(o.Getenv).SecretsDir(), Passphrase: o.passphrase}).Unlock(ctx)
}

// ledgerJobs is the ledger for a command that has not opened it, such as one about secrets.
type ledgerJobs struct{ s *Service }

func (j ledgerJobs) AuthUses(ctx context.Context) (uses []model.AuthUse, err error) {
	l, done, err := j.s.files.LedgerIfAny(ctx)
	if l == nil || err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	return jobs.AuthUses(ctx, l)
}

func (j ledgerJobs) SwitchAuth(ctx context.Context, from, to string) (err error) {
	l, done, err := j.s.files.LedgerIfAny(ctx)
	if l == nil || err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return jobs.SwitchAuth(ctx, l, from, to)
}

// clock tells the times of a run.
type clock struct{ s *Service }

func (c clock) Now() time.Time     { return c.s.Now() }
func (c clock) Machine() time.Time { return c.s.o.Now() }

// machine is this machine's clock.
type machine struct{ clock }

func (m machine) Now() time.Time { return m.Machine() }

// webhooks gives the configured time to wait for a webhook.
type webhooks struct{ s *Service }

func (w webhooks) WebhookDue() time.Duration { return w.s.Configuration().Webhook().Due }

// jobsOfInbox passes webhooks on to the jobs, which are joined after the inbox.
type jobsOfInbox struct{ s *Service }

func (j jobsOfInbox) HeardWebhook(ctx context.Context, news model.WebhookNews) (job, said string, err error) {
	return j.s.Jobs.HeardWebhook(ctx, news)
}

// voice prints lines for the operator.
type voice func(format string, args ...any)

func (v voice) Say(format string, args ...any) { v(format, args...) }

// checkRules checks the operator's rules before anything is sent. If they are wrong, a command
// fails, because its exit code would mean something else without them. A console says so.
func (s *Service) checkRules(added *rules.File) error {
	if !s.o.Rules {
		return nil
	}
	_, err := added.Rules()
	switch {
	case err == nil:
		return nil
	case s.o.Unattended:
		return config.Mistake("%w", err)
	default:
		s.Notices = append(s.Notices, fmt.Sprintf("your rules are not used until this is corrected: %v", err))
		return nil
	}
}

// openJournal opens the history. If that fails, the program says so and goes on
// without it.
func (s *Service) openJournal(ctx context.Context) error {
	j, fault, err := s.files.Journal(ctx)
	if fault != nil {
		s.Notices = append(s.Notices, fmt.Sprintf("no history is kept: %v", fault))
	}
	s.journal = j
	if j != nil && s.o.Agent {
		j.Attribute(model.SourceAgent)
	}
	return err
}

// openLedger opens the ledger of jobs. If that fails, the program says so and goes on
// without it: no job can be launched.
func (s *Service) openLedger(ctx context.Context) error {
	l, fault, err := s.files.Ledger(ctx)
	s.ledger, s.LedgerFault = l, fault
	switch {
	case fault != nil:
		s.Notices = append(s.Notices, fmt.Sprintf("no job can be launched: %v", fault))
	case l != nil && l.Frozen() != nil:
		s.Notices = append(s.Notices, fmt.Sprintf("the ledger of jobs is read-only, so no job can be launched: %v", l.Frozen()))
	}
	return err
}

// Profile returns the profile in use, with live addresses.
func (s *Service) Profile(ctx context.Context) (model.Profile, error) {
	return s.Keys.Profile(ctx)
}

// Now is the time at the service in use: the machine's, or the emulator's, which may
// have been moved forward. The emulator itself, and deletion by age, use the
// machine's clock.
func (s *Service) Now() time.Time {
	if s.Local == nil {
		return s.o.Now()
	}
	return s.Local.Now()
}

// NowOf is the time that dates the jobs of a profile: Now for the profile in use, else the machine's.
func (s *Service) NowOf(profile string) time.Time {
	if profile == "" || profile == s.Base.Name {
		return s.Now()
	}
	return s.o.Now()
}

// Ahead is how far the service's time is ahead of the machine's.
func (s *Service) Ahead() time.Duration {
	if s.Local == nil {
		return 0
	}
	return s.Local.Ahead()
}

// CurrentProfile is the profile in use as currently known. It does no I/O.
func (s *Service) CurrentProfile() model.Profile {
	return s.InUse.Profile()
}

// State is what a user interface shows of a run.
type State struct {
	Profile model.Profile
	// Keys are all keys: first Supplied, which come with the profile, then the inventory's. Key is the profile's.
	Keys, Supplied []model.Key
	Key            model.Key
	// Unread is why the inventory's keys are unknown, or nil.
	Unread error
	// Ready says that calls can be made. Problem says why not, or is empty.
	Ready   bool
	Problem string
	Notes   []string
	// Ahead is how far the service's time is ahead of the machine's.
	Ahead time.Duration
	// Faults is how many faults of the emulator are on.
	Faults int
	// Replaced is the profile's own key, if the environment's is used instead.
	Replaced string
	// OtherAccounts says, for each key of another account, which profiles it belongs to.
	OtherAccounts map[string]string
	// Turn counts the descriptions.
	Turn int64
}

// State describes the run, without waiting.
func (s *Service) State() State {
	p := s.CurrentProfile()
	inventory := s.Keys.Inventory()
	recorded, unread := inventory.Known()
	supplied := inventory.Supplied(recorded)
	d := State{Profile: p, Keys: slices.Concat(supplied, recorded), Supplied: supplied, Unread: unread, Turn: s.turns.Add(1)}
	if i := slices.IndexFunc(d.Keys, func(k model.Key) bool { return k.Name == p.Key }); i >= 0 {
		d.Key = d.Keys[i]
	}
	if err := s.InUse.Withdrawn(); err != nil {
		d.Problem = err.Error()
		return d
	}
	if s.Local != nil {
		d.Notes, d.Ready, d.Faults = s.Local.Notes(), s.InUse.Known(), s.Local.Faults()
	} else if d.Ready = unread == nil; !d.Ready && !errors.Is(unread, keystore.ErrKeysUnread) {
		d.Problem = unread.Error()
	}
	d.Ahead, d.Replaced = s.Ahead(), s.Keys.Replaced()
	d.OtherAccounts = s.Keys.Owners().OtherAccounts(p, recorded)
	return d
}

// Machine is this machine as other clients see it. It has the clock that crypto/tls verifies chains
// with: no page may contradict a handshake.
func (s *Service) Machine() clients.Machine {
	return clients.Machine{Getenv: s.o.Getenv, Now: time.Now}
}

// closePatience bounds each part of Close.
const closePatience = 5 * time.Second

// LaterNotices are what the operator must be told about files that were opened since Open.
func (s *Service) LaterNotices() []string { return s.files.Notices() }

// Close ends the run: first the calls, then pending writes to the inventory and the
// history, then the emulator. It gives up on calls after five seconds, and on writes
// after ten.
func (s *Service) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, closePatience)
		defer cancel()
		s.Batches.Stop()
		err := s.Overview.Wire.Wait(ctx)
		s.files.Settle()
		s.Keys.Close()
		ended <- errors.Join(err, s.files.Close())
	}()
	timer := time.NewTimer(2 * closePatience)
	defer timer.Stop()
	var err error
	select {
	case err = <-ended:
	case <-timer.C:
		err = fmt.Errorf("the files were not written within %s", 2*closePatience)
	}
	if s.Local != nil {
		ctx, cancel := context.WithTimeout(ctx, closePatience)
		defer cancel()
		err = errors.Join(err, s.Local.Close(ctx))
	}
	return err
}

// notKept reports folders that cannot be created: the first error, and a count of the
// others, because with a read-only home all of them fail alike.
func notKept(err error) string {
	first, rest, several := strings.Cut(err.Error(), "\n")
	text := "not everything will be kept: " + first
	if several {
		text += fmt.Sprintf(" (and %d more of 'zonedeck paths')", 1+strings.Count(rest, "\n"))
	}
	return text
}

// person is the operator's name in the history, such as for who accepts drift.
func person(getenv func(string) string) string {
	return model.Line(cmp.Or(getenv("USER"), getenv("USERNAME"), "operator"), 60)
}
