package keys

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/keys"
	"zonedeck/ui/kit"
)

// RotationsChanged says that the records of rotations on disk are others now.
type RotationsChanged struct{}

// change is a change of the inventory that worked.
type change struct {
	name string     // the key to put the cursor on, or empty
	done string     // message for the operator
	form bool       // it came from the open form
	base *model.Key // the record that the form began with; nil for a new key
}

// onDisk is what is recorded beside the inventory.
type onDisk struct {
	plans []keystore.RotationPlan
	uses  map[keys.KeyID][]keys.KeyUse
	used  map[keys.KeyID]keys.Dates
}

// removeKey confirms removing a key.
type removeKey struct{ key model.Key }

func (m *Model) reload() tea.Cmd {
	inv := m.deps.Inventory
	return tea.Batch(m.loadRecords(), kit.Load(kit.Keys, &m.list.reading, m.deps.Ctx, func(context.Context) (struct{}, error) {
		return struct{}{}, inv.Reload()
	}, func(_ struct{}, err error) tea.Cmd {
		cmd := m.fill()
		switch {
		case err != nil:
			return tea.Batch(cmd, kit.Send(kit.KeysFault("read the key inventory: "+err.Error())))
		case m.session.Unread != nil:
			return tea.Batch(cmd, kit.Send(kit.KeysFault("")), m.deps.Changed)
		}
		return cmd
	}))
}

func (m *Model) loadRecords() tea.Cmd {
	r, uses := m.deps.Rotations, m.deps.Uses
	return kit.Load(kit.Keys, &m.records.slot, m.deps.Ctx, func(ctx context.Context) (out onDisk, err error) {
		out.plans, err = r.List()
		if err != nil {
			err = fmt.Errorf("read the records of rotations: %w", err)
		}
		var unknown, unread error
		out.uses, unknown = usesFound(ctx, uses)
		out.used, unread = uses.Used(ctx)
		return out, errors.Join(err, unknown, unread)
	}, func(d onDisk, err error) tea.Cmd {
		d.uses = m.usesNow(d.uses)
		m.records.onDisk = d
		cmd := m.fill()
		m.page.Reread(d.plans)
		if err != nil {
			return tea.Batch(cmd, kit.Fail(err.Error()))
		}
		return cmd
	})
}

// usesFound finds what uses the keys, without looking through folders.
func usesFound(ctx context.Context, find Uses) (map[keys.KeyID][]keys.KeyUse, error) {
	uses, report, err := find.Uses(ctx, nil, nil)
	if err == nil && len(report.Problems) > 0 {
		err = errors.New(strings.Join(report.Problems, "; "))
	}
	if err != nil {
		err = fmt.Errorf("some uses of the keys could not be read: %w", err)
	}
	return uses, err
}

// write changes the inventory.
func (m *Model) write(done change, f func(ctx context.Context, inv Inventory) error) tea.Cmd {
	inv := m.deps.Inventory
	return kit.Load(kit.Keys, &m.change, m.deps.Ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, f(ctx, inv)
	}, func(_ struct{}, err error) tea.Cmd { return m.changed(done, err) })
}

func (m *Model) remove(seen model.Key) tea.Cmd {
	return m.write(change{done: seen.Name + " is removed from the inventory; it is still valid at the service"},
		func(ctx context.Context, inv Inventory) error { return inv.Remove(ctx, seen) })
}

// save adds a key, or writes what the form changed in the record base, which it began with;
// what others changed meanwhile is kept.
func (m *Model) save(k model.Key, base *model.Key) tea.Cmd {
	done := change{name: k.Name, done: k.Name + " is recorded", form: true}
	if base == nil {
		return m.write(done, func(ctx context.Context, inv Inventory) error { return inv.Add(ctx, k) })
	}
	done.done = k.Name + " is corrected"
	before := *base
	k.Fingerprint, k.Last4 = before.Fingerprint, before.Last4 // the form does not show them
	done.base = base
	return m.write(done, func(ctx context.Context, inv Inventory) error {
		return inv.Update(ctx, before.Name, func(now model.Key) (model.Key, error) { return keystore.Merge(before, k, now) })
	})
}
