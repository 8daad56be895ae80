package service

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"zonedeck/internal/noerr"
	"zonedeck/internal/testrun"
	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/exchange"
	"zonedeck/service/fetch"
	"zonedeck/service/jobs"
	"zonedeck/service/rows"
	"zonedeck/service/servicetest"
)

func TestMain(m *testing.M) {
	if raw := os.Getenv(operatorEnv); raw != "" {
		os.Exit(operate(raw))
	}
	testrun.Parallel(8)
	goleak.VerifyTestMain(m)
}

// The load that the service must carry: jobs, tunnels and fetches at once, each with
// its own result.
const (
	loadJobs    = 50
	loadTunnels = 200
	loadFetches = 100
	loadTime    = 3 * time.Minute // ends a hang; two seconds are usual with the race detector
)

func TestJobsAndTunnelsUnderLoad(t *testing.T) {
	demo := servicetest.Emulator(t, emulator.Options{})
	p := demo.Profile
	journal, _ := servicetest.Journal(t)
	ledger, _ := servicetest.Ledger(t)
	c := joined(jobs.Config{Source: demo.Source(p), Journal: journal, Ledger: ledger, Queues: servicetest.Work(t), DownloadsDir: t.TempDir()}, time.Now)
	fetches := fetch.New(fetch.Config{Source: demo.Source(p), Wire: exchange.New(exchange.Config{}), Journal: journal, Bodies: exchange.Bodies{Dir: t.TempDir()}})
	ctx, cancel := context.WithTimeout(t.Context(), loadTime)
	defer cancel()
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(p.CA)
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		t.Fatal("no CA", err)
	}
	dc := zoneOf(t, p.Zones, model.ProductDatacenter)
	login, err := exchange.LoginFor(ctx, demo.Source(p), p, dc, nil)
	noerr.Must(t, err)
	authorization := "Basic " + base64.StdEncoding.EncodeToString([]byte(login.Username+":"+login.Password.Reveal()))

	var all sync.WaitGroup
	for i := range loadJobs {
		all.Go(func() { oneJob(ctx, t, c, i) })
	}
	var open sync.WaitGroup // every tunnel is open before the first is used
	open.Add(loadTunnels)
	for i := range loadTunnels {
		all.Go(func() { oneTunnel(ctx, t, p.ProxyAddr(), authorization, roots, i, &open) })
	}
	zones := slices.DeleteFunc(slices.Clone(p.Zones), func(z model.Zone) bool { return z.Product == model.ProductBrowser }) // needs Chromium
	for i := range loadFetches {
		all.Go(func() {
			z := zones[i%len(zones)]
			res, err := fetches.Fetch(ctx, model.FetchRequest{Zone: z, URL: "http://lab.test/ok", Via: model.ViaAPI, Format: model.FormatRaw}, nil)
			if err != nil || !res.Diagnosis.OK() {
				t.Errorf("fetch %d: %s, %v", i, res.Diagnosis.Summary, err)
			}
		})
	}
	all.Wait()
	jobs, _, err := c.Jobs(ctx, 0)
	if err != nil || len(jobs) != loadJobs {
		t.Errorf("%d jobs in the ledger, %v", len(jobs), err)
	}
	lines, err := journal.Entries(ctx, model.HistoryFilter{Kind: model.HistoryFetch, Limit: 1000})
	if err != nil || len(lines) != loadFetches {
		t.Errorf("%d fetches in the timeline, %v", len(lines), err)
	}
}

func zoneOf(t *testing.T, zones []model.Zone, p model.Product) model.Zone {
	t.Helper()
	for _, z := range zones {
		if z.Product == p {
			return z
		}
	}
	t.Fatal("no zone of ", p)
	return model.Zone{}
}

// oneJob launches, follows and downloads job n.
func oneJob(ctx context.Context, t *testing.T, c *jobs.Jobs, n int) {
	r := model.TriggerRequest{Dataset: "gd_pages"}
	for i := range 4 {
		r.Inputs = append(r.Inputs, model.JobInput{URL: fmt.Sprintf("http://lab.test/search?q=job%d-%d", n, i)})
	}
	job, err := c.Trigger(ctx, r)
	if err == nil {
		job, err = c.Watch(ctx, job.ID, nil)
	}
	if err == nil {
		job, err = c.Download(ctx, job.ID, jobs.Destination{Format: "ndjson"}, nil)
	}
	if err != nil || job.State != model.JobDownloaded || job.Records != 4 {
		t.Errorf("job %d: %+v, %v", n, job, err)
		return
	}
	file, err := os.Open(job.File)
	if err != nil {
		t.Errorf("job %d: %v", n, err)
		return
	}
	defer file.Close()
	table, err := rows.ReadRecords(file, "ndjson", 10)
	at := slices.IndexFunc(table.Columns, func(c model.RecordColumn) bool { return c.Name == "url" })
	if err != nil || at < 0 || len(table.Rows) != 4 {
		t.Errorf("job %d: %d records, column %d, %v", n, len(table.Rows), at, err)
		return
	}
	for _, row := range table.Rows {
		if want := fmt.Sprintf("http://lab.test/search?q=job%d-", n); !strings.HasPrefix(row[at], want) {
			t.Errorf("job %d has the record of %s", n, row[at])
		}
	}
}

// oneTunnel opens a tunnel, waits until all are open, and fetches through it.
func oneTunnel(ctx context.Context, t *testing.T, proxy, authorization string, roots *x509.CertPool, n int, open *sync.WaitGroup) {
	conn, err := connectTo(ctx, proxy, authorization)
	open.Done()
	if err != nil {
		t.Errorf("tunnel %d: %v", n, err)
		return
	}
	defer conn.Close()
	open.Wait()
	tc := tls.Client(conn, &tls.Config{ServerName: "lab.test", RootCAs: roots})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://lab.test/whoami?n=%d", n), nil)
	if err != nil {
		t.Error(err)
		return
	}
	if err := req.Write(tc); err != nil {
		t.Errorf("tunnel %d: %v", n, err)
		return
	}
	resp, err := http.ReadResponse(bufio.NewReader(tc), req)
	if err != nil {
		t.Errorf("tunnel %d: %v", n, err)
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("tunnel %d: %d, %v", n, resp.StatusCode, err)
	}
}

// connectTo opens a tunnel without the console's code.
func connectTo(ctx context.Context, proxy, authorization string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", proxy)
	if err != nil {
		return nil, err
	}
	if at, ok := ctx.Deadline(); ok {
		err = conn.SetDeadline(at)
	}
	if err == nil {
		_, err = io.WriteString(conn, "CONNECT lab.test:443 HTTP/1.1\r\nHost: lab.test:443\r\nProxy-Authorization: "+authorization+"\r\n\r\n")
	}
	if err == nil {
		var resp *http.Response
		// The target of a tunnel does not speak first, so nothing is buffered.
		if resp, err = http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect}); err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("CONNECT: %s", resp.Status)
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
