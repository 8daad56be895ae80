package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/rows"
)

// triggerTimeout bounds the POST of a job, upload included. It is long, because
// giving up on a job that did start is the worse outcome.
const triggerTimeout = 3 * time.Minute

// Jobs are the newest jobs of the ledger, newest first, and how many it has;
// without a ledger there are none. limit 0 means all.
func (rn *Runner) Jobs(ctx context.Context, limit int) (list []model.Job, total int, err error) {
	list, _, total, err = rn.Matching(ctx, nil, limit)
	return list, total, err
}

// Matching are the newest jobs of the ledger that match, newest first, how many match, and how many it has;
// without a ledger there are none. matches sees no steps; nil is for all jobs. limit 0 means all.
func (rn *Runner) Matching(ctx context.Context, matches func(model.Job) bool, limit int) (list []model.Job, match, total int, err error) {
	if rn.cfg.Ledger == nil {
		return nil, 0, 0, nil
	}
	if matches == nil {
		list, total, err = rn.cfg.Ledger.Jobs(ctx, limit)
		return list, total, total, err
	}
	return rn.cfg.Ledger.Matching(ctx, matches, limit)
}

// Job is one job of the ledger, by its identifier or its snapshot's. Without a match
// the error wraps ErrUnknownJob.
func (rn *Runner) Job(ctx context.Context, id string) (model.Job, error) {
	if rn.cfg.Ledger == nil {
		return model.Job{}, fmt.Errorf("job %s: %w: there is no ledger", id, ErrUnknownJob)
	}
	job, err := rn.cfg.Ledger.Job(ctx, id)
	return job, ledgerFault(err)
}

// Once is the job that the profile in use launched under a name. Without one the error wraps ErrUnknownJob.
func (rn *Runner) Once(ctx context.Context, name string) (model.Job, error) {
	p, _, err := exchange.Current(ctx, rn.cfg.Source)
	if err != nil {
		return model.Job{}, err
	}
	if rn.cfg.Ledger == nil {
		return model.Job{}, ErrNoLedger
	}
	job, err := rn.cfg.Ledger.Once(ctx, p.Name, name)
	return job, ledgerFault(err)
}

// ofSnapshot is the job of the ledger with an identifier that the service named, which may look like one of the
// ledger's own. Without a match the error wraps ErrUnknownJob.
func (rn *Runner) ofSnapshot(ctx context.Context, snapshot string) (model.Job, error) {
	job, err := rn.cfg.Ledger.OfSnapshot(ctx, snapshot)
	return job, ledgerFault(err)
}

// Adopt adds a job that the ledger does not know, by the service's identifier,
// after the service has answered for it. A job of the ledger with that
// identifier is returned unchanged. Nothing is triggered.
//
// Errors: ErrNoLedger, ErrUnknownJob (the service does not know it either),
// ErrNotShown (the contract shows no way to ask), a *exchange.CallError, the ledger's.
func (rn *Runner) Adopt(ctx context.Context, snapshot, dataset string) (model.Job, error) {
	defer rn.cfg.Wire.Begin()()
	if err := rn.writable(); err != nil {
		return model.Job{}, err
	}
	job, err := rn.Job(ctx, snapshot)
	if err == nil || !errors.Is(err, ErrUnknownJob) {
		return job, err
	}
	call, err := rn.callAbout(ctx, model.Job{ID: snapshot, Snapshot: snapshot, Dataset: dataset, State: model.JobAccepted, Done: -1, Records: -1})
	if err != nil {
		return model.Job{}, err
	}
	progress, err := call.poll(ctx)
	if err = unknownThere(err); err != nil {
		return model.Job{}, err
	}
	call.job.KeyName, call.job.Accepted = call.key.Name, rn.cfg.Now()
	if job, err = rn.cfg.Ledger.Adopt(ctx, call.job); err != nil {
		return job, err
	}
	rn.log(ctx, job, fmt.Sprintf("%s: %s was adopted", job.ID, snapshot))
	return rn.record(ctx, job, progress)
}

// unknownThere is the error if the service is asked about an identifier that the ledger does not have.
func unknownThere(err error) error {
	if fault := (*exchange.CallError)(nil); errors.As(err, &fault) && fault.Diagnosis.Rule == model.RuleJobUnknown {
		return fmt.Errorf("%w, and the service does not know it: %w", ErrUnknownJob, err)
	}
	return err
}

