package profiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	service "zonedeck/service/profiles"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

// ask reads the account by the key: the typed one, or the one behind its reference.
func (f *form) ask() tea.Cmd {
	f.Form.FocusOn(f.Form.Focused(), false) // ends the editing, so that a typed key counts
	f.Settled(f.Form)
	if err := f.checkValue(f.text(fieldValue)); err != nil && f.text(fieldValue) != "" { // it was not taken
		cmd, _ := f.Form.Refuse(fieldValue, err.Error())
		return cmd
	}
	d := f.draft()
	if d.Value.Empty() && f.secretRef() == "" {
		cmd, _ := f.Form.Refuse(fieldValue, "type or paste the key: the account is asked with it")
		return cmd
	}
	if f.doubt(d, "account.ask") {
		return nil
	}
	f.Problem = ""
	f.Form.SetNote(fieldAccount, widget.Note{Text: "the account is being asked …"})
	d.Facts = service.Facts{}
	ctx, times := f.begin()
	answers, dialog := f.answers(d), f.FormDialog
	done := read{round: times, about: f.credential()}
	return func() tea.Msg {
		done.draft, done.err = f.deps.Profiles.Probe(ctx, d, answers, nil)
		return kit.ForOverlay{Overlay: dialog, Msg: done}
	}
}

// asking is the call for the account that is under way.
type asking struct {
	times int                // how often it was asked or stopped: an answer to an earlier one is dropped
	stop  context.CancelFunc // nil while it is not asked
}

func (f *form) begin() (ctx context.Context, times int) {
	ctx, f.asking.stop = context.WithCancel(f.deps.Ctx)
	f.asking.times++
	f.Busy, f.Doing = true, "still asking the account: try again when it has answered, or stop asking with esc"
	return ctx, f.asking.times
}

// endAsking is the end of asking, by an answer or by the operator.
func (f *form) endAsking() {
	f.asking.stop()
	f.asking.stop, f.Busy, f.Doing = nil, false, ""
}

// unask stops asking.
func (f *form) unask() {
	if f.asking.stop == nil {
		return
	}
	f.endAsking()
	f.asking.times++
	f.Form.SetNote(fieldAccount, widget.Note{Text: "the account was not asked everything: " + f.deps.Theme.Key("account.ask") + " asks again"})
}

// secretRef is the reference of the key, where its value was not typed.
func (f *form) secretRef() string {
	if known, ok := f.deps.Profiles.Key(f.draftProfile().Key); ok && known.Secret != "" {
		return known.Secret
	}
	return f.text(fieldSecret)
}

// credential tells whether an answer is about what the form says now: where the account is asked,
// in which dialect, by which key and trusting which authority.
func (f *form) credential() string {
	p, value := f.draftProfile(), f.value
	if typed := f.text(fieldValue); typed != "" && f.checkValue(typed) == nil { // another one is being typed
		value = keystore.NewSecret(typed)
	}
	return strings.Join([]string{p.BaseURL, p.Dialect, p.CA, f.secretRef(), value.Fingerprint()}, "\n")
}

// answer is what the account said.
type answer struct {
	subject string // the credential that it is about; empty for none
	found   service.Facts
	filled  map[string]change // what it put into fields
	// accepted is the credential that the service is known to accept, and unproved why it is not known of another.
	accepted, unproved string
}

const otherAsked = "The key or address has changed since the account was asked, and what it had filled in was removed."

// change is what a field had, and what was put there.
type change struct{ before, now string }

// fill puts what the account said into a field.
func (f *form) fill(field, value string) {
	before := f.Form.Value(field)
	if c, again := f.filled[field]; again && c.now == before {
		before = c.before
	}
	f.Form.SetValue(field, value)
	f.filled[field] = change{before, f.Form.Value(field)}
}

