package deliver

import (
	"errors"
	"fmt"
	"slices"

	"zonedeck/service/emulator/state"
)

const keptDeliveries = state.Table[Delivery]("deliveries")

// load reads the deliveries. It leaves out one that cannot be read, with a note.
func (e *Engine) load() error {
	return keptDeliveries.Each(e.conf.State, func(id string, d Delivery) error {
		if d.ID != id || d.Message.Parts < 1 {
			return errors.New("its id or its parts are wrong")
		}
		switch d.Status {
		case Waiting, Done, Failed:
			e.show(&d)
			return nil
		default:
			return fmt.Errorf("status %q", d.Status)
		}
	})
}

// keep writes a delivery, then shows it to readers. The secrets of one that has ended are
// erased. Only the goroutine that adds or sends a delivery calls it, without holding mu.
func (e *Engine) keep(d *Delivery) error {
	write := e.conf.State.Update
	if d.Status.ended() {
		write = e.conf.State.Erase
	}
	if err := write(func(tx *state.Tx) error { return keptDeliveries.Put(tx, d.ID, *d) }); err != nil {
		return fmt.Errorf("keeping a delivery: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.show(d)
	return nil
}

// show makes a delivery visible to readers. It is called under mu, or before the engine is
// shared. A visible delivery is never changed, only replaced.
func (e *Engine) show(d *Delivery) {
	e.all[d.ID] = d
	if d.Status == Waiting {
		e.waiting[d.ID] = d
	} else {
		delete(e.waiting, d.ID)
	}
}

// clean removes deliveries that ended long ago.
func (e *Engine) clean() {
	e.mu.Lock()
	var old []string
	for id, d := range e.all {
		if d.Status != Waiting && e.conf.Now().Sub(d.Ended) > Retention {
			old = append(old, id)
		}
	}
	e.mu.Unlock()
	if len(old) == 0 {
		return
	}
	err := e.conf.State.Soon(func(tx *state.Tx) error { return keptDeliveries.Delete(tx, old...) })
	if err != nil {
		e.log(err, old[0])
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range old {
		delete(e.all, id)
	}
}

// clone is a copy that can be changed.
func (d *Delivery) clone() *Delivery {
	c := *d
	c.Files, c.Attempts = slices.Clone(d.Files), slices.Clone(d.Attempts)
	return &c
}
