package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/database"
	"zonedeck/service/database/postgrestest"
	"zonedeck/service/emulator"
	"zonedeck/service/emulator/fault"
	"zonedeck/service/emulator/scenario"
	"zonedeck/service/exchange"
	"zonedeck/service/jobs"
	"zonedeck/service/ledger"
	"zonedeck/service/rehearsal"
	"zonedeck/service/servicetest"
	"zonedeck/service/webhook"
	"zonedeck/service/work"
	"zonedeck/service/work/worktest"
)

// operatorEnv turns the test binary into a console that works on one job to its end, and settles
// unknown outcomes like an operator. Its value is an operator as JSON.
const operatorEnv = "ZONEDECK_SERVICE_OPERATOR"

// operator configures such a process.
type operator struct {
	Dir, URL, Key string
	// Database has ledger and inbox; without one they are files in Dir.
	Database string
	Account  model.AccountID
	// Product is the job's product, or empty for a data set. Service is the folder of the
	// emulator's state: no list shows a product's jobs, so a person looks for them there.
	Product, Service string
	// Webhook is the address of its webhooks, or empty. WebhookDue is how long it waits for one.
	Webhook    string
	WebhookDue time.Duration
	// Die is the reading of the clock at which the process kills itself; 0 for never. The clock is
	// read before and within every write to the ledger, and around every call.
	Die int64
}

// crashInputs are the inputs of an operator's one job; the second is a dead page.
var crashInputs = []string{"http://lab.test/product/1", "http://lab.test/product/99"}

