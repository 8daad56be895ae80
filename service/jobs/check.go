package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	"zonedeck/service/dialect"
	"zonedeck/service/ledger"
	"zonedeck/service/rows"
)

// recent is for how long the same inputs are not launched again without a word.
const recent = time.Hour

// Check says what a draft comes to: its inputs, what they cost, what was launched with them before, and what has to be
// answered. Nothing is billed, and nothing is written except what became of jobs whose process has died.
//
// An error is a *model.RequestError that names the fields of the draft to change, an *OnceError, a *KeepError, the key's, the ledger's, or
// those of Machine.Missing; the report then has what was found until then.
func (l *Launching) Check(ctx context.Context, draft Draft) (Report, error) {
	r := Report{draft: draft}
	p, err := l.cfg.Profile.Profile(ctx)
	if err == nil {
		err = l.checkOnce(ctx, &r)
	}
	if err != nil {
		return r, err
	}
	d, err := dialect.Find(p.Dialect)
	if err != nil {
		return r, model.BadField("profile", "%w", err)
	}
	if draft.Wait && !d.AsksForJobs() {
		return r, model.BadField("wait", "the contract does not show how to ask for a job's state: choose dialect %s for profile %q, or leave it out", dialect.WithJobs(), p.Name)
	}
	r.Request = model.TriggerRequest{Dataset: draft.Dataset, Key: draft.Key, Settings: draft.Settings, MaxCost: draft.MaxCost, Repeats: draft.Repeats}
	switch from := draft.From.(type) {
	case Again:
		err = l.repeat(ctx, p, from, &r)
	case ReadyInputs:
		r.Request.Inputs = from
	default:
		err = l.read(ctx, d, &r)
	}
	if err == nil && len(r.Request.Inputs) > 0 {
		err = l.fillInbox(ctx, &r)
	}
	if err != nil {
		return r, err
	}
	whole := Checked{Report: r}
	if len(r.Request.Inputs) > 0 {
		whole.Err = l.choose(ctx, p, &whole.Report)
	}
	l.judge(ctx, &whole)
	if left := whole.Unlaunched; left != nil {
		l.judge(ctx, left)
	}
	return whole.Report, whole.Err
}

// OnceError says that nothing was launched, because the profile has launched Job under the same name.
type OnceError struct {
	Name string
	Job  model.Job
}

func (e *OnceError) Error() string {
	return fmt.Sprintf("%s (%s) was launched under the name %s, which is for one launch", e.Job.ID, e.Job.State.Label(), rows.Quote(e.Name))
}

// checkOnce refuses a name that has a job, or is none. What dead processes left is settled first: a job that was never sent
// holds neither its name nor its inputs.
func (l *Launching) checkOnce(ctx context.Context, r *Report) error {
	name := r.draft.Once
	if err := model.CheckOnce(name); err != nil {
		return err
	}
	settled, err := l.cfg.Machine.Recover(ctx)
	for _, j := range settled {
		r.note("settled", "%s", joinText(j.ID+" "+j.State.Predicate(), j.Detail))
	}
	if err != nil || name == "" {
		return err
	}
	job, err := l.cfg.Machine.Once(ctx, name)
	switch {
	case errors.Is(err, ErrUnknownJob):
		return nil
	case err != nil:
		return fmt.Errorf("the ledger cannot be searched for the name: %w", err)
	}
	return &OnceError{name, job}
}

// judge checks what does not depend on which of the inputs are launched: the files and the key.
func (l *Launching) judge(ctx context.Context, c *Checked) {
	if c.Err == nil && !c.draft.Preview {
		c.Err = l.cfg.InputLists.check(c.Report)
	}
	if c.Err == nil {
		var questions []ask.Question
		questions, c.Err = l.cfg.Keys.May(ctx, c.Request.Key)
		c.Questions = append(c.Questions, questions...)
	}
}

