package widget

import (
	"errors"
	"strings"
	"testing"

	"zonedeck/ui/uitest"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

func demoForm() *Form {
	return NewForm(kit.NewTheme(true, false),
		Field{Name: "intro", Kind: FieldNote, Value: "about"},
		Field{Name: "url", Label: "URL", Kind: FieldText, Help: "absolute", Check: func(v string) error {
			if !strings.HasPrefix(v, "http") {
				return errors.New("write an absolute URL")
			}
			return nil
		}},
		Field{Name: "zone", Label: "Zone", Kind: FieldPick, Options: []Option{{Value: "unlocker_demo", Note: "unlocker"}, {Value: "serp_demo", Note: "search"}, {Value: "old", Disabled: "it is gone"}}},
		Field{Name: "via", Label: "Via", Kind: FieldChoice, Value: "api", Options: []Option{{Value: "api", Label: "API"}, {Value: "x", Disabled: "not here"}, {Value: "native", Label: "Native"}}},
		Field{Name: "verify", Label: "Verify", Kind: FieldToggle},
		Field{Name: "body", Label: "Body", Kind: FieldArea, Rows: 3},
		Field{Name: "gone", Label: "Gone", Kind: FieldText, Hidden: true},
	)
}

// formKeys presses keys the way the root does: a binding first, then Update.
func formKeys(f *Form, keys ...string) (changed bool) {
	for _, k := range keys {
		_, c := f.Update(keyOr(f.Bindings(), k, f.CapturingText()))
		changed = changed || c
	}
	return changed
}

// dialogKeys does the same with a dialog, and returns what the last key sends to the root.
func dialogKeys(d *FormDialog, keys ...string) (sent tea.Msg) {
	for _, k := range keys {
		msg := keyOr(d.Bindings(), k, d.CapturingText())
		if c, ok := msg.(kit.Close); ok {
			return c
		}
		sent = nil
		if cmd := d.Update(msg); cmd != nil {
			sent = cmd()
		}
	}
	return sent
}

func keyOr(bindings []kit.Binding, k string, typing bool) tea.Msg {
	if b, ok := kit.Find(bindings, k, typing); ok {
		return b.Intent
	}
	if len(k) > 1 {
		return tea.KeyPressMsg{Code: map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown, "up": tea.KeyUp, "space": tea.KeySpace, "backspace": tea.KeyBackspace, "left": tea.KeyLeft, "right": tea.KeyRight}[k]}
	}
	return tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
}

func TestFormTextIsEditedAfterEnter(t *testing.T) {
	f := demoForm()
	if f.Focused() != "url" {
		t.Fatalf("the focus is on %q", f.Focused())
	}
	if formKeys(f, "h"); f.Value("url") != "" || f.CapturingText() {
		t.Error("a key typed before enter went into the field")
	}
	formKeys(f, "enter")
	if !f.CapturingText() {
		t.Fatal("enter does not edit")
	}
	if !formKeys(f, "h", "t") || f.Value("url") != "ht" {
		t.Errorf("the value is %q", f.Value("url"))
	}
	formKeys(f, "esc")
	if f.CapturingText() || f.Value("url") != "ht" {
		t.Errorf("esc: capturing %v, value %q", f.CapturingText(), f.Value("url"))
	}
	if got := uitest.Plain(f.Render(true, 60, 14)); !strings.Contains(got, "✗ write an absolute URL") {
		t.Errorf("the error is not at the field:\n%s", got)
	}
}

func TestInADialogTypedTextGoesIntoTheFocusedField(t *testing.T) {
	f := demoForm()
	f.Dialog = true
	d := NewFormDialog(f.theme, "Try", f)
	d.Init()
	dialogKeys(d, "f", "t", "p", "enter")
	if f.Focused() != "url" || !f.CapturingText() {
		t.Fatalf("after a wrong value the focus is on %q, capturing %v: typing should go on", f.Focused(), f.CapturingText())
	}
	formKeys(f, "backspace", "backspace", "backspace", "h", "t", "t", "p", "down", "down", "down", "down")
	if f.Focused() != "body" || !f.CapturingText() {
		t.Fatalf("the focus is on %q, capturing %v: a text field is edited at once", f.Focused(), f.CapturingText())
	}
	if formKeys(f, "x"); f.Value("body") != "x" {
		t.Errorf("the area holds %q", f.Value("body"))
	}
	f.SetValue("url", "ftp")
	d.Update(dialogSubmit{})
	if f.Focused() != "url" || !f.CapturingText() {
		t.Errorf("after a submit with a wrong value the focus is on %q, capturing %v", f.Focused(), f.CapturingText())
	}
}

