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
	"zonedeck/service/ask"
	"zonedeck/service/keys"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// Rotations are those of the keys; keys.Rotations has them.
type Rotations interface {
	// Rotation is that of a subject which is under way, or else the one that would begin now.
	Rotation(ctx context.Context, s keys.RotationSubject) (keys.Rotation, error)
	// Resume is the rotation of a record.
	Resume(p keystore.RotationPlan) keys.Rotation
	// Resolve gives the value behind a reference that was typed, or of the new value to copy it.
	Resolve(ctx context.Context, ref string) (keystore.Secret, error)
	// Rehearse takes the steps of a rotation on the emulator, with copies.
	Rehearse(ctx context.Context, k model.Key, method keystore.RotationMethod) (keystore.RotationPlan, error)
	// SaveReport keeps a report as a file and names it.
	SaveReport(name, text string) (string, error)
}

// Deps are the parts the page works with.
type Deps struct {
	Ctx       context.Context
	Now       func() time.Time
	Theme     *kit.Theme
	Rotations Rotations
	// Recorded takes a rotation's record as it is on disk now. It is called in Update, so that an
	// older record never arrives after a newer one.
	Recorded func(p keystore.RotationPlan) tea.Cmd
}

// Page shows one rotation. While it is open it fills the tab; what runs goes on when it is closed.
type Page struct {
	deps Deps
	open bool
	key  model.Key
	keys.Rotation
	step      keystore.RotationStep // what comes now
	questions []ask.Question        // that go with it
	slot      kit.Slot
	err       error
	table     widget.Table
	panes     widget.Panes
	scroll    widget.Scroll // of the steps
	form      *widget.FormDialog
	tried     tried    // what a rehearsal came to
	width     int      // of the last frame
	uses      afterEnd // of the old value
	found     string   // what a person had to do by the last look
	looked    string   // when that was, and whether it found anything new
}

// errStopped says that a person stopped what was under way.
var errStopped = errors.New("stopped: what was done is in the record")

// tried is what a rehearsal came to, in words; of one that failed, why.
type tried struct {
	text string
	err  error
}

// New makes a page without a rotation.
func New(d Deps) *Page { return &Page{deps: d, panes: widget.Panes{N: 2}} }

// Open reports whether the page fills the tab.
func (p *Page) Open() bool { return p.open }

// Running counts the work in flight.
func (p *Page) Running() int { return kit.Running(&p.slot) }

// Look shows the rotation of a subject as it would begin now. Nothing is written before the first step.
func (p *Page) Look(s keys.RotationSubject) tea.Cmd {
	if p.slot.Running() {
		return kit.Warn("a rotation is still running: open this one when it has ended")
	}
	look := p.deps.Rotations.Rotation
	return kit.Load(kit.Keys, &p.slot, p.deps.Ctx, func(ctx context.Context) (keys.Rotation, error) {
		return look(ctx, s)
	}, func(found keys.Rotation, err error) tea.Cmd {
		if err != nil {
			return kit.Fail("rotation: " + err.Error())
		}
		p.Plan = keystore.RotationPlan{} // show takes the new one
		return p.show(s.Key, found)
	})
}

// Show opens the page on a record, unless another rotation is at work.
func (p *Page) Show(k model.Key, plan keystore.RotationPlan) tea.Cmd {
	return p.show(k, p.deps.Rotations.Resume(plan))
}

func (p *Page) show(k model.Key, r keys.Rotation) tea.Cmd {
	another := p.Plan.ID != r.Plan.ID
	if p.slot.Running() && another {
		return kit.Warn("the rotation of " + p.Plan.Named() + " is still running: open this one when it has ended")
	}
	if another {
		p.err, p.tried, p.table, p.uses.found, p.found, p.looked = nil, tried{}, widget.Table{}, nil, "", ""
		p.uses.slot.Drop()
	}
	p.key, p.open = k, true
	if !p.slot.Running() {
		if !another {
			r.Stop = p.Stop
		}
		p.take(r)
	}
	p.fill()
	if p.finished() {
		return p.lookForUses()
	}
	return nil
}

// take takes a rotation as it stands now.
func (p *Page) take(r keys.Rotation) {
	p.Rotation = r
	p.step, p.questions = r.Next()
	p.fill()
}

// asks is the question of a kind that goes with the step.
func (p *Page) asks(kind ask.Kind) (ask.Question, bool) {
	i := slices.IndexFunc(p.questions, func(q ask.Question) bool { return q.Kind == kind })
	if i < 0 {
		return ask.Question{}, false
	}
	return p.questions[i], true
}

// Reread takes the records as they are on disk: another console or a command may have gone on with
// the rotation. What is at work here knows more.
func (p *Page) Reread(plans []keystore.RotationPlan) {
	i := slices.IndexFunc(plans, func(plan keystore.RotationPlan) bool { return plan.ID == p.Plan.ID })
	if i < 0 || p.slot.Running() || reflect.DeepEqual(plans[i], p.Plan) {
		return
	}
	p.err = nil
	p.take(p.deps.Rotations.Resume(plans[i]))
}

// Update moves between the table and the steps, and in the one with the focus.
func (p *Page) Update(msg tea.Msg) {
	row := p.table.Cursor()
	if click, ok := msg.(tea.MouseClickMsg); ok {
		if hit, under := p.panes.Under(click.Mouse()); under {
			p.panes.At = hit.Pane
			if hit.Pane == paneUses {
				p.table.Click(hit.Line)
			}
		}
	} else if !p.panes.Update(msg) && p.panes.At == paneSteps {
		p.scroll.Update(msg)
	} else {
		p.table.Update(msg)
	}
	if p.table.Cursor() != row {
		p.scroll = widget.Scroll{}
	}
}