// read reads the inputs by the fields of the data set.
func (l *Launching) read(ctx context.Context, d dialect.Dialect, r *Report) error {
	shape := rows.Shape{Free: d.Sends().InputFields}
	if d.Sends().Dataset {
		if err := l.describe(ctx, r, &shape); err != nil {
			return err
		}
	} else if id := r.Request.Dataset; id != "" {
		r.note("dataset", "the contract does not show how to name a data set: %q is kept in the ledger, but not sent (dialect %s sends it)", id, dialect.WithDatasets())
	}
	source, err := l.open(r.draft.From)
	if err != nil {
		return model.BadField("source", "%w", err)
	}
	defer source.close()
	r.Source, shape.Map = source.Name, source.Map
	if r.Rows, err = rows.Read(source.Reader, source.Kind, shape); err != nil {
		if context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		if errors.As(err, new(*rows.ColumnError)) {
			return model.BadField("columns", "%w", err)
		}
		return model.BadField("inputs", "%w", err)
	}
	bad := model.Counted(r.Rows.Bad, "row") + " of " + r.Source + " cannot be used"
	switch good := len(r.Rows.Rows); {
	case good == 0 && r.Rows.Bad > 0:
		return model.BadField("inputs", "%s and %w", bad, ErrNoGoodRow)
	case good == 0:
		return model.BadField("inputs", "%s holds no inputs", r.Source)
	case r.Rows.Bad > 0:
		r.ask(ask.Question{Kind: ask.BadRows, About: r.Source, Text: bad})
	}
	r.Request.Inputs = r.Rows.Rows
	return nil
}

// describe finds the data set and the fields of its inputs.
func (l *Launching) describe(ctx context.Context, r *Report, shape *rows.Shape) error {
	c, listing, err := l.cfg.Catalogue.Dataset(ctx, r.Request.Key, r.Request.Dataset)
	if err != nil {
		return err
	}
	switch {
	case listing.None():
		r.note("dataset", "the fields of %s are not known; the service's list: %s", c.ID, listing.Problem)
	case listing.Problem != "":
		r.note("dataset", "the fields are from %s; the service's list: %s", listing.Origin(l.cfg.InputLists.Now()), listing.Problem)
	}
	if listing.Unlisted {
		r.ask(ask.Question{Kind: ask.Unlisted, About: c.ID, Text: "the service does not list the data set " + c.ID})
	}
	m, err := c.Method(r.Request.Settings.Discover)
	if err != nil {
		return model.BadField("discover", "%s: %w", c.ID, err)
	}
	if cost := m.Cost(); cost != "" && m.Bound == "" && r.Request.Settings.LimitPerInput == 0 && r.Request.Settings.LimitTotal == 0 {
		r.note("limit", "%s: %s", m.Label(), cost)
	}
	shape.Fields, shape.Strict = m.Fields, !listing.Builtin()
	r.Request.Dataset, r.Request.OpenEnded = c.ID, m.OpenEnded
	return nil
}

// source is what inputs are read from.
type source struct {
	Rows

	closer io.Closer
}

func (s source) close() {
	if s.closer != nil {
		_ = s.closer.Close() // it was only read
	}
}

func (l *Launching) open(from Input) (source, error) {
	switch from := from.(type) {
	case Rows:
		return source{Rows: from}, nil
	case SavedList:
		f, err := l.cfg.InputLists.Open(from.Name)
		if err != nil {
			return source{}, err
		}
		return source{Rows{f, strings.TrimPrefix(filepath.Ext(f.Name()), "."), f.Name(), from.Map}, f}, nil
	default:
		return source{}, errors.New("it has no inputs")
	}
}

// repeat takes what a job of the ledger asked for.
func (l *Launching) repeat(ctx context.Context, p model.Profile, from Again, r *Report) (err error) {
	if r.Repeated, err = l.cfg.Machine.Job(ctx, from.Job); err != nil {
		return err
	}
	before := r.Repeated
	if err := ofProfile(before, p); err != nil {
		return err
	}
	if before.SaidNotStarted() {
		r.note("repeated", "a person said that %s had not started: if it did, the same inputs are billed a second time", before.ID)
	}
	if before.Forgotten() {
		r.note("repeated", "the service accepted %s, but did not know it when it was last asked: if it billed that job, the same inputs are billed a second time", before.ID)
	}
	key, most := r.Request.Key, r.Request.MaxCost
	if from.Missing {
		r.Missing, err = l.cfg.Machine.Missing(ctx, before.ID)
		r.Request = r.Missing.Request
	} else {
		r.Request, err = l.cfg.Machine.Request(ctx, before.ID)
	}
	if err != nil {
		return err
	}
	if key != "" {
		r.Request.Key = key
	}
	if most > 0 {
		r.Request.MaxCost = most
	}
	if n := r.Missing.Unmatched; n > 0 {
		r.ask(ask.Question{
			Kind: ask.Unmatched, About: before.ID, Text: model.Counted(n, "row") + " of " + before.ID + " cannot be matched, so inputs with data may be launched and billed again",
		})
	}
	if n := r.Missing.Lacking; n > 0 {
		r.ask(ask.Question{
			Kind: ask.Lacking, About: before.ID, Text: model.Counted(n, "record") + " that the service counted did not come, so inputs with data may be launched and billed again",
		})
	}
	inputs := model.Counted(len(r.Request.Inputs), "input")
	switch {
	case before.State.Final():
	case before.State == model.JobMayHave:
		r.ask(ask.Question{Kind: ask.Unsettled, About: before.ID, Text: fmt.Sprintf("%s may have started: if it did, another job with %s is billed a second time", before.ID, inputs)})
	default:
		r.ask(ask.Question{Kind: ask.Unsettled, About: before.ID, Text: fmt.Sprintf("%s %s: another job with %s is billed a second time", before.ID, before.State.Predicate(), inputs)})
	}
	return nil
}