func TestWhatIsTypedFirstReplacesAValueThatSaysSo(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want string
	}{
		{[]string{"enter", "5", "0"}, "50"},
		{[]string{"enter", "left", "5"}, "156"},
		{[]string{"enter", "backspace", "0"}, "10"},
		{[]string{"enter", "enter", "enter", "7"}, "7"},
	} {
		f := NewForm(kit.NewTheme(true, false), Field{Name: "limit", Kind: FieldText, Value: "16", Replace: true})
		if formKeys(f, c.keys...); f.Value("limit") != c.want {
			t.Errorf("%v: %q; want %q", c.keys, f.Value("limit"), c.want)
		}
	}
	f := NewForm(kit.NewTheme(true, false), Field{Name: "limit", Kind: FieldText, Value: "16", Replace: true})
	formKeys(f, "enter")
	f.Update(tea.PasteMsg{Content: "8"})
	if f.Value("limit") != "8" {
		t.Errorf("pasted: %q", f.Value("limit"))
	}
}

// Letters are keys of a form at rest, which j and k leave so, and text where a text is edited, whatever brought the cursor
// there.
func TestLettersWalkAtRestAndAreTextWhereATextIsEdited(t *testing.T) {
	for _, dialog := range []bool{false, true} {
		f := demoForm()
		f.Dialog = dialog
		formKeys(f, "j", "j", "j") // zone, via, verify
		if formKeys(f, "j", "j", "k", "j"); f.Focused() != "body" || f.CapturingText() {
			t.Fatalf("the focus is on %q, capturing %v", f.Focused(), f.CapturingText())
		}
		formKeys(f, "k", "k", "k", "k", "k", "p")
		if f.Focused() != "url" || f.CapturingText() || f.Value("url") != "" || f.Value("body") != "" {
			t.Errorf("the focus is on %q; typed %q and %q", f.Focused(), f.Value("url"), f.Value("body"))
		}
		formKeys(f, "enter", "k", "j", "p")
		if f.Value("url") != "kjp" {
			t.Errorf("typed %q after enter; want kjp", f.Value("url"))
		}
		if formKeys(f, "esc", "j", "up", "j"); f.Value("url") != "kjpj" {
			t.Errorf("typed %q after an arrow; want kjpj", f.Value("url"))
		}
		for _, step := range []struct{ key, want string }{{"right", "›URL     kjpj█"}, {"esc", "›URL     kjpj\n"}, {"enter", "›URL     kjpj█"}} {
			if formKeys(f, step.key); !strings.Contains(uitest.Plain(f.Render(true, 60, 14)), step.want) {
				t.Errorf("after %s the row is not %q:\n%s", step.key, step.want, uitest.Plain(f.Render(true, 60, 14)))
			}
		}
	}
}

func TestFormPickFilters(t *testing.T) {
	f := demoForm()
	formKeys(f, "down", "enter", "s", "e", "a", "r")
	got := uitest.Plain(f.Render(true, 60, 14))
	if !strings.Contains(got, "serp_demo  search") || strings.Contains(got, "unlocker_demo") {
		t.Errorf("the list is not filtered:\n%s", got)
	}
	if !formKeys(f, "enter") || f.Value("zone") != "serp_demo" || f.CapturingText() {
		t.Errorf("picked %q", f.Value("zone"))
	}
	if f.Focused() != "via" {
		t.Errorf("after a pick the focus is on %q", f.Focused())
	}
	formKeys(f, "up", "enter", "o", "l", "d", "enter")
	if f.Value("zone") != "serp_demo" || !f.CapturingText() {
		t.Errorf("a disabled option was taken: %q", f.Value("zone"))
	}
	formKeys(f, "esc")
	if f.Value("zone") != "serp_demo" {
		t.Errorf("esc changed the value to %q", f.Value("zone"))
	}
}

