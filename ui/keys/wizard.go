package keys

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/radius"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// wizard guides through a rotation that is kept on disk: every step is written before
// the next one is offered, so it can be left and resumed.
type wizard struct {
	m     *Model
	plan  keystore.RotationPlan
	user  int // index of the user under the cursor while each one is proved
	slot  kit.Slot
	err   error
	store *widget.FormDialog // asks where the new value is; nil if closed
	// old is the value before a refresh, if it could be resolved while the wizard was open:
	// when the rotation began, or before the new one was stored.
	old      keystore.Secret
	progress string // of the proof under way, or empty
}

// wizardIntent is the meaning of a key.
type wizardIntent int

const (
	wizardTick wizardIntent = iota
	wizardVouch
	wizardStop
	wizardBack
	wizardAbandon
	wizardDown
	wizardUp
)

type (
	// startRefresh confirms a refresh.
	startRefresh struct{ key model.Key }
	// abandonPlan confirms giving up a rotation.
	abandonPlan struct{}
	// planSaved is the record as written to disk.
	planSaved struct {
		plan  keystore.RotationPlan
		fresh bool // it has just begun
		old   keystore.Secret
		inv   bool // the inventory was changed too
		err   error
		// behind says why the inventory could not be changed after the step was recorded.
		behind error
	}
	// storeChecked is the result of resolving the reference to the new value.
	storeChecked struct {
		value keystore.Secret
		ref   string
		old   keystore.Secret // what the key's own reference gave before; empty if nothing
		err   error
	}
)

// rotate continues the key's rotation, or begins one by a new key.
func (m *Model) rotate(k model.Key) tea.Cmd {
	if p, running := m.running(k.Name); running {
		return m.openWizard(p)
	}
	return m.begin(k, keystore.RotateByNewKey)
}

func (m *Model) askRefresh(k model.Key) tea.Cmd {
	body := text.Clean(k.Name) + ": a refresh makes a new value and the old one is invalid at once; there is no gradual handover (contract 3).\n"
	if len(k.UsedBy) == 0 {
		body += "No use of it is recorded, but there may be some."
	} else {
		body += "These stop at that moment: " + text.Clean(strings.Join(k.UsedBy, ", ")) + "."
	}
	if k.Secret != "" {
		body += "\nThe console reads the old value now, to see it refused later: " + kit.RefLabel(k.Secret) + " (this may run a command or unlock a keyring)."
	}
	body += "\nR rotates by a new key instead, and nothing stops. The console does not refresh the key: it keeps the checklist."
	return widget.Confirm(m.deps.Theme, widget.ConfirmSpec{
		Title: "Begin a refresh?", Body: body, Yes: "begin the checklist", View: kit.Keys, Intent: startRefresh{key: k},
	})
}

func (m *Model) begin(k model.Key, method keystore.RotationMethod) tea.Cmd {
	r, find, now, id := m.deps.Rotations, m.deps.Uses, m.clock(k.Name), m.id(k)
	profile, before := m.origin(k.Name), m.oldValue(k, method)
	return kit.Do(kit.Keys, &m.beginning, m.deps.Ctx, func(ctx context.Context) tea.Msg {
		uses, err := usesFound(ctx, find)
		if err != nil {
			return planSaved{fresh: true, err: err}
		}
		k.UsedBy = radius.Names(k.UsedBy, uses[id])
		p := keystore.NewRotationPlan(k, method, now)
		p.Profile = profile
		if err := r.Start(ctx, p); err != nil {
			return planSaved{fresh: true, err: err}
		}
		return planSaved{plan: p, fresh: true, old: before(ctx)}
	})
}

// oldValue is the function that resolves a key's value before a refresh. Where it cannot, the
// proof says that the value was not at hand.
func (m *Model) oldValue(k model.Key, method keystore.RotationMethod) func(ctx context.Context) keystore.Secret {
	secrets := m.deps.Secrets
	return func(ctx context.Context) keystore.Secret {
		if method != keystore.RotateByRefresh || k.Secret == "" {
			return keystore.Secret{}
		}
		old, _ := secrets.Resolve(ctx, k.Secret)
		return old
	}
}

