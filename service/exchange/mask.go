package exchange

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"strings"

	"zonedeck/keystore"
)

// minMasked is the length from which a secret is looked for in answers. What is
// shorter would be found by chance.
const minMasked = 8

// Mask takes the secrets of one exchange out of what the other side sends
// back: a service or a target may repeat what it was sent, and answers are shown
// and kept. A secret is replaced by as many asterisks, so that sizes and offsets
// stay. The zero value masks nothing.
type Mask struct{ secrets []string }

// MaskOf masks a key's value or a proxy login, the latter as it is and as
// Proxy-Authorization writes it.
func MaskOf(key keystore.Secret, login Login) Mask {
	var m Mask
	m.add(key.Reveal())
	if password := login.Password.Reveal(); password != "" {
		m.add(password)
		m.add(base64.StdEncoding.EncodeToString([]byte(login.Username + ":" + password)))
	}
	return m
}

func (m *Mask) add(s string) {
	if len(s) >= minMasked {
		m.secrets = append(m.secrets, s)
	}
}

// Text masks a text.
func (m Mask) Text(s string) string {
	for _, secret := range m.secrets {
		s = strings.ReplaceAll(s, secret, strings.Repeat("*", len(secret)))
	}
	return s
}

// Header masks the values of h in place.
func (m Mask) Header(h http.Header) http.Header {
	for _, values := range h {
		for i, v := range values {
			values[i] = m.Text(v)
		}
	}
	return h
}

// Reader masks a stream.
func (m Mask) Reader(r io.Reader) *MaskReader {
	longest := 0
	for _, s := range m.secrets {
		longest = max(longest, len(s))
	}
	return &MaskReader{m: m, r: r, keep: max(longest-1, 0)}
}

// MaskReader holds back as many bytes as may be the beginning of a secret.
type MaskReader struct {
	m     Mask
	r     io.Reader
	keep  int
	buf   []byte
	ready int // bytes of buf that may go
	err   error
	// Found says that a secret was masked.
	Found bool
}

func (r *MaskReader) Read(p []byte) (int, error) {
	if len(r.m.secrets) == 0 {
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

// fill reads on, masks, and lets go what can no longer be part of a secret.
func (r *MaskReader) fill() {
	const chunk = 32 << 10
	grown := make([]byte, len(r.buf)+chunk)
	have := copy(grown, r.buf)
	n, err := r.r.Read(grown[have:])
	r.buf, r.err = grown[:have+n], err
	for _, s := range r.m.secrets {
		if secret := []byte(s); bytes.Contains(r.buf, secret) {
			r.Found = true
			r.buf = bytes.ReplaceAll(r.buf, secret, bytes.Repeat([]byte("*"), len(secret)))
		}
	}
	r.ready = len(r.buf)
	if err == nil {
		r.ready = max(len(r.buf)-r.keep, 0)
	}
}