func TestFormChoiceSkipsDisabledOptions(t *testing.T) {
	f := demoForm()
	formKeys(f, "down", "down")
	for _, want := range []string{"native", "api", "native"} {
		if !formKeys(f, "space") || f.Value("via") != want {
			t.Errorf("the value is %q, want %q", f.Value("via"), want)
		}
	}
	formKeys(f, "left")
	if f.Value("via") != "api" {
		t.Errorf("left chooses %q", f.Value("via"))
	}
	formKeys(f, "down", "space")
	if !f.On("verify") {
		t.Error("space does not switch a toggle on")
	}
}

func TestFormValidGoesToTheFirstWrongField(t *testing.T) {
	f := demoForm()
	f.FocusOn("body", false)
	if f.Valid() {
		t.Fatal("an empty URL is valid")
	}
	if f.Focused() != "url" {
		t.Errorf("the focus is on %q", f.Focused())
	}
	f.SetValue("url", "http://lab.test/ok")
	if !f.Valid() {
		t.Error("a good URL is not valid")
	}
	f.SetHidden("url", true)
	f.SetValue("url", "bad")
	if !f.Valid() {
		t.Error("a hidden field is checked")
	}
}

// What is not visible stays in a field, where it is drawn as a token: without it an address is another one.
func TestAFormKeepsWhatIsNotVisible(t *testing.T) {
	f := demoForm()
	formKeys(f, "enter")
	const address = "http://x/[31m\u202ea\u200bb\u200c\u200d\ufe0f\u00adc"
	f.Update(tea.PasteMsg{Content: "\ufeff http://x/\x1b[31m\u202ea\u200bb\u200c\u200d\ufe0f\u00adc\u200e\n"})
	f.Update(tea.KeyPressMsg{Code: 'd', Text: "\u200cd"})
	for _, step := range []string{"enter", "esc"} {
		if got := f.Value("url"); got != address+"\u200cd" {
			t.Errorf("the field holds %q", got)
		}
		got := uitest.Plain(f.Render(true, 140, 6))
		if !strings.Contains(got, "http://x/[31m‹U+202E›a‹U+200B›b‹U+200C›‹U+200D›‹U+FE0F›‹U+00AD›c‹U+200C›d") || strings.ContainsAny(got, "\u202e\u200b\u200c") {
			t.Errorf("before %s it is drawn as %q", step, got)
		}
		formKeys(f, step)
		f.SetValue("url", f.Value("url"))
	}
	if got := uitest.Plain(f.Render(true, 40, 6)); strings.ContainsAny(got, "\u202e\u200b\u200c") {
		t.Errorf("%q", got)
	}
	f.FocusOn("body", true)
	f.Update(tea.PasteMsg{Content: "\u200ca\u202e\rb"})
	if got := f.Value("body"); got != "\u200ca\u202e\nb" {
		t.Errorf("the area holds %q", got)
	}
	if got := uitest.Plain(f.Render(true, 60, 9)); !strings.Contains(got, "‹U+200C›a‹U+202E›") || strings.ContainsAny(got, "\u202e\u200c") {
		t.Errorf("the area is drawn as %q", got)
	}
	f.SetValue("body", "")
	f.FocusOn("body", true)
	f.Update(tea.PasteMsg{Content: "a\tb\r\nc\x1b[31m"})
	if got := f.Value("body"); !strings.Contains(got, "\nc[31m") || strings.ContainsAny(got, "\x1b\r") {
		t.Errorf("the area holds %q", got)
	}
}

// A paste may be a part of a text: its blanks stay, and the ends of the whole value have none.
func TestAPasteKeepsItsBlanks(t *testing.T) {
	f := demoForm()
	formKeys(f, "enter")
	for _, part := range []string{" because\r", "\u200b of\ufeff the outage \u200e\r"} {
		f.Update(tea.PasteMsg{Content: part})
	}
	f.Update(tea.KeyPressMsg{Code: 'y', Text: "yes "})
	if got := f.Value("url"); got != "because of\ufeff the outage yes" {
		t.Errorf("the field holds %q", got)
	}
	in := NewInput(kit.NewTheme(true, false))
	in.Focus()
	for _, part := range []string{"because", " of\r"} {
		UpdateInput(&in, tea.PasteMsg{Content: part})
	}
	if in.Value() != "because of" {
		t.Errorf("the search holds %q", in.Value())
	}
}

func TestFormKeepsTheFocusInSight(t *testing.T) {
	f := demoForm()
	for _, name := range []string{"body", "url"} {
		f.FocusOn(name, false)
		got := uitest.Plain(f.Render(true, 40, 3))
		if want := map[string]string{"body": "›Body", "url": "›URL"}[name]; !strings.Contains(got, want) || strings.Count(got, "\n") != 2 {
			t.Errorf("%s is out of sight:\n%s", name, got)
		}
	}
}