func (m *Model) openWizard(p keystore.RotationPlan) tea.Cmd {
	m.wizard = &wizard{m: m, plan: p}
	return kit.OpenOverlay(m.wizard)
}

// wizardMsg handles the messages about rotations.
func (m *Model) wizardMsg(msg tea.Msg) tea.Cmd {
	w := m.wizard
	switch msg := msg.(type) {
	case startRefresh:
		return m.begin(msg.key, keystore.RotateByRefresh)
	case planSaved:
		return m.planSaved(msg)
	case abandonPlan:
		if w != nil {
			now := m.clock(w.plan.Key)
			return w.save(func(p keystore.RotationPlan) (keystore.RotationPlan, error) { return p.Abandon(now) })
		}
	case storeChecked:
		if w != nil {
			return w.storeChecked(msg)
		}
	case proofMoved:
		if w != nil && w.progress != "" {
			w.progress = msg.line
		}
	case proofEnded:
		if w != nil {
			return w.proofEnded(msg)
		}
	case wizardIntent:
		if w != nil {
			return w.Update(msg)
		}
	}
	return nil
}

func (m *Model) planSaved(msg planSaved) tea.Cmd {
	if msg.err != nil {
		if msg.fresh || m.wizard == nil {
			return kit.Fail("rotation: " + msg.err.Error())
		}
		m.wizard.err = msg.err
		return nil
	}
	i := slices.IndexFunc(m.records.plans, func(p keystore.RotationPlan) bool { return p.ID == msg.plan.ID })
	if i < 0 {
		m.records.plans = append([]keystore.RotationPlan{msg.plan}, m.records.plans...)
	} else {
		m.records.plans[i] = msg.plan
	}
	var cmds []tea.Cmd
	if msg.inv {
		m.fill()
		cmds = append(cmds, m.deps.Changed)
	}
	if msg.behind != nil {
		cmds = append(cmds, kit.Fail("the step is recorded, but the inventory could not be changed: "+msg.behind.Error()+"; correct the key with e"))
	}
	if msg.fresh {
		cmds = append(cmds, m.openWizard(msg.plan))
		m.wizard.old = msg.old
		return tea.Batch(cmds...)
	}
	w := m.wizard
	if w == nil || w.plan.ID != msg.plan.ID {
		return tea.Batch(cmds...)
	}
	w.plan, w.err = msg.plan, nil
	if w.plan.Over() {
		m.wizard = nil
		measured, vouched := w.plan.Count()
		done := fmt.Sprintf("the rotation of %s is done: steps measured %d, vouched for %d", w.plan.Key, measured, vouched)
		if w.plan.Method == keystore.RotateByNewKey && m.list.recorded[w.plan.Key] {
			done += "; e records the new key's expiry"
		}
		if w.plan.Abandoned {
			done = "the rotation of " + w.plan.Key + " was abandoned; its record stays"
		}
		cmds = append(cmds, kit.CloseOverlay(w), kit.Info(done))
	}
	return tea.Batch(cmds...)
}

// save changes the record on disk, and the inventory too if the step gives the key a
// new value.
func (w *wizard) save(f func(keystore.RotationPlan) (keystore.RotationPlan, error)) tea.Cmd {
	r, inv, id := w.m.deps.Rotations, w.m.deps.Inventory, w.plan.ID
	recorded := w.m.list.recorded[w.plan.Key]
	return kit.Do(kit.Keys, &w.slot, w.m.deps.Ctx, func(ctx context.Context) tea.Msg {
		var before keystore.RotationPlan
		after, err := r.Update(ctx, id, func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
			before = p
			return f(p)
		})
		if err != nil {
			return planSaved{err: err}
		}
		out := planSaved{plan: after}
		switch {
		case after.HasTakenOver() == before.HasTakenOver():
		case !recorded: // the wiring reads the record of the rotation
			out.inv = true
		case after.HasTakenOver():
			out.behind = inv.Update(ctx, after.Key, func(k model.Key) (model.Key, error) { return after.Renewed(k), nil })
			out.inv = out.behind == nil
		}
		return out
	})
}

