// Package rotation is the page of the Keys tab that rotates a key, or a zone's password, with proof: create, set, test,
// finish. A row is what uses the key, a column one of the four words, a cell what was measured and
// when, or that a person vouches for it.
//
// The tab holds a Page and passes it messages.
package rotation

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/rotate"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// Engine drives rotations; *rotate.Engine does.
type Engine interface {
	Plan(ctx context.Context, k model.Key, profile string, method keystore.RotationMethod) (keystore.RotationPlan, error)
	Begin(ctx context.Context, k model.Key, profile string, method keystore.RotationMethod) (keystore.RotationPlan, error)
	PlanPassword(ctx context.Context, w rotate.Password) (keystore.RotationPlan, error)
	BeginPassword(ctx context.Context, w rotate.Password) (keystore.RotationPlan, error)
	Run(ctx context.Context, id string, until keystore.RotationWord, on func(keystore.RotationPlan)) (keystore.RotationPlan, error)
	Give(ctx context.Context, id string, value keystore.Secret, expires string) (keystore.RotationPlan, error)
	Vouch(ctx context.Context, id string, step keystore.RotationStep, reason string) (keystore.RotationPlan, error)
	Abandon(ctx context.Context, id string) (keystore.RotationPlan, error)
	Late(ctx context.Context, p keystore.RotationPlan) rotate.UsesAfterEnd
	ByHand(p keystore.RotationPlan) bool
}

// Console does what the page asks besides.
type Console interface {
	// Resolve gives the value behind a reference that was typed, or of the new value to copy it.
	Resolve(ctx context.Context, ref string) (keystore.Secret, error)
	// Rehearse takes the steps of a rotation on the emulator, with copies.
	Rehearse(ctx context.Context, k model.Key, method keystore.RotationMethod) (keystore.RotationPlan, error)
	// Account says whose a rotation is: the account, the profile and the address.
	AccountText(p keystore.RotationPlan) string
	// SaveReport keeps a report as a file and names it.
	SaveReport(name, text string) (string, error)
}

// Deps are the parts the page works with.
type Deps struct {
	Ctx     context.Context
	Now     func() time.Time
	Theme   *kit.Theme
	Engine  Engine
	Console Console
	// Recorded takes a rotation's record as it is on disk now. It is called in Update, so that an
	// older record never arrives after a newer one.
	Recorded func(p keystore.RotationPlan) tea.Cmd
}

// Page shows one rotation. While it is open it fills the tab; what runs goes on when it is closed.
type Page struct {
	deps Deps
	open bool
	key  model.Key
	plan keystore.RotationPlan
	// begin writes the plan's record; nil when it is written.
	begin func(ctx context.Context) (keystore.RotationPlan, error)
	slot  kit.Slot
	stop  *rotate.StopError // why it does not go on by itself
	err   error
	table widget.Table
	form  *widget.FormDialog
	tried tried // what a rehearsal came to
	width int   // of the last frame
	late  late  // uses of the old value after the end
}

// errStopped says that a person stopped what was under way.
var errStopped = errors.New("stopped: what was done stands in the record")

// tried is what a rehearsal came to, in words; of one that failed, why.
type tried struct {
	text string
	err  error
}

// New makes a page without a rotation.
func New(d Deps) *Page { return &Page{deps: d} }

// Open reports whether the page fills the tab.
func (p *Page) Open() bool { return p.open }

// Running counts the work in flight.
func (p *Page) Running() int { return kit.Running(&p.slot) }

// Look shows the rotation of a key as it would begin now. Nothing is written before the first step.
func (p *Page) Look(k model.Key, profile string, method keystore.RotationMethod) tea.Cmd {
	e := p.deps.Engine
	return p.look(k, func(ctx context.Context) (keystore.RotationPlan, error) { return e.Plan(ctx, k, profile, method) },
		func(ctx context.Context) (keystore.RotationPlan, error) { return e.Begin(ctx, k, profile, method) })
}

// LookAtPassword is Look for the password of a zone.
func (p *Page) LookAtPassword(w rotate.Password) tea.Cmd {
	e := p.deps.Engine
	return p.look(model.Key{}, func(ctx context.Context) (keystore.RotationPlan, error) { return e.PlanPassword(ctx, w) },
		func(ctx context.Context) (keystore.RotationPlan, error) { return e.BeginPassword(ctx, w) })
}

