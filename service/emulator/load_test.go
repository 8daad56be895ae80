package emulator

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/lab"
	"zonedeck/service/emulator/record"
	"zonedeck/service/emulator/scenario"
)

// The load that the emulator has to bear for as long as ZONEDECK_LOAD says ("30s"; three
// seconds where it says nothing), without a leak and without losing anything.
const (
	loadConns  = 1000
	loadJobs   = 50
	loadInputs = 10 // of each job
	loadTime   = 3 * time.Second
	// loadPatience bounds one step of a client; the machine is busy.
	loadPatience = time.Minute
	// loadKept is how many requests a connection carries before its client opens another.
	loadKept = 64
	// loadSpare are the descriptors that may be open afterwards and were not before:
	// those that the runtime and the resolver open once and keep.
	loadSpare = 4
)

// load is what the clients of a test have in common, and what they counted.
type load struct {
	g    *rig
	page []byte
	end  time.Time

	connected sync.WaitGroup // until all have a connection
	opened    atomic.Int64   // CONNECTs
	tunnels   [loadKinds]atomic.Int64
	requests  [loadKinds]atomic.Int64
	api       atomic.Int64
	jobs      atomic.Int64
	records   atomic.Int64
}

// The ways that the clients of the proxy go.
const (
	loadTunnel   = iota // http in a tunnel
	loadSecure          // https in a tunnel
	loadResigned        // https that the emulator re-signs
	loadPlain           // http without a tunnel
	loadKinds
)

func loadZone(kind int) string {
	return [loadKinds]string{"datacenter_demo", "mobile_demo", "residential_demo", "isp_demo"}[kind]
}

func TestALoadLeaksNothingAndLosesNothing(t *testing.T) {
	lasts := loadTime
	if v := os.Getenv("ZONEDECK_LOAD"); v != "" {
		var err error
		if lasts, err = time.ParseDuration(v); err != nil {
			t.Fatalf("ZONEDECK_LOAD: %v", err)
		}
	}
	sc := scenario.Demo()
	sc.PageDelay = time.Millisecond
	g := start(t, Options{Scenario: sc})
	l := &load{g: g}
	for range 2 { // the second finds what the first has opened for good
		l.page = []byte(g.get(g.through("isp_demo"), "http://lab.test/json").body)
	}
	g.idle()
	files, goroutines := descriptors(t), runtime.NumGoroutine()
	entries := g.rehearsal.requests.Read(record.Query{}).Last
	plain := g.used("isp_demo").Requests()

	l.end = time.Now().Add(lasts)
	l.connected.Add(loadConns)
	ctx, cancel := context.WithTimeout(t.Context(), lasts+2*loadPatience)
	defer cancel()
	work, ctx := errgroup.WithContext(ctx)
	for i := range loadConns {
		work.Go(func() error { return l.client(ctx, i%loadKinds) })
	}
	for i := range loadJobs {
		work.Go(func() error { return l.job(ctx, i) })
	}
	peak := make(chan int, 1)
	go func() {
		l.connected.Wait()
		peak <- descriptors(t)
	}()
	noerr.Must(t, work.Wait())
	g.idle()
	l.report(lasts, files, <-peak)
	l.nothingIsLost(entries, plain)
	g.settles("descriptors", func() (int, int) { return descriptors(t), files + loadSpare })
	g.settles("goroutines", func() (int, int) { return runtime.NumGoroutine(), goroutines + loadSpare })
}

// idle drops the connections that are kept for the next request, on both sides.
func (g *rig) idle() {
	g.client.CloseIdleConnections()
	g.dialer.Close()
}

// settles waits until a number is down to what is allowed: the other end of a connection
// takes a moment to notice.
func (g *rig) settles(what string, count func() (is, allowed int)) {
	g.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); ; {
		is, allowed := count()
		if is <= allowed {
			return
		}
		select {
		case <-tick.C:
			g.idle() // a job's last page may have come back since
		case <-end:
			g.t.Errorf("%s: %d are left, %d allowed", what, is, allowed)
			for _, fd := range opened() {
				g.t.Log(fd)
			}
			return
		}
	}
}