// fillInbox puts addresses of the inbox where the draft asks for one, and what the inbox checks.
func (l *Launching) fillInbox(ctx context.Context, r *Report) error {
	s := &r.Request.Settings
	if ref := l.cfg.Inbox.Authorization(); r.draft.InboxAuth && s.Auth == "" && ref != "" && s.CallsInboxAlone() {
		s.Auth = ref
		r.note("auth_header", "webhooks carry %s, so that the inbox can verify them", keystore.Ref(ref).Label())
	}
	field := "notify"
	if s.Notify != model.InboxEndpoint {
		field = "endpoint"
	}
	if s.Notify != model.InboxEndpoint && s.Endpoint != model.InboxEndpoint {
		return nil
	}
	address, warning, err := l.cfg.Inbox.NewAddress(ctx)
	if err != nil {
		return model.BadField(field, "%w", err)
	}
	if warning != "" {
		r.Notes = append(r.Notes, ask.Note{About: field, Text: warning, Warn: true})
	}
	for _, a := range []*string{&s.Notify, &s.Endpoint} {
		if *a == model.InboxEndpoint {
			*a = address
		}
	}
	return nil
}

// choose takes of the inputs what the draft wants, and says what that costs and what was launched before.
func (l *Launching) choose(ctx context.Context, p model.Profile, r *Report) error {
	all := r.Request.Inputs
	_, again := r.draft.From.(Again)
	_, given := r.draft.From.(ReadyInputs)
	if r.draft.OnlyUnlaunched {
		if err := l.leaveOut(ctx, r); err != nil {
			return err
		}
	}
	good := len(r.Request.Inputs)
	r.Request.Inputs = rows.Sample(r.Request.Inputs, r.draft.Sample)
	var refused error
	if r.Estimate, refused = l.cfg.Machine.Estimate(ctx, r.Request); refused == nil && len(r.Request.Inputs) < good {
		left := ""
		if r.draft.OnlyUnlaunched {
			left = " that are left"
		}
		r.note("sample", "a sample: %d of %d good rows%s", len(r.Request.Inputs), good, left)
	}
	if r.draft.Preview {
		return refused
	}
	err := l.findBefore(ctx, r)
	if err == nil && !again && !given && !r.draft.OnlyUnlaunched {
		err = l.findUnlaunched(ctx, p, r, all)
	}
	if refused != nil || err != nil {
		return errors.Join(refused, err)
	}
	if !p.Local || r.Estimate.Dollars < 0 {
		r.ask(ask.Question{Kind: ask.Cost, About: r.Request.Dataset, Text: "the job is billed: " + r.Estimate.String()})
	}
	r.askBefore(again)
	return nil
}

// leaveOut takes the inputs out that jobs of the last hour have.
func (l *Launching) leaveOut(ctx context.Context, r *Report) error {
	launched, err := l.cfg.Machine.SharedInputs(ctx, r.Request, recent)
	if err != nil {
		return unsearched(err)
	}
	good := len(r.Request.Inputs)
	r.Before.Overlapping.Unknown = launched.Unknown
	if names := launched.UnknownNames(); names != "" {
		r.ask(ask.Question{
			Kind: ask.UnknownInputs, About: launched.Unknown[0].ID, Facts: r.Before.Overlapping.facts(good),
			Text: fmt.Sprintf("the inputs of these jobs of the last hour are not known: %s; any of the %d inputs may be among them", names, good),
		})
	}
	r.Request.Inputs = launched.Unlaunched(r.Request.Inputs)
	r.LeftOut = LeftOut{good - len(r.Request.Inputs), good, launched.Overlaps, launched.Unknown}
	if len(r.Request.Inputs) == 0 {
		return model.BadField("only_unlaunched", "every input was launched within the last hour")
	}
	return nil
}

