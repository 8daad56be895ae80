package console

import (
	"context"
	"fmt"
	"reflect"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/local"
	"zonedeck/ui/keys"
	"zonedeck/ui/kit"
)

// follower keeps a console connected to a live emulator. It is used by one goroutine.
type follower struct {
	c       *Console
	place   local.Place
	problem string
	ahead   time.Duration // how far the clock was ahead in the last message to the views
	keys    []model.Key   // those in the last message
	faults  int           // those that were on in the last message
}

// follow checks the emulator once a second until the console ends; send delivers the messages
// for the views. The process that serves it may be killed while the console is idle, and the screen
// must not keep showing dead addresses.
func (c *Console) follow(send func(tea.Msg)) {
	if c.service.Local == nil {
		return
	}
	var f follower
	select {
	case f = <-c.began:
	case <-c.ctx.Done():
		return
	}
	everySecond(c.ctx, f.look, send)
}

// begin starts the emulator or attaches to one, and returns the message that reports
// the session or the problem.
func (f *follower) begin() tea.Msg {
	s := f.c.service
	if s.Local != nil {
		if _, err := s.Profile(f.c.ctx); err != nil {
			f.problem = err.Error()
			return f.broken()
		}
		f.place = s.Local.Place()
		f.keys, _ = s.Local.Keys()
		f.ahead, f.faults = s.Ahead(), s.Local.Faults()
	}
	return f.c.sessionChanged()
}

// broken tells the views why nothing can be sent.
func (f *follower) broken() tea.Msg {
	described := f.c.describe()
	described.Ready, described.Problem = false, f.problem
	return kit.SessionChanged{Session: described}
}

// look checks the emulator, replaces a dead one or attaches to one of another
// process, and returns the messages about the change.
func (f *follower) look() []tea.Msg {
	s := f.c.service
	if _, err := s.Profile(f.c.ctx); err != nil {
		if f.c.ctx.Err() != nil || err.Error() == f.problem {
			return nil
		}
		f.problem = err.Error()
		return []tea.Msg{f.broken()}
	}
	place := s.Local.Place()
	keys, _ := s.Local.Keys()
	before, wasBroken := f.place, f.problem != ""
	moved, same := s.Ahead() != f.ahead, reflect.DeepEqual(keys, f.keys) && s.Local.Faults() == f.faults
	f.place, f.problem, f.ahead, f.keys, f.faults = place, "", s.Ahead(), keys, s.Local.Faults()
	if f.place == before && !wasBroken && !moved && same {
		return nil
	}
	changed := []tea.Msg{f.c.sessionChanged()}
	switch {
	case f.place == before && moved:
		return append(changed, kit.Toast{Text: "The emulator's clock was moved: it is now " + local.AheadOfMachine(f.ahead) + ". This console follows it."})
	case before == (local.Place{}) || f.place == before:
		return changed
	default:
		return append(changed, kit.Toast{Kind: kit.ToastWarn, Text: fmt.Sprintf("The process that served the local emulator has ended, and process %d took over. Zones, jobs and the emulator's time are kept; added faults and the journal of requests are gone.", f.place.PID)})
	}
}

// everySecond looks once a second until ctx ends, and sends what was seen.
func everySecond(ctx context.Context, look func() []tea.Msg, send func(tea.Msg)) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		for _, msg := range look() {
			send(msg)
		}
	}
}

// Watch sends what changes in the files until the console ends.
func (c *Console) Watch(send func(tea.Msg)) {
	c.service.Watch(c.ctx, func(change service.Change) { send(c.changed(change)) })
}

// changed is the message about a change.
func (c *Console) changed(change service.Change) tea.Msg {
	switch change.Kind {
	case service.StateChanged:
		return c.sessionChanged()
	case service.InventoryRead:
		return kit.KeysFault(change.Text)
	case service.RotationsChanged:
		return kit.Addressed{View: kit.Keys, Msg: keys.RotationsChanged{}}
	case service.Warned:
		return kit.Toast{Kind: kit.ToastWarn, Text: change.Text}
	case service.Failed:
		return kit.Toast{Kind: kit.ToastError, Text: change.Text}
	default:
		return kit.Toast{Text: change.Text}
	}
}