// writable reports why no job can be recorded.
func (rn *Runner) writable() error {
	if rn.cfg.Ledger == nil {
		return ErrNoLedger
	}
	if frozen := rn.cfg.Ledger.Frozen(); frozen != nil {
		return fmt.Errorf("%w: %w", ErrNoLedger, frozen)
	}
	return nil
}

// Recover settles the jobs that a process left behind when it died in the middle
// of a trigger: what was only intended was not sent, what was on its way may
// have started, unless its rows came as the answer. Nothing is sent. It returns the jobs it settled.
func (rn *Runner) Recover(ctx context.Context) ([]model.Job, error) {
	if rn.cfg.Ledger == nil {
		return nil, nil
	}
	settled, err := rn.cfg.Ledger.Recover(ctx)
	for _, job := range settled {
		rn.log(ctx, job, triggered(job, job.Detail))
	}
	if err != nil {
		return settled, err
	}
	return rn.recoverAnswers(ctx, settled)
}

// SameInputs are the jobs begun within that time that have the same inputs or repeat the same job, and
// that may have cost something, newest first. Those that run or may have started count whatever their
// age.
func (rn *Runner) SameInputs(ctx context.Context, r model.TriggerRequest, within time.Duration) ([]model.Job, error) {
	if rn.cfg.Ledger == nil {
		return nil, nil
	}
	p, _, err := exchange.Current(ctx, rn.cfg.Source)
	if err != nil {
		return nil, err
	}
	return rn.cfg.Ledger.SameRequest(ctx, digest(p, r), r.Repeats, rn.cfg.Now().Add(-within))
}

// launch is one trigger on its way.
type launch struct {
	job    model.Job
	p      model.Profile
	d      dialect.Dialect
	key    model.Key
	secret keystore.Secret
	body   []byte
	// settings are what is asked for besides the inputs, auth is what their Auth refers to.
	settings model.JobSettings
	auth     keystore.Secret
}

// Trigger starts a dataset job (service.md 4.2): it writes the intent to the
// ledger, on disk, then sends one POST and never a second, whatever happens.
//
// The job that comes back says what became of it: accepted (with the service's
// identifier, on disk), ready (the rows came as the answer, and are on disk), refused (certainly not started, with the service's words in
// Detail),
// not sent (certainly no byte left), or may have started (everything else). An
// error means that nothing was sent (a *model.RequestError, a *ledger.SameError, ErrNoLedger,
// the ledger's errors), that ctx ended, or that the outcome could not be written down; in the
// last two cases the job says what is known.
func (rn *Runner) Trigger(ctx context.Context, r model.TriggerRequest) (model.Job, error) {
	defer rn.cfg.Wire.Begin()()
	l, err := rn.prepareLaunch(ctx, r)
	if err != nil {
		return model.Job{}, err
	}
	hook := webhookToken(r.Settings)
	l.job, err = rn.cfg.Ledger.Begin(ctx, model.Job{
		Profile: l.p.Name, Dataset: r.Dataset, KeyName: l.key.Name, Inputs: len(r.Inputs), Done: -1, Records: -1, Repeats: r.Repeats,
		WebhookToken: hook, WebhookDue: rn.webhookDue(hook), Request: l.jobRequest(r),
	}, digest(l.p, r), keptRequest(r, exchange.MaskOf(l.secret, exchange.Login{})), r.Guard)
	if err != nil {
		return model.Job{}, err
	}
	// From here on the outcome is recorded even if ctx has ended.
	kept := context.WithoutCancel(ctx)
	sending, err := rn.change(kept, l.job.ID, func(job *model.Job) (note, error) {
		job.State = model.JobSending
		return note{step: fmt.Sprintf("POST %s", l.d.TriggerPath(l.p.APIVersion, job.Dataset))}, nil
	})
	if err != nil {
		return l.job, err
	}
	l.job = sending
	verdict := rn.send(ctx, l)
	var logged error
	if verdict.state == model.JobAccepted {
		logged = rn.cfg.Ledger.Accepted(l.job.ID, verdict.names) // first: it needs no database
	}
	job, err := rn.change(kept, l.job.ID, verdict.apply)
	if err = errors.Join(err, logged); err != nil {
		l.job.Name(verdict.names)
		l.job.State, l.job.Detail = verdict.state, verdict.detail
		return l.job, fmt.Errorf("the job is %s (identifier %q), and that could not be written down: %w",
			verdict.state.Label(), l.job.Snapshot, err)
	}
	if !verdict.state.Started() && ctx.Err() != nil {
		return job, context.Cause(ctx)
	}
	return job, nil
}

