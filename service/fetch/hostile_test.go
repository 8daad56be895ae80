package fetch

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// plainAnswers are what the mutations of TestHostileAnswersHaveAVerdict begin with.
func plainAnswers(t *testing.T) [][]byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	noerr.Must(t, noerr.From(io.WriteString(w, strings.Repeat(servicetest.Page, 20))))
	noerr.Must(t, w.Close())
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nx-brd-status-code: 200\r\n"
	all := []string{
		head + "Content-Length: 11\r\n\r\nhello world",
		head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
		head + "Content-Encoding: gzip\r\nContent-Length: " + strconv.Itoa(packed.Len()) + "\r\n\r\n" + packed.String(),
		head + "\r\n" + servicetest.Page + servicetest.KeyValue,
		"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nslow",
		"HTTP/1.1 200 OK\r\nx-brd-err-code: policy_20050\r\nx-brd-err-msg: " + servicetest.KeyValue + "\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
	}
	out := make([][]byte, len(all))
	for i, a := range all {
		out[i] = []byte(a)
	}
	return out
}

// mutate damages an answer as a broken or a hostile peer would.
func mutate(r *rand.Rand, answer []byte) []byte {
	for range 1 + r.IntN(4) {
		at := r.IntN(len(answer) + 1)
		switch r.IntN(7) {
		case 0:
			answer = answer[:at]
		case 1:
			answer = slices.Insert(answer, at, []byte(strings.Repeat("A", r.IntN(4096)))...)
		case 2:
			answer = slices.Insert(answer, at, []byte("\r\nContent-Length: 99999999999999999999\r\n")...)
		case 3:
			answer = slices.Insert(answer, at, []byte(strings.Repeat("X: \x1b]0;\u202e\x00\r\n", r.IntN(300)))...)
		case 4:
			answer = slices.Insert(answer, at, []byte("ffffffffffffffff\r\n")...)
		default:
			if at < len(answer) {
				answer[at] ^= 1 << r.IntN(8)
			}
		}
	}
	return answer
}

// TestHostileAnswersHaveAVerdict sends damaged answers over real sockets, as many as
// ZONEDECK_ANSWERS says and those of ZONEDECK_SEED: each ends in time, with one class of
// the contract and without the key. docs/reliability.md has the figures.
func TestHostileAnswersHaveAVerdict(t *testing.T) {
	number := func(name string, otherwise uint64) uint64 {
		n, err := strconv.ParseUint(cmp.Or(os.Getenv(name), strconv.FormatUint(otherwise, 10)), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	answers, seed := number("ZONEDECK_ANSWERS", 300), number("ZONEDECK_SEED", rand.Uint64())
	random, plain := rand.New(rand.NewPCG(seed, 0)), plainAnswers(t)
	next := make(chan []byte, 1)
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = conn.Write(<-next) // a client that has seen enough hangs up
			}
			conn.Close()
		}
	}()
	defer func() { ln.Close(); <-served }()
	p := servicetest.Profile("http://" + ln.Addr().String())
	p.Local = true // without the rate of a key
	classes := map[model.Class]int{}
	for n := range answers {
		answer := mutate(random, slices.Clone(plain[random.IntN(len(plain))]))
		next <- answer
		f := newFetcher(t, p) // a breaker of its own
		r := askFor(p, "unlocker1")
		r.Retries, r.Timeout = 0, time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		got, err := f.Fetch(ctx, r, nil)
		cancel()
		class := got.Diagnosis.Class
		if err != nil || !slices.Contains(model.Classes(), class) || class == model.ClassTimeout {
			t.Fatalf("answer %d of seed %d: %q: %s, %v", n, seed, answer, class, err)
		}
		classes[class]++
		servicetest.NoSecret(t, "the diagnosis", got.Diagnosis.Summary)
		for _, e := range got.Diagnosis.Evidence {
			servicetest.NoSecret(t, "the evidence", e.Text)
		}
		servicetest.NoSecret(t, "the body", string(got.Body.Bytes))
	}
	t.Logf("%d answers of seed %d: %v", answers, seed, classes)
}
