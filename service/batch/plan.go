package batch

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"zonedeck/model"
	"zonedeck/service/batch/files"
	"zonedeck/service/batch/store"
	"zonedeck/service/fetch"
	"zonedeck/service/rows"
)

// Draft is what an operator wants fetched for each row of an input.
type Draft struct {
	fetch.Draft // the template; without a URL it is the row's
	Input       fetch.Input
	Once        string // a name that the profile never uses again, or ""
	AtOnce      int
	Rate        float64
	Cap         float64  // dollars, 0 for none
	Rules       []string // which other zones take over, as --rule has them
	SkipBad     bool     // leave bad rows out, instead of refusing all
	// Example says that the address is that of a request which serves as the template. If no column stands in that, it is
	// one page of many, and each row's own takes its place.
	Example bool
}

// Report is what a draft comes to. Nothing was sent. Start begins it, Discard forgets it.
type Report struct {
	Plan    Plan
	Planned files.Planned
	First   []model.FetchRequest // the first requests, at most ten
	Bad     int64                // rows that cannot be used
	// Problems are the first of the bad rows, and Notes remarks on the input.
	Problems, Notes []rows.Problem
	draft           Draft
	id              string
	spool           *files.Spool
}

// firstShown is how many requests a report shows, and mostProblems how many bad rows.
const firstShown, mostProblems = 10, 20

// MostBody bounds the body of an item, in bytes: it fits into a segment of the results.
const MostBody = 250_000_000

// MostCost is what the first tries of all items cost at most; false where that is not known.
func (r Report) MostCost() (dollars float64, priced bool) {
	return Dollars(r.Plan.Price * (r.Planned.Items - r.Planned.Duplicates)), r.Plan.Price > 0
}

// CostWords say what it costs at most.
func (r Report) CostWords() string {
	most, priced := r.MostCost()
	if !priced {
		return "unpriced: the zone has no rate"
	}
	if r.Plan.Retries == 0 {
		return "at most " + model.SmallDollars(most)
	}
	return fmt.Sprintf("at most %s for one try each, up to %d times that with all retries", model.SmallDollars(most), r.Plan.Retries+1)
}

// Terms are what holds for a draft beside its cost, as names and values.
func (r Report) Terms() [][2]string {
	out := [][2]string{{"limits", limitWords(r.draft.AtOnce, r.draft.Rate)}}
	if r.draft.Cap > 0 {
		out = append(out, [2]string{"cap", model.SmallDollars(r.draft.Cap)})
	}
	for _, rule := range r.Plan.Rules {
		out = append(out, [2]string{"rule", rule.String()})
	}
	if required := r.Plan.Request.Required; len(required) > 0 {
		out = append(out, [2]string{"required", strings.Join(required, ", ")})
	}
	return out
}

// BadRowsError refuses an input with rows that cannot be used.
type BadRowsError struct {
	Bad      int64
	Problems []rows.Problem
}

func (e *BadRowsError) Error() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s cannot be used; nothing was sent", model.Counted(e.Bad, "row"))
	for _, p := range e.Problems {
		fmt.Fprintf(&out, "\n%s: %s", p.Location(), model.Line(p.Text, 300))
	}
	if more := e.Bad - int64(len(e.Problems)); more > 0 {
		fmt.Fprintf(&out, "\nand %d more", more)
	}
	return out.String()
}

// OnceError says that nothing was planned, because the profile has a batch of the same name.
type OnceError struct{ State State }

func (e *OnceError) Error() string {
	return fmt.Sprintf("%s is the name of batch %s already", e.State.Name, e.State.ID)
}

// ChangedError says that nothing was planned, because the profile has a batch of the same name with another input.
type ChangedError struct {
	State State
	Now   files.Planned // the input as it is now
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s is the name of batch %s, and the input has changed since: it had %s with SHA-256 %.12s, and has %d with %.12s now. Give the new input another name; '%s' goes on with the first",
		e.State.Name, e.State.ID, model.Counted(e.State.Items, "row"), e.State.Digest, e.Now.Items, e.Now.Digest, e.State.Command("resume"))
}