// prepareLaunch checks everything that can be checked before the ledger is written.
func (rn *Runner) prepareLaunch(ctx context.Context, r model.TriggerRequest) (launch, error) {
	if err := rn.writable(); err != nil {
		return launch{}, err
	}
	p, d, err := exchange.Current(ctx, rn.cfg.Source)
	if err != nil {
		return launch{}, err
	}
	if _, err := rn.check(ctx, p, d, r); err != nil {
		return launch{}, err
	}
	key, secret, err := exchange.KeyFor(ctx, rn.cfg.Source, p, r.Key)
	if err != nil {
		return launch{}, err
	}
	var auth keystore.Secret
	if ref := r.Settings.Auth; ref != "" {
		if auth, err = exchange.Resolve(ctx, rn.cfg.Source, fieldAuth, ref); err != nil {
			return launch{}, err
		}
		if auth.Equal(secret) {
			return launch{}, errOwn(keystore.Ref(ref))
		}
	}
	body, product, err := d.ProductBody(r)
	if err != nil {
		return launch{}, err
	}
	if !product {
		body = rows.Body(r.Inputs)
	}
	return launch{p: p, d: d, key: key, secret: secret, body: body, settings: r.Settings, auth: auth}, nil
}

// allowed reports why a job cannot be launched for the profile, whatever it costs.
func allowed(p model.Profile, d dialect.Dialect, r model.TriggerRequest) error {
	if err := p.Refuse("launch jobs"); err != nil {
		return err
	}
	if ps := append(r.Problems(d.Sends()), outside(p, r)...); len(ps) > 0 {
		return &model.RequestError{Problems: ps}
	}
	if _, err := exchange.APIURL(p.BaseURL, d.TriggerPath(p.APIVersion, r.Dataset), nil); err != nil {
		return model.BadField("profile", "%w", err)
	}
	_, _, err := d.ProductBody(r)
	return err
}

// outside lists the first inputs whose targets the profile does not allow. A data set that takes no
// address may reach any target.
func outside(p model.Profile, r model.TriggerRequest) (ps []model.FieldProblem) {
	for _, in := range r.Inputs {
		var err error
		addresses := in.Addresses()
		if len(addresses) == 0 {
			err = config.RefuseAnyTarget(p, "what dataset "+r.Dataset+" collects for an input without a url")
		}
		for _, a := range addresses {
			err = cmp.Or(err, config.RefuseTarget(p, a))
		}
		if err != nil {
			ps = append(ps, model.FieldProblem{Field: "inputs", Err: fmt.Errorf("row %d: %w", in.Row, err)})
		}
		if len(ps) == 3 {
			return ps
		}
	}
	return ps
}

// jobRequest is what the ledger keeps of a request beside its inputs.
func (l launch) jobRequest(r model.TriggerRequest) *model.JobAsked {
	asked := askedOf(l.d.Settings(r), r.Rejected)
	asked.At, asked.Once = placeOf(l.p, l.secret), r.Once
	return asked
}

// verdict is the outcome of a trigger.
type verdict struct {
	state  model.JobState
	names  model.JobNames
	detail string
	rows   int             // that came as the answer
	status int             // of the answer, 0 without one
	at     time.Time       // of the outcome
	fault  model.Diagnosis // unless it was accepted
}

// apply writes the verdict into the ledger's row.
func (v verdict) apply(job *model.Job) (note, error) {
	job.Name(v.names)
	job.State, job.Status, job.Detail = v.state, v.status, v.detail
	step := v.detail
	switch v.state {
	case model.JobAccepted:
		job.Accepted = v.at
		step = v.names.Words()
	case model.JobReady:
		job.Accepted, job.Records = v.at, v.rows
	default:
		job.Fault = model.JobFault{Call: model.CallTrigger, Diagnosis: v.fault, At: v.at}
	}
	return note{step: step, entry: triggered(*job, step)}, nil
}

