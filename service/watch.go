package service

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"time"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/keys"
)

// stamp identifies a state of a file. The console replaces files instead of changing them, so each
// state has its own stamp.
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

func (s stamp) equal(o stamp) bool {
	if s.info == nil || o.info == nil {
		return s.info == nil && o.info == nil
	}
	return s.size == o.size && s.at.Equal(o.at) && s.info.Mode() == o.info.Mode() && os.SameFile(s.info, o.info)
}

// stamps are those of the config file, the key inventory and the folder of rotations.
type stamps struct{ config, keys, rotations stamp }

func (s *Service) stamps() stamps {
	return stamps{config: stampOf(s.configFile()), keys: stampOf(s.Paths.KeysFile()), rotations: stampOf(s.Paths.RotationsDir())}
}

// Watcher notices changes of the configuration, the key inventory and rotations: by the console, by hand,
// by another process. It is used by one goroutine.
type Watcher struct {
	s *Service
	stamps
	reported bool // that the inventory cannot be read
}

// Watcher makes a Watcher that begins with the files as Open read them.
func (s *Service) Watcher() *Watcher { return &Watcher{s: s, stamps: s.asRead} }

// ChangeKind is a kind of change.
type ChangeKind int

// The kinds of changes.
const (
	StateChanged     ChangeKind = iota
	InventoryRead               // Text is why the inventory cannot be read, or empty
	RotationsChanged            // the records of rotations
	Noted                       // Text is a notice
	Warned                      // Text is a warning
	Failed                      // Text is an error
)

// Change is a change during a run: by the console, by hand, by another process.
type Change struct {
	Kind ChangeKind
	Text string
}

// Watch looks for changes once a second until ctx ends, and calls on with each.
func (s *Service) Watch(ctx context.Context, on func(Change)) {
	w := s.Watcher()
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		for _, change := range w.Look(ctx) {
			on(change)
		}
	}
}

// Look reads changed files, and returns the changes.
func (w *Watcher) Look(ctx context.Context) (changes []Change) {
	s := w.s
	before, now := w.stamps, s.stamps()
	w.stamps = now
	if !now.config.equal(before.config) {
		changes = append(changes, s.reload(ctx)...)
	}
	if !now.keys.equal(before.keys) {
		inventory := s.Keys.Inventory()
		unread := inventory.Unread()
		if err := inventory.Reload(); err != nil {
			w.reported = true
			if unread != nil {
				return append(changes, Change{Kind: StateChanged}, Change{InventoryRead, keys.Unreadable(err).Error()})
			}
			return append(changes, Change{InventoryRead, "the key inventory stays as it was read before: " + err.Error()})
		}
		if w.reported || unread != nil {
			w.reported = false
			changes = append(changes, Change{Kind: StateChanged}, Change{Kind: InventoryRead})
		}
		if len(changes) == 0 {
			changes = []Change{{Kind: StateChanged}}
		}
	}
	if len(changes) == 0 && !now.rotations.equal(before.rotations) { // StateChanged includes the rotations
		changes = append(changes, Change{Kind: RotationsChanged})
	}
	return changes
}

// reload reads the config file again. If it has a fault, everything stays as it was.
func (s *Service) reload(ctx context.Context) (changes []Change) {
	file, err := s.readConfig()
	if err != nil {
		return []Change{{Failed, "the configuration stays as it was read before: " + err.Error()}}
	}
	s.InUse.SetFile(file)
	defer func() {
		if err := s.Inbox.Reset(ctx); err != nil {
			changes = append(changes, Change{Failed, err.Error()})
		}
	}()
	changed := Change{Kind: StateChanged}
	if s.Local != nil || s.described() {
		return []Change{changed}
	}
	p, err := s.again(file)
	if err != nil {
		gone := fmt.Sprintf("nothing is sent with profile %s: %v", s.Base.Name, err)
		if s.o.Console {
			gone += "; use another profile"
		}
		s.InUse.Withdraw(gone)
		return []Change{changed, {Warned, gone}}
	}
	before := s.CurrentProfile()
	wasGone := s.InUse.Restore()
	if reflect.DeepEqual(before, p) && !wasGone {
		return []Change{changed}
	}
	s.InUse.SetProfile(p)
	return []Change{changed, {Noted, "profile " + p.Name + " has changed in the config file; the change applies from now on"}}
}

// described reports whether flags alone describe the profile in use.
func (s *Service) described() bool {
	_, err := s.Configuration().Profile(s.Base.Name)
	return err != nil && s.Base.Name == config.FlagsName
}

// again returns the profile in use from the file, overridden by flags and environment.
func (s *Service) again(file config.File) (model.Profile, error) {
	p, err := file.Profile(s.Base.Name)
	if err != nil {
		return p, err
	}
	override, err := s.o.override()
	if err == nil {
		p, err = override.On(p)
	}
	if err == nil {
		p, err = s.o.completed(p)
	}
	return p, err
}