// operate works until the result is on disk, and prints how often it read the clock.
func operate(raw string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var o operator
	err := json.Unmarshal([]byte(raw), &o)
	var looks atomic.Int64
	if err == nil {
		err = o.work(ctx, func() time.Time {
			if looks.Add(1) == o.Die {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = self.Kill()
				}
				fmt.Fprintln(os.Stderr, "killing itself:", err)
				select {} // until it is dead
			}
			return time.Now()
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the operator gave up:", err)
		return 1
	}
	fmt.Println(looks.Load())
	return 0
}

// client makes a console's client, with its ledger on a server unless that is nil. Only the end of the process closes it.
func (o operator) client(ctx context.Context, s *database.Server, now func() time.Time) (*jobs.Jobs, *ledger.Ledger, error) {
	path := filepath.Join(o.Dir, "ledger.db")
	l, notice, err := (*ledger.Ledger)(nil), "", error(nil)
	if s != nil {
		l, notice, err = ledger.OpenServer(ctx, s, path, "here", now)
	} else {
		l, notice, err = ledger.Open(ctx, path, now)
	}
	if err == nil && (strings.Contains(notice, "was cut") || strings.Contains(notice, "was damaged") || strings.Contains(notice, "could not be read")) {
		err = errors.New(notice)
	}
	if err != nil {
		return nil, nil, err
	}
	p := servicetest.Profile(o.URL)
	p.Account, p.Local = o.Account, true
	queue := worktest.NewMemory()
	return joined(jobs.Config{
		Source: servicetest.Source{
			Base:     servicetest.SourceFor(p),
			SecretBy: func(context.Context, string) (keystore.Secret, error) { return keystore.NewSecret(o.Key), nil },
			KeyBy: func(name string) (model.Key, bool) {
				return model.Key{Name: name, Level: model.LevelUser, Secret: name}, true
			},
		},
		Queues: servicetest.QueuesFunc(func(context.Context) (work.Queue, error) { return queue, nil }), Webhooks: dueAfter(o.WebhookDue), Ledger: l, DownloadsDir: filepath.Join(o.Dir, "downloads"),
	}, now), l, nil
}

func (o operator) work(ctx context.Context, now func() time.Time) error {
	var s *database.Server
	if o.Database != "" {
		var err error
		if s, err = database.OpenServer(ctx, o.Database); err != nil {
			return err
		}
	}
	c, _, err := o.client(ctx, s, now)
	if err != nil {
		return err
	}
	if _, err := c.Recover(ctx); err != nil {
		return err
	}
	ask := o.ask()
	if o.Webhook != "" {
		r, err := o.receive(ctx, c, s, now)
		if err != nil {
			return err
		}
		defer r.Close()
		ask.Settings.Notify = model.WebhookAddress(o.Webhook, strings.Repeat("t", 16))
	}
	for ctx.Err() == nil {
		list, _, err := c.Jobs(ctx, 0)
		if err != nil {
			return err
		}
		switch job := append(list, model.Job{})[0]; job.State {
		case model.JobDownloaded:
			return nil
		case "", model.JobNotSent, model.JobRefused:
			_, err = c.Trigger(ctx, ask)
		case model.JobMayHave:
			err = o.settle(ctx, c, job)
		case model.JobReady:
			_, err = c.Download(ctx, job.ID, jobs.Destination{Format: "ndjson"}, nil)
		case model.JobAccepted, model.JobRunning:
			err = o.await(ctx, c, job)
		default:
			return fmt.Errorf("the job %s: %s", job.State.Predicate(), job.Detail)
		}
		if err != nil && !passes(err) {
			return err
		}
	}
	return context.Cause(ctx)
}

// passes reports whether a call may be repeated after an error.
func passes(err error) bool {
	var fault *exchange.CallError
	return errors.As(err, &fault) || errors.Is(err, jobs.ErrNotReady) || errors.Is(err, jobs.ErrSettled) // by a webhook
}

// crashDue is how long such a console waits for a webhook, unless only the webhook should end
// the wait.
const crashDue = 300 * time.Millisecond

// receive receives webhooks for the console's jobs.
func (o operator) receive(ctx context.Context, c *jobs.Jobs, s *database.Server, now func() time.Time) (*webhook.Receiver, error) {
	in, notice, err := o.inbox(ctx, s, now)
	if err == nil && notice != "" {
		err = errors.New(notice)
	}
	if err != nil {
		return nil, err
	}
	return webhook.Listen(ctx, "127.0.0.1:0", false, webhook.Config{Inbox: in, Jobs: c})
}

func (o operator) inbox(ctx context.Context, s *database.Server, now func() time.Time) (*webhook.Inbox, string, error) {
	return webhook.Open(ctx, webhook.Options{File: filepath.Join(o.Dir, "webhooks.db"), Dir: filepath.Join(o.Dir, "webhooks"), Clock: servicetest.ClockFunc(now), Server: s, Machine: "here"})
}

// await waits until a job is over. A job with a webhook is followed: then the webhook, or its
// deadline, has the service asked.
func (o operator) await(ctx context.Context, c *jobs.Jobs, job model.Job) error {
	if o.Webhook == "" {
		_, err := c.Watch(ctx, job.ID, nil)
		return err
	}
	following, end := context.WithCancel(ctx)
	defer end()
	return c.Follow(following, func(f jobs.Followed) {
		if f.Job.ID == "" || f.Job.State.Final() {
			end()
		}
	})
}

// settle adopts the one job of the service's list that fits, or marks that there is none. The
// service has dealt with everything that killed consoles sent.
func (o operator) settle(ctx context.Context, c *jobs.Jobs, job model.Job) error {
	if o.Product != "" {
		return o.settleProduct(ctx, c, job)
	}
	for ctx.Err() == nil {
		found, err := c.Settler().Candidates(ctx, job.ID)
		switch call := (*exchange.CallError)(nil); {
		case errors.As(err, &call):
			continue // the list has faults, too
		case err != nil:
			return err
		case len(found) == 0:
			_, err = c.Settler().NotStarted(ctx, job.ID)
			return err
		case strings.Contains(found[0].Against, "rows"):
			continue // they come later, or the question for them met a fault
		case len(found) > 1 || found[0].Inputs >= 0 && found[0].Against != "":
			return fmt.Errorf("candidates: %+v", found)
		case found[0].Inputs >= 0: // else the question about its inputs met a fault
			_, err = c.Settler().Claim(ctx, job.ID, found[0].Snapshot, false)
			return err
		}
	}
	return context.Cause(ctx)
}

// crashCase is a kind of job, and what the service does meanwhile.
type crashCase struct {
	product string // empty for a data set
	rules   []fault.Rule
}

// crashCases are the cases of data sets and of products without data sets.
func crashCases() map[string]crashCase {
	out := productCrashes()
	for name, rules := range datasetFaults() {
		out[name] = crashCase{rules: rules}
	}
	return out
}

func datasetFaults() map[string][]fault.Rule {
	rule := func(path string, times int64, do fault.Action) fault.Rule {
		return fault.Rule{ID: "f", Match: fault.Match{Point: fault.API, Path: path}, When: fault.When{Times: times}, Do: do}
	}
	return map[string][]fault.Rule{
		"none":                         nil,
		"dropped before acceptance":    {rule("*/trigger", 1, fault.Action{Kind: fault.Drop})},
		"dropped after acceptance":     {rule("*/trigger", 1, fault.Action{Kind: fault.Drop, Accepted: true})},
		"reset after acceptance":       {rule("*/trigger", 1, fault.Action{Kind: fault.Reset, Accepted: true})},
		"garbage after acceptance":     {rule("*/trigger", 1, fault.Action{Kind: fault.Malformed, Accepted: true})},
		"503 after acceptance":         {rule("*/trigger", 1, fault.Action{Kind: fault.Status, Status: 503, Accepted: true})},
		"a storm of 429 at triggers":   {rule("*/trigger", 4, fault.Action{Kind: fault.TooFast})},
		"a storm of 429 at questions":  {rule("*/progress/*", 4, fault.Action{Kind: fault.TooFast})},
		"dropped answers to questions": {rule("*/progress/*", 3, fault.Action{Kind: fault.Drop})},
		"a webhook":                    nil,
		"a webhook that comes twice":   {{ID: "f", Match: fault.Match{Point: fault.Webhook}, Do: fault.Action{Kind: fault.Twice, Copies: 3}}},
		"a webhook that comes late":    {{ID: "f", Match: fault.Match{Point: fault.Webhook}, Do: fault.Action{Kind: fault.Late, Delay: fault.Delay{Fixed: 2 * crashDue}}}},
		"a webhook that never comes":   {{ID: "f", Match: fault.Match{Point: fault.Webhook}, Do: fault.Action{Kind: fault.Never}}},
		"a webhook, and a lost answer": {rule("*/trigger", 1, fault.Action{Kind: fault.Drop, Accepted: true})},
		"cut downloads":                {rule("*/snapshot/*", 3, fault.Action{Kind: fault.Cut, After: 40})},
	}
}

// TestNoKillLosesOrDoublesAJob kills a console at every reading of its clock: before and within
// each write of the ledger and around each call, under every fault of the service. The next
// console is killed once more, at random, and the one after that goes on to the end.
// ZONEDECK_CRASHES is the least number of kills; docs/reliability.md has the figures.
func TestNoKillLosesOrDoublesAJob(t *testing.T) {
	want, err := strconv.Atoi(cmp.Or(os.Getenv("ZONEDECK_CRASHES"), "20"))
	noerr.Must(t, err)
	cases := crashCases()
	share := max(1, (want+len(cases)-1)/len(cases))
	var total, runs atomic.Int64
	t.Cleanup(func() { t.Logf("%d kills in %d runs", total.Load(), runs.Load()) })
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time they wait
			var due, patient time.Duration
			if strings.HasPrefix(name, "a webhook") {
				due, patient = crashDue, crashDue
			}
			if comes := due > 0 && !strings.HasSuffix(name, "never comes"); comes {
				patient = model.WebhookWait // the webhook alone ends the wait
			}
			looks, _ := crashRun(t, cases[name], patient) // how often a run without kills reads the clock
			kills, random := 0, rand.New(rand.NewPCG(1, uint64(share)))
			for i := 0; kills < share && i < 4*share; i++ {
				// Evenly over all readings, and again from the first if there are more kills than readings.
				first := 1 + (int64(2*i+1)*looks/int64(2*share))%looks
				if i >= share { // a run that waits less looks less often, so one before it may not have come that far
					first = 1 + random.Int64N(first)
				}
				_, n := crashRun(t, cases[name], due, first, 1+random.Int64N(looks))
				kills += n
				runs.Add(1)
			}
			if kills < share {
				t.Errorf("%d kills, want %d", kills, share)
			}
			total.Add(int64(kills))
			t.Logf("%d looks at the clock, %d kills", looks, kills)
		})
	}
}