func TestDialogSubmitsOnlyWhatIsValid(t *testing.T) {
	f := demoForm()
	d := NewFormDialog(kit.NewTheme(true, false), "Try", f)
	submitted := 0
	d.OnSubmit = func(*Form) tea.Cmd { submitted++; return nil }
	d.Init()
	if !d.CapturingText() {
		t.Error("the first field is not edited at once")
	}
	b, ok := kit.Find(d.Bindings(), "ctrl+s", true)
	if !ok {
		t.Fatal("ctrl+s does not submit while typing")
	}
	d.Update(b.Intent)
	if submitted != 0 {
		t.Error("an empty URL was submitted")
	}
	f.SetValue("url", "http://lab.test/ok")
	d.Update(b.Intent)
	if submitted != 1 {
		t.Errorf("submitted %d times", submitted)
	}
	d.Busy = true
	if b, _ := kit.Find(d.Bindings(), "ctrl+s", false); b.Disabled == "" {
		t.Error("it can be submitted twice")
	}
	d.Problem = "the file is read-only"
	w, h := d.Size(80, 24)
	if got := uitest.Plain(d.Render(w, h)); !strings.Contains(got, "✗ the file is read-only") {
		t.Errorf("got:\n%s", got)
	}
}

func TestFinderFiltersAndPicks(t *testing.T) {
	picked := ""
	choice := func(s string) Choice {
		return Choice{Option: Option{Value: s}, Pick: func() tea.Msg { picked = s; return nil }}
	}
	f := NewFinder(kit.NewTheme(true, false), "Commands", "type", []Choice{choice("send request"), choice("save request"), choice("quit")})
	for _, r := range "sav" {
		f.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	if got := uitest.Plain(f.Render(40, 5)); !strings.Contains(got, "save request") || strings.Contains(got, "quit") {
		t.Errorf("not filtered:\n%s", got)
	}
	b, _ := kit.Find(f.Bindings(), "enter", true)
	uitest.Settle(t, f.Update(b.Intent), func(tea.Msg) tea.Cmd { return nil })
	if picked != "save request" {
		t.Errorf("picked %q", picked)
	}
}

func TestAFinderPutsNamesFirst(t *testing.T) {
	f := NewFinder(kit.NewTheme(true, false), "Zones", "type", []Choice{
		{Option: Option{Value: "ip", Note: "beside isp"}}, {Option: Option{Value: "i_s_p"}}, {Option: Option{Value: "Demo isp"}},
	})
	for _, r := range "isp" {
		f.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	if got := uitest.Plain(f.Render(40, 5)); !strings.Contains(got, "›Demo isp") || !strings.Contains(got, "beside isp") {
		t.Errorf("the name is not first:\n%s", got)
	}
}

func TestAFreeFinderMatchesWordsAndTakesWhatIsTyped(t *testing.T) {
	picked := ""
	take := func(s string) tea.Cmd { return func() tea.Msg { picked = s; return nil } }
	f := NewFreeFinder(kit.NewTheme(true, false), "Sets", "type", "nothing has these words", func(typed string) tea.Cmd { return take("free " + typed) })
	write := func(s string) {
		for _, r := range s {
			f.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	enter := func() {
		b, _ := kit.Find(f.Bindings(), "enter", true)
		uitest.Settle(t, f.Update(b.Intent), func(tea.Msg) tea.Cmd { return nil })
	}
	if enter(); picked != "" {
		t.Errorf("nothing was typed, and %q was picked", picked)
	}
	f.SetChoices("Sets: 2", []Choice{{Option: Option{Value: "gd_1", Label: "Shop"}, Pick: take("gd_1")}, {Option: Option{Value: "gd_2", Label: "Words", Also: "lexicon"}, Pick: take("gd_2")}})
	write("lexi")
	if got := uitest.Plain(f.Render(40, 5)); f.Title() != "Sets: 2" || !strings.Contains(got, "Words") || strings.Contains(got, "Shop") || strings.Contains(got, "lexicon") {
		t.Errorf("%s\n%s", f.Title(), got)
	}
	if enter(); picked != "gd_2" {
		t.Errorf("picked %q", picked)
	}
	if write("x gd_"); !strings.Contains(uitest.Plain(f.Render(40, 5)), "nothing has these words") { // the letters of a choice, not its words
		t.Error(uitest.Plain(f.Render(40, 5)))
	}
	if enter(); picked != "free lexix gd_" {
		t.Errorf("picked %q", picked)
	}
}

func TestConfirmAndMenuAnswerTheirView(t *testing.T) {
	th := kit.NewTheme(true, false)
	type answer struct{ n int }
	var got []tea.Msg
	take := func(m tea.Msg) tea.Cmd {
		got = append(got, m)
		return nil
	}
	c := NewConfirm(th, ConfirmSpec{Title: "Cancel job", Body: "sd_1 stops; what it did is billed.", Yes: "cancel it", View: kit.Jobs, Intent: answer{1}})
	b, _ := kit.Find(c.Bindings(), "y", false)
	uitest.Settle(t, c.Update(b.Intent), take)
	if len(got) != 2 || got[1] != (answer{1}) {
		t.Fatalf("the view got %#v", got)
	}
	for _, k := range []string{"n", "esc", "enter"} {
		if b, _ := kit.Find(c.Bindings(), k, false); b.Intent != (kit.Close{}) {
			t.Errorf("%s means %#v", k, b.Intent)
		}
	}
	got = nil
	var m kit.Overlay
	uitest.Settle(t, OpenMenu(th, "Copy", kit.Sandbox, []MenuItem{{Key: "b", Label: "body", Intent: answer{2}}, {Key: "u", Label: "URL", Intent: answer{3}, Disabled: "there is none"}}), func(msg tea.Msg) tea.Cmd {
		m = msg.(kit.Open).Overlay
		return nil
	})
	b, _ = kit.Find(m.Bindings(), "b", false)
	uitest.Settle(t, m.Update(b.Intent), take)
	if len(got) != 2 || got[1] != (answer{2}) {
		t.Fatalf("the view got %#v", got)
	}
	got = nil
	b, _ = kit.Find(m.Bindings(), "u", false)
	uitest.Settle(t, m.Update(b.Intent), take)
	if len(got) != 1 || !strings.Contains(got[0].(kit.Toast).Text, "there is none") {
		t.Errorf("a disabled line answers %#v", got)
	}
}

func TestAnOpenListKeepsItsPlaceWhenItsOptionsChange(t *testing.T) {
	theme := kit.NewTheme(true, false)
	options := []Option{{Value: "a"}, {Value: "b"}, {Value: "c"}}
	f := NewForm(theme, Field{Name: "zone", Kind: FieldPick, Value: "a", Options: options})
	f.FocusOn("zone", true)
	f.Update(tea.KeyPressMsg{Code: tea.KeyDown})
	f.SetOptions("zone", []Option{{Value: "new"}, {Value: "a"}, {Value: "b", Note: "used now"}})
	f.Update(formDone)
	if got := f.Value("zone"); got != "b" {
		t.Errorf("picked %q, want the option the cursor was on", got)
	}
}

func TestALongAreaSaysHowMuchOfItIsNotShown(t *testing.T) {
	f := NewForm(kit.NewTheme(true, true), Field{Name: "body", Label: "Body", Kind: FieldArea, Rows: 3, Value: "1\n2\n3\n4\n5"}, Field{Name: "x", Label: "X"})
	if text := f.Render(true, 40, 10); !strings.Contains(text, "… 3 more lines") || strings.Contains(text, "3\n") {
		t.Errorf("drawn as\n%s", text)
	}
}

func TestTheChosenOptionIsVisible(t *testing.T) {
	var options []Option
	for _, v := range []string{"unknown", "ADMIN", "FINANCE", "OPS", "LIMIT", "USER"} {
		options = append(options, Option{Value: v})
	}
	for _, o := range options {
		f := NewForm(kit.NewTheme(true, false), Field{Name: "level", Label: "Level", Kind: FieldChoice, Value: o.Value, Options: options})
		got := uitest.Plain(f.Render(true, 40, 3))
		if !strings.Contains(got, "(•) "+o.Value) {
			t.Errorf("%s is chosen but not on the screen:\n%s", o.Value, got)
		}
		for _, l := range strings.Split(got, "\n") {
			if text.Width(l) > 40 {
				t.Errorf("a line of %d cells", text.Width(l))
			}
		}
	}
}

func TestAMenuIsWideEnoughForItsReasons(t *testing.T) {
	th := kit.NewTheme(true, false)
	var open kit.Open
	uitest.Settle(t, OpenMenu(th, "Copy", kit.Keys, []MenuItem{CopyItem("f", "fingerprint", "")}), func(m tea.Msg) tea.Cmd {
		open, _ = m.(kit.Open)
		return nil
	})
	w, h := open.Overlay.Size(80, 24)
	if got := uitest.Plain(open.Overlay.Render(w, h)); !strings.Contains(got, "fingerprint  (there is none)") {
		t.Errorf("drawn as %q", got)
	}
}

func TestTypedTextFollowsTheTheme(t *testing.T) {
	th := kit.NewTheme(true, false)
	f := NewForm(th, Field{Name: "url"}, Field{Name: "zone", Kind: FieldPick}, Field{Name: "rows", Kind: FieldArea})
	th.Set(false, false) // the terminal reports a light background
	f.FocusOn("url", true)
	f.FocusOn("zone", true)
	f.FocusOn("rows", true)
	want := th.Text.Style().GetForeground()
	for name, in := range map[string]textinput.Model{"a text": *f.fields[0].input, "a pick": f.fields[1].list.input} {
		if got := in.Styles().Focused.Text.GetForeground(); got != want {
			t.Errorf("%s is typed in %v, want %v", name, got, want)
		}
	}
	line := f.fields[2].area.Styles().Focused.CursorLine
	if _, plain := line.GetBackground().(lipgloss.NoColor); line.GetForeground() != want || !plain {
		t.Errorf("a line of an area is typed in %v on %v", line.GetForeground(), line.GetBackground())
	}
}

func TestFieldsAreSplicedAndTypingGoesOn(t *testing.T) {
	f := demoForm()
	mine := func(name string) bool { return strings.HasPrefix(name, "arg:") }
	f.FocusOn("body", true)
	f.Splice("zone", mine, Field{Name: "arg:a", Label: "A", Kind: FieldText, Value: "1"}, Field{Name: "arg:b", Label: "B", Kind: FieldText})
	f.Update(tea.PasteMsg{Content: "typed"})
	if f.Focused() != "body" || !f.CapturingText() || f.Value("body") != "typed" || f.Value("arg:a") != "1" {
		t.Errorf("the focus is on %s (typing %v), body %q, a %q", f.Focused(), f.CapturingText(), f.Value("body"), f.Value("arg:a"))
	}
	f.FocusOn("arg:b", true)
	f.Splice("zone", mine, Field{Name: "arg:c", Label: "C", Kind: FieldText})
	if f.Focused() != "zone" || f.CapturingText() || f.find("arg:a") != nil || f.find("arg:c") == nil {
		t.Errorf("the focus is on %s (typing %v)", f.Focused(), f.CapturingText())
	}
	f.Splice("nowhere", mine)
	if f.find("arg:c") == nil {
		t.Error("a field went although there is no such place")
	}
}

func TestAnErrorThatWasSetStaysWhenEditingEnds(t *testing.T) {
	f := demoForm()
	f.FocusOn("body", true)
	f.SetError("body", "it is wrong")
	f.FocusOn("zone", false)
	if got := f.find("body").err; got != "it is wrong" {
		t.Errorf("the error is %q", got)
	}
}

func TestWhatIsTypedAfterAValueWasTakenGoesIntoTheNextTextField(t *testing.T) {
	f := NewForm(kit.NewTheme(true, false),
		Field{Name: "zone", Label: "Zone", Kind: FieldPick, Options: []Option{{Value: "unlocker_demo"}}},
		Field{Name: "url", Label: "URL", Kind: FieldText},
		Field{Name: "via", Label: "Via", Kind: FieldChoice, Value: "api", Options: []Option{{Value: "api", Label: "API"}, {Value: "native", Label: "Native"}}},
	)
	formKeys(f, "enter", "u", "enter", "h", "t")
	if f.Focused() != "url" || f.Value("url") != "ht" {
		t.Errorf("the focus is on %q, the URL is %q", f.Focused(), f.Value("url"))
	}
	if formKeys(f, "enter"); f.Focused() != "via" || f.CapturingText() {
		t.Errorf("the focus is on %q, capturing %v: there is nothing to type", f.Focused(), f.CapturingText())
	}
}

func TestWhatIsTypedIsNotReplacedByAnEarlierValue(t *testing.T) {
	f := NewForm(kit.NewTheme(true, false), Field{Name: "url", Label: "URL", Kind: FieldText, Value: "http://lab.test/json"})
	f.SetRecent("url", []string{"http://lab.test/json", "http://lab.test/ok", "https://shop.test"})
	f.Replace("url")
	for _, step := range []struct{ key, want string }{
		{"up", "http://lab.test/ok"}, {"up", "https://shop.test"}, {"down", "http://lab.test/ok"}, {"down", "http://lab.test/json"},
	} {
		if formKeys(f, step.key); f.Value("url") != step.want {
			t.Errorf("%s gives %q, want %q", step.key, f.Value("url"), step.want)
		}
	}
	if formKeys(f, "up", "up", "backspace", "up"); f.Value("url") != "https://shop.tes" {
		t.Errorf("after one that was recalled was edited: %q", f.Value("url"))
	}
	f.SetValue("url", "")
	if formKeys(f, "up"); f.Value("url") != "http://lab.test/json" {
		t.Errorf("of an empty field: %q", f.Value("url"))
	}
}

func TestTheFooterSaysIntoWhichFieldIsTyped(t *testing.T) {
	f := NewForm(kit.NewTheme(true, false), Field{Name: "country", Label: "Country", Kind: FieldText}, Field{Name: "session", Label: "Session", Kind: FieldText})
	formKeys(f, "enter", "d", "e", "enter")
	if got := f.Bindings()[1]; got.Key() != "typing" || got.Label != "goes into Session" || f.Value("country") != "de" {
		t.Errorf("after a value was taken: %q %q", got.Key(), got.Label)
	}
}

func TestAnAreaIsDrawnByItsMaskWhereverTheCursorIs(t *testing.T) {
	mask := func(v string) string { return strings.ReplaceAll(v, "hunter2", "•••••••") }
	f := NewForm(kit.NewTheme(true, false), Field{Name: "a", Label: "A", Kind: FieldArea, Rows: 2, Mask: mask})
	formKeys(f, "enter")
	f.SetValue("a", "one hunter2\ntwo hunter2\nthree hunter2")
	for i, k := range []string{"", "left", "left", "up", "left", "up", "up", "down"} {
		if k != "" {
			formKeys(f, k)
		}
		for _, w := range []int{9, 14, 60} {
			if got := uitest.Plain(f.Render(true, w, 4)); strings.Contains(got, "hunt") || !strings.Contains(got, "•") {
				t.Errorf("step %d at %d cells:\n%s", i, w, got)
			}
		}
	}
	formKeys(f, "esc")
	if got := uitest.Plain(f.Render(true, 60, 4)); strings.Contains(got, "hunt") || !strings.Contains(f.Value("a"), "hunter2") {
		t.Errorf("%q is drawn as\n%s", f.Value("a"), got)
	}
}

// The whole name of an option picks it, whatever else begins so.
func TestAPickTakesTheOptionOfThatName(t *testing.T) {
	for typed, want := range map[string]string{"web_1": "web_1", "WEB_10": "web_10", "web": "web_11", "b_1": "a_web_1", "a1": "a_web_1", "w2": "web_22"} {
		f := NewForm(kit.NewTheme(true, false), Field{Name: "zone", Label: "Zone", Kind: FieldPick, Options: []Option{
			{Value: "a_web_1"}, {Value: "web_11"}, {Value: "web_10"}, {Value: "web_1"}, {Value: "web_22"},
		}})
		formKeys(f, "enter")
		formKeys(f, strings.Split(typed, "")...)
		if formKeys(f, "enter"); f.Value("zone") != want {
			t.Errorf("%q picks %q, want %q", typed, f.Value("zone"), want)
		}
	}
}

func TestAWarningStaysWhereHintsHaveNoRoom(t *testing.T) {
	f := NewForm(kit.NewTheme(true, false), Field{Name: "url", Label: "URL"}, Field{Name: "via", Label: "Via"})
	for words, warns := range map[string]bool{"! it is slow": true, "! a hint": false} {
		f.SetHelp("url", words, warns)
		if got := uitest.Plain(f.Render(true, 40, 2)); strings.Contains(got, words) != warns {
			t.Errorf("%q, which warns %t:\n%s", words, warns, got)
		}
	}
}
