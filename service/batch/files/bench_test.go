package files

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"zonedeck/internal/noerr"
)

// million is how many items the benchmarks of memory plan and sort.
const million = 1_000_000

// peak is the most memory that the heap had when sample was called.
type peak struct{ before, most uint64 }

func startPeak() *peak {
	runtime.GC()
	p := &peak{}
	p.sample()
	p.before = p.most
	return p
}

func (p *peak) sample() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.most = max(p.most, m.HeapInuse+m.StackInuse)
}

func (p *peak) report(b *testing.B, items int) {
	p.sample()
	b.ReportMetric(float64(p.most-p.before)/(1<<20), "MB-peak")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*items), "ns/item")
}

func BenchmarkPlanning(b *testing.B) {
	for _, count := range []int{20_000, million} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			p := startPeak()
			for b.Loop() {
				dir := filepath.Join(b.TempDir(), "b1")
				s := noerr.Try(NewSpool(dir)).Must(b)
				for n := range count {
					text := fmt.Appendf(nil, `{"url":"https://example.com/products/%d"}`, n)
					noerr.Must(b, s.Add(text, keyOf(string(text))))
					if n%10_000 == 0 {
						p.sample()
					}
				}
				noerr.Must(b, noerr.From(s.Finish(b.Context())))
				p.sample()
				noerr.Must(b, os.RemoveAll(dir))
			}
			p.report(b, count)
		})
	}
}

func BenchmarkResultsInOrder(b *testing.B) {
	for _, count := range []int{20_000, million} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			dir := b.TempDir()
			workers := map[string]Length{}
			for w := range 4 {
				name := fmt.Sprint("w", w)
				l := noerr.Try(OpenLog(dir, name)).Must(b)
				for n := w; n < count; n += 4 {
					noerr.Must(b, l.Append(&Line{N: int64(n ^ 0xff), URL: "https://example.com/products/1", Class: "ok"}, nil))
				}
				workers[name] = noerr.Try(l.Sync()).Must(b)
				noerr.Must(b, l.Close())
			}
			p := startPeak()
			for b.Loop() {
				n := 0
				for _, err := range Results(dir, workers, true) {
					noerr.Must(b, err)
					if n++; n%10_000 == 0 {
						p.sample()
					}
				}
				if n != count {
					b.Fatal(n)
				}
			}
			p.report(b, count)
		})
	}
}

// BenchmarkAppend appends results with bodies of 1 KB from 32 goroutines, synced as often as a runner does.
func BenchmarkAppend(b *testing.B) {
	l := noerr.Try(OpenLog(b.TempDir(), "w1")).Must(b)
	defer l.Close()
	rest := strings.Repeat("x", 1000)
	var count atomic.Int64
	b.SetParallelism(32 / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := count.Add(1)
			noerr.Want(b, l.Append(&Line{N: n, URL: "https://example.com/products/1", Class: "ok", Status: 200, Zone: "z"}, fmt.Appendf(nil, "%020d%s", n, rest)))
			if n%5000 == 0 {
				noerr.Want(b, noerr.From(l.Sync()))
			}
		}
	})
}
