package h1

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto, " ", r.TLS.ServerName) }))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	ctx := &Context{t.Context(), Wish{HTTP1: true}}
	trusting := srv.Client().Transport.(*http.Transport).TLSClientConfig
	dialled := 0
	c := newClient(t, Config{TLS: trusting, Dial: func(ctx context.Context, address string) (net.Conn, error) {
		dialled++
		if address != "example.com:443" {
			t.Errorf("dialled %s", address)
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", srv.Listener.Addr().String())
	}})
	for range 2 {
		if _, b, err := send(ctx, t, c, http.MethodGet, "https://example.com/"); err != nil || b != "HTTP/1.1 example.com" {
			t.Fatalf("%q %v", b, err)
		}
	}
	if c.kept != 1 || dialled != 1 {
		t.Errorf("%d are kept of %d", c.kept, dialled)
	}
	stranger := newClient(t, Config{Dial: c.conf.Dial})
	cert := (*tls.CertificateVerificationError)(nil)
	if _, _, err := send(ctx, t, stranger, http.MethodGet, "https://example.com/"); !errors.As(err, &cert) {
		t.Errorf("an unknown authority: %v", err)
	}
}

// TestATargetWithoutHTTP1GoesToTheOther: it refuses the handshake, and the other transport
// speaks HTTP/2.
func TestATargetWithoutHTTP1GoesToTheOther(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	conf := srv.TLS.Clone()
	conf.NextProtos = []string{"h3"}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := ln.Accept(); err == nil {
			_ = c.(*tls.Conn).Handshake() // fails: no protocol in common
			c.Close()
		}
	}()
	defer func() { ln.Close(); <-done }()
	asked := false
	c := newClient(t, Config{
		TLS: srv.Client().Transport.(*http.Transport).TLSClientConfig,
		Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", ln.Addr().String())
		},
		Other: roundTrip(func(*http.Request) (*http.Response, error) {
			asked = true
			return &http.Response{Body: http.NoBody}, nil
		}),
	})
	if _, _, err := send(&Context{t.Context(), Wish{HTTP1: true}}, t, c, http.MethodGet, "https://example.com/"); err != nil || !asked {
		t.Errorf("asked %v, %v", asked, err)
	}
}

// TestWhatLiesBehindABodyInsideTLSIsNoRequestsAnswer: it came in the body's own record, so
// that neither the reader nor the socket shows it.
func TestWhatLiesBehindABodyInsideTLSIsNoRequestsAnswer(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer srv.Close()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: srv.TLS.Certificates, DynamicRecordSizingDisabled: true})
	if err != nil {
		t.Fatal(err)
	}
	const size = 10000 // more than the reader holds, twice
	good := "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + strings.Repeat("g", size)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				for br := bufio.NewReader(c); ; {
					if _, err := http.ReadRequest(br); err != nil {
						return
					}
					_, _ = io.WriteString(c, good+"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil") // one record
				}
			})
		}
	})
	defer func() { ln.Close(); wg.Wait() }()
	c := newClient(t, Config{
		TLS: srv.Client().Transport.(*http.Transport).TLSClientConfig,
		Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", ln.Addr().String())
		},
	})
	defer c.CloseIdleConnections()
	buf := make([]byte, 32<<10)
	for range 2 {
		r, err := http.NewRequestWithContext(&Context{t.Context(), Wish{HTTP1: true}}, http.MethodGet, "https://example.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.ReadFull(resp.Body, buf)
		if !errors.Is(err, io.ErrUnexpectedEOF) || string(buf[:n]) != good[len(good)-size:] {
			t.Errorf("%.20q %v", buf[:n], err)
		}
		resp.Body.Close()
	}
	if c.kept != 0 {
		t.Error("a connection with something left in it is kept")
	}
}
