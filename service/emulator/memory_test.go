package emulator

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"zonedeck/internal/noerr"
)

// The test of flat memory sends as many requests as ZONEDECK_REQUESTS says ("1000000");
// memoryRequests where it says nothing.
const (
	memoryRequests = 4000
	memoryBatches  = 4
	// memoryWarm fills what is bounded: the journal's ring, pools of connections and buffers.
	memoryWarm = 6_000
	// memorySpare is what the heap may have grown by, in bytes, and the resident set.
	memorySpare   = 2 << 20
	residentSpare = 24 << 20
)

// TestMemoryStaysFlat over many requests, by the proxy and by the API. Under the race
// detector only the heap is judged: the detector's own memory is in the resident set.
func TestMemoryStaysFlat(t *testing.T) {
	n := memoryRequests
	if v := os.Getenv("ZONEDECK_REQUESTS"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			t.Fatalf("ZONEDECK_REQUESTS: %v", err)
		}
	} else if testing.Short() {
		t.Skip("not in a short run")
	}
	g := start(t, Options{})
	body := `{"zone":"datacenter_demo","url":"http://lab.test/ok","format":"raw"}`
	api := []byte("POST /request HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + g.key("batch-user") +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	plain := []byte("GET http://lab.test/ok HTTP/1.1\r\nHost: lab.test\r\nProxy-Authorization: " + loginHeader("isp_demo", g.password("isp_demo")) + "\r\n\r\n")
	const workers = 8
	send := func(n int) {
		var wg sync.WaitGroup
		for i := range workers {
			wg.Go(func() {
				addr, request := g.r.Proxy, plain
				if i%2 == 1 {
					addr, request = strings.TrimPrefix(g.r.API, "http://"), api
				}
				w, err := dialWire(addr)
				if err != nil {
					t.Error(err)
					return
				}
				defer w.Close()
				for range n / workers {
					if _, err := w.exchange(request); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
	send(memoryWarm)
	heap, resident := memory(t)
	for i := range memoryBatches {
		send(n / memoryBatches)
		h, r := memory(t)
		t.Logf("after %d requests: heap %d KiB, resident %d KiB", (i+1)*n/memoryBatches, h>>10, r>>10)
		if h > heap+memorySpare {
			t.Errorf("the heap grew from %d KiB to %d KiB", heap>>10, h>>10)
		}
		if r > resident+residentSpare && !raced {
			t.Errorf("the resident set grew from %d KiB to %d KiB", resident>>10, r>>10)
		}
	}
}

// memory is the live heap, and the resident set where the system tells it.
func memory(t *testing.T) (heap, resident int) {
	t.Helper()
	runtime.GC()
	runtime.GC() // what the first found in pools and finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		pages, err := strconv.Atoi(strings.Fields(string(b))[1])
		noerr.Must(t, err)
		resident = pages * os.Getpagesize()
	}
	return int(m.HeapAlloc), resident
}
