package exchange

import (
	"encoding/base64"
	"io"
	"net/http"

	"zonedeck/keystore"
	"zonedeck/model"
)

// minMasked is the length from which a secret is looked for in answers, in bytes. What is
// shorter stays, because it would be found by chance: a password of four digits stands in
// most pages, and asterisks in their place would spoil what was paid for.
const minMasked = 8

// Mask takes the secrets of one exchange out of what the other side sends
// back: a service or a target may repeat what it was sent, and answers are shown
// and kept. It finds a secret in every spelling that spellings.go knows, and
// replaces it by as many asterisks as the spelling has bytes, so that sizes and
// offsets stay. A text that is crafted to be slow to search is masked as a whole. The zero
// value masks nothing.
type Mask struct{ s *scrubber }

// MaskOf masks a key's value or a proxy login, the latter as it is and as
// Proxy-Authorization writes it, and further secrets of a request.
func MaskOf(key keystore.Secret, login Login, more ...keystore.Secret) Mask {
	var c compiler
	c.secret(key.Reveal())
	for _, s := range more {
		c.secret(s.Reveal())
	}
	if password := login.Password.Reveal(); len(password) >= minMasked {
		c.secret(password)
		c.header(base64.StdEncoding.EncodeToString([]byte(login.Username+":"+password)), true)
	}
	return Mask{c.scrubber()}
}

// Bytes masks b in place and returns it.
func (m Mask) Bytes(b []byte) []byte {
	if m.s != nil {
		found := m.s.all(b)
		found.cover(b)
	}
	return b
}

// Text masks a text.
func (m Mask) Text(s string) string {
	if m.s == nil || len(s) < m.s.shortest {
		return s
	}
	b := []byte(s)
	found := m.s.all(b)
	if len(found.spans) == 0 {
		return s
	}
	found.cover(b)
	return string(b)
}

// Header masks the names and the values of h in place.
func (m Mask) Header(h http.Header) http.Header {
	for name, values := range h {
		for i, v := range values {
			values[i] = m.Text(v)
		}
		if shown := m.Text(name); shown != name {
			delete(h, name)
			h[shown] = values
		}
	}
	return h
}

// Diagnosis masks what a verdict cites.
func (m Mask) Diagnosis(d model.Diagnosis) model.Diagnosis {
	d.Summary = m.Text(d.Summary)
	for i := range d.Evidence {
		d.Evidence[i].Text = m.Text(d.Evidence[i].Text)
	}
	for i := range d.Steps {
		d.Steps[i].Text = m.Text(d.Steps[i].Text)
	}
	return d
}

// Reader masks a stream.
func (m Mask) Reader(r io.Reader) *MaskReader { return &MaskReader{s: m.s, r: r, steps: stepsFree} }

// MaskReader holds back as many bytes as may be the beginning of a secret: at most
// those of the longest secret in its longest spelling.
type MaskReader struct {
	s     *scrubber
	r     io.Reader
	room  []byte // what buf lies in
	buf   []byte
	ready int // bytes of buf that may go, masked
	// stars is how many bytes after those belong to a secret that began before.
	stars int
	steps int // that the search may still take
	err   error
	// Found says that a secret was masked, GaveUp that the rest was, because looking for one
	// in it took too long.
	Found, GaveUp bool
}

// maskChunk is how much a MaskReader reads at once, in bytes.
const maskChunk = 32 << 10

func (r *MaskReader) Read(p []byte) (int, error) {
	if r.s == nil {
		return r.r.Read(p)
	}
	for r.ready == 0 && r.err == nil {
		r.fill()
	}
	if r.ready == 0 {
		return 0, r.err
	}
	n := copy(p, r.buf[:r.ready])
	r.buf, r.ready = r.buf[n:], r.ready-n
	return n, nil
}

// fill reads on, masks, and lets go what can no longer be part of a secret. What stays
// is not masked yet: another secret may begin within one.
func (r *MaskReader) fill() {
	held := len(r.buf)
	if cap(r.room) < held+maskChunk {
		grown := make([]byte, held+maskChunk+held)
		copy(grown, r.buf)
		r.room = grown
	} else {
		copy(r.room, r.buf)
	}
	n, err := r.r.Read(r.room[held : held+maskChunk])
	r.buf, r.err = r.room[:held+n], err
	if r.GaveUp {
		r.ready = len(r.buf)
		finding{spans: []span{{0, r.ready}}}.cover(r.buf)
		return
	}
	r.steps += stepsPerByte * len(r.buf)
	found := r.s.scan(r.buf, err != nil, r.steps)
	r.steps, r.GaveUp = found.stepsLeft, found.gaveUp()
	if len(found.spans) > 0 {
		r.Found = true
	}
	found.spans = append(found.spans, span{0, r.stars})
	r.ready = found.sure
	r.stars = found.cover(r.buf[:r.ready])
}