// OtherFlagsError says that nothing was planned, because the profile has a batch of the same name with other flags.
type OtherFlagsError struct {
	State   State
	Was, Is string // the flags that differ
}

func (e *OtherFlagsError) Error() string {
	return fmt.Sprintf("%s is the name of batch %s, which was begun with other flags: it has %s, and this call has %s. Call it by the same flags, or give another name; '%s' changes the limits",
		e.State.Name, e.State.ID, e.Was, e.Is, e.State.Command("set"))
}

// Check plans a batch: it reads all rows, checks each as a fetch would be, finds those that ask for the same, and puts
// them on disk. Nothing is sent. read, which may be nil, counts the rows. Errors are a *model.RequestError
// that names fields of the draft, a *BadRowsError, an *OnceError, a *ChangedError, an *OtherFlagsError, those of [fetch.Fetcher.Prepare], and the system's.
func (b *Batches) Check(ctx context.Context, k fetch.Known, draft Draft, read *atomic.Int64) (r Report, err error) {
	if draft.Request.URL == "" {
		draft.Request.URL = fetch.RowURL
	}
	if draft.Request.BodyLimit == 0 {
		draft.Request.BodyLimit = fetch.UsualBody
	}
	r = Report{draft: draft, id: b.newID(), Plan: Plan{
		Profile: k.Profile.Name, Source: draft.Input.Name, Path: draft.Input.Path, Kind: draft.Input.Kind, Column: draft.Input.Column, SkipBad: draft.SkipBad,
		Retries: max(draft.Request.Retries, 0), AtOnce: draft.AtOnce, Rate: draft.Rate, Cap: billionths(draft.Cap),
	}}
	if draft.Request.Retries < 0 {
		r.Plan.Retries = fetch.UsualRetries
	}
	if r.Plan.Request, err = draft.Template(k); err != nil {
		return r, err
	}
	r.draft.Input.Given = draft.Given(r.Plan.Request)
	if draft.Example && len(fetch.ColumnsOf(r.Plan.Request)) == 0 {
		r.Plan.Request.URL = fetch.RowURL
		r.Notes = append(r.Notes, rows.Problem{Text: "the request has no {{column}}: the rows' addresses take the place of its own"})
	}
	r.Plan.Request.Retries = 0 // the batch makes them
	if err := r.ruled(k); err != nil {
		return r, err
	}
	if err := errors.Join(model.CheckOnce(draft.Once), r.Plan.problem(), r.Plan.checkCap(r.Plan.Cap)); err != nil {
		return r, err
	}
	if err := files.Sweep(b.Dir, func(names []string) (map[string]bool, error) { return b.known(ctx, names) }); err != nil {
		b.Log.Warn("what was planned and never begun stays", "error", err)
	}
	if r.Plan, err = b.ours(ctx, r.Plan); err != nil {
		return r, err
	}
	prepared, err := b.prepare(ctx, r.Plan)
	if err != nil {
		return r, err
	}
	defer prepared.Close()
	if r.spool, err = files.NewSpool(b.dir(r.id)); err != nil {
		return r, err
	}
	if err = b.read(ctx, &r, prepared[0], r.spool, read); err == nil {
		r.Planned, err = r.spool.Finish(ctx)
	}
	if err == nil {
		err = b.free(ctx, r)
	}
	if err != nil {
		return r, errors.Join(err, r.spool.Discard())
	}
	return r, nil
}

// known says which batches the store knows.
func (b *Batches) known(ctx context.Context, names []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, name := range names {
		_, err := b.Show(ctx, name)
		if err != nil && !errors.As(err, new(*UnknownError)) {
			return nil, err
		}
		out[name] = err == nil
	}
	return out, nil
}

