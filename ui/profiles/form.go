package profiles

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/ask"
	service "zonedeck/service/profiles"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// form is the overlay that adds an account, or changes one.
type form struct {
	*widget.FormDialog
	deps   Deps
	edits  *model.Profile  // nil for a new account
	value  keystore.Secret // the key as typed; it is stored when the account is saved
	chosen bool            // the operator chose the store
	first  string          // what the first account becomes; empty for a further one
	sure   ask.ID          // the question about a key of another account that the operator was shown
	warned string          // the credential that the operator was told is not known to be accepted
	answer
	asking asking
	admin  adminKey
	tested string // the proxy that the verdict beside it is about; empty without one
	// passwords are those of zones that are stored when the account is saved.
	passwords map[model.ZoneName]password
}

// Messages of the form.
type (
	probed       []service.Store
	askAccount   struct{}
	unask        struct{} // stop asking
	zoneVerdicts struct{} // show the verdict on each zone
	read         struct {
		round int    // which time it was asked
		about string // the form's credential when it was asked
		draft service.Draft
		err   error
	}
)

func newForm(d Deps, edits *model.Profile) *form {
	f := &form{deps: d, edits: edits, passwords: map[model.ZoneName]password{}}
	f.unproved = "Nobody has asked the account whether it accepts this key."
	if configured, _ := d.Profiles.Configured(); len(configured) == 0 {
		f.first = " The first profile becomes the default: zonedeck starts with it from then on."
	}
	title := "Add profile"
	if edits != nil {
		title = "Edit profile " + edits.Name
	}
	f.FormDialog = widget.NewFormDialog(d.Theme, title, widget.NewForm(d.Theme, fields(f)...))
	f.Submit = "save and use"
	if edits != nil {
		f.Submit = "save"
	}
	f.Width = 84
	f.OnSubmit, f.OnChange, f.Owner = f.save, f.follow, f
	if edits != nil {
		f.chosen = true
		if known, ok := f.deps.Profiles.Key(edits.Key); ok && known.Secret != "" {
			f.Form.SetValue(fieldStore, keystore.Ref(known.Secret).Scheme())
			f.Form.SetValue(fieldLevel, string(known.Level))
			f.Form.SetPlaceholder(fieldValue, "it is stored: "+kit.RefLabel(known.Secret)+"; type to replace it")
		}
	}
	f.follow(f.Form)
	if edits != nil {
		f.accepted = f.credential()
	}
	return f
}

// head says what to do in the form: only an account that the dialect lists is asked for the rest.
func (f *form) head(lists bool) string {
	switch {
	case f.edits != nil:
		words := "Only the lines that differ are written."
		if lists {
			words += " " + f.deps.Theme.Key("account.ask") + " asks the account again."
		}
		if f.edits.ReadOnly {
			words = "This profile is read-only: nothing is saved unless you switch Read-only off here. " + words
		}
		return words
	case !lists:
		return "Type the address and the key, and fill in the rest by hand: the contract shows no call that lists an account. Nothing is written before you save." + f.first
	default:
		return "Type the address and the key, then " + f.deps.Theme.Key("account.ask") + ": the rest is asked for. Nothing is written before you save." + f.first
	}
}

// open shows a form, on a field if one is named, and has the stores probed meanwhile.
func open(d Deps, edits *model.Profile, field string) tea.Cmd {
	f := newForm(d, edits)
	f.Form.FocusOn(field, false)
	return tea.Sequence(kit.OpenOverlay(f.FormDialog), func() tea.Msg {
		return kit.ForOverlay{Overlay: f.FormDialog, Msg: probed(d.Profiles.Stores(d.Ctx))}
	})
}

// Extra are the keys that ask the account, and stop asking.
func (f *form) Extra() []kit.Binding {
	d := f.dialect()
	b := kit.Binding{
		Name: "account.ask", Keys: []string{"ctrl+r"}, Label: "ask the account", Group: "Form", Intent: askAccount{}, WhileTyping: true, Hidden: !d.ListsAccount(),
		Help: "Ask the account what it has, by the key, and check each value. Nothing is written.",
	}
	if err := f.draft().Refusal(); err != nil {
		b.Disabled = err.Error()
	}
	switch {
	case f.asking.stop != nil:
		b = kit.Binding{
			Name: "account.stop", Keys: []string{"esc"}, Label: "stop asking", Group: "Form", Intent: unask{}, WhileTyping: true, Stops: true,
			Help: "Stop asking the account. What was typed stays, and can be saved.",
		}
	case f.Busy:
		b.Disabled = "the account is being saved"
	}
	zones := kit.Binding{
		Name: "account.zones", Keys: []string{"ctrl+l"}, Label: "each zone", Group: "Form", Intent: zoneVerdicts{}, WhileTyping: true, Hidden: true,
		Help: "Show what the account says of each zone.",
	}
	if f.found.Listing == (service.Verdict{}) {
		zones.Disabled = "the account has not listed its zones yet"
	}
	return []kit.Binding{b, zones}
}

