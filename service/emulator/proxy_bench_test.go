package emulator

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elazarl/goproxy"

	"zonedeck/internal/noerr"
)

// The benchmarks of this file compare with others on the same target, in turns within
// one run, and report the ratio of throughputs: "x" is theirs/ours in time, so above 1
// ours is the faster, and "cpu-x" the same of the processor time of the whole process
// (clients and target, which are the same for both, included), which other work on the
// machine disturbs less. Clients are as light as can be, so that the proxy's share counts.

const benchConns = 8

// wire is a client's kept-alive connection.
type wire struct {
	net.Conn
	r    *bufio.Reader
	text *textproto.Reader
}

func newWire(c net.Conn) *wire {
	r := bufio.NewReaderSize(c, 64<<10)
	return &wire{c, r, textproto.NewReader(r)}
}

// exchange sends a request and reads its answer; the body's length is given.
func (w *wire) exchange(request []byte) (int, error) {
	if _, err := w.Write(request); err != nil {
		return 0, err
	}
	status, err := w.text.ReadLineBytes()
	if err != nil {
		return 0, err
	}
	if len(status) < 12 || string(status[9:12]) != "200" {
		return 0, fmt.Errorf("answered %q", status)
	}
	length := -1
	for {
		line, err := w.text.ReadLineBytes()
		if err != nil {
			return 0, err
		}
		if len(line) == 0 {
			break
		}
		const name = "content-length: "
		if len(line) > len(name) && strings.EqualFold(string(line[:len(name)]), name) {
			if length, err = strconv.Atoi(string(line[len(name):])); err != nil {
				return 0, err
			}
		}
	}
	if length >= 0 {
		return w.r.Discard(length)
	}
	n, err := io.Copy(io.Discard, httputil.NewChunkedReader(w.r))
	if err == nil {
		_, err = w.r.Discard(2) // the line that ends the trailers
	}
	return int(n), err
}

// side is one of two that are compared: do is one operation on the connection of a
// worker, which may keep it in *wire.
type side struct {
	name string
	do   func(kept **wire) error
}

// compare runs both in turns and reports ns per operation of each, and the ratio.
func compare(b *testing.B, batch int, ours, theirs side) {
	b.Helper()
	var total, cpu [2]time.Duration
	wires := [2][benchConns]*wire{}
	b.Cleanup(func() {
		for _, ws := range wires {
			for _, w := range ws {
				if w != nil {
					w.Close()
				}
			}
		}
	})
	run := func(which int, s side) {
		begin, used := time.Now(), cpuTime()
		var wg sync.WaitGroup
		for i := range benchConns {
			wg.Go(func() {
				for range batch / benchConns {
					if err := s.do(&wires[which][i]); err != nil {
						b.Errorf("%s: %v", s.name, err)
						return
					}
				}
			})
		}
		wg.Wait()
		if b.Failed() {
			b.FailNow()
		}
		total[which] += time.Since(begin)
		cpu[which] += cpuTime() - used
	}
	run(0, ours) // warm
	run(1, theirs)
	total, cpu = [2]time.Duration{}, [2]time.Duration{}
	n := 0
	for b.Loop() {
		if n%2 == 0 {
			run(0, ours)
			run(1, theirs)
		} else {
			run(1, theirs)
			run(0, ours)
		}
		n++
	}
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(n*batch) }
	b.ReportMetric(per(total[0]), "ns/ours")
	b.ReportMetric(per(total[1]), "ns/"+theirs.name)
	b.ReportMetric(per(total[1])/per(total[0]), "x")
	if cpu[0] > 0 {
		b.ReportMetric(per(cpu[1])/per(cpu[0]), "cpu-x")
	}
	b.ReportMetric(0, "ns/op")
}

// bareGoproxy is the proxy as it comes, with a pool of connections as large as ours.
func bareGoproxy(b *testing.B, lab string, roots *x509.CertPool, mitm bool) (addr string) {
	p := goproxy.NewProxyHttpServer()
	p.Logger = log.New(io.Discard, "", 0)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, lab)
	}
	p.Tr.Proxy, p.Tr.DialContext, p.Tr.MaxIdleConnsPerHost = nil, dial, 32
	p.Tr.TLSClientConfig = &tls.Config{RootCAs: roots}
	p.ConnectDial = func(network, addr string) (net.Conn, error) { return dial(context.Background(), network, addr) }
	if mitm {
		p.OnRequest().HandleConnect(goproxy.AlwaysMitm)
	}
	srv := httptest.NewServer(p)
	b.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		p.Tr.CloseIdleConnections()
	})
	return strings.TrimPrefix(srv.URL, "http://")
}

func dialWire(addr string) (*wire, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return newWire(c), nil
}

// connectWire opens a tunnel, and TLS in it where a configuration is given.
func connectWire(addr, auth, target string, conf *tls.Config) (*wire, error) {
	w, err := dialWire(addr)
	if err != nil {
		return nil, err
	}
	head := "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n" + auth + "\r\n"
	if _, err := io.WriteString(w, head); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(w.r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("CONNECT: %s", resp.Status)
	}
	if conf == nil {
		return w, nil
	}
	return newWire(tls.Client(w.Conn, conf)), nil
}

// kept is an operation over a connection that is opened once.
func kept(open func() (*wire, error), request []byte, size int) func(**wire) error {
	return func(w **wire) (err error) {
		if *w == nil {
			if *w, err = open(); err != nil {
				return err
			}
		}
		n, err := (*w).exchange(request)
		if err == nil && n < size {
			err = fmt.Errorf("%d bytes", n)
		}
		return err
	}
}

