package exchange

import (
	"encoding/base64"
	"io"
	"net/http"

	"zonedeck/keystore"
	"zonedeck/model"
)

// minMasked is the length, in bytes, of the shortest secret that is masked in answers. A
// shorter one would be found by chance: the four digits of a password are in most pages,
// and asterisks in their place would spoil a page that was paid for.
const minMasked = 8

// Mask takes the secrets of one exchange out of the answer: a service or a target
// may repeat what it was sent, and answers are shown and kept. It finds a secret in
// every spelling that spellings.go knows, and replaces each byte of it with an
// asterisk, which keeps sizes and offsets. A text crafted to be slow to search is
// masked as a whole. The zero value masks nothing.
type Mask struct{ s *scrubber }

// MaskOf masks a key's value, a proxy login (the password, and the login as
// Proxy-Authorization writes it) and further secrets of a request.
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
		found := m.s.scanText(b)
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
	found := m.s.scanText(b)
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

// Diagnosis masks the texts of a verdict: its summary, evidence and steps.
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

// MaskReader masks a stream. It holds back the bytes that may begin a secret: at most
// as many as the longest spelling of the longest secret has.
type MaskReader struct {
	s     *scrubber
	r     io.Reader
	room  []byte // the memory that buf is in
	buf   []byte
	ready int // how many bytes of buf are masked and may be returned
	// stars is how many bytes after those belong to a secret that began before.
	stars int
	steps int // how many steps the search has left
	err   error
	// Found says that a secret was masked. GaveUp says that the whole rest was masked, because
	// the search took too long.
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
		r.leave()
		return 0, r.err
	}
	n := copy(p, r.buf[:r.ready])
	r.buf, r.ready = r.buf[n:], r.ready-n
	return n, nil
}

// leave gives up the memory that the stream went through.
func (r *MaskReader) leave() {
	if len(r.room) == roomSize {
		leaveRoom((*[roomSize]byte)(r.room))
	}
	r.room, r.buf = nil, nil
}

// fill reads on, masks, and releases the bytes that can no longer be part of a secret. The
// rest is not masked yet, because secrets may overlap.
func (r *MaskReader) fill() {
	held := len(r.buf)
	switch {
	case r.room == nil:
		r.room = rooms.Get().(*[roomSize]byte)[:]
	case len(r.room) < held+maskChunk:
		grown := make([]byte, held+maskChunk+held)
		copy(grown, r.buf)
		r.leave()
		r.room = grown
	default:
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
