package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	service "zonedeck/service/jobs"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// dataSets are the data sets that a job can be launched for.
type dataSets struct {
	m       *Model
	listing service.Listing // empty until it is read
	err     error           // why it could not be
	slot    kit.Slot
	show    func() // gives them to the list that was opened last; nil before
}

// datasetChosen is what was picked from the list, or typed there.
type datasetChosen struct {
	id     string
	listed bool
	urls   []string // the inputs of a new form
	change bool     // it is for the form that is open
}

// list makes the list of them, and begins to read it.
func (s *dataSets) list(title string, chosen datasetChosen) (kit.Overlay, tea.Cmd) {
	pick := func(id string, listed bool) tea.Cmd {
		c := chosen
		c.id, c.listed = id, listed
		return kit.SendTo(kit.Jobs, c)
	}
	f := widget.NewFreeFinder(s.m.deps.Theme, title, "type to filter by name, identifier, site or kind (kind:search)",
		"nothing matches: enter takes it as an identifier", func(typed string) tea.Cmd { return pick(typed, false) })
	f.Lines = func(pasted string) tea.Cmd {
		if chosen.change {
			return kit.Warn(fmt.Sprintf("nothing was pasted: this is %s of inputs, not an identifier; esc goes back to the form, which takes inputs", text.Counted(1+strings.Count(pasted, "\n"), "line")))
		}
		all := strings.Join(append(slices.Clone(chosen.urls), pasted), "\n")
		if cmd, long := tooLong(all); long {
			return cmd
		}
		chosen.urls = []string{all}
		s.show() // its choices open the form with them
		return kit.Info(text.Counted(1+strings.Count(pasted, "\n"), "pasted line") + " kept as the job's inputs · now pick the data set")
	}
	s.show = func() {
		choices := make([]widget.Choice, 0, len(s.listing.Datasets))
		for _, c := range s.listing.Datasets {
			note := c.ID
			if string(c.Kind) != c.ID { // a product is its own kind
				note += " · " + string(c.Kind)
			}
			if c.Domain != "" {
				note += " · " + text.Clean(c.Domain)
			}
			choices = append(choices, widget.Choice{
				Option: widget.Option{Value: c.ID, Label: text.Clean(c.Title()), Note: note, Also: c.SearchText()}, Pick: pick(c.ID, true),
			})
		}
		heading := title + ": reading the list of data sets; an identifier can be typed"
		if len(choices) > 0 {
			heading = fmt.Sprintf("%s: %s · %s", title, text.Counted(len(choices), "data set"), s.listing.Origin(s.m.deps.Clock.Now()))
		}
		f.SetChoices(heading, choices)
		f.Foot = s.problem()
	}
	f.Anew = func() tea.Cmd {
		f.Foot = "asking the service for its list…"
		return s.load(true)
	}
	s.show()
	return f, s.load(false)
}

// problem says why the list is not the service's of today; "" where it is.
func (s *dataSets) problem() string {
	switch {
	case s.err != nil:
		return "the service's list: " + s.err.Error()
	case s.listing.Problem != "":
		return "the service's list: " + s.listing.Problem
	}
	return ""
}

// load reads the list of data sets, which is kept for a day; with anew the service is asked
// in any case.
func (s *dataSets) load(anew bool) tea.Cmd {
	jobs, key := s.m.deps.Jobs, s.m.session.Key.Name
	return kit.Load(kit.Jobs, &s.slot, s.m.deps.Ctx, func(ctx context.Context) (service.Listing, error) {
		return jobs.Datasets(ctx, key, anew)
	}, func(listing service.Listing, err error) tea.Cmd {
		s.loaded(listing, err)
		return nil
	})
}

func (s *dataSets) loaded(listing service.Listing, err error) {
	if s.err = err; err == nil && len(listing.Datasets) > 0 {
		s.listing = listing
	}
	if s.show != nil {
		s.show()
	}
	if l := s.m.launches.form; l != nil {
		way, shape := l.discover(), l.shape
		if l.describe(); l.discover() != way || l.shape != shape || l.unlisted() != "" && !l.ready && !l.dialog.Busy {
			l.changed() // what was checked is not what the form shows now
		}
	}
}

// chosen opens the form of a data set, or changes that of the open one.
func (s *dataSets) chosen(c datasetChosen) tea.Cmd {
	var open tea.Cmd
	if !c.change {
		open = s.m.launches.openForm(c.urls)
	}
	l := s.m.launches.form
	if l == nil {
		return open
	}
	l.picked = l.picked || c.change || len(c.urls) > 0
	l.form.SetValue(fieldDataset, c.id)
	l.describe()
	if c.listed && len(c.urls) == 0 && l.shape != "" && l.form.Value(fieldPaste) == "" {
		l.form.SetValue(fieldSource, sourceTyped)
	}
	l.changed()
	return tea.Batch(open, l.begin())
}

// begin puts the focus on the first input.
func (l *launch) begin() tea.Cmd {
	switch {
	case l.form.Value(fieldSource) == sourceTyped:
		return l.form.FocusOn(l.typed[0].Name, l.typed[0].Kind == widget.FieldText)
	case l.form.Value(fieldSource) == sourceFile:
		return l.form.FocusOn(fieldPath, true)
	default:
		return l.form.FocusOn(fieldPaste, true)
	}
}