// crash is one run: an emulator, and one console after another.
type crash struct {
	operator

	service *gate
	console atomic.Int64 // the process that runs
	server  *database.Server
}

// crashRun has one console after another work on a job until its end. Each is killed at its
// reading of the clock, except the last. With due they wait that long for a webhook. It returns
// the readings of the last console and how many were killed, and checks that the service has as
// many jobs as the ledger.
func crashRun(t *testing.T, of crashCase, due time.Duration, dies ...int64) (looks int64, kills int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("killed at the looks %v, of %d", dies, kills)
		}
	}()
	sc := scenario.Demo()
	sc.Faults, sc.PageDelay = of.rules, time.Millisecond
	state := t.TempDir()
	demo := servicetest.Emulator(t, emulator.Options{StateDir: state, Scenario: sc, LoopbackWebhooks: true})
	key, _ := demo.Key("batch-user")
	secret, err := demo.Secret(t.Context(), key.Secret)
	noerr.Must(t, err)
	c := &crash{operator: operator{Dir: t.TempDir(), Product: of.product, Service: state, Account: demo.Profile.Account, Key: secret.Reveal(), WebhookDue: due}}
	if postgrestest.Available() {
		c.Database, c.server = postgrestest.Address(t, c.Dir), postgrestest.Server(t, c.Dir)
		defer c.server.Close()
	}
	c.service = openGate(t, func() (string, error) { return strings.TrimPrefix(demo.Profile.BaseURL, "http://"), nil })
	c.URL = "http://" + c.service.address()
	if due > 0 {
		c.Webhook = "http://" + openGate(t, c.receiver).address()
	}
	for _, die := range append(dies, 0) {
		c.Die = die
		n, killed := c.once(t)
		if killed {
			kills++
		} else {
			looks = n
			if die != 0 {
				break // it was done before
			}
		}
	}
	c.check(t)
	if due > 0 {
		c.checkWebhooks(t, demo)
	}
	return looks, kills
}

