package service

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

// masker takes the secrets of one exchange out of what the other side sends
// back: a service or a target may repeat what it was sent, and answers are shown
// and kept. A secret is replaced by as many asterisks, so that sizes and offsets
// stay. The zero value masks nothing.
type masker struct{ secrets []string }

// maskerOf masks a key's value or a proxy login, the latter as it is and as
// Proxy-Authorization writes it.
func maskerOf(key keystore.Secret, login proxyLogin) masker {
	var m masker
	m.add(key.Reveal())
	if password := login.Password.Reveal(); password != "" {
		m.add(password)
		m.add(base64.StdEncoding.EncodeToString([]byte(login.Username + ":" + password)))
	}
	return m
}

func (m *masker) add(s string) {
	if len(s) >= minMasked {
		m.secrets = append(m.secrets, s)
	}
}

func (m masker) text(s string) string {
	for _, secret := range m.secrets {
		s = strings.ReplaceAll(s, secret, strings.Repeat("*", len(secret)))
	}
	return s
}

func (m masker) header(h http.Header) http.Header {
	for _, values := range h {
		for i, v := range values {
			values[i] = m.text(v)
		}
	}
	return h
}

// reader masks a stream.
func (m masker) reader(r io.Reader) *maskReader {
	longest := 0
	for _, s := range m.secrets {
		longest = max(longest, len(s))
	}
	return &maskReader{m: m, r: r, keep: max(longest-1, 0)}
}

// maskReader holds back as many bytes as may be the beginning of a secret.
type maskReader struct {
	m     masker
	r     io.Reader
	keep  int
	buf   []byte
	ready int // bytes of buf that may go
	err   error
	// found says that a secret was masked.
	found bool
}

func (r *maskReader) Read(p []byte) (int, error) {
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
func (r *maskReader) fill() {
	const chunk = 32 << 10
	grown := make([]byte, len(r.buf)+chunk)
	have := copy(grown, r.buf)
	n, err := r.r.Read(grown[have:])
	r.buf, r.err = grown[:have+n], err
	for _, s := range r.m.secrets {
		for at := bytes.Index(r.buf, []byte(s)); at >= 0; at = bytes.Index(r.buf, []byte(s)) {
			r.found = true
			copy(r.buf[at:], bytes.Repeat([]byte("*"), len(s)))
		}
	}
	r.ready = len(r.buf)
	if err == nil {
		r.ready = max(len(r.buf)-r.keep, 0)
	}
}
