package batch_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/batch"
	"zonedeck/service/batch/store"
	"zonedeck/service/fetch"
)

// asTarget has the test's binary serve pages of 1 KB, each after so many milliseconds, until its input ends.
const asTarget = "ZONEDECK_BATCH_TARGET"

func serveTarget(delay string) {
	ms, err := strconv.Atoi(delay)
	l, listenErr := net.Listen("tcp", "127.0.0.1:0")
	if err != nil || listenErr != nil {
		fmt.Fprintln(os.Stderr, err, listenErr)
		os.Exit(1)
	}
	page := bytes.Repeat([]byte("A page with words that can be read. "), 28)
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if ms > 0 {
			<-time.After(time.Duration(ms) * time.Millisecond)
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Brd-Status-Code", "200")
		_, _ = w.Write(page)
	})}
	fmt.Println("http://" + l.Addr().String())
	go func() { _ = s.Serve(l) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startTarget starts a target and gives its address.
func startTarget(b *testing.B, delay int) string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), noerr.Try(os.Executable()).Must(b))
	cmd.Env = append(os.Environ(), asTarget+"="+strconv.Itoa(delay))
	in, out := noerr.Try(cmd.StdinPipe()).Must(b), noerr.Try(cmd.StdoutPipe()).Must(b)
	noerr.Must(b, cmd.Start())
	b.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	return strings.TrimSpace(noerr.Try(bufio.NewReader(out).ReadString('\n')).Must(b))
}

// eachOf calls send n times, so many at once.
func eachOf(n, atOnce int, send func()) {
	places := make(chan struct{}, n)
	for range n {
		places <- struct{}{}
	}
	close(places)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for range places {
				send()
			}
		})
	}
	all.Wait()
}

// bareLoop sends n calls by net/http on connections that it keeps, and says how long that took.
func bareLoop(b *testing.B, url string, n, atOnce int) time.Duration {
	b.Helper()
	bare := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: atOnce}
	defer bare.CloseIdleConnections()
	began := time.Now()
	eachOf(n, atOnce, func() {
		req := noerr.Try(http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(`{"zone":"dc1","url":"http://shop.test/1","format":"raw"}`))).Must(b)
		res := noerr.Try(bare.RoundTrip(req)).Must(b)
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	})
	return time.Since(began)
}

// sendLoop sends n prepared fetches, without a batch, and says how long that took.
func sendLoop(b *testing.B, fetcher *fetch.Fetcher, template model.FetchRequest, n, atOnce int) time.Duration {
	b.Helper()
	sends := noerr.Try(fetcher.Prepare(b.Context(), template)).Must(b)
	defer sends.Close()
	sends.Unpaced = true
	began := time.Now()
	eachOf(n, atOnce, func() {
		res := noerr.Try(sends.Send(b.Context(), func(string) (string, bool) { return "http://shop.test/1", true }, nil)).Must(b)
		if !res.Diagnosis.OK() {
			b.Error(res.Diagnosis.Summary)
		}
	})
	return time.Since(began)
}

// curlLoop has curl send n calls at once, so many in parallel, and says how long that took; 0 without curl.
func curlLoop(b *testing.B, url string, n, atOnce int) time.Duration {
	b.Helper()
	curl, err := exec.LookPath("curl")
	if err != nil {
		return 0
	}
	began := time.Now()
	cmd := exec.CommandContext(b.Context(), curl, "--disable", "--silent", "--show-error", "--fail", "--parallel", "--parallel-max", strconv.Itoa(atOnce),
		"--data", `{"zone":"dc1","url":"http://shop.test/1","format":"raw"}`, "--output", os.DevNull, fmt.Sprintf("%s/[1-%d]", url, n))
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("curl: %v\n%s", err, out)
	}
	return time.Since(began)
}

// measured plans and runs a batch of so many items, and prints how many seconds each took, and how many KiB of memory the
// process had at most.
func measured(dir, items string) error {
	ctx := context.Background()
	n, err := strconv.Atoi(items)
	if err != nil {
		return err
	}
	bs, known, closing, err := open(ctx, dir, os.Getenv(victimURL))
	if err != nil {
		return err
	}
	d := draft("")
	d.Input.Source, d.AtOnce, d.Request.Zone.Name = &lines{n: n}, 32, "dc1"
	began := time.Now()
	report, err := bs.Check(ctx, known, d, nil)
	planning := time.Since(began)
	var s batch.State
	if err == nil {
		s, err = bs.Start(ctx, report)
	}
	began = time.Now()
	if err == nil {
		s, err = bs.Run(ctx, s.ID, func(batch.State) {})
	}
	running := time.Since(began)
	if err == nil && s.OK() != int64(n) {
		err = fmt.Errorf("%s: %+v", s.State, s.Tally)
	}
	status, readErr := os.ReadFile("/proc/self/status")
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	peak, _, _ = strings.Cut(peak, " kB")
	fmt.Println(planning.Seconds(), running.Seconds(), strings.TrimSpace(peak))
	return errors.Join(err, readErr, closing())
}