// Handle takes the form's own messages.
func (f *form) Handle(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case probed:
		f.tellStores(msg)
	case askAccount:
		return f.ask(), true
	case unask:
		f.unask()
	case zoneVerdicts:
		return f.eachZone(), true
	case read:
		if msg.round != f.asking.times { // it was stopped
			break
		}
		f.endAsking()
		f.Problem = ""
		if msg.about != f.credential() {
			f.unproved = otherAsked
			f.Form.SetNote(fieldAccount, widget.Note{Text: f.askAgain()})
			break
		}
		f.fillFound(msg)
	default:
		return nil, false
	}
	return nil, true
}

// Filled reports whether a key was typed: it leaves its field at once.
func (f *form) Filled() bool { return !f.value.Empty() }

// Settled takes typed secrets out of their fields when those are left: from then on only the last
// four of the key are on the screen, and the references of passwords.
func (f *form) Settled(values *widget.Form) {
	f.refused()
	f.takePasswords(values)
	if values.Focused() == fieldValue && values.CapturingText() {
		return
	}
	if typed := strings.TrimSpace(values.Value(fieldValue)); typed != "" && f.checkValue(typed) == nil {
		f.value = keystore.NewSecret(typed)
		values.SetHeld(fieldValue, f.value.String()+", stored when you save; type to replace it")
		values.SetNote(fieldValue, widget.Note{})
		f.outdated()
	}
}

// plainText warns that the key would travel to this address unencrypted.
const plainText = "! http: the key travels in clear, and anyone on the way can read it; use https unless this is a test service"

// follow updates what depends on other fields.
func (f *form) follow(values *widget.Form) {
	d := f.dialect()
	values.SetHidden(fieldPlain, !inClear(values.Value(fieldBaseURL)))
	f.Intro = f.head(d.ListsAccount())
	values.SetHelp(fieldDialect, explain(d), false)
	values.SetPlaceholder(fieldBaseURL, "such as "+cmp.Or(d.BaseURL(), "https://api.example.com"))
	values.SetPlaceholder(fieldPrefix, "such as "+cmp.Or(d.UsernamePrefix(), "abc"))
	values.SetHidden(fieldEntry, len(d.ProxyEntries()) == 0)
	for _, e := range d.ProxyEntries() {
		if e.Host+":"+strconv.Itoa(e.Port) == values.Value(fieldEntry) {
			values.SetValue(fieldProxy, e.Host)
			values.SetValue(fieldPort, strconv.Itoa(e.Port))
			values.SetValue(fieldEntry, "")
		}
	}
	if f.tested != "" && f.tested != f.proxyEntry() {
		f.tested = ""
		values.SetNote(fieldProxy, widget.Note{Text: "not tested: " + f.deps.Theme.Key("account.ask") + " tests it"})
	}
	scheme := values.Value(fieldStore)
	f.chosen = f.chosen || values.Focused() == fieldStore
	known, recorded := f.deps.Profiles.Key(values.Value(fieldKey))
	kept := recorded && known.Secret != ""
	typed := slices.Contains(keystore.StoreSchemes(), scheme)
	values.SetHidden(fieldValue, !typed || kept && f.edits == nil)
	values.SetHidden(fieldSecret, typed || kept)
	f.askWhy()
	if scheme == keystore.SchemeEnv {
		values.SetPlaceholder(fieldSecret, "such as env:ACME_KEY")
	} else {
		values.SetPlaceholder(fieldSecret, "such as cmd:op read op://vault/item")
	}
	values.SetNote(fieldKey, widget.Note{})
	if recorded {
		note := widget.Note{Mark: widget.NoteGood, Text: "in the inventory already, " + known.Level.String() + ", " + referenceText(known)}
		if q, other := f.question(f.draft(), ask.OtherAccount); other {
			note.Mark, note.Text = widget.NoteWarn, note.Text+"; the key of "+q.Facts[0].Text
		}
		values.SetNote(fieldKey, note)
	}
	f.outdated()
	f.judgeLevel()
}

// askWhy shows the field for a reason where an ADMIN key is chosen.
func (f *form) askWhy() {
	_, asks := f.question(f.draft(), ask.AdminReason)
	f.Form.SetHidden(fieldReason, !asks && (f.admin.about == "" || f.admin.about != f.credential()))
}

// adminKey is the credential that saving refused as that of an ADMIN key, whatever its level is called.
type adminKey struct {
	about   string
	refused atomic.Pointer[string] // by the save under way
}

// refused asks for the reason that a refused save wants.
func (f *form) refused() {
	of := f.admin.refused.Swap(nil)
	if of == nil {
		return
	}
	f.admin.about = *of
	f.askWhy()
	f.Form.FocusOn(fieldReason, true)
}