// problem says what of a request cannot be a batch's.
func (p Plan) problem() error {
	r := p.Request
	switch {
	case r.Via != model.ViaAPI && r.Via != model.ViaNative:
		return model.BadField("via", "a batch goes by api or native: %s fetches one page at a time", r.Via)
	case r.BodyLimit > MostBody:
		return model.BadField("max-body", "at most %d megabytes of a body can be kept", MostBody/1_000_000)
	case typedSecret(r):
		return model.BadField("headers", "a secret that is typed, or stands in a column, would be kept with the batch: make it a variable of the profile with a reference, and write {{name}}")
	}
	return nil
}

// checkCap says why a cap cannot be held, or is nil.
func (p Plan) checkCap(limit int64) error {
	switch {
	case limit < 0:
		return model.BadField("cap", "write an amount in dollars, such as 5")
	case limit == 0:
		return nil
	case p.Price == 0:
		return model.BadField("cap", "zone %s has no rate, so that no cap can be held: give it one with 'zonedeck zones rates --set %[1]s=DOLLARS', for 1,000 requests", cmp.Or(p.Unpriced, p.Request.Zone.Name))
	case limit < p.Price:
		return model.BadField("cap", "%s is below what one fetch may cost, %s", model.SmallDollars(Dollars(limit)), model.SmallDollars(Dollars(p.Price)))
	}
	return nil
}

// capWords say why no fetch of a batch begins at its cap. A price for bytes is that of the longest body.
func (p Plan) capWords(of store.Batch, price int64) string {
	words := fmt.Sprintf("%s of %s is spent, and one more fetch may cost %s", model.SmallDollars(Dollars(of.Spent)), model.SmallDollars(Dollars(of.Cap)), model.SmallDollars(Dollars(price)))
	if slices.ContainsFunc(p.ways(), func(r model.FetchRequest) bool { return r.Zone.Rate.PerGB > 0 }) {
		words += fmt.Sprintf(" for a body of %d MB: with a lower --max-body more fit", p.Request.BodyLimit/1_000_000)
	}
	return words
}

// checkAgain says why the cap of a batch cannot pay for a further try of n items, or is nil. Of bodies the longest alone is
// counted, that of one item: they are seldom that long.
func (p Plan) checkAgain(s State, n int64) error {
	each, _ := p.Request.Zone.Rate.Cost(1, 0)
	if most := billionths(each)*(n-1) + p.Price; s.Cap > 0 && s.Spent+most > s.Cap {
		return model.BadField("cap", "one try of %s may cost %s, and %s of the cap of %s is spent: nothing has changed. '%s --max-cost DOLLARS' raises the cap",
			model.Counted(n, "item"), model.SmallDollars(Dollars(most)), model.SmallDollars(Dollars(s.Spent)), model.SmallDollars(Dollars(s.Cap)), s.Command("set"))
	}
	return nil
}

// free says which batch has the name of a draft, or is nil.
func (b *Batches) free(ctx context.Context, r Report) error {
	if r.draft.Once == "" {
		return nil
	}
	all, err := b.List(ctx)
	for _, s := range all {
		if err == nil && s.Profile == r.Plan.Profile && s.Name == r.draft.Once {
			return r.taken(s)
		}
	}
	return err
}

// taken says that the name of a draft is that of a batch.
func (r Report) taken(s State) error {
	was, is := s.Plan.unlike(r.Plan), r.Plan.unlike(s.Plan)
	switch {
	case s.Digest != r.Planned.Digest:
		return &ChangedError{s, r.Planned}
	case was != is: // "none" both, else
		return &OtherFlagsError{s, was, is}
	}
	return &OnceError{s}
}

// TakenBy is the batch that has the name of a draft, by what Check or Start said.
func TakenBy(err error) (s State, taken bool) {
	if e, is := errors.AsType[*OnceError](err); is {
		return e.State, true
	}
	if e, is := errors.AsType[*ChangedError](err); is {
		return e.State, true
	}
	if e, is := errors.AsType[*OtherFlagsError](err); is {
		return e.State, true
	}
	return s, false
}