// fresh is an operation with a connection of its own.
func fresh(open func() (*wire, error), request []byte, size int) func(**wire) error {
	return func(**wire) error {
		w, err := open()
		if err != nil {
			return err
		}
		defer w.Close()
		n, err := w.exchange(request)
		if err == nil && n < size {
			err = fmt.Errorf("%d bytes", n)
		}
		return err
	}
}

func BenchmarkBesideGoproxy(b *testing.B) {
	g := start(b, Options{})
	lab := strings.TrimPrefix(g.r.LabDirect, "http://")
	auth := func(login string) string {
		zone, _, _ := strings.Cut(login, "-")
		return "Proxy-Authorization: " + loginHeader(login, g.password(zone)) + "\r\n"
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(g.r.CAPEM))
	trusting := &tls.Config{ServerName: "lab.test", RootCAs: pool}
	insecure := &tls.Config{ServerName: "lab.test", InsecureSkipVerify: true}
	tunnels, resigns := bareGoproxy(b, lab, pool, false), bareGoproxy(b, lab, pool, true)
	for _, page := range []struct {
		name, path  string
		size, batch int
	}{{"small", "/ok", 200, 512}, {"1MB", "/large?mb=1", 1 << 20, 512}} {
		absolute := func(auth string) []byte {
			return []byte("GET http://lab.test" + page.path + " HTTP/1.1\r\nHost: lab.test\r\nUser-Agent: bench\r\n" + auth + "\r\n")
		}
		inside := []byte("GET " + page.path + " HTTP/1.1\r\nHost: lab.test\r\nUser-Agent: bench\r\n\r\n")
		b.Run("plain/"+page.name, func(b *testing.B) {
			compare(b, page.batch,
				side{"ours", kept(func() (*wire, error) { return dialWire(g.r.Proxy) }, absolute(auth("datacenter_demo-session-a")), page.size)},
				side{"goproxy", kept(func() (*wire, error) { return dialWire(tunnels) }, absolute(""), page.size)})
		})
		b.Run("plain-rotating/"+page.name, func(b *testing.B) {
			compare(b, page.batch,
				side{"ours", kept(func() (*wire, error) { return dialWire(g.r.Proxy) }, absolute(auth("datacenter_demo")), page.size)},
				side{"goproxy", kept(func() (*wire, error) { return dialWire(tunnels) }, absolute(""), page.size)})
		})
		b.Run("tunnel/"+page.name, func(b *testing.B) {
			compare(b, page.batch,
				side{"ours", kept(func() (*wire, error) {
					return connectWire(g.r.Proxy, auth("datacenter_demo"), "lab.test:80", nil)
				}, inside, page.size)},
				side{"goproxy", kept(func() (*wire, error) { return connectWire(tunnels, "", "lab.test:80", nil) }, inside, page.size)})
		})
		b.Run("resigned/"+page.name, func(b *testing.B) {
			compare(b, page.batch,
				side{"ours", kept(func() (*wire, error) {
					return connectWire(g.r.Proxy, auth("residential_demo"), "lab.test:443", trusting)
				}, inside, page.size)},
				side{"goproxy", kept(func() (*wire, error) { return connectWire(resigns, "", "lab.test:443", insecure) }, inside, page.size)})
		})
	}
	inside := []byte("GET /ok HTTP/1.1\r\nHost: lab.test\r\nUser-Agent: bench\r\n\r\n")
	b.Run("tunnel/opened", func(b *testing.B) {
		compare(b, 128,
			side{"ours", fresh(func() (*wire, error) {
				return connectWire(g.r.Proxy, auth("datacenter_demo"), "lab.test:80", nil)
			}, inside, 200)},
			side{"goproxy", fresh(func() (*wire, error) { return connectWire(tunnels, "", "lab.test:80", nil) }, inside, 200)})
	})
	b.Run("resigned/opened", func(b *testing.B) {
		compare(b, 32,
			side{"ours", fresh(func() (*wire, error) {
				return connectWire(g.r.Proxy, auth("residential_demo"), "lab.test:443", trusting)
			}, inside, 200)},
			side{"goproxy", fresh(func() (*wire, error) { return connectWire(resigns, "", "lab.test:443", insecure) }, inside, 200)})
	})
}

// BenchmarkRequestBesideReverseProxy compares POST /request to a bare reverse proxy
// before the same site.
func BenchmarkRequestBesideReverseProxy(b *testing.B) {
	g := start(b, Options{})
	site, err := url.Parse(g.r.LabDirect)
	noerr.Must(b, err)
	rp := httputil.NewSingleHostReverseProxy(site)
	rp.Transport = &http.Transport{MaxIdleConnsPerHost: 32}
	bare := httptest.NewServer(rp)
	b.Cleanup(func() {
		bare.CloseClientConnections()
		bare.Close()
		rp.Transport.(*http.Transport).CloseIdleConnections()
	})
	for _, page := range []struct {
		name, path  string
		size, batch int
	}{{"1KB", "/json", 1000, 512}, {"1MB", "/large?mb=1", 1 << 20, 512}} {
		body := `{"zone":"datacenter_demo","url":"http://lab.test` + page.path + `","format":"raw"}`
		request := fmt.Appendf(nil, "POST /request HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			g.key("batch-user"), len(body), body)
		direct := []byte("GET " + page.path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\n\r\n")
		b.Run(page.name, func(b *testing.B) {
			compare(b, page.batch,
				side{"ours", kept(func() (*wire, error) { return dialWire(strings.TrimPrefix(g.r.API, "http://")) }, request, page.size)},
				side{"bare", kept(func() (*wire, error) { return dialWire(strings.TrimPrefix(bare.URL, "http://")) }, direct, page.size)})
		})
	}
}