// findBefore finds the jobs that have the inputs or some of them.
func (l *Launching) findBefore(ctx context.Context, r *Report) (err error) {
	if r.Before.SameInputs, err = l.cfg.Machine.SameInputs(ctx, r.Request, recent); err != nil {
		return unsearched(err)
	}
	if r.draft.OnlyUnlaunched {
		return nil
	}
	if r.Before.Overlapping, err = l.cfg.Machine.SharedInputs(ctx, r.Request, recent); err != nil {
		return unsearched(err)
	}
	r.Before.Overlapping.Overlaps = slices.DeleteFunc(r.Before.Overlapping.Overlaps, func(o Overlap) bool {
		return slices.ContainsFunc(r.Before.SameInputs, func(j model.Job) bool { return j.ID == o.Job.ID })
	})
	return nil
}

// unsearched says that it is not known whether inputs are billed twice.
func unsearched(err error) error {
	return fmt.Errorf("the ledger cannot be searched for the same inputs: %w", err)
}

// findUnlaunched is the choice to leave out what jobs of the last hour have. There is none if the sample has nothing of
// theirs, or if they have everything.
func (l *Launching) findUnlaunched(ctx context.Context, p model.Profile, r *Report, all []model.JobInput) error {
	launched := r.Before.Overlapping
	if len(all) > len(r.Request.Inputs) { // a sample
		whole := r.Request
		whole.Inputs = all
		var err error
		if launched, err = l.cfg.Machine.SharedInputs(ctx, whole, recent); err != nil {
			return unsearched(err)
		}
	}
	if len(launched.Unlaunched(all)) == 0 || len(launched.Unlaunched(r.Request.Inputs)) == len(r.Request.Inputs) {
		return nil
	}
	left := Checked{Report: *r}
	left.draft.OnlyUnlaunched, left.Request.Inputs, left.Before = true, all, Before{}
	left.Notes = slices.DeleteFunc(slices.Clone(r.Notes), func(n ask.Note) bool { return n.About == "sample" })
	left.Questions = slices.Clone(r.Questions) // those of the rows: the others come later
	left.Err = l.choose(ctx, p, &left.Report)
	r.Unlaunched = &left
	return nil
}

// askBefore asks whether inputs that were launched are launched again.
func (r *Report) askBefore(again bool) {
	same := slices.DeleteFunc(slices.Clone(r.Before.SameInputs), func(j model.Job) bool { return again && j.ID == r.Repeated.ID })
	others := r.Before.Overlapping
	switch {
	case len(same) > 0:
		r.ask(sameQuestion(same, r.Repeated.ID))
	case again || r.draft.OnlyUnlaunched:
	case len(others.Overlaps)+len(others.Unknown) > 0:
		r.ask(ask.Question{Kind: ask.SharedInputs, About: others.newest().ID, Text: "some inputs were launched within the last hour, or may have been", Facts: others.facts(len(r.Request.Inputs))})
	}
}

// sameQuestion asks whether what jobs have, newest first, is launched again; of them, some may repeat the job repeated.
func sameQuestion(same []model.Job, repeated string) ask.Question {
	q := ask.Question{Kind: ask.SameInputs, About: same[0].ID}
	for _, j := range same {
		q.Facts = append(q.Facts, sameFact(j, repeated))
	}
	q.Text = fmt.Sprintf("%s as %s (%s); %s", q.Facts[0].Text, same[0].ID, same[0].State.Label(), q.Facts[0].Outcome)
	return q
}

func sameFact(j model.Job, repeated string) ask.Fact {
	f := ask.Fact{Text: "the same inputs were launched", Job: j, Outcome: "this is a second job, billed a second time"}
	if repeated != "" && j.Repeats == repeated {
		f.Text = repeated + " was launched again"
	}
	if !j.State.Started() {
		f.Outcome += " if that one started"
	}
	return f
}

// Facts say, the newest first, which jobs have the inputs of a report and what follows.
func (b Before) Facts(inputs int) (facts []ask.Fact) {
	for _, j := range b.SameInputs {
		facts = append(facts, sameFact(j, ""))
	}
	return append(facts, b.Overlapping.facts(inputs)...)
}

// maxOverlapFacts is how many jobs with some of the inputs are named.
const maxOverlapFacts = 10

