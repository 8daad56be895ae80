package widget

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/uitest"
)

// hintsOf are the keys that the footer names.
func hintsOf(d *FormDialog) string {
	var out []string
	for _, b := range d.Bindings() {
		if !b.Hidden && b.Disabled == "" && (b.WhileTyping || !d.CapturingText()) {
			out = append(out, b.Key()+" "+b.Label)
		}
	}
	return strings.Join(out, " · ")
}

type saved struct{ name string }

func oneField(check func(string) error) *FormDialog {
	d := NewFormDialog(kit.NewTheme(true, false), "Save", NewForm(kit.NewTheme(true, false), Field{Name: "name", Label: "Name", Check: check}))
	d.Submit = "save"
	d.OnSubmit = func(f *Form) tea.Cmd { return kit.Send(saved{f.Value("name")}) }
	d.Init()
	return d
}

func TestEnterEndsADialogOfOneField(t *testing.T) {
	d := oneField(Required("write a name"))
	if got := dialogKeys(d, "enter"); got != nil || !d.CapturingText() {
		t.Errorf("without a name: %v, capturing %v", got, d.CapturingText())
	}
	if got := uitest.Plain(d.Render(60, 8)); !strings.Contains(got, "write a name") || hintsOf(d) != "enter save · esc close · typing goes into Name" {
		t.Errorf("the dialog does not say what is wrong, or which key ends it: %s\n%s", hintsOf(d), got)
	}
	if got := dialogKeys(d, "s", "h", "o", "p", "enter"); got != (saved{"shop"}) {
		t.Errorf("enter sent %v", got)
	}
}

func TestTheFirstLinesBelowAFormAreKeptInAShortWindow(t *testing.T) {
	d := oneField(nil)
	d.Foot, d.Problem = "first\nsecond\nthird\nfourth", "it is wrong"
	got := uitest.Plain(d.Render(60, 5))
	for _, want := range []string{"Name", "first", "second", "third", "pgup, pgdn scroll ↓ 2", "✗ it is wrong"} {
		if strings.Contains(got, want) != (want != "third") {
			t.Errorf("%q in:\n%s", want, got)
		}
	}
	d.Update(tea.KeyPressMsg{Code: tea.KeyPgDown})
	if got := uitest.Plain(d.Render(60, 5)); !strings.Contains(got, "third") || !strings.Contains(got, "fourth") || !strings.Contains(got, "Name") {
		t.Errorf("the last lines cannot be reached:\n%s", got)
	}
	d.Problem = strings.Repeat("so much is wrong ", 40)
	if got := uitest.Plain(d.Render(60, 5)); !strings.Contains(got, "Name") || !strings.Contains(got, "✗ so much") || !strings.Contains(got, "…") {
		t.Errorf("a long problem:\n%s", got)
	}
}

func TestEnterTakesAValueAndGoesOn(t *testing.T) {
	f := demoForm()
	d := NewFormDialog(f.theme, "Try", f)
	submitted := 0
	d.OnSubmit = func(*Form) tea.Cmd { submitted++; return nil }
	var followed []string
	d.OnChange = func(f *Form) {
		followed = append(followed, f.Focused())
		f.SetHidden("verify", f.Value("via") == "native")
	}
	d.Init()
	at := func(want string) {
		t.Helper()
		if f.Focused() != want {
			t.Fatalf("the focus is on %q, not on %q", f.Focused(), want)
		}
	}
	for _, k := range "http://x" {
		dialogKeys(d, string(k))
	}
	dialogKeys(d, "enter")
	at("zone")
	followed = nil
	dialogKeys(d, "enter", "s", "e", "r", "enter")
	at("via")
	if len(followed) != 1 || followed[0] != "zone" {
		t.Errorf("the other fields were updated after the focus had moved on: %q", followed)
	}
	dialogKeys(d, "space", "enter") // native, which hides the next field
	at("body")
	if dialogKeys(d, "x", "enter", "y"); f.Value("body") != "x\ny" || submitted != 0 {
		t.Errorf("an area holds %q, submitted %d times", f.Value("body"), submitted)
	}
	f.SetHidden("body", true)
	f.FocusOn("via", false)
	d.Deliberate = true
	dialogKeys(d, "enter")
	if submitted != 0 {
		t.Error("enter submitted what has to be submitted on purpose")
	}
	d.Deliberate = false
	dialogKeys(d, "enter")
	if submitted != 1 {
		t.Errorf("enter in the last field submitted %d times", submitted)
	}
}