// Init does nothing.
func (w *wizard) Init() tea.Cmd { return nil }

// Title is the overlay's heading.
func (w *wizard) Title() string { return "Rotate " + w.plan.Key + " by " + string(w.plan.Method) }

// Size is the size the steps need.
func (w *wizard) Size(sw, sh int) (int, int) {
	ow := min(84, sw-6)
	return ow, min(len(w.lines(ow-2, 0))+1, sh-4)
}

// Bindings are the keys that work now.
func (w *wizard) Bindings() []kit.Binding {
	busy := ""
	leave := kit.Binding{Keys: []string{"esc"}, Label: "leave", Help: "Leave it as it is; R resumes it.", Intent: kit.Close{}}
	switch {
	case w.progress != "":
		busy = "a call is on its way: esc stops it"
		leave.Label, leave.Help, leave.Intent = "stop", "Stop the call.", wizardStop
	case w.slot.Running():
		busy = "the step is being written"
	}
	label := "vouch"
	next, ok := w.plan.Next()
	canProve := ok && next.Kind == keystore.StepProve && w.m.whyNoProof(w.plan) == ""
	switch {
	case canProve:
		label = "prove"
	case ok && next.Kind == keystore.StepStore:
		label = "where is it"
	}
	out := []kit.Binding{
		{Keys: []string{"enter", "space"}, Label: label, Help: "Record the step as done, on your word; what the console can see or try, it does.", Intent: wizardTick, Disabled: busy},
		{Keys: []string{"u"}, Label: "take back", Help: "Undo the last step.", Intent: wizardBack, Disabled: busy},
		{Keys: []string{"X"}, Label: "give up", Help: "End the rotation before its last step.", Intent: wizardAbandon, Disabled: busy, Dangerous: true},
		leave,
	}
	if canProve {
		out = append(out, kit.Binding{Keys: []string{"v"}, Label: "vouch", Help: "Record the call as made, on your word, without making one.", Intent: wizardVouch, Disabled: busy})
	}
	if ok && next.Kind == keystore.StepEach && len(w.plan.Users) > 1 {
		out = append(out, kit.Binding{Keys: []string{"down", "j"}, Label: "next user", Intent: wizardDown, Hidden: true},
			kit.Binding{Keys: []string{"up", "k"}, Label: "user before", Intent: wizardUp, Hidden: true})
	}
	return out
}

// Update handles the wizard's intents.
func (w *wizard) Update(msg tea.Msg) tea.Cmd {
	i, ok := msg.(wizardIntent)
	if !ok {
		return nil
	}
	switch i {
	case wizardTick:
		return w.tick()
	case wizardVouch:
		return w.vouch(keystore.StepProve)
	case wizardStop:
		w.slot.Cancel()
	case wizardBack:
		return w.takeBack()
	case wizardDown:
		w.user = min(w.user+1, len(w.plan.Users)-1)
	case wizardUp:
		w.user = max(w.user-1, 0)
	case wizardAbandon:
		return widget.Confirm(w.m.deps.Theme, widget.ConfirmSpec{
			Title: "Give up the rotation?",
			Body: fmt.Sprintf("%s: %s. Changes at the service stay: an issued key is valid until it is deleted in the account settings.",
				text.Clean(w.plan.Key), planProgress(w.plan)),
			Yes: "give it up", View: kit.Keys, Intent: abandonPlan{},
		})
	}
	return nil
}

func (w *wizard) tick() tea.Cmd {
	next, ok := w.plan.Next()
	if !ok {
		return nil
	}
	switch next.Kind {
	case keystore.StepStore:
		return w.askStore()
	case keystore.StepProve:
		if w.m.whyNoProof(w.plan) == "" {
			return w.prove()
		}
	case keystore.StepEach:
		if user, left := w.unproved(); left {
			now := w.m.clock(w.plan.Key)
			return w.save(func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
				return p.Prove(user, keystore.Vouched, now)
			})
		}
	}
	return w.vouch(next.Kind)
}