func (p *Page) look(k model.Key, plan, begin func(ctx context.Context) (keystore.RotationPlan, error)) tea.Cmd {
	if p.slot.Running() {
		return kit.Warn("a rotation is at work: look at it with R first")
	}
	return kit.Load(kit.Keys, &p.slot, p.deps.Ctx, plan, func(found keystore.RotationPlan, err error) tea.Cmd {
		if err != nil {
			return kit.Fail("rotation: " + err.Error())
		}
		p.plan = keystore.RotationPlan{} // Show takes the new one
		cmd := p.Show(k, found)
		p.begin = begin
		return cmd
	})
}

// Show opens the page on a rotation, unless another one is at work.
func (p *Page) Show(k model.Key, plan keystore.RotationPlan) tea.Cmd {
	if p.slot.Running() && p.plan.ID != plan.ID {
		return kit.Warn("the rotation of " + p.plan.Named() + " is at work: look at this one when it has ended")
	}
	if p.plan.ID != plan.ID {
		p.stop, p.err, p.tried = nil, nil, tried{}
		p.table, p.late.uses = widget.Table{}, nil
		p.late.slot.Drop()
	}
	if !p.slot.Running() {
		p.begin = nil
	}
	p.key = k
	if !p.slot.Running() {
		p.plan = plan
	}
	p.open = true
	p.fill()
	if p.finished() {
		return p.lookLate()
	}
	return nil
}

// Reread takes the records as they are on disk: another console or a command may have gone on with
// the rotation. What is at work here knows more.
func (p *Page) Reread(plans []keystore.RotationPlan) {
	i := slices.IndexFunc(plans, func(plan keystore.RotationPlan) bool { return plan.ID == p.plan.ID })
	if i < 0 || p.slot.Running() || reflect.DeepEqual(plans[i], p.plan) {
		return
	}
	p.plan, p.stop, p.err = plans[i], nil, nil
	p.fill()
}

// Update handles the intents of Bindings and, while the page is open,
// keys and the mouse. It reports whether it handled the message.
func (p *Page) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if cmd, handled := p.act(msg); handled || !p.open {
		return cmd, handled
	}
	switch msg := msg.(type) {
	case tea.MouseClickMsg:
		p.table.Click(msg.Y - 1) // the table is inside the frame
	case tea.MouseWheelMsg, tea.KeyPressMsg:
		p.table.Update(msg)
	default:
		return nil, false
	}
	return nil, true
}

// recorded tells the tab what the record is now.
func (p *Page) recorded() tea.Cmd {
	if p.begin != nil { // there is none
		return nil
	}
	return p.deps.Recorded(p.plan)
}

// ended takes what a run came to; form says that it came from the open form.
func (p *Page) ended(plan keystore.RotationPlan, form bool, err error) tea.Cmd {
	if plan.ID == p.plan.ID {
		p.plan = plan
	}
	stood := p.stop // before what a person has answered now
	p.stop, p.err = nil, nil
	if p.form != nil {
		p.form.Busy = false
	}
	var closing tea.Cmd
	switch {
	case errors.As(err, &p.stop):
	case errors.Is(err, context.Canceled):
		p.err = errStopped
	case err != nil && form && p.form != nil:
		p.form.Problem = err.Error()
	default:
		p.err = err
	}
	if p.form != nil && form && p.form.Problem == "" {
		closing = kit.CloseOverlay(p.form)
		p.form = nil
	}
	p.fill()
	cmds := []tea.Cmd{closing, p.recorded()}
	if next, more := p.next(); form && err == nil && stood != nil && more && !p.ends(next) && (next.Kind.Word() == stood.Step.Kind.Word() || stood.Step.Kind == keystore.StepRefresh) {
		return tea.Batch(append(cmds, p.run(next.Kind.Word()))...)
	}
	if p.plan.Over() && err == nil {
		cmds = append(cmds, kit.Info(p.outcome()))
	}
	return tea.Batch(cmds...)
}

// rehearse takes the steps on the emulator, with copies.
func (p *Page) rehearse() tea.Cmd {
	try, k, method := p.deps.Console.Rehearse, p.key, p.plan.Method
	p.stop, p.err, p.tried = nil, nil, tried{}
	return kit.Load(kit.Keys, &p.slot, p.deps.Ctx, func(ctx context.Context) (keystore.RotationPlan, error) {
		return try(ctx, k, method)
	}, p.rehearsed)
}

func (p *Page) rehearsed(plan keystore.RotationPlan, err error) tea.Cmd {
	if err != nil {
		p.tried.err = err
		return nil
	}
	measured, vouched := plan.Count()
	var yours []string
	for _, s := range plan.Steps {
		if s.Done && s.By == keystore.Vouched {
			yours = append(yours, s.Name())
		}
	}
	p.tried.text = fmt.Sprintf("rehearsed on the emulator with copies, nothing real was written: %d steps measured", measured)
	if vouched > 0 {
		p.tried.text += "; yours will be: " + strings.Join(yours, ", ")
	}
	return nil
}