func TestEscAsksBeforeItThrowsAwayWhatWasFilledIn(t *testing.T) {
	d := oneField(nil)
	if got := dialogKeys(d, "esc"); got != (kit.Close{}) {
		t.Errorf("untouched: %v", got)
	}
	if got := dialogKeys(d, "a", "backspace", "esc"); got != (kit.Close{}) {
		t.Errorf("as it was: %v", got)
	}
	if got := dialogKeys(d, "a", "esc"); got != nil || d.CapturingText() || d.Form.Value("name") != "a" {
		t.Errorf("the first esc ends editing: %v, %q", got, d.Form.Value("name"))
	}
	open, ok := dialogKeys(d, "esc").(kit.Open)
	if !ok || open.Overlay.Title() != "Discard what you filled in?" {
		t.Fatalf("the second asks: %v", open)
	}
	yes, _ := kit.Find(open.Overlay.Bindings(), "y", false)
	if c, ok := open.Overlay.(*confirm); !ok || c.spec.Intent != (kit.Close{Overlay: d}) || yes.Label != "discard it" {
		t.Errorf("%+v", open.Overlay)
	}
	for _, key := range []string{"esc", "enter", "n"} {
		if b, _ := kit.Find(open.Overlay.Bindings(), key, false); b.Intent != (kit.Close{}) {
			t.Errorf("%s does not keep it: %v", key, b.Intent)
		}
	}
	d.Form.SetValue("name", "set by the program")
	d = oneField(nil)
	d.Form.SetValue("name", "set by the program")
	if got := dialogKeys(d, "esc"); got != (kit.Close{}) {
		t.Errorf("what the program filled in is asked about: %v", got)
	}
}

func TestAClickChoosesWhatIsDrawnThere(t *testing.T) {
	f := demoForm()
	d := NewFormDialog(f.theme, "Try", f)
	d.Intro = "Some words above."
	followed := 0
	d.OnChange = func(*Form) { followed++ }
	d.Init()
	click := func(word string) {
		t.Helper()
		lines := strings.Split(uitest.Plain(d.Render(60, 20)), "\n")
		for y, l := range lines {
			if at := strings.Index(l, word); at >= 0 {
				d.Update(tea.MouseClickMsg{X: text.Width(l[:at]) + 1, Y: y, Button: tea.MouseLeft})
				return
			}
		}
		t.Fatalf("%q is not drawn:\n%s", word, strings.Join(lines, "\n"))
	}
	click("( ) Native")
	if f.Value("via") != "native" || followed != 1 || f.Focused() != "via" {
		t.Errorf("via %q, followed %d times, focus %q", f.Value("via"), followed, f.Focused())
	}
	click("(-) x")
	if f.Value("via") != "native" {
		t.Error("a disabled option was chosen")
	}
	click("[ ]")
	if !f.On("verify") {
		t.Error("a toggle was not turned")
	}
	click("Zone")
	if f.CapturingText() || f.Focused() != "zone" {
		t.Errorf("a label: capturing %v, focus %q", f.CapturingText(), f.Focused())
	}
	f.FocusOn("zone", true)
	click("serp_demo  search")
	if f.Value("zone") != "serp_demo" || f.CapturingText() {
		t.Errorf("a line of the list: %q", f.Value("zone"))
	}
	click("URL")
	if !f.CapturingText() || f.Focused() != "url" {
		t.Errorf("a text: capturing %v, focus %q", f.CapturingText(), f.Focused())
	}
	if cmd := d.Update(tea.MouseClickMsg{X: 1, Y: 0}); cmd != nil || f.Focused() != "url" {
		t.Error("a click on the words above does something")
	}
}

// What enter does comes first, then the way out. One action has one name: where enter submits, no other key is named.
func TestTheFooterNamesEachActionOfADialogOnce(t *testing.T) {
	theme := kit.NewTheme(true, false)
	d := NewFormDialog(theme, "Add", NewForm(theme, Field{Name: "a", Label: "A", Kind: FieldToggle}, Field{Name: "b", Label: "B"}, Field{Name: "c", Label: "C", Kind: FieldPick, Options: []Option{{Value: "x"}}}, Field{Name: "d", Label: "D", Kind: FieldArea}, Field{Name: "e", Label: "E", Kind: FieldToggle}))
	d.Submit, d.Many = "save", "a"
	d.Init()
	for _, c := range []struct{ at, keys, want string }{
		{"a", "", "enter next · esc close · ctrl+s save · ctrl+a those that fit · space change"},
		{"b", "i", "enter next · esc close · ctrl+s save · ctrl+a those that fit · typing goes into B"},
		{"b", "x", "enter next · esc end typing · ctrl+s save · ctrl+a those that fit · typing goes into B"},
		{"b", "esc", "enter edit · esc close · ctrl+s save · ctrl+a those that fit"},
		{"c", "enter", "enter pick · esc done · ctrl+s save · ctrl+a those that fit"},
		{"d", "enter", "esc end typing · ctrl+s save · ctrl+a those that fit · typing goes into D · tab next field"},
		{"e", "", "enter save · esc close · ctrl+a those that fit · space change"},
	} {
		if d.Form.Focused() != c.at {
			d.Form.FocusOn(c.at, false)
		}
		for k := range strings.FieldsSeq(c.keys) {
			dialogKeys(d, k)
		}
		if got := hintsOf(d); got != c.want {
			t.Errorf("%s after %q: %q, want %q", c.at, c.keys, got, c.want)
		}
	}
	if d.Deliberate = true; strings.Contains(hintsOf(d), "enter save") || !strings.Contains(hintsOf(d), "ctrl+s save") {
		t.Errorf("what costs: %q", hintsOf(d))
	}
}