// explain says what a dialect changes.
func explain(d service.Dialect) string {
	if d.ListsAccount() {
		return d.Name() + " adds to the contract what a service of this kind documents in public: it lists the account, its zones and their passwords, and shows jobs and their results."
	}
	return d.Name() + " sends and reads what the contract shows and nothing more: zones, account id and proxy are filled in by hand."
}

// question is what has to be answered of a kind before a draft is saved.
func (f *form) question(d service.Draft, kind ask.Kind) (ask.Question, bool) {
	for _, q := range f.deps.Profiles.Questions(d) {
		if q.Kind == kind {
			return q, true
		}
	}
	return ask.Question{}, false
}

// doubt asks once, with key and address, before a key of another account is sent or saved; again is
// the key press that says yes.
func (f *form) doubt(d service.Draft, again string) bool {
	q, other := f.question(d, ask.OtherAccount)
	if !other || f.agreed(q) {
		return false
	}
	f.sure = q.ID()
	f.Problem = fmt.Sprintf("K%s. %s once more to use it at %s.", strings.TrimPrefix(q.Text, "k"), f.deps.Theme.Key(again), d.Profile.BaseURL)
	return true
}

// agreed reports whether a key of another account may be used: a person said yes, or typed its value.
func (f *form) agreed(q ask.Question) bool { return f.sure == q.ID() || !f.value.Empty() }

// answers are those that the form gives.
func (f *form) answers(d service.Draft) ask.Answers {
	answers := ask.Answers{}.AlwaysWith(ask.AdminReason, ask.Answer{Text: f.text(fieldReason)})
	if q, other := f.question(d, ask.OtherAccount); other && f.agreed(q) {
		answers = answers.With(q, ask.Agreed)
	}
	return answers
}

// referenceText describes a key's reference for display.
func referenceText(k model.Key) string {
	return cmp.Or(kit.RefLabel(k.Secret), "its value is not recorded")
}

// tellStores shows what the probes said, and chooses the keyring where it answers.
func (f *form) tellStores(stores []service.Store) {
	options := storeOptions()
	note := widget.Note{Mark: widget.NoteGood}
	say := func(text string) {
		if note.Text != "" && text != "" {
			note.Text += "; "
		}
		note.Text += text
	}
	for _, s := range stores {
		for i := range options {
			if options[i].Value == s.Scheme && s.Err != nil {
				options[i].Disabled = s.Err.Error()
			}
		}
		switch {
		case s.Scheme == keystore.SchemeKeyring && s.Err == nil:
			say("the keyring answers")
			if !f.chosen {
				f.Form.SetValue(fieldStore, s.Scheme)
			}
		case s.Err != nil:
			note.Mark = widget.NoteWarn
			say("(-) " + s.Err.Error())
		default:
			say(s.Note)
		}
	}
	f.Form.SetNote(fieldStore, note)
	f.Form.SetOptions(fieldStore, options)
	f.follow(f.Form)
}

// text is a field's value.
func (f *form) text(name string) string {
	s, _ := model.TrimMarks(f.Form.Value(name)) // named when it was pasted
	return s
}

// dialect is the one that is chosen.
func (f *form) dialect() service.Dialect { return service.DialectNamed(f.text(fieldDialect)) }

// draftProfile is the profile as filled in so far, with what the dialect knows where nothing was typed.
func (f *form) draftProfile() model.Profile {
	p := model.Profile{APIVersion: model.DefaultAPIVersion, Verify: true}
	if f.edits != nil {
		p = *f.edits
	}
	d := f.dialect()
	if p.DialectName() != d.Name() || f.edits == nil {
		p.Dialect = f.text(fieldDialect)
	}
	p.BaseURL = strings.TrimRight(f.text(fieldBaseURL), "/")
	if f.edits == nil {
		p.Name = f.text(fieldName)
	}
	p.ProxyHost, p.UsernamePrefix = f.text(fieldProxy), f.text(fieldPrefix)
	p.ProxyPort, _ = strconv.Atoi(f.text(fieldPort))
	p.Account, p.CA = model.AccountID(f.text(fieldAccount)), f.text(fieldCA)
	p.Key = f.text(fieldKey)
	p.AllowedDomains = strings.Fields(strings.ReplaceAll(f.text(fieldAllowed), ",", " "))
	p.MaxJobCost, _ = strconv.ParseFloat(f.text(fieldMostCost), 64)
	p.Timeouts, _ = model.Timeouts(nil).Set(f.text(fieldTimeouts))
	p.TestURL, p.TestText = f.text(fieldTestURL), f.text(fieldTestText)
	p.ReadOnly, p.Color = f.Form.On(fieldReadOnly), f.text(fieldColor)
	complete, _ := service.Draft{Profile: p, Before: f.edits, Value: f.value}.Complete()
	return complete.Profile
}

