package webhook

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
)

// until waits for another goroutine or process.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	end := time.After(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal(what)
		}
	}
}

func TestASignatureThatIsLeftOutIsRejected(t *testing.T) {
	signed := VerifierConfig{Kind: KindStandard, Secret: keystore.NewSecret(testSecret)}
	sums := VerifierConfig{Kind: KindHMAC, Secret: keystore.NewSecret("s3cret"), Header: "X-Signature"}
	login := VerifierConfig{Kind: KindAuthorization, Secret: keystore.NewSecret("Bearer x")}
	senders := VerifierConfig{Kind: KindSenders, Senders: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	for want, set := range map[string][]VerifierConfig{
		"it has no webhook-signature": {signed}, "it has no X-Signature": {senders, sums}, "it has no Authorization": {login, senders},
		"it has no webhook-signature; it has no X-Signature": {signed, sums},
	} {
		var verifiers []Verifier
		for _, c := range set {
			verifiers = append(verifiers, verifier(t, c))
		}
		r, events := listening(t, openInbox(t, t.TempDir()), Config{Settings: Settings{Verifiers: verifiers}, Jobs: heard(func(context.Context, model.WebhookNews) (string, string, error) {
			t.Errorf("%q was heard", want)
			return "", "", nil
		})})
		post(t, r.URL()+"/a", strings.NewReader(`{"snapshot_id":"sd_1"}`))
		if d := await(t, events, false); d.Verdict != model.WebhookRejected || d.Reason != want {
			t.Errorf("%q: %s, %q", want, d.Verdict, d.Reason)
		}
	}
}

func TestAPageInABrowserSendsNoWebhooks(t *testing.T) {
	in := openInbox(t, t.TempDir())
	r, _ := listening(t, in, Config{})
	for _, origin := range []string{"https://example.com", "null", ""} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL(), strings.NewReader("{}"))
		noerr.Must(t, err)
		q.Header["Origin"] = []string{origin}
		resp, err := http.DefaultClient.Do(q)
		if err != nil || resp.StatusCode != http.StatusForbidden {
			t.Fatalf("%q: %+v, %v", origin, resp, err)
		}
		_ = resp.Body.Close()
	}
	if _, total, err := in.List(t.Context(), Filter{}, 0); total != 0 || err != nil {
		t.Errorf("%d were stored, %v", total, err)
	}
}

// Many a client reads nothing before it has sent everything.
func TestASenderThatIsCutOffReadsWhy(t *testing.T) {
	in := openInbox(t, t.TempDir())
	room := uint64(1 << 40)
	r, _ := listening(t, in, Config{Settings: Settings{MaxBody: 1 << 20}, disk: rigged{room: func() uint64 { return room }}})
	body := bytes.Repeat([]byte("x"), 64<<20)
	for _, c := range []struct {
		head   string
		room   uint64
		status int
	}{
		{"Content-Length: 67108864", 1 << 40, http.StatusRequestEntityTooLarge},
		{"Transfer-Encoding: chunked", 1 << 40, http.StatusRequestEntityTooLarge},
		{"Content-Length: 67108864\r\nOrigin: http://x.test", 1 << 40, http.StatusForbidden},
		{"Transfer-Encoding: chunked", 1, http.StatusInsufficientStorage},
	} {
		room = c.room
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL(), "http://"))
		noerr.Must(t, err)
		if strings.Contains(c.head, "chunked") {
			c.head += "\r\n\r\n4000000" // the size of the one chunk
		} else {
			c.head += "\r\n"
		}
		_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\n%s\r\n", c.head)
		noerr.Must(t, err)
		for part := range slices.Chunk(body, 1<<20) {
			if _, err := conn.Write(part); err != nil {
				t.Errorf("%s: %v", c.head, err)
				break
			}
		}
		if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != c.status {
			t.Errorf("%s: %+v, %v, want %d", c.head, resp, err, c.status)
		}
		conn.Close()
	}
}

