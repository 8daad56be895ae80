package session

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/local"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// follower keeps a console connected to a live emulator. It is used by one goroutine.
type follower struct {
	c       *Console
	place   local.Place
	problem string
	ahead   time.Duration // how far the clock was ahead in the last message to the views
	keys    []model.Key   // those in the last message
}

// follow checks the emulator once a second until the console ends; send delivers the messages
// for the views. The process that runs it may be killed while the console is idle, and the screen
// must not keep showing dead addresses.
func (c *Console) follow(send func(tea.Msg)) {
	if c.session.embedded == nil {
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
	s := f.c.session
	if s.embedded != nil {
		if _, err := s.Profile(f.c.ctx); err != nil {
			f.problem = err.Error()
			return f.broken()
		}
		f.place, _ = s.embedded.Place()
		f.keys, _ = s.embedded.Keys()
		f.ahead = s.ahead()
	}
	return f.c.sessionChanged()
}

// broken tells the views why nothing can be sent.
func (f *follower) broken() tea.Msg {
	described := f.c.session.describe()
	described.Ready, described.Problem = false, f.problem
	return kit.SessionChanged{Session: described}
}

// look checks the emulator, replaces a dead one or attaches to one of another
// process, and returns the messages about the change.
func (f *follower) look() []tea.Msg {
	s := f.c.session
	if _, err := s.Profile(f.c.ctx); err != nil {
		if f.c.ctx.Err() != nil || err.Error() == f.problem {
			return nil
		}
		f.problem = err.Error()
		return []tea.Msg{f.broken()}
	}
	place, runsHere := s.embedded.Place()
	keys, _ := s.embedded.Keys()
	before, wasBroken := f.place, f.problem != ""
	moved, same := s.ahead() != f.ahead, reflect.DeepEqual(keys, f.keys)
	f.place, f.problem, f.ahead, f.keys = place, "", s.ahead(), keys
	if f.place == before && !wasBroken && !moved && same {
		return nil
	}
	changed := []tea.Msg{f.c.sessionChanged()}
	switch {
	case f.place == before && moved:
		return append(changed, kit.Toast{Text: "The emulator's clock was moved: it is " + aheadOfMachine(f.ahead) + " now, and this console follows it."})
	case before == (local.Place{}) || f.place == before:
		return changed
	case runsHere:
		return append(changed, kit.Toast{Kind: kit.ToastWarn, Text: "The process that ran the local emulator has ended. This console runs it now, from its state" + stays})
	default:
		return append(changed, kit.Toast{Kind: kit.ToastWarn, Text: fmt.Sprintf("The process that ran the local emulator has ended. Process %d runs it now, from its state%s", f.place.PID, stays)})
	}
}

// stays says what another process's emulator has of the one before.
const stays = ": zones, jobs and the time that was set stay; added faults and the journal of requests are gone."

// aheadOfMachine says how far an emulator's clock is from the machine's. It is behind
// if a scenario started in the past.
func aheadOfMachine(d time.Duration) string {
	switch {
	case d > 0:
		return strings.TrimPrefix(text.Ahead(d), "+") + " ahead of the machine's"
	case d < 0:
		return strings.TrimPrefix(text.Ahead(d), "-") + " behind the machine's"
	default:
		return "the machine's"
	}
}