// vouch ticks a step on the operator's word.
func (w *wizard) vouch(kind keystore.RotationStepKind) tea.Cmd {
	now := w.m.clock(w.plan.Key)
	return w.save(func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
		return p.Tick(kind, keystore.Vouched, "", now)
	})
}

// unproved returns the user under the cursor, or the first one without a successful
// call yet.
func (w *wizard) unproved() (string, bool) {
	if w.user < len(w.plan.Users) && !w.plan.Users[w.user].Proved {
		return w.plan.Users[w.user].Name, true
	}
	for _, u := range w.plan.Users {
		if !u.Proved {
			return u.Name, true
		}
	}
	return "", false
}

func (w *wizard) takeBack() tea.Cmd {
	for i := len(w.plan.Steps) - 1; i >= 0; i-- {
		if s := w.plan.Steps[i]; s.Done {
			return w.save(func(p keystore.RotationPlan) (keystore.RotationPlan, error) { return p.Untick(s.Kind) })
		}
	}
	return kit.Warn("no step is done yet")
}

// askStore asks where the new value is. A typed value is masked and goes only to a
// keyring or an encrypted file.
func (w *wizard) askStore() tea.Cmd {
	t := w.m.deps.Theme
	form := widget.NewForm(
		t,
		widget.Field{Name: fieldSecret, Label: "Reference", Value: w.plan.NewRef, Placeholder: "e.g. keyring:acme/etl-main-2", Help: keystore.RefForms, Check: func(s string) error {
			return cmp.Or(widget.Required("name where the new value is")(s), kit.CheckRef(s))
		}},
		widget.Field{Name: "value", Label: "New value", Secret: true, Placeholder: "empty: it is already stored", Help: "Stored under the reference now (keyring: and file: only). Empty: the reference is checked."},
	)
	w.store = widget.NewFormDialog(t, "Where is the new value?", form)
	w.store.Submit = "check and record"
	w.store.OnSubmit = w.checkStore
	return kit.OpenOverlay(w.store)
}

func (w *wizard) checkStore(f *widget.Form) tea.Cmd {
	ref, secrets := strings.TrimSpace(f.Value(fieldSecret)), w.m.deps.Secrets
	value := keystore.NewSecret(strings.TrimSpace(f.Value("value")))
	w.store.Busy = true
	k := w.m.keyNamed(w.plan.Key)
	before := w.m.oldValue(k, w.plan.Method)
	return kit.Do(kit.Keys, &w.slot, w.m.deps.Ctx, func(ctx context.Context) tea.Msg {
		old := before(ctx)
		if !value.Empty() {
			if err := secrets.Store(ctx, ref, value); err != nil {
				return storeChecked{old: old, err: err}
			}
		}
		got, err := secrets.Resolve(ctx, ref)
		return storeChecked{got, ref, old, err}
	})
}

func (w *wizard) storeChecked(msg storeChecked) tea.Cmd {
	if w.old.Empty() { // after an error, too: the new value may be stored, and is all that a retry finds
		w.old = msg.old
	}
	if w.store == nil {
		return nil
	}
	w.store.Busy = false
	if msg.err != nil {
		w.store.Problem = msg.err.Error()
		return nil
	}
	closing := kit.CloseOverlay(w.store)
	w.store = nil
	if w.old.Fingerprint() == msg.value.Fingerprint() { // it was stored before the wizard asked
		w.old = keystore.Secret{}
	}
	now := w.m.clock(w.plan.Key)
	return tea.Batch(
		closing,
		w.save(func(p keystore.RotationPlan) (keystore.RotationPlan, error) {
			p, err := p.Stored(msg.value, msg.ref)
			if err != nil {
				return p, err
			}
			return p.Tick(keystore.StepStore, keystore.Measured, "", now) // the reference gave it
		}),
	)
}