// TestWhatIsNoBodyIsTheSendersFault sends invalid HTTP bodies: only the sender is told.
func TestWhatIsNoBodyIsTheSendersFault(t *testing.T) {
	in := openInbox(t, t.TempDir())
	r, _ := listening(t, in, Config{Observer: observer{refused: func(run model.WebhookRefusals) { t.Errorf("the operator was told: %+v", run) }}})
	const head, early = "POST /a HTTP/1.1\r\nHost: x\r\n", "a body that ends early"
	for what, c := range map[string]struct {
		raw  string
		want int
	}{
		"HTTP/1.0":                    {"POST /a HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}", http.StatusOK},
		"10,000 headers":              {head + strings.Repeat("X-H: v\r\n", 10_000) + "\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"an escape in a header":       {head + "X-H: \x1b[2J\r\n\r\n", http.StatusBadRequest},
		"no chunk":                    {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n", http.StatusBadRequest},
		"a chunk of less than none":   {head + "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n", http.StatusBadRequest},
		"a chunk's line that is long": {head + "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("a", 20_000) + "\r\nx\r\n0\r\n\r\n", http.StatusBadRequest},
		"a trailer with an escape":    {head + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-T: \x1b[2J\r\n\r\n", http.StatusBadRequest},
		early:                         {head + "Content-Length: 9\r\n\r\n{}", http.StatusBadRequest},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL(), "http://"))
		noerr.Must(t, err)
		_, err = io.WriteString(conn, c.raw)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil && what == early { // the others are answered before they end, and may close the connection
			err = tcp.CloseWrite()
		}
		var status int
		if err == nil {
			var resp *http.Response
			if resp, err = http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				status, err = resp.StatusCode, resp.Body.Close()
			}
		}
		if err := errors.Join(err, conn.Close()); err != nil || status != c.want {
			t.Errorf("%s: %d, %v, want %d", what, status, err, c.want)
		}
	}
	if n, err := in.Count(t.Context()); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if left, err := filepath.Glob(filepath.Join(in.dir, "body-*")); len(left) != 1 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
}

func TestAForgedCopyDoesNotTakeThePlaceOfAPendingOne(t *testing.T) {
	in := openInbox(t, t.TempDir())
	reached, release := make(chan struct{}, 10), make(chan struct{})
	r, events := listening(t, in, Config{
		Settings: Settings{Verifiers: []Verifier{verifier(t, VerifierConfig{Kind: KindAuthorization, Secret: keystore.NewSecret("Bearer right")})}},
		Jobs: heard(func(ctx context.Context, _ model.WebhookNews) (string, string, error) {
			reached <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
			}
			return "job-1", "heard", nil
		}),
	})
	post(t, r.URL()+"/a", strings.NewReader("x"), "Authorization", "Bearer right", "Webhook-Id", "m_1", "X-From", "service")
	<-reached // now it is pending
	post(t, r.URL()+"/a", strings.NewReader("x"), "Authorization", "Bearer wrong", "Webhook-Id", "m_1", "X-From", "forger")
	post(t, r.URL()+"/b", strings.NewReader("x"), "Authorization", "Bearer wrong", "Webhook-Id", "m_1", "X-From", "forger")
	close(release)
	d := awaitThat(t, events, func(e Event) bool { return !e.Duplicate && e.Webhook.Target == "/a" })
	if d.Verdict != model.WebhookVerified || d.Outcome != "heard" || d.Times != 2 || d.Header("X-From") != "service" {
		t.Errorf("%+v", d)
	}
}

func TestTheBodiesOfADamagedInboxArePutAside(t *testing.T) {
	dir := t.TempDir()
	in := openInbox(t, dir)
	r, events := listening(t, in, Config{})
	post(t, r.URL(), strings.NewReader("one"))
	await(t, events, false)
	noerr.Must(t, r.Close())
	for _, damage := range []func(file string) error{
		func(file string) error { return os.WriteFile(file, bytes.Repeat([]byte("garbage "), 4096), 0o600) },
		os.Remove,
	} {
		noerr.Must(t, in.Close())
		file := filepath.Join(dir, "webhooks.db")
		noerr.Must(t, damage(file))
		var err error
		if in, _, err = Open(t.Context(), Options{File: file, Dir: filepath.Join(dir, "webhooks"), Clock: clock(time.Now)}); err != nil {
			t.Fatal(err)
		}
		r, events := listening(t, in, Config{})
		kept, err := filepath.Glob(filepath.Join(in.dir, "unlisted-*", "body-*"))
		if err != nil || len(kept) == 0 || !strings.Contains(r.Notice(), filepath.Dir(kept[0])) {
			t.Fatalf("%v, %v, %q", kept, err, r.Notice())
		}
		if raw, err := os.ReadFile(kept[0]); err != nil || string(raw) != "one" {
			t.Errorf("%q, %v", raw, err)
		}
		noerr.Must(t, os.RemoveAll(filepath.Dir(kept[0])))
		post(t, r.URL(), strings.NewReader("one")) // for the next round to find
		await(t, events, false)
		noerr.Must(t, r.Close())
		if again, _ := listening(t, in, Config{}); again.Notice() != "" || again.Close() != nil {
			t.Errorf("with the next start: %q", again.Notice())
		}
	}
	noerr.Must(t, in.Close())
}

func TestWhatIsBookmarkedOrWaitsWhileItIsCleanedUpStays(t *testing.T) {
	in := openInbox(t, t.TempDir())
	r, events := listening(t, in, Config{})
	for i := range 3 {
		post(t, r.URL(), strings.NewReader(strconv.Itoa(i)))
		await(t, events, false)
	}
	noerr.Must(t, in.Bookmark(t.Context(), "hook-1", true))
	noerr.Must(t, in.change(t.Context(), "", "UPDATE deliveries SET worked = 0 WHERE n = 2"))
	freed, err := in.drop(t.Context(), []int64{1, 2, 3}) // as decided before
	list, _, listed := in.List(t.Context(), Filter{}, 0)
	if err != nil || listed != nil || freed != 1 || len(list) != 2 {
		t.Fatalf("%d, %v, %v: %+v", freed, err, listed, list)
	}
	for _, d := range list {
		noerr.Want(t, noerr.From(os.Stat(d.File)))
	}
	if bodies, err := filepath.Glob(filepath.Join(in.dir, "body-*")); err != nil || len(bodies) != 2 {
		t.Errorf("%v, %v", bodies, err)
	}
}

func TestAnObserverThatHangsHoldsNothingUp(t *testing.T) {
	in := openInbox(t, t.TempDir())
	hangs := make(chan struct{})
	defer close(hangs)
	r, err := Listen(t.Context(), "127.0.0.1:0", false, Config{Inbox: in, Observer: observer{received: func(Event) { <-hangs }}, patience: time.Millisecond})
	noerr.Must(t, err)
	for range 3 {
		if got := post(t, r.URL(), strings.NewReader("again and again")); got != http.StatusOK {
			t.Fatal(got)
		}
		for range maxNews {
			r.queueNews(placed{id: "hook-1", duplicate: true})
		}
	}
	if list, total, err := in.List(t.Context(), Filter{}, 0); err != nil || total != 1 || list[0].Times != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	noerr.Want(t, r.Close())
}

// TestTheEndLeavesNoHandlerBehind ends receiving while a webhook has its bytes but no row.
func TestTheEndLeavesNoHandlerBehind(t *testing.T) {
	in := openInbox(t, t.TempDir())
	reached, release := make(chan struct{}), make(chan struct{})
	r, err := Listen(t.Context(), "127.0.0.1:0", false, Config{Inbox: in, patience: time.Millisecond, disk: rigged{at: func(name string) {
		if name == "commit" {
			close(reached)
			<-release
		}
	}}})
	noerr.Must(t, err)
	var client sync.WaitGroup
	defer client.Wait()
	client.Go(func() {
		if status, err := posted(t.Context(), r.URL(), strings.NewReader("x")); err == nil {
			t.Errorf("it is answered %d", status)
		}
	})
	<-reached
	bodies := func() int {
		found, err := filepath.Glob(filepath.Join(in.dir, "body-*"))
		noerr.Want(t, err)
		return len(found)
	}
	if n := bodies(); n != 1 {
		t.Errorf("%d bodies", n)
	}
	noerr.Want(t, r.Close())
	close(release)
	until(t, "the handler does not end", func() bool { return bodies() == 0 })
}

func TestWhatHasToWaitKeepsNoOtherBack(t *testing.T) {
	r, events := listening(t, openInbox(t, t.TempDir()), Config{Jobs: heard(func(_ context.Context, n model.WebhookNews) (string, string, error) {
		if n.Snapshot == "later" {
			return "", "", ErrLater
		}
		return "job-1", "heard", nil
	})})
	for i := range workGroup + 1 {
		post(t, r.URL(), strings.NewReader(fmt.Sprintf(`{"snapshot_id":"later","n":%d}`, i)))
	}
	post(t, r.URL(), strings.NewReader(`{"snapshot_id":"now"}`))
	if d := await(t, events, false); d.Snapshot != "now" || d.Outcome != "heard" {
		t.Errorf("%+v", d)
	}
}

func TestAFullInboxRefusesUntilItIsCleanedUp(t *testing.T) {
	in := openInbox(t, t.TempDir())
	var ready atomic.Bool
	r, _ := listening(t, in, Config{
		Settings: Settings{MaxBody: 10, Keep: Retention{Bytes: 20}}, retryPause: time.Millisecond,
		Jobs: heard(func(context.Context, model.WebhookNews) (string, string, error) {
			if !ready.Load() {
				return "", "", ErrLater
			}
			return "", "heard", nil
		}),
	})
	status := func(n int) int { return post(t, r.URL(), strings.NewReader(fmt.Sprintf("%010d", n))) }
	for n := range 3 {
		if got := status(n); got != http.StatusOK {
			t.Fatalf("number %d: %d", n, got)
		}
	}
	for range 3 {
		if got := status(3); got != http.StatusInsufficientStorage {
			t.Fatalf("one more than fit: %d", got)
		}
	}
	if bodies, err := filepath.Glob(filepath.Join(in.dir, "*body-*")); err != nil || len(bodies) != 3 || r.bufferedBytes.Load() != 30 {
		t.Errorf("%v, %v, %d bytes", bodies, err, r.bufferedBytes.Load())
	}
	ready.Store(true)
	poke(r.wake)
	until(t, "nothing is cleaned up", func() bool { return status(3) == http.StatusOK })
	list, _, err := in.List(t.Context(), Filter{}, 0)
	if err != nil || len(list) == 0 || list[0].Times != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}