// outcome is what is told when a rotation is over.
func (p *Page) outcome() string {
	if p.plan.Undone {
		return "the rotation of the " + p.plan.Key + " was taken back: the old password stays, and the new one is removed"
	}
	if p.plan.Abandoned && p.plan.Zone != "" {
		return "the rotation of the " + p.plan.Key + " was abandoned: " + rotate.Leftovers(p.plan)
	}
	if p.plan.Abandoned {
		words := "the rotation of " + p.plan.Key + " was abandoned; its record stays"
		if p.plan.NewHeld != "" {
			words += "; " + rotate.Leftovers(p.plan)
		}
		return words
	}
	measured, vouched := p.plan.Count()
	return fmt.Sprintf("the rotation of %s is done: steps measured %d, vouched for %d", p.plan.Named(), measured, vouched)
}

// next is the word that comes now; false when the rotation is over.
func (p *Page) next() (keystore.RotationStep, bool) {
	if n := p.plan.Now(); n >= 0 && !p.plan.Over() {
		return p.plan.Steps[n], true
	}
	return keystore.RotationStep{}, false
}

// run takes the steps up to the end of a word.
func (p *Page) run(until keystore.RotationWord) tea.Cmd {
	engine, id, begin := p.deps.Engine, p.plan.ID, p.begin
	p.stop, p.err = nil, nil
	return kit.Follow(kit.Keys, &p.slot, p.deps.Ctx, func(ctx context.Context, emit func(keystore.RotationPlan)) (keystore.RotationPlan, error) {
		if begin != nil { // the record is written with the first step
			plan, err := begin(ctx)
			if err != nil {
				return keystore.RotationPlan{}, err
			}
			id = plan.ID
			emit(plan)
		}
		return engine.Run(ctx, id, until, emit)
	}, func(now keystore.RotationPlan) tea.Cmd {
		p.plan, p.begin, p.stop, p.err = now, nil, nil, nil
		p.fill()
		return p.recorded()
	}, func(plan keystore.RotationPlan, err error) tea.Cmd { return p.ended(plan, false, err) })
}

// do carries out one act of the engine.
func (p *Page) do(form bool, f func(ctx context.Context, id string) (keystore.RotationPlan, error)) tea.Cmd {
	id := p.plan.ID
	return kit.Load(kit.Keys, &p.slot, p.deps.Ctx, func(ctx context.Context) (keystore.RotationPlan, error) {
		return f(ctx, id)
	}, func(plan keystore.RotationPlan, err error) tea.Cmd { return p.ended(plan, form, err) })
}

// waits are the places that a person has to write, in a refresh.
func (p *Page) waits() (console, person []string) {
	for _, s := range p.plan.Steps {
		if s.Kind != keystore.StepSet {
			continue
		}
		ref, err := keystore.ParseRef(s.Subject)
		if err == nil && (ref.Storable() || ref.Scheme() == keystore.SchemeDemo) {
			console = append(console, ref.Label())
		} else {
			person = append(person, strings.TrimPrefix(s.Name(), "set "))
		}
	}
	return console, person
}

// users are the plan's users without the jobs in flight, in the order of their steps.
func (p *Page) users() []keystore.RotationUser {
	var out []keystore.RotationUser
	for _, s := range p.plan.Steps {
		if u, ok := p.plan.User(s.Subject); ok && (s.Kind == keystore.StepTest || s.Kind == keystore.StepDrain) {
			out = append(out, u)
		}
	}
	return out
}

// steps are the steps of a row: of the key itself (row 0), or of a user.
func (p *Page) steps(row int) []keystore.RotationStep {
	users := p.users()
	if row == 0 || row > len(users) {
		return slices.DeleteFunc(slices.Clone(p.plan.Steps), func(s keystore.RotationStep) bool {
			own := s.Kind == keystore.StepSet && !slices.ContainsFunc(users, func(u keystore.RotationUser) bool { return p.places(u, s.Subject) })
			return s.Subject != "" && !own
		})
	}
	u := users[row-1]
	return slices.DeleteFunc(slices.Clone(p.plan.Steps), func(s keystore.RotationStep) bool {
		return s.Kind == keystore.StepSet && !p.places(u, s.Subject) || s.Kind != keystore.StepSet && s.Subject != u.Name
	})
}

// places reports whether a place is where a user takes the value from. The demo's own references
// give way to the one that holds the new value.
func (p *Page) places(u keystore.RotationUser, place string) bool {
	return !u.InFlight && (u.Place() == place || place == p.plan.Ref && u.File == "" && u.Ref != "" && u.Ref == p.plan.NewRef)
}