// planned plans a batch of n items in a folder of its own.
func planned(b *testing.B, url string, n, atOnce int) (*batch.Batches, batch.State) {
	b.Helper()
	dir := b.TempDir()
	bs, known, closing, err := open(b.Context(), dir, url)
	noerr.Must(b, err)
	b.Cleanup(func() { noerr.Want(b, closing()) })
	d := draft("")
	d.Input.Source, d.AtOnce, d.Request.Zone.Name = &lines{n: n}, atOnce, "dc1"
	report := noerr.Try(bs.Check(b.Context(), known, d, nil)).Must(b)
	return bs, noerr.Try(bs.Start(b.Context(), report)).Must(b)
}

// lines are n addresses that are never in memory at once.
type lines struct {
	n, at int
	rest  []byte
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) < len(p) && l.at < l.n {
		l.rest = fmt.Appendf(l.rest, "http://shop.test/%d\n", l.at)
		l.at++
	}
	if len(l.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, l.rest)
	l.rest = append(l.rest[:0], l.rest[n:]...)
	return n, nil
}

// BenchmarkBatchBesideBare runs batches, bare loops of as many calls, and curl in turns, and reports the throughput as a
// share of theirs: the whole of it, with verdict, masking, results and commits; and what it would be with its fetches for
// nothing, with the loop's time instead of that of as many prepared fetches.
func BenchmarkBatchBesideBare(b *testing.B) {
	for _, c := range []struct {
		name     string
		n, delay int
	}{{"at once", 20_000, 0}, {"after 50 ms", 5_000, 50}} {
		b.Run(c.name, func(b *testing.B) {
			const atOnce = 32
			url := startTarget(b, c.delay)
			var ours, theirs, curls, sends time.Duration
			for b.Loop() {
				bs, s := planned(b, url, c.n, atOnce)
				began := time.Now()
				s = noerr.Try(bs.Run(b.Context(), s.ID, func(batch.State) {})).Must(b)
				ours += time.Since(began)
				if s.State != store.Done || s.OK() != int64(c.n) {
					b.Fatalf("%s: %+v", s.State, s.Tally)
				}
				theirs += bareLoop(b, url, c.n, atOnce)
				sends += sendLoop(b, bs.Fetch, s.Plan.Request, c.n, atOnce)
				curls += curlLoop(b, url, c.n, atOnce)
			}
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "batch/bare")
			alone := theirs + max(0, ours-sends)
			b.ReportMetric(theirs.Seconds()/sends.Seconds(), "sends/bare")
			b.ReportMetric(theirs.Seconds()/alone.Seconds(), "runner/bare")
			if curls > 0 {
				b.ReportMetric(curls.Seconds()/alone.Seconds(), "runner/curl")
				b.ReportMetric(curls.Seconds()/ours.Seconds(), "batch/curl")
			}
			b.ReportMetric(float64(b.N*c.n)/ours.Seconds(), "items/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkBatchOfMany runs batches of 1,000, of 20,000 and of ZONEDECK_BATCH_ITEMS items, each in a process of its own,
// and reports memory and time as ratios.
func BenchmarkBatchOfMany(b *testing.B) {
	many := 50_000
	if n, err := strconv.Atoi(os.Getenv("ZONEDECK_BATCH_ITEMS")); err == nil {
		many = n
	}
	url := startTarget(b, 0)
	for b.Loop() {
		kb, perItem := map[int]float64{}, map[int]float64{}
		for _, n := range []int{1_000, 20_000, many} {
			cmd := exec.CommandContext(b.Context(), noerr.Try(os.Executable()).Must(b))
			cmd.Env = append(os.Environ(), victimDir+"="+filepath.Join(b.TempDir(), strconv.Itoa(n)), victimURL+"="+url, victimItems+"="+strconv.Itoa(n))
			cmd.Stderr = os.Stderr
			out := noerr.Try(cmd.Output()).Must(b)
			var planning, running, peak float64
			noerr.Must(b, noerr.From(fmt.Sscan(string(out), &planning, &running, &peak)))
			kb[n], perItem[n] = peak, running/float64(n)
			cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
			b.Logf("%d items: planning %.1f µs an item, running %.1f, processor time of both %.1f, %.1f MiB at most", n, planning*1e6/float64(n), perItem[n]*1e6, cpu*1e6/float64(n), kb[n]/1024)
		}
		b.ReportMetric(kb[many]/kb[1_000], "memory-of-1000")
		b.ReportMetric(perItem[many]/perItem[20_000], "time-of-20000")
	}
	b.ReportMetric(0, "ns/op")
}
