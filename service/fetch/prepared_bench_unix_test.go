//go:build unix

package fetch

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// startTarget starts a target and gives its address.
func startTarget(b *testing.B) string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), noerr.Try(os.Executable()).Must(b))
	cmd.Env = append(os.Environ(), asTarget+"=1")
	in := noerr.Try(cmd.StdinPipe()).Must(b)
	out := noerr.Try(cmd.StdoutPipe()).Must(b)
	noerr.Must(b, cmd.Start())
	b.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	line := noerr.Try(bufio.NewReader(out).ReadString('\n')).Must(b)
	return strings.TrimSpace(line)
}

// BenchmarkPreparedBesideBare sends 2,000 fetches by API of a page of 1 KB, 16 at once, by Send, by Fetch, and by a bare
// loop of net/http on connections that it keeps, in turns. It reports the throughput of the first two as a share of the
// loop's, and how much processor time they take of this process.
func BenchmarkPreparedBesideBare(b *testing.B) {
	const calls, atOnce = 2000, 16
	url := startTarget(b)
	p := servicetest.Profile(url)
	p.Local = true // no rate limit applies on loopback
	ft := newFetcher(b, p)
	r := askFor(p, "unlocker1")
	template := r
	template.URL = "http://lab.test/{{path}}"
	prepared := noerr.Try(ft.Prepare(b.Context(), template)).Must(b)
	b.Cleanup(prepared.Close)
	row := column("path", "ok")
	bare := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: atOnce}
	b.Cleanup(bare.CloseIdleConnections)
	ways := []func(){
		func() {
			if res, err := prepared.Send(b.Context(), row, nil); err != nil || res.Diagnosis.Class != model.ClassOK {
				b.Error(res.Diagnosis, err)
			}
		},
		func() {
			if res, err := ft.Fetch(b.Context(), r, nil); err != nil || res.Diagnosis.Class != model.ClassOK {
				b.Error(res.Diagnosis, err)
			}
		},
		func() {
			req := noerr.Try(http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(`{"zone":"unlocker1","url":"http://lab.test/ok","format":"raw"}`))).Must(b)
			res := noerr.Try(bare.RoundTrip(req)).Must(b)
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		},
	}
	var took, cpu [3]time.Duration
	for b.Loop() {
		for i, way := range ways {
			cpu[i] += processorTime(b, func() {
				began := time.Now()
				places := make(chan struct{}, calls)
				for range calls {
					places <- struct{}{}
				}
				close(places)
				var wg sync.WaitGroup
				for range atOnce {
					wg.Go(func() {
						for range places {
							way()
						}
					})
				}
				wg.Wait()
				took[i] += time.Since(began)
			})
		}
	}
	for i, name := range []string{"send", "fetch"} {
		b.ReportMetric(float64(took[2])/float64(took[i]), name+"/bare")
		b.ReportMetric(float64(cpu[i].Microseconds())/float64(b.N*calls), "µs-cpu/"+name)
	}
	b.ReportMetric(float64(cpu[2].Microseconds())/float64(b.N*calls), "µs-cpu/bare")
	b.ReportMetric(0, "ns/op")
}
