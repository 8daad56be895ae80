package webhook

import "cmp"

// defaultReserve is how many bytes a receiver leaves free on the disk: room for the rows, and for other
// programs.
const defaultReserve = 256 << 20

// Settings may change while a Receiver runs; 0 stands for a default.
type Settings struct {
	Verifiers []Verifier
	// MaxBody is the largest size of a body in bytes.
	MaxBody int64
	// Keep is how much is kept. The bodies never exceed Keep.Bytes and MaxBody together: webhooks
	// beyond that are answered 507.
	Keep Retention
	// Reserve is how many bytes have to stay free on the disk. Webhooks that would leave less are
	// answered 507.
	Reserve int64
}

func (s Settings) orDefault() *Settings {
	s.MaxBody, s.Reserve, s.Keep = cmp.Or(s.MaxBody, maxBody), cmp.Or(s.Reserve, defaultReserve), s.Keep.orDefault()
	return &s
}

// Set applies settings to what comes from now on, and to what is kept.
func (r *Receiver) Set(s Settings) {
	r.settings.Store(s.orDefault())
	poke(r.full)
}

// fits returns errDisk if that many more bytes would leave too little of the disk. If the free space is
// unknown, everything fits.
func (r *Receiver) fits(more int64) error {
	free, err := r.conf.disk.free(r.inbox.dir)
	if err == nil && free < uint64(max(more, 0))+uint64(r.settings.Load().Reserve) { //nolint:gosec // neither is below 0
		return errDisk
	}
	return nil
}