// outdated takes the answer, its verdicts and its values back once the form says another credential.
func (f *form) outdated() {
	if f.subject == "" || f.subject == f.credential() {
		return
	}
	for field, c := range f.filled {
		if f.Form.Value(field) == c.now {
			f.Form.SetValue(field, c.before)
		}
	}
	maps.DeleteFunc(f.passwords, func(_ model.ZoneName, held password) bool { return !held.typed })
	f.answer = answer{unproved: otherAsked}
	for _, field := range []string{fieldValue, fieldSecret, fieldLevel, fieldProxy, fieldCA, fieldZones} {
		f.Form.SetNote(field, widget.Note{})
	}
	f.Form.SetNote(fieldAccount, widget.Note{Text: f.askAgain()})
}

// askAgain stands where a verdict was.
func (f *form) askAgain() string {
	return "the form has changed since: " + f.deps.Theme.Key("account.ask") + " asks again"
}

// fillFound puts what the account said into the form, and the verdicts beside it.
func (f *form) fillFound(r read) {
	values, found := f.Form, r.draft.Facts
	f.subject = r.about
	if f.filled == nil {
		f.filled = map[string]change{}
	}
	note := func(field string, v service.Verdict) { values.SetNote(field, noteOf(v)) }
	keyField := fieldValue
	if _, recorded := f.deps.Profiles.Key(f.draftProfile().Key); recorded {
		keyField = fieldKey
	} else if f.value.Empty() {
		keyField = fieldSecret
	}
	note(keyField, found.Key)
	note(fieldAccount, found.Account)
	if r.err != nil {
		f.unproved, f.warned = widget.Sentence(r.err.Error()), ""
		if !errors.Is(r.err, service.ErrRead) {
			f.Problem = r.err.Error()
		}
		return
	}
	f.found, f.accepted = found, r.about
	p := r.draft.Profile
	f.fill(fieldAccount, string(p.Account))
	f.fill(fieldProxy, p.ProxyHost)
	f.fill(fieldPort, strconv.Itoa(p.ProxyPort))
	f.fill(fieldPrefix, p.UsernamePrefix)
	if f.text(fieldLevel) == "" && found.Level() != "" {
		f.fill(fieldLevel, string(found.Level()))
	}
	f.judgeLevel()
	note(fieldProxy, found.Proxy)
	f.tested = f.proxyEntry()
	note(fieldCA, found.Certificates)
	f.fill(fieldZones, f.listed())
	values.SetNote(fieldZones, f.zonesNote())
	f.askWhy()
}

// judgeLevel says beside the level what the account showed of it.
func (f *form) judgeLevel() {
	f.Form.SetNote(fieldLevel, noteOf(f.found.JudgeLevel(model.Level(f.text(fieldLevel)))))
}

// proxyEntry is the proxy's address as it stands in the form.
func (f *form) proxyEntry() string { return f.text(fieldProxy) + ":" + f.text(fieldPort) }

// noteOf shows a verdict.
func noteOf(v service.Verdict) widget.Note {
	marks := map[service.State]widget.NoteMark{service.OK: widget.NoteGood, service.Warning: widget.NoteWarn, service.Failed: widget.NoteBad}
	return widget.Note{Mark: marks[v.State], Text: v.Text}
}

// fewZones is how many zones get their verdicts in the form; ctrl+l shows more.
const fewZones = 6

// zonesNote says how many zones there are and what is known of rates and passwords, and then the
// verdict on each zone, those that need a look first.
func (f *form) zonesNote() widget.Note {
	n := noteOf(f.found.Listing)
	if zones, _, err := readZones(f.Form.Value(fieldZones)); err == nil && f.typed(zones) > 0 {
		if n.Text != "" {
			n.Text += "; "
		} else {
			n.Mark = widget.NoteGood
		}
		n.Text += counted(f.typed(zones), "typed password") + ", stored when you save"
	}
	for _, v := range []struct {
		what    string
		verdict service.Verdict
	}{{"rates", f.found.Rates}, {"passwords", f.found.Passwords}} {
		if v.verdict.Text != "" {
			n.Text += "; " + v.what + ": " + v.verdict.Text
		}
	}
	checks := f.zoneChecks()
	slices.SortStableFunc(checks, func(a, b service.Finding) int { return cmp.Compare(urgency(a), urgency(b)) })
	for i, c := range checks {
		if c.Verdict.State == service.Failed || c.Verdict.State == service.Warning {
			n.Mark = widget.NoteWarn
		}
		switch {
		case i < fewZones:
			n.Text += "\n" + glyphs[c.Verdict.State] + " " + c.Subject + ": " + c.Verdict.Text
		case i == fewZones:
			n.Text += fmt.Sprintf("\n… and %d more: %s shows each zone", len(checks)-fewZones, f.deps.Theme.Key("account.zones"))
		}
	}
	return n
}