// receiver is the webhook address of the running console.
func (c *crash) receiver() (address string, err error) {
	raw, err := os.ReadFile(filepath.Join(c.Dir, "webhooks", "receiving.json"))
	var at webhook.Place
	if err == nil {
		err = json.Unmarshal(raw, &at)
	}
	if err == nil && int64(at.PID) != c.console.Load() {
		err = errors.New("that console is dead")
	}
	return strings.TrimPrefix(at.URL, "http://"), err
}

// once runs one console. When it returns, the service has dealt with everything the console sent.
func (c *crash) once(t *testing.T) (looks int64, killed bool) {
	t.Helper()
	raw, err := json.Marshal(c.operator)
	noerr.Must(t, err)
	exe, err := os.Executable()
	noerr.Must(t, err)
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), operatorEnv+"="+string(raw), "GORACE=atexit_sleep_ms=0") // without this, the race detector delays the child's end by a second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	noerr.Must(t, cmd.Start())
	c.console.Store(int64(cmd.Process.Pid))
	err = cmd.Wait()
	c.console.Store(0)
	c.service.settled(t)
	if err == nil {
		looks, err = strconv.ParseInt(strings.TrimSpace(out.String()), 10, 64)
	}
	switch {
	case err == nil:
		return looks, false
	case c.Die != 0 && !cmd.ProcessState.Exited():
		return 0, true
	}
	t.Fatalf("die %d: %v: %s", c.Die, err, &errs)
	return 0, false
}

// check checks that the service has one job, that the ledger has it once and knows its
// identifier, that the file is complete, and that nothing is left unfinished.
func (c *crash) check(t *testing.T) {
	t.Helper()
	console, l, err := c.client(t.Context(), c.server, time.Now)
	noerr.Must(t, err)
	defer l.Close()
	begun, err := c.begun(t.Context(), console)
	if err != nil || len(begun) != 1 {
		t.Fatalf("the service has %q, %v", begun, err)
	}
	list, _, err := console.Jobs(t.Context(), 0)
	noerr.Must(t, err)
	started := 0
	for _, job := range list {
		switch job.State {
		case model.JobDownloaded:
			started++
			whole, err := os.ReadFile(job.File)
			sum := sha256.Sum256(whole)
			useful, failed := c.gives()
			if job.Snapshot != begun[0] || err != nil || hex.EncodeToString(sum[:]) != job.SHA256 || job.Rows.Useful != useful || job.Rows.Failed() != failed {
				t.Errorf("%+v, %v", job, err)
			}
		case model.JobNotSent, model.JobRefused:
		default:
			t.Errorf("left behind: %+v", job)
		}
	}
	if started != 1 {
		t.Errorf("the ledger has the job %d times: %+v", started, list)
	}
}

// checkHooks checks that every webhook acknowledged to the service is in the inbox once, with its
// bytes, and is counted as often as it was acknowledged.
func (c *crash) checkWebhooks(t *testing.T, demo servicetest.Demo) {
	t.Helper()
	in, notice, err := c.inbox(t.Context(), c.server, time.Now)
	if err != nil || notice != "" {
		t.Fatal(err, notice)
	}
	defer in.Close()
	list, _, err := in.List(t.Context(), webhook.Filter{}, 0)
	noerr.Must(t, err)
	control := rehearsal.New(func(context.Context) (rehearsal.Place, error) {
		return rehearsal.Place{URL: demo.Control, Token: keystore.NewSecret(demo.Token)}, nil
	})
	seen, err := control.Newest(t.Context(), 5000)
	noerr.Must(t, err)
	sent, acknowledged := 0, 0
	for _, r := range seen.Requests {
		if r.Point == string(fault.Webhook) {
			sent++
			if r.Status == http.StatusOK {
				acknowledged++
			}
		}
	}
	waited := c.WebhookDue == model.WebhookWait // for the webhook alone
	if len(list) == 0 && acknowledged == 0 && !waited {
		return
	}
	if len(list) != 1 {
		t.Fatalf("%d were acknowledged of %d sent: %+v", acknowledged, sent, list)
	}
	d := list[0]
	raw, err := os.ReadFile(d.File)
	if sum := sha256.Sum256(raw); err != nil || hex.EncodeToString(sum[:]) != d.SHA256 || !strings.Contains(string(raw), d.Snapshot) || d.Times < acknowledged {
		t.Errorf("%d were acknowledged of %d sent: %+v, %v", acknowledged, sent, d, err)
	}
}