// descriptors are those that the process has open; 0 where it cannot be told.
func descriptors(t *testing.T) int {
	if runtime.GOOS != "linux" {
		return 0
	}
	all, err := os.ReadDir("/proc/self/fd")
	noerr.Want(t, err)
	return len(all)
}

// opened names what the process has open, where that can be told.
func opened() (names []string) {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if name, err := os.Readlink(fd); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// client opens connections one after the other, and sends requests until the end. Its
// first connection waits for all the others, so that all are open at once.
func (l *load) client(ctx context.Context, kind int) error {
	first := true
	defer func() {
		if first {
			l.connected.Done() // or the others would wait for it
		}
	}()
	for first || time.Now().Before(l.end) {
		conn, err := l.open(ctx, kind)
		if err != nil {
			return fmt.Errorf("%s: connecting: %w", loadZone(kind), err)
		}
		if first {
			// With a request first: a server waits longer for the next one than for the
			// first of a connection.
			err = l.use(conn, kind, 1)
			first = false
			l.connected.Done()
			l.connected.Wait()
		}
		if err == nil {
			err = l.use(conn, kind, loadKept)
		}
		conn.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", loadZone(kind), err)
		}
	}
	return ctx.Err()
}

// open gives a connection that requests can be sent on.
func (l *load) open(ctx context.Context, kind int) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: loadPatience}).DialContext(ctx, "tcp", l.g.r.Proxy)
	if err != nil || kind == loadPlain {
		return conn, err
	}
	target := "lab.test:443"
	if kind == loadTunnel {
		target = "lab.test:80"
	}
	if err := l.tunnel(conn, kind, target); err != nil {
		conn.Close()
		return nil, err
	}
	if kind == loadTunnel {
		return conn, nil
	}
	secure := tls.Client(conn, &tls.Config{ServerName: "lab.test", RootCAs: l.g.ca.Pool()})
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

func (l *load) tunnel(conn net.Conn, kind int, target string) error {
	if err := conn.SetDeadline(time.Now().Add(loadPatience)); err != nil {
		return err
	}
	zone := loadZone(kind)
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: %s\r\n\r\n", target, target, loginHeader(zone, l.g.password(zone))); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("CONNECT: %s %v", resp.Status, resp.Header)
	}
	l.opened.Add(1)
	l.tunnels[kind].Add(1)
	return nil
}