// recorded tells the tab what the record is now.
func (p *Page) recorded() tea.Cmd {
	if !p.Begun() { // there is none
		return nil
	}
	return p.deps.Recorded(p.Plan)
}

// ended takes what an act came to. What a person has answered in a form is done, or the form says why not.
func (p *Page) ended(r keys.Rotation, err error) tea.Cmd {
	p.err = nil
	switch answered := p.form != nil && p.form.Busy; {
	case errors.Is(err, context.Canceled):
		p.err = errStopped
	case answered && err != nil: // else the form is closed with the first step
		p.form.Busy, p.form.Problem = false, err.Error()
	case !errors.As(err, new(*keys.StopError)):
		p.err = err
	}
	p.take(r)
	if p.looked = ""; p.Stop != nil && !p.Stop.Value {
		news := ". "
		if p.found == p.Stop.Error() {
			news = ": nothing has changed. "
		}
		p.found, p.looked = p.Stop.Error(), "looked at "+text.Clock(p.deps.Now(), p.deps.Now())+news
	}
	p.table.SetCursor(p.rowOf(p.step))
	cmds := []tea.Cmd{p.closeForm(), p.recorded()}
	if p.Plan.Over() && err == nil {
		cmds = append(cmds, kit.Info(p.outcome()))
	}
	return tea.Batch(cmds...)
}

// closeForm closes the form whose answer was taken.
func (p *Page) closeForm() (cmd tea.Cmd) {
	if p.form != nil && p.form.Busy {
		cmd, p.form = kit.CloseOverlay(p.form), nil
	}
	return cmd
}

// rehearse takes the steps on the emulator, with copies.
func (p *Page) rehearse() tea.Cmd {
	try, k, method := p.deps.Rotations.Rehearse, p.key, p.Plan.Method
	p.Stop, p.err, p.tried = nil, nil, tried{}
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
	if p.Plan.Undone {
		return "the rotation of the " + p.Plan.Key + " was taken back: the old password stays, and the new one is removed"
	}
	if p.Plan.Abandoned && p.Plan.Zone != "" {
		return "the rotation of the " + p.Plan.Key + " was given up: " + p.Leftovers()
	}
	if p.Plan.Abandoned {
		words := "the rotation of " + p.Plan.Key + " was given up; its record stays"
		if p.Plan.NewHeld != "" {
			words += "; " + p.Leftovers()
		}
		return words
	}
	measured, vouched := p.Plan.Count()
	return fmt.Sprintf("the rotation of %s is done: %d steps measured, %d vouched for", p.Plan.Named(), measured, vouched)
}

// run takes the steps up to the end of the word that comes now, with a person's answers.
func (p *Page) run(a ask.Answers) tea.Cmd {
	return p.runWith(func(context.Context) (ask.Answers, error) { return a, nil })
}

// runWith is run with answers that are found out beside the screen.
func (p *Page) runWith(answers func(ctx context.Context) (ask.Answers, error)) tea.Cmd {
	was := p.Rotation
	p.Stop, p.err = nil, nil
	return kit.Follow(kit.Keys, &p.slot, p.deps.Ctx, func(ctx context.Context, emit func(keys.Rotation)) (keys.Rotation, error) {
		a, err := answers(ctx)
		if err != nil {
			return was, err
		}
		step, _ := was.Next()
		// What the page shows is what is agreed to.
		return was.Take(ctx, step, a.Always(ask.BeginRotation).Always(ask.RotateAgain), emit)
	}, func(now keys.Rotation) tea.Cmd {
		p.err = nil
		p.take(now)
		return tea.Batch(p.closeForm(), p.recorded())
	}, p.ended)
}

// users are the plan's users without the jobs in flight, in the order of their steps.
func (p *Page) users() []keystore.RotationUser {
	var out []keystore.RotationUser
	for _, s := range p.Plan.Steps {
		if u, ok := p.Plan.User(s.Subject); ok && (s.Kind == keystore.StepTest || s.Kind == keystore.StepDrain) {
			out = append(out, u)
		}
	}
	return out
}

// steps are the steps of a row: of the key itself (row 0), or of a user.
func (p *Page) steps(row int) []keystore.RotationStep {
	users := p.users()
	if row == 0 || row > len(users) {
		return slices.DeleteFunc(slices.Clone(p.Plan.Steps), func(s keystore.RotationStep) bool {
			own := s.Kind == keystore.StepSet && !slices.ContainsFunc(users, func(u keystore.RotationUser) bool { return p.places(u, s.Subject) })
			return s.Subject != "" && !own
		})
	}
	u := users[row-1]
	return slices.DeleteFunc(slices.Clone(p.Plan.Steps), func(s keystore.RotationStep) bool {
		return s.Kind == keystore.StepSet && !p.places(u, s.Subject) || s.Kind != keystore.StepSet && s.Subject != u.Name
	})
}

// rowOf is the row of a step: of its user, or of the key itself.
func (p *Page) rowOf(s keystore.RotationStep) int {
	row := len(p.users())
	for row > 0 && !slices.ContainsFunc(p.steps(row), func(o keystore.RotationStep) bool { return o.Kind == s.Kind && o.Subject == s.Subject }) {
		row--
	}
	return row
}

// places reports whether a place is where a user takes the value from. The demo's own references
// give way to the one that holds the new value.
func (p *Page) places(u keystore.RotationUser, place string) bool {
	return !u.InFlight && (u.Place() == place || place == p.Plan.Ref && u.File == "" && u.Ref != "" && u.Ref == p.Plan.NewRef)
}