func TestADialogSaysHowManyLinesOfItsFormAreNotOnTheScreen(t *testing.T) {
	theme := kit.NewTheme(true, false)
	fields := make([]Field, 0, 6)
	for _, name := range []string{"one", "two", "three", "four", "five", "six"} {
		fields = append(fields, Field{Name: name, Label: name, Kind: FieldToggle})
	}
	d := NewFormDialog(theme, "Form", NewForm(theme, fields...))
	for _, c := range []struct {
		at           string
		lines        int // of the dialog
		above, below int
	}{{"one", 6, 0, 0}, {"one", 3, 0, 3}, {"four", 3, 1, 2}, {"six", 3, 3, 0}} {
		d.Form.FocusOn(c.at, false)
		d.Render(40, c.lines)
		if above, below := d.Hidden(); above != c.above || below != c.below {
			t.Errorf("%s of %d lines: %d above and %d below, want %d and %d", c.at, c.lines, above, below, c.above, c.below)
		}
	}
}

func TestTheIntroGivesWayToFieldsAndVerdictsThatScrolledAwayAreNamed(t *testing.T) {
	var fields []Field
	for _, name := range []string{"key", "host", "port", "zones"} {
		fields = append(fields, Field{Name: name, Label: strings.ToUpper(name), Kind: FieldToggle})
	}
	d := NewFormDialog(kit.NewTheme(true, false), "Try", NewForm(kit.NewTheme(true, false), fields...))
	d.Intro = "What it is about."
	d.Form.SetNote("key", Note{Mark: NoteGood, Text: "it is accepted"})
	d.Form.SetNote("zones", Note{Mark: NoteWarn, Text: "3 zones"})
	if got := uitest.Plain(d.Render(60, 5)); !strings.Contains(got, "What it is about.") || !strings.Contains(got, "↓ ! ZONES") {
		t.Errorf("at the first field:\n%s", got)
	}
	d.Form.FocusOn("zones", false)
	got := uitest.Plain(d.Render(60, 5))
	if strings.Contains(got, "What it is about.") || !strings.Contains(got, "›ZONES") || !strings.Contains(got, "↑ ✓ KEY") {
		t.Errorf("at the last field:\n%s", got)
	}
	d.Form.Click(2, 0)
	if f := d.Form.Focused(); f != "host" && f != "key" {
		t.Errorf("a press on the first line went to %s", f)
	}
	d.Form.FocusOn("key", false)
	d.Render(60, 5)
	if d.Form.Click(2, 0); d.Form.Focused() != "key" {
		t.Errorf("a press on the intro went to %s", d.Form.Focused())
	}
}

// A text of more lines than its field has pages of its own; below another field they are the foot's.
func TestPagesAreThoseOfTheTextThatIsTyped(t *testing.T) {
	rows := strings.TrimSuffix(strings.Repeat("row\n", 20), "\n")
	d := NewFormDialog(kit.NewTheme(true, false), "New job", NewForm(kit.NewTheme(true, false), Field{Name: "rows", Label: "Rows", Kind: FieldArea, Rows: 4}, Field{Name: "name", Label: "Name"}))
	d.Foot = "1st\n2nd\n3rd\n4th\n5th\n6th\n7th\n8th"
	d.Init()
	d.Update(tea.PasteMsg{Content: "top\n" + rows})
	drawn := func() string { return uitest.Plain(d.Render(60, 10)) }
	if got := drawn(); strings.Contains(got, "top") || !strings.Contains(got, "↑ 17") || strings.Contains(got, "pgup") {
		t.Errorf("at the end of the text:\n%s", got)
	}
	for range 6 {
		d.Update(tea.KeyPressMsg{Code: tea.KeyPgUp})
	}
	if got := drawn(); !strings.Contains(got, "top") || strings.Contains(got, "↑") || !strings.Contains(got, "1st") {
		t.Errorf("at its beginning:\n%s", got)
	}
	dialogKeys(d, "tab")
	d.Update(tea.KeyPressMsg{Code: tea.KeyPgDown})
	if got := drawn(); !strings.Contains(got, "8th") || !strings.Contains(got, "pgup, pgdn scroll ↑") {
		t.Errorf("below the next field:\n%s", got)
	}
}