// use sends requests on a connection, at most so many, and looks at every byte of their
// answers.
func (l *load) use(conn net.Conn, kind, most int) error {
	request := "GET /json HTTP/1.1\r\nHost: lab.test\r\n\r\n"
	if kind == loadPlain {
		zone := loadZone(kind)
		request = "GET http://lab.test/json HTTP/1.1\r\nHost: lab.test\r\nProxy-Authorization: " + loginHeader(zone, l.g.password(zone)) + "\r\n\r\n"
	}
	r := bufio.NewReader(conn)
	body := bytes.NewBuffer(make([]byte, 0, len(l.page)+bytes.MinRead))
	for n := 0; n < most && (n == 0 || time.Now().Before(l.end)); n++ {
		if err := conn.SetDeadline(time.Now().Add(loadPatience)); err != nil {
			return err
		}
		if _, err := io.WriteString(conn, request); err != nil {
			return fmt.Errorf("request %d: %w", n, err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return fmt.Errorf("answer %d: %w", n, err)
		}
		body.Reset()
		_, err = body.ReadFrom(resp.Body)
		resp.Body.Close()
		switch {
		case err != nil:
			return fmt.Errorf("body %d: %w", n, err)
		case resp.StatusCode != http.StatusOK || !bytes.Equal(body.Bytes(), l.page):
			return fmt.Errorf("answer %d: %s, %.200q", n, resp.Status, body)
		}
		l.requests[kind].Add(1)
	}
	return nil
}

// job starts jobs one after the other until the end, and holds each to its inputs: one
// record for each, in their order, and no other.
func (l *load) job(ctx context.Context, worker int) error {
	for round := 0; round == 0 || time.Now().Before(l.end); round++ {
		var inputs []map[string]string
		for i := range loadInputs {
			inputs = append(inputs, map[string]string{"url": fmt.Sprintf("http://lab.test/product/%d", (worker+round+5*i)%lab.Products+1)})
		}
		raw, err := json.Marshal(inputs)
		if err != nil {
			return err
		}
		var started struct {
			ID string `json:"snapshot_id"`
		}
		if err := l.call(ctx, http.MethodPost, "/datasets/v3/trigger?dataset_id=gd_products", string(raw), &started); err != nil {
			return err
		}
		if err := l.await(ctx, started.ID); err != nil {
			return err
		}
		var recs []rec
		if err := l.call(ctx, http.MethodGet, "/datasets/v3/snapshot/"+started.ID+"?format=json", "", &recs); err != nil {
			return err
		}
		if len(recs) != len(inputs) {
			return fmt.Errorf("job %s: %d records of %d inputs", started.ID, len(recs), len(inputs))
		}
		for i, r := range recs {
			if r.URL != inputs[i]["url"] || r.Error != "" || r.Name == nil || r.Price == nil {
				return fmt.Errorf("job %s: record %d of %s: %+v", started.ID, i, inputs[i]["url"], r)
			}
		}
		l.jobs.Add(1)
		l.records.Add(int64(len(recs)))
	}
	return nil
}

func (l *load) await(ctx context.Context, id string) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(loadPatience); ; {
		var p progress
		if err := l.call(ctx, http.MethodGet, "/datasets/v3/progress/"+id, "", &p); err != nil {
			return err
		}
		if p.Status == "ready" {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return fmt.Errorf("job %s is still %+v", id, p)
		}
	}
}

func (l *load) call(ctx context.Context, method, path, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, l.g.r.API+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+l.g.key("batch-user"))
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.g.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	l.api.Add(1)
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("%s %s: %s %.300s", method, path, resp.Status, b), err)
	}
	return json.Unmarshal(b, into)
}

// nothingIsLost: everything that the clients did stands in the journal and on the bill.
func (l *load) nothingIsLost(before uint64, plain int64) {
	g, t := l.g, l.g.t
	t.Helper()
	// Tunnels have an entry each; so have plain requests, and those inside a re-signed
	// connection beside its CONNECT.
	want := uint64(l.opened.Load()+l.requests[loadPlain].Load()+l.requests[loadResigned].Load()+l.api.Load()) + before
	g.settles("entries that are missing", func() (int, int) {
		return int(want - g.rehearsal.requests.Read(record.Query{}).Last), 0
	})
	for kind, used := range map[int]int64{
		loadTunnel: l.tunnels[loadTunnel].Load(), loadSecure: l.tunnels[loadSecure].Load(),
		loadResigned: l.requests[loadResigned].Load(), loadPlain: l.requests[loadPlain].Load() + plain,
	} {
		if got := g.used(loadZone(kind)); got.Requests() != used {
			t.Errorf("%s: %d requests on the bill, %d were made", loadZone(kind), got.Requests(), used)
		}
	}
	if got := g.used(loadZone(loadPlain)).Down; got != (l.requests[loadPlain].Load()+plain)*int64(len(l.page)) {
		t.Errorf("%d bytes on the bill for %d pages of %d", got, l.requests[loadPlain].Load()+plain, len(l.page))
	}
}

func (l *load) report(lasted time.Duration, before, peak int) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	n := int64(0)
	for i := range l.requests {
		n += l.requests[i].Load()
	}
	l.g.t.Logf("%d connections and %d jobs at once for %s: %d requests (%d/s), %d CONNECTs, %d jobs with %d records, %d API calls; descriptors %d, then %d; memory %d MiB",
		loadConns, loadJobs, lasted, n, n*int64(time.Second)/int64(lasted), l.opened.Load(), l.jobs.Load(), l.records.Load(), l.api.Load(), before, peak, m.Sys>>20)
}
