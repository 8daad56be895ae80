package webhook

import "cmp"

// defaultReserve is what a receiver leaves free on the disk: room for the rows, and for what else
// writes there.
const defaultReserve = 256 << 20

// Settings are what may change while a Receiver runs; 0 stands for the defaults.
type Settings struct {
	Verifiers []Verifier
	// MaxBody is the size of the largest body in bytes.
	MaxBody int64
	// Keep is what is kept. Of bytes there is never more than Keep.Bytes and one body of MaxBody:
	// what comes beyond is answered 507.
	Keep Retention
	// Reserve are the bytes that have to stay free on the disk: what would leave less is answered
	// 507.
	Reserve int64
}

func (s Settings) orDefault() *Settings {
	s.MaxBody, s.Reserve, s.Keep = cmp.Or(s.MaxBody, maxBody), cmp.Or(s.Reserve, defaultReserve), s.Keep.orDefault()
	return &s
}

// Set has the settings hold for what comes from now on, and for what is there.
func (r *Receiver) Set(s Settings) {
	r.settings.Store(s.orDefault())
	poke(r.full)
}

// fits is errDisk where so many more bytes would leave too little of the disk. What cannot be
// found out keeps nothing back.
func (r *Receiver) fits(more int64) error {
	free, err := r.conf.disk.free(r.inbox.dir)
	if err == nil && free < uint64(max(more, 0))+uint64(r.settings.Load().Reserve) { //nolint:gosec // neither is below 0
		return errDisk
	}
	return nil
}
