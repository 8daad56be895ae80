package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zonedeck/ui"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

func TestToasts(t *testing.T) {
	flow(t, func(t *testing.T) {
		app, _, _ := newApp(t.Context())
		s := start(t, app)
		s.Send(kit.Toast{Kind: kit.ToastInfo, Text: "for a while"})
		s.After(2 * time.Second)
		s.Send(kit.Toast{Kind: kit.ToastInfo, Text: "a later one"})
		s.AllowError("until told")
		s.Send(kit.Toast{Kind: kit.ToastError, Text: "until told \x1b[31mred"})
		s.Expect("for a while", "a later one", "until told ␛[31mred")
		s.After(2500 * time.Millisecond)
		s.ExpectNot("for a while")
		s.Expect("a later one")
		s.After(time.Hour)
		s.ExpectNot("a later one")
		s.Expect("until told")
		s.Press("esc")
		s.ExpectNot("until told")
	})
}

// full is a view that shows something on each of its lines.
type full struct{ fakeView }

func (*full) Render(w, h int) string {
	lines := make([]string, h)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d of %d", i+1, h)
	}
	return widget.Block(strings.Join(lines, "\n"), w, h)
}

func TestAMessageCoversNothing(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for name, c := range map[string]struct {
		toasts []kit.Toast
		lines  int // left for the view
	}{
		"none":                    {nil, 22},
		"a short one":             {[]kit.Toast{{Kind: kit.ToastWarn, Text: "careful"}}, 21},
		"two short ones":          {[]kit.Toast{{Kind: kit.ToastWarn, Text: "careful"}, {Text: "it is done"}}, 20},
		"a long one":              {[]kit.Toast{{Text: long}}, 20},
		"an error":                {[]kit.Toast{{Kind: kit.ToastError, Text: "broken"}}, 21},
		"more errors than fit":    {[]kit.Toast{{Kind: kit.ToastError, Text: "one   " + long}, {Kind: kit.ToastError, Text: "two   " + long}, {Kind: kit.ToastError, Text: "three " + long}}, 16},
		"an error below a remark": {[]kit.Toast{{Text: "it is done"}, {Kind: kit.ToastError, Text: "broken"}}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			flow(t, func(t *testing.T) {
				s := startAt(t, ui.New(ui.Deps{Ctx: t.Context(), Now: time.Now, FixedTheme: true, Tabs: []ui.Tab{{ID: kit.Sandbox, View: &full{}}}}), 80, 24)
				for _, toast := range c.toasts {
					s.AllowError(toast.Text[:6])
					s.Send(toast)
					s.Expect(toast.Text[:6], "? help", "0 running")
				}
				for i := range c.lines {
					s.Expect(fmt.Sprintf("line %d of %d\n", i+1, c.lines))
				}
			})
		})
	}
}

func TestAnErrorNamesTheTabOfItsThingAndIsReadThere(t *testing.T) {
	flow(t, func(t *testing.T) {
		s := startAt(t, ui.New(ui.Deps{Ctx: t.Context(), Now: time.Now, FixedTheme: true, Tabs: []ui.Tab{
			{ID: kit.Sandbox, View: &fakeView{title: "Sandbox"}}, {ID: kit.Jobs, View: &fakeView{title: "Jobs"}}, {ID: kit.Keys, View: &fakeView{title: "Keys"}},
		}}), 80, 24)
		s.AllowError("job-1")
		s.Send(kit.Toast{Kind: kit.ToastError, Text: "job-1 failed", In: kit.Jobs})
		s.Expect("job-1 failed · 2 shows it")
		s.Press("3")
		s.Expect("job-1 failed · 2 shows it")
		s.Press("2")
		s.ExpectNot("job-1 failed")
		s.Send(kit.Toast{Kind: kit.ToastError, Text: "job-1 failed again", In: kit.Jobs})
		s.Expect("job-1 failed again  ")
		s.ExpectNot("shows it")
	})
}

func TestALongErrorStillSaysHowToDismissIt(t *testing.T) {
	for n := range 40 {
		flow(t, func(t *testing.T) {
			app, _, _ := newApp(t.Context())
			s := startAt(t, app, 60, 16)
			s.AllowError("broken")
			s.Send(kit.Toast{Kind: kit.ToastError, Text: "broken " + strings.Repeat("word ", n)})
			s.Expect("broken", "esc dismisses", "0 running")
		})
	}
}