// urgency orders verdicts, the worst first.
func urgency(c service.Finding) int {
	return slices.Index([]service.State{service.Failed, service.Warning, service.OK, service.Unknown}, c.Verdict.State)
}

var glyphs = map[service.State]string{service.OK: "✓", service.Warning: "!", service.Failed: "✗", service.Unknown: "·"}

// zoneChecks are the verdicts on the zones of the form.
func (f *form) zoneChecks() []service.Finding {
	typed, _, err := readZones(f.Form.Value(fieldZones))
	if err != nil {
		return nil
	}
	p := f.draftProfile()
	p.Zones = typed
	found := f.found
	found.Zones = slices.Clone(found.Zones)
	for i, z := range found.Zones {
		line, _ := p.Zone(string(z.Zone.Name))
		if held := f.passwords[z.Zone.Name]; held.typed && held.ref == line.Password {
			found.Zones[i].Verdict = z.Judge(held.value)
		}
	}
	return slices.DeleteFunc(service.Draft{Profile: p, Facts: found}.Findings(), func(c service.Finding) bool { return !strings.HasPrefix(c.Subject, "zone ") })
}

// eachZone shows the verdict on each zone; the list scrolls.
func (f *form) eachZone() tea.Cmd {
	checks, theme := f.zoneChecks(), f.deps.Theme
	inks := map[service.State]kit.Ink{service.OK: theme.Good, service.Warning: theme.Warn, service.Failed: theme.Bad, service.Unknown: theme.Muted}
	return kit.OpenOverlay(&widget.Page{
		Heading: "Zones by the account", Width: 84,
		Lines: func(w int) (out []string) {
			for _, c := range checks {
				out = append(out, widget.Wrapped(inks[c.Verdict.State], glyphs[c.Verdict.State]+" "+strings.TrimPrefix(c.Subject, "zone ")+": "+c.Verdict.Text, w-2)...)
			}
			return widget.Indent(out)
		},
		Closing: kit.Binding{Name: "page.close", Keys: []string{"esc", "enter", "q"}, Label: "close", Help: "Close the list.", Intent: kit.Close{}},
	})
}

// listed are the lines of the form's zones, and behind them those that only the account has. The
// passwords that the account showed are kept for them.
func (f *form) listed() string {
	zones, _, err := readZones(f.Form.Value(fieldZones))
	if err != nil {
		return f.Form.Value(fieldZones)
	}
	known := map[model.ZoneName]bool{}
	for _, z := range zones {
		known[z.Name] = true
	}
	for _, z := range f.found.Zones {
		one, ref := z.Zone, f.refOf(z.Zone.Name)
		if !z.Password.Empty() && !f.passwords[one.Name].typed {
			f.passwords[one.Name] = password{ref: ref, value: z.Password}
		}
		if known[one.Name] {
			continue
		}
		if !z.Password.Empty() {
			one.Password = ref
		}
		zones = append(zones, one)
	}
	return zoneLines(zones)
}

// zoneLine is a zone as the form writes it.
func zoneLine(z model.Zone) string {
	line := string(z.Name)
	if z.Product != model.ProductUnknown || z.Password != "" {
		line += " " + z.Product.String()
	}
	if z.Password != "" {
		line += " " + z.Password
	}
	return line
}

// storeOptions are the places of a key's value.
func storeOptions() []widget.Option {
	return []widget.Option{
		{Value: keystore.SchemeKeyring, Label: "keyring"},
		{Value: keystore.SchemeFile, Label: "age file"},
		{Value: keystore.SchemeEnv, Label: "environment"},
		{Value: keystore.SchemeCmd, Label: "command"},
	}
}
