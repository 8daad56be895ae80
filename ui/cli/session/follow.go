package session

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/emulator"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
)

// followEvery is how often a console looks whether its emulator still lives. The
// process that runs it may be killed while nobody sends anything, and the screen
// must not go on speaking of addresses where nobody listens.
const followEvery = time.Second

// place is one run of the emulator: the same process at the same addresses.
type place struct {
	api, proxy string
	pid        int
}

func placeOf(r emulator.Ready) place { return place{r.API, r.Proxy, r.PID} }

// follower keeps a console on a living emulator. It is used by one goroutine.
type follower struct {
	c       *Console
	at      place
	problem string
	ahead   time.Duration // how far the clock was ahead when the views were told last
}

// follow looks until the console ends; send delivers what the views must know.
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
	every := time.NewTicker(followEvery)
	defer every.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-every.C:
		}
		for _, msg := range f.look() {
			send(msg)
		}
	}
}

// begin is the first look: it starts the emulator or attaches to one, and gives
// the message that says so, or why not.
func (f *follower) begin() tea.Msg {
	s := f.c.session
	if _, err := s.Profile(f.c.ctx); err != nil {
		f.problem = err.Error()
		return f.broken()
	}
	if s.embedded != nil {
		ready, _ := s.embedded.where()
		f.at, f.ahead = placeOf(ready), s.ahead()
	}
	return f.c.sessionChanged()
}

// broken tells the views why nothing can be sent.
func (f *follower) broken() tea.Msg {
	described := f.c.session.describe()
	described.Ready, described.Problem = false, f.problem
	return kit.SessionChanged{Session: described}
}

// look takes over a dead emulator or finds the one another process began, and
// returns the messages about a change.
func (f *follower) look() []tea.Msg {
	s := f.c.session
	if _, err := s.Profile(f.c.ctx); err != nil {
		if f.c.ctx.Err() != nil || err.Error() == f.problem {
			return nil
		}
		f.problem = err.Error()
		return []tea.Msg{f.broken()}
	}
	ready, ours := s.embedded.where()
	before, wasBroken := f.at, f.problem != ""
	moved := s.ahead() != f.ahead
	f.at, f.problem, f.ahead = placeOf(ready), "", s.ahead()
	if f.at == before && !wasBroken && !moved {
		return nil
	}
	changed := []tea.Msg{f.c.sessionChanged()}
	switch {
	case f.at == before && moved:
		return append(changed, kit.Toast{Text: "The emulator's clock was moved: it is " + aheadOfMachine(f.ahead) + " now, and this console follows it."})
	case before == (place{}) || f.at == before:
		return changed
	case ours:
		return append(changed, kit.Toast{Kind: kit.ToastWarn, Text: "The process that ran the local emulator has ended. This console runs it now, from its state: keys, zones and jobs are as they were."})
	default:
		return append(changed, kit.Toast{Kind: kit.ToastWarn, Text: fmt.Sprintf("The process that ran the local emulator has ended. Process %d runs it now, from its state.", f.at.pid)})
	}
}

// aheadOfMachine says how far an emulator's clock is from the machine's; behind it
// is one that a scenario began in the past.
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