// triggered is a trigger's line in the timeline: which job it was, what became of it, and what to do next.
func triggered(job model.Job, step string) string {
	inputs := "inputs"
	if job.Inputs == 1 {
		inputs = "input"
	}
	return fmt.Sprintf("%s %s, %d %s: %s", job.ID, job.Dataset, job.Inputs, inputs, joinText(job.State.Label(), step)) + job.Fault.Diagnosis.Next()
}

// send makes the one POST.
func (rn *Runner) send(ctx context.Context, l launch) (v verdict) {
	ctx, cancel := context.WithTimeoutCause(ctx, triggerTimeout, exchange.ErrTimeout)
	defer cancel()
	defer func() { v.at = rn.cfg.Now() }()
	mask := exchange.MaskOf(l.secret, exchange.Login{}, append(deliverySecrets(l.settings), l.auth)...)
	call := exchange.Call{
		Profile: l.p, KeyName: l.key.Name, Key: l.secret,
		Method: http.MethodPost, Path: l.d.TriggerPath(l.p.APIVersion, l.job.Dataset), Query: l.d.TriggerQuery(l.job.Dataset, l.settings), Body: l.body,
	}
	if !l.auth.Empty() {
		call.SecretQuery = map[string]keystore.Secret{dialect.TriggerAuth: l.auth}
	}
	resp, tr, err := rn.cfg.Wire.API(ctx, call)
	if err != nil {
		fault := exchange.Unanswered("", model.CallTrigger, mask, err, tr.Sent())
		v = verdict{state: model.JobNotSent, detail: fault.Text, fault: fault.Diagnosis}
		if tr.Sent() {
			v.state, v.detail = model.JobMayHave, "the call broke after sending: "+fault.Text
		}
		return v
	}
	defer resp.Body.Close()
	var rest io.Reader = mask.Reader(resp.Body)
	body, readErr := io.ReadAll(io.LimitReader(rest, answerBytes))
	if readErr != nil {
		rest = readerFunc(func([]byte) (int, error) { return 0, readErr })
	}
	seen := exchange.Answered(rn.cfg.Now(), l.d, l.key, mask, resp, body)
	seen.Job, seen.Incomplete = model.CallTrigger, readErr != nil
	certain, by := l.d.RefusesTrigger(resp.StatusCode, resp.Header, body)
	seen.ReadBy = cmp.Or(seen.ReadBy, by)
	defer func() {
		v.status = resp.StatusCode
		if !v.state.Started() {
			v.fault = rn.judgeTrigger(l.p.BaseURL, mask, seen, v.state == model.JobRefused)
			rn.tellKey(ctx, l.p.Name, l.key.Name, v.fault)
		}
	}()
	said := joinText(fmt.Sprintf("HTTP %d", resp.StatusCode), seen.ServiceText)
	switch {
	case succeeded(resp.StatusCode):
		if names, ok := l.d.JobNames(l.job.Dataset, body); ok {
			return verdict{state: model.JobAccepted, names: names}
		}
		if v, is := rn.keepAnswer(ctx, l, resp, body, rest); is {
			return v
		}
		if readErr != nil {
			return verdict{state: model.JobMayHave, detail: fmt.Sprintf("HTTP %d, and the answer broke off before an identifier came", resp.StatusCode)}
		}
		return verdict{state: model.JobMayHave, detail: joinText(fmt.Sprintf("HTTP %d without an identifier", resp.StatusCode), seen.ServiceText)}
	case readErr == nil && certain:
		return verdict{state: model.JobRefused, detail: said}
	default:
		// Any other answer may come from something in front of the service, or from after the job was
		// started.
		return verdict{state: model.JobMayHave, detail: said}
	}
}

// jobCall is a call about an accepted job: what it needs, and the Runner that makes it.
type jobCall struct {
	rn     *Runner
	job    model.Job
	p      model.Profile
	d      dialect.Dialect
	paths  dialect.JobPaths
	key    model.Key
	secret keystore.Secret
}

// callFor prepares a call about a job of the ledger.
func (rn *Runner) callFor(ctx context.Context, id string) (jobCall, error) {
	job, err := rn.Job(ctx, id)
	if err != nil {
		return jobCall{}, err
	}
	return rn.callAbout(ctx, job)
}