func (e EarlierJobs) facts(inputs int) []ask.Fact {
	facts := overlapFacts(e.Overlaps, inputs)
	if names := e.UnknownNames(); names != "" {
		facts = append(facts, ask.Fact{Text: "the inputs of these jobs of the last hour are not known: " + names, Outcome: "any of these among them is billed a second time"})
	}
	return facts
}

// overlapFacts say which jobs have some of so many inputs, newest first.
func overlapFacts(overlaps []Overlap, inputs int) (facts []ask.Fact) {
	for _, o := range overlaps[:min(len(overlaps), maxOverlapFacts)] {
		f := ask.Fact{Text: o.Opening(inputs) + " launched", Job: o.Job, Outcome: "its inputs are billed a second time"}
		if !o.Job.State.Started() {
			f.Outcome = "if that one started, " + f.Outcome
		}
		facts = append(facts, f)
	}
	if more := len(overlaps) - maxOverlapFacts; more > 0 {
		facts = append(facts, ask.Fact{Text: model.Counted(more, "more job") + " with some of the inputs"})
	}
	return facts
}

// Launch launches a job as its report stands, once every question is answered. The bad rows and the list are kept before
// anything is sent.
//
// Errors: an *ask.Unanswered, also about a job with inputs of the report that was launched since and is not named in it; an
// *OnceError; a *KeepError; those of Runner.Trigger.
func (l *Launching) Launch(ctx context.Context, r Report, a ask.Answers) (out Launched, err error) {
	if err := a.Open(r.Questions); err != nil {
		return out, err
	}
	if err := l.askAnew(ctx, r, a); err != nil {
		return out, err
	}
	for _, q := range r.Questions {
		if q.Kind != ask.AdminReason {
			continue
		}
		if err := l.cfg.Keys.Admit(ctx, r.Request.Key, strings.TrimSpace(a.To(q).Text)); err != nil {
			return out, err
		}
	}
	if r.Request.Rejected, err = l.cfg.InputLists.keep(r, &out); err != nil {
		return out, err
	}
	r.Request.Guard, r.Request.Once = r.guard(a), r.draft.Once
	out.Job, err = l.cfg.Machine.Trigger(ctx, r.Request)
	if same, ok := errors.AsType[*ledger.SameError](err); ok {
		newer, jerr := l.cfg.Machine.Job(ctx, same.Job)
		if jerr != nil {
			newer = model.Job{ID: same.Job, State: same.State}
		}
		if same.Once != "" {
			return out, &OnceError{same.Once, newer}
		}
		err = &ask.Unanswered{Questions: []ask.Question{sameQuestion([]model.Job{newer}, r.Repeated.ID)}}
	}
	return out, err
}

// askAnew asks about what was launched with inputs of the report since it was made.
func (l *Launching) askAnew(ctx context.Context, r Report, a ask.Answers) error {
	now := r
	now.Questions, now.draft.OnlyUnlaunched = nil, false // what was left out has none of the inputs
	if err := l.findBefore(ctx, &now); err != nil {
		return err
	}
	others := &now.Before.Overlapping
	others.Unknown = slices.DeleteFunc(others.Unknown, func(j model.Job) bool {
		return slices.ContainsFunc(r.LeftOut.Unknown, func(asked model.Job) bool { return asked.ID == j.ID })
	})
	_, again := r.draft.From.(Again)
	now.askBefore(again)
	return a.Open(now.Questions)
}

// guard lets pass the jobs that were named in a question. A yes to every equal job needs none.
func (r *Report) guard(a ask.Answers) *model.LaunchGuard {
	if a.AllOf(ask.SameInputs) {
		return nil
	}
	g := &model.LaunchGuard{Within: recent}
	if r.Repeated.ID != "" {
		g.Known = append(g.Known, r.Repeated.ID)
	}
	for _, q := range r.Questions {
		if q.Kind == ask.SameInputs {
			g.Known = append(g.Known, q.Jobs()...)
		}
	}
	for id, answer := range a { // one that was asked after the report
		if id.Kind == ask.SameInputs && answer.Yes && !slices.Contains(g.Known, id.About) {
			g.Known = append(g.Known, id.About)
		}
	}
	return g
}

func (r *Report) note(about, format string, args ...any) {
	r.Notes = append(r.Notes, ask.Note{About: about, Text: fmt.Sprintf(format, args...)})
}

func (r *Report) ask(q ask.Question) { r.Questions = append(r.Questions, q) }