// read puts the rows into the spool.
func (b *Batches) read(ctx context.Context, r *Report, prepared *fetch.Prepared, spool *files.Spool, read *atomic.Int64) error {
	notes, err := prepared.ReadRows(ctx, r.draft.Input, &planner{r, spool, read})
	r.Notes = append(r.Notes, notes...)
	switch {
	case err != nil:
		return err
	case r.Bad > 0 && !r.draft.SkipBad:
		return &BadRowsError{Bad: r.Bad, Problems: r.Problems}
	case len(r.First) == 0:
		return model.BadField("input", "it has no row to fetch")
	}
	return nil
}

// planner takes the rows of an input.
type planner struct {
	r     *Report
	spool *files.Spool
	read  *atomic.Int64
}

// Take puts a row into the spool.
func (p *planner) Take(row rows.Record, request model.FetchRequest) error {
	if p.read != nil {
		p.read.Add(1)
	}
	item, err := json.Marshal(Row{cmp.Or(row.Line, row.Number), row.Values})
	if err != nil {
		return err
	}
	if len(p.r.First) < firstShown {
		p.r.First = append(p.r.First, request)
	}
	if len(item) >= files.MaxLine {
		p.Reject(rows.Problem{Row: row.Number, Line: row.Line, Text: fmt.Sprintf("with its columns' names it has %d bytes: at most %d", len(item), files.MaxLine-1)})
		return nil
	}
	sum := fetch.Digest(request)
	return p.spool.Add(item, files.Key(sum[:]))
}

// Reject counts a row that cannot be used.
func (p *planner) Reject(problem rows.Problem) {
	if p.r.Bad++; len(p.r.Problems) < mostProblems {
		p.r.Problems = append(p.r.Problems, problem)
	}
}

// Discard forgets what was planned.
func (b *Batches) Discard(r Report) error { return r.spool.Discard() }

// Start makes a batch of what was planned. [Batches.Run] then works on it. An *OnceError or a *ChangedError says that
// another process was first; nothing is left of the report then.
func (b *Batches) Start(ctx context.Context, r Report) (State, error) {
	s, err := b.Files.Batches(ctx)
	if err != nil {
		return State{}, err
	}
	plan, err := json.Marshal(r.Plan)
	if err != nil {
		return State{}, err
	}
	now := b.Clock.Now()
	of := store.Batch{
		ID: r.id, Name: r.draft.Once, Profile: r.Plan.Profile, Plan: plan, Created: now, Changed: now,
		Items: r.Planned.Items, Duplicates: r.Planned.Duplicates, Slices: r.Planned.Slices, Digest: r.Planned.Digest,
		State: store.Running, AtOnce: r.Plan.AtOnce, Rate: r.Plan.Rate, Cap: r.Plan.Cap,
	}
	if s.Server != nil {
		if err := b.spread(ctx, s.Server, r); err != nil {
			return State{}, errors.Join(err, s.Remove(context.WithoutCancel(ctx), r.id))
		}
	}
	first, err := s.Add(ctx, of)
	if err != nil {
		return State{}, err
	}
	if first == nil {
		r.spool.Release()
		if err := files.Begun(b.dir(r.id)); err != nil {
			b.Log.Warn("a batch that is begun looks as if it were planned", "batch", r.id, "error", err)
		}
		return b.state(ctx, s, of)
	}
	if s.Server != nil {
		if err := s.Remove(ctx, r.id); err != nil {
			return State{}, err
		}
	}
	known, err := b.state(ctx, s, *first)
	return known, errors.Join(err, b.Discard(r), r.taken(known))
}

// typedSecret reports whether a header of a request is a secret that was typed, or a column, and would be kept.
func typedSecret(r model.FetchRequest) bool {
	kept := func(value string) bool {
		return !model.OnlyVariable(value) || slices.ContainsFunc(model.Variables(value), func(name string) bool { return r.Secrets[name] == "" })
	}
	for name, values := range r.Header {
		if model.SecretName(name) && slices.ContainsFunc(values, kept) {
			return true
		}
	}
	return false
}

// newID makes an identifier that sorts by time.
func (b *Batches) newID() string {
	return "batch-" + strconv.FormatInt(b.Clock.Now().UnixMilli(), 36) + strings.ToLower(rand.Text()[:6])
}