// callAbout prepares a call about a job. If the job names no profile, it is one of the
// profile in use.
func (rn *Runner) callAbout(ctx context.Context, job model.Job) (call jobCall, err error) {
	call = jobCall{rn: rn, job: job}
	if job.Snapshot == "" && !job.InAnswer() {
		return call, fmt.Errorf("job %s %s: %w", job.ID, job.State.Predicate(), ErrNoSnapshot)
	}
	if call.p, call.d, err = exchange.Current(ctx, rn.cfg.Source); err != nil {
		return call, err
	}
	if job.Profile == "" {
		job.Profile, call.job.Profile = call.p.Name, call.p.Name
	}
	if err := ofProfile(job, call.p); err != nil {
		return call, err
	}
	if job.InAnswer() {
		return call, nil
	}
	if call.paths, err = call.d.JobPaths(call.p.APIVersion, job.Dataset, job.Snapshot); err != nil {
		return call, fmt.Errorf("job %s: %w", job.ID, err)
	}
	// The key that started the job or, when the inventory no longer has it, the
	// profile's.
	name := job.KeyName
	if _, ok := rn.cfg.Source.Key(name); !ok {
		name = ""
	}
	call.key, call.secret, err = exchange.KeyFor(ctx, rn.cfg.Source, call.p, name)
	return call, err
}

// ofProfile returns an error if a job belongs to another profile.
func ofProfile(job model.Job, p model.Profile) error {
	if job.Profile != p.Name {
		return model.BadField("profile", "job %s belongs to profile %s, not to %s", job.ID, job.Profile, p.Name)
	}
	return nil
}

// api is the call of one of the job's paths.
func (call jobCall) api(method, path string) exchange.Call {
	query, _ := url.ParseQuery(call.paths.Query) // the dialect has encoded it
	return exchange.Call{Profile: call.p, KeyName: call.key.Name, Key: call.secret, Method: method, Path: path, Query: query}
}

// cancelTimeout bounds the call that cancels a job.
const cancelTimeout = 30 * time.Second

// CancelJob asks the service to stop a job (a dialect's call; the contract shows
// none). Errors: ErrJobOver, ErrUnknownJob, ErrNoSnapshot, ErrNotShown, a
// *exchange.CallError. If the connection broke, it is not known whether the job goes on;
// asking again does no harm.
func (rn *Runner) CancelJob(ctx context.Context, jobID string) (model.Job, error) {
	defer rn.cfg.Wire.Begin()()
	call, err := rn.callFor(ctx, jobID)
	if err == nil {
		err = call.p.Refuse("cancel jobs")
	}
	if err != nil {
		return call.job, err
	}
	if call.job.State.Final() {
		return call.job, fmt.Errorf("job %s %s: %w", call.job.ID, call.job.State.Predicate(), ErrJobOver)
	}
	if call.paths.Cancel == "" {
		return call.job, fmt.Errorf("cancelling job %s of %s: %w", call.job.ID, call.job.Dataset, dialect.ErrNotShown)
	}
	inner, cancel := context.WithTimeoutCause(ctx, cancelTimeout, exchange.ErrTimeout)
	defer cancel()
	doing := "cancelling job " + call.job.ID
	resp, _, err := rn.cfg.Wire.API(inner, call.api(http.MethodPost, call.paths.Cancel))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return call.job, cause
		}
		fault := call.jobFault(ctx, doing, nil, err)
		return rn.failed(ctx, call.job, model.CallCancel, fault), fault
	}
	defer resp.Body.Close()
	if !succeeded(resp.StatusCode) {
		fault := call.jobFault(ctx, doing, resp, nil)
		return rn.failed(ctx, call.job, model.CallCancel, fault), fault
	}
	return rn.change(context.WithoutCancel(ctx), call.job.ID, func(job *model.Job) (note, error) {
		if job.State.Final() && job.Fault.Diagnosis.Rule != model.RuleJobCanceled { // which a question saw before this answer came
			return note{}, nil
		}
		job.State, job.Fault = model.JobCanceled, model.JobFault{}
		return note{step: "cancelled on request", entry: job.ID + " " + job.Dataset + ": cancelled on request"}, nil
	})
}
