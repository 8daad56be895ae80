package session

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/service/config"
	"zonedeck/service/keys"
	tab "zonedeck/ui/keys"
	"zonedeck/ui/kit"
)

// stamp tells two states of a file apart. The console replaces files, so that two of them never
// share all of it.
type stamp struct {
	info os.FileInfo
	size int64
	at   time.Time
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info, info.Size(), info.ModTime()}
}

func (s stamp) same(o stamp) bool {
	if s.info == nil || o.info == nil {
		return s.info == nil && o.info == nil
	}
	return s.size == o.size && s.at.Equal(o.at) && s.info.Mode() == o.info.Mode() && os.SameFile(s.info, o.info)
}

// stamps are the states of the configuration, of the key inventory, and of the folder of rotations.
type stamps struct{ config, keys, rotations stamp }

func (s *Session) stamps() stamps {
	return stamps{config: stampOf(s.configFile()), keys: stampOf(s.Paths.KeysFile()), rotations: stampOf(s.Paths.RotationsDir())}
}

// configWatch notices that the configuration, the key inventory or a rotation was changed: by the console, by
// hand, by another process. It is used by one goroutine.
type configWatch struct {
	s *Session
	stamps
	told bool // that the inventory cannot be read
}

func (s *Session) newWatch() *configWatch { return &configWatch{s: s, stamps: s.asRead} }

// Watch looks at the files once a second until the console ends; send delivers the messages.
func (c *Console) Watch(send func(tea.Msg)) {
	w := c.session.newWatch()
	everySecond(c.ctx, func() []tea.Msg { return w.look(c.ctx) }, send)
}

// KeepReading reads the configuration and the key inventory again whenever they have changed, until
// ctx ends: for a command that runs for long. say is told what an operator must know.
func (s *Session) KeepReading(ctx context.Context, say func(string)) {
	w := s.newWatch()
	everySecond(ctx, func() []tea.Msg { return w.look(ctx) }, func(msg tea.Msg) {
		if t, ok := msg.(kit.Toast); ok && t.Text != "" {
			say(t.Text)
		}
	})
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

// look reads what has changed, and returns the messages about it.
func (w *configWatch) look(ctx context.Context) (msgs []tea.Msg) {
	s := w.s
	before, now := w.stamps, s.stamps()
	w.stamps = now
	if !now.config.same(before.config) {
		msgs = append(msgs, s.reload(ctx)...)
	}
	if !now.keys.same(before.keys) {
		inventory := s.Keys.Inventory()
		unread := inventory.Unread()
		if err := inventory.Reload(); err != nil {
			w.told = true
			if unread != nil {
				return append(msgs, kit.SessionChanged{Session: s.describe()}, kit.KeysFault(keys.Unreadable(err).Error()))
			}
			return append(msgs, kit.KeysFault("the key inventory stays as it was read before: "+err.Error()))
		}
		if w.told || unread != nil {
			w.told = false
			msgs = append(msgs, kit.SessionChanged{Session: s.describe()}, kit.KeysFault(""))
		}
		if len(msgs) == 0 {
			msgs = []tea.Msg{kit.SessionChanged{Session: s.describe()}}
		}
	}
	if len(msgs) == 0 && !now.rotations.same(before.rotations) { // with a changed session they are read, too
		msgs = append(msgs, kit.Addressed{View: kit.Keys, Msg: tab.RotationsChanged{}})
	}
	return msgs
}

// reload reads the config file again. With a fault in it everything stays as it was.
func (s *Session) reload(ctx context.Context) (msgs []tea.Msg) {
	file, err := config.Load(s.configFile())
	if err != nil {
		return []tea.Msg{kit.Toast{Kind: kit.ToastError, Text: "the configuration stays as it was read before: " + err.Error()}}
	}
	s.profiles.SetFile(file)
	defer func() {
		if err := s.Inbox.Reset(ctx); err != nil {
			msgs = append(msgs, kit.Toast{Kind: kit.ToastError, Text: err.Error()})
		}
	}()
	changed := func() tea.Msg { return kit.SessionChanged{Session: s.describe()} }
	if s.embedded != nil || s.described() {
		return []tea.Msg{changed()}
	}
	p, err := s.again(file)
	if err != nil {
		gone := fmt.Sprintf("nothing is sent by profile %s: %v", s.Base.Name, err)
		if s.o.console {
			gone += "; choose another one with @"
		}
		s.profiles.Withdraw(gone)
		return []tea.Msg{changed(), kit.Toast{Kind: kit.ToastWarn, Text: gone}}
	}
	before := s.CurrentProfile()
	wasGone := s.profiles.Restore()
	if reflect.DeepEqual(before, p) && !wasGone {
		return []tea.Msg{changed()}
	}
	s.profiles.SetProfile(p)
	return []tea.Msg{changed(), kit.Toast{Text: "profile " + p.Name + " has changed in the config file; it holds from now on"}}
}

// described reports whether flags alone describe the profile in use.
func (s *Session) described() bool {
	_, err := s.configured().Profile(s.Base.Name)
	return err != nil && s.Base.Name == config.FlagsName
}

// again is the profile in use as the file has it now, under flags and environment.
func (s *Session) again(file config.File) (config.Profile, error) {
	p, err := file.Profile(s.Base.Name)
	if err != nil {
		return p, err
	}
	override, err := s.o.override()
	if err == nil {
		p, err = p.With(override)
	}
	if err == nil {
		p, err = s.o.completed(p)
	}
	return p, err
}