// draft is what is saved. A line of a zone that cannot be read leaves its zones out.
func (f *form) draft() service.Draft {
	p := f.draftProfile()
	d := service.Draft{Profile: p, Before: f.edits, Value: f.value, Store: f.Form.Value(fieldStore), Values: map[string]keystore.Secret{}, Facts: f.found}
	known, recorded := f.deps.Profiles.Key(p.Key)
	if !recorded || known.Secret == "" {
		d.Reference = f.text(fieldSecret)
	}
	if !recorded || f.edits == nil {
		d.Level = model.Level(f.text(fieldLevel))
	}
	if p.CA == "" {
		d.CA = f.found.CA
	}
	if zones, _, err := readZones(f.Form.Value(fieldZones)); err == nil {
		d.Profile.Zones = f.zones(zones, d.Values)
	}
	return d
}

// report is what is saved, or the mistake in it with where it is mended.
func (f *form) report(d service.Draft) (service.Report, error) {
	r, err := f.deps.Profiles.Check(d)
	var disputed *service.LevelError
	var field *model.RequestError
	switch {
	case errors.As(err, &disputed) && r.Recorded:
		err = fmt.Errorf("%w: correct its record in Keys", disputed)
	case errors.As(err, &disputed):
		err = fmt.Errorf("%w: choose %s as its level", disputed, disputed.Allows)
	case errors.As(err, &field) && field.Field() == "level":
		err = fmt.Errorf("%w: correct its record in Keys, or type another name", field.Problems[0].Err)
	case errors.As(err, &field):
		err = field.Problems[0].Err
	case err == nil && r.Valueless:
		err = errors.New("the key's value is missing: type it, or name the place where it is")
	}
	return r, err
}

// zones are those of the form, with what only the account or the edited profile knows of them; the
// passwords that are to be stored are put into values.
func (f *form) zones(typed []model.Zone, values map[string]keystore.Secret) []model.Zone {
	for i, z := range typed {
		if f.edits != nil {
			before, _ := f.edits.Zone(string(z.Name))
			typed[i].IdentityVerified, typed[i].Rate = before.IdentityVerified, before.Rate
		}
		for _, found := range f.found.Zones {
			if found.Zone.Name == z.Name && found.Zone.Rate.Priced() {
				typed[i].Rate = found.Zone.Rate
			}
		}
		if held := f.passwords[z.Name]; held.ref != "" && held.ref == z.Password {
			values[z.Password] = held.value
		}
	}
	return typed
}

// refOf is the reference that a zone's password gets.
func (f *form) refOf(zone model.ZoneName) string {
	return service.Draft{Profile: f.draftProfile(), Store: f.Form.Value(fieldStore)}.RefOf("zone-" + string(zone))
}

// saved says what a profile that was saved can do, and what it lacks first.
func (f *form) saved(p model.Profile) string {
	can, lacks := "requests and jobs", ""
	switch {
	case p.Key == "":
		can, lacks = "no requests and no jobs", "no key"
	case len(p.Zones) == 0:
		can, lacks = "jobs", "no zone"
	case p.ProxyHost == "":
		lacks = "no proxy host"
	case !slices.ContainsFunc(p.Zones, func(z model.Zone) bool { return z.Password != "" }):
		lacks = "no zone's password"
	default:
		can = "requests, jobs and proxy"
	}
	if lacks != "" {
		lacks = "; " + lacks + " yet, " + f.deps.Theme.Key("console.palette") + " edit profile adds one"
	}
	return "saved " + p.Name + ": " + can + lacks
}

// save writes the profile; a new one is used from then on.
func (f *form) save(values *widget.Form) tea.Cmd {
	f.Settled(values)
	d := f.draft()
	r, err := f.report(d)
	if err != nil {
		f.Problem = err.Error()
		return nil
	}
	if f.doubt(d, "dialog.submit") {
		return nil
	}
	of, answers := f.credential(), f.answers(d)
	if of != f.accepted && of != f.warned && d.Refusal() == nil {
		f.warned = of
		f.Problem = f.unproved + " " + f.deps.Theme.Key("account.ask") + " asks it, " + f.deps.Theme.Key("dialog.submit") + " once more saves the profile all the same." + f.first
		return nil
	}
	return f.Run(func() (tea.Msg, error) {
		p, err := f.deps.Profiles.Save(f.deps.Ctx, r, answers)
		var why interface{ AsksWhy() }
		switch {
		case errors.As(err, &why):
			f.admin.refused.Store(&of)
			return nil, err
		case err != nil:
			return nil, err
		case f.edits == nil:
			return f.deps.Program.Switch(p.Name, f.saved(p)), nil
		default:
			return kit.Toast{Text: f.saved(p)}, nil
		}
	})
}
