package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/database/postgrestest"
)

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func openInbox(t testing.TB, dir string) *Inbox {
	t.Helper()
	o := Options{File: filepath.Join(dir, "webhooks.db"), Dir: filepath.Join(dir, "webhooks"), Clock: clock(time.Now)}
	if postgrestest.Available() {
		o.Server = postgrestest.Server(t, o.File)
	}
	in, notice, err := Open(t.Context(), o)
	if err != nil || notice != "" {
		t.Fatal(err, notice)
	}
	t.Cleanup(func() { noerr.Want(t, in.Close()) })
	return in
}

// listening makes a receiver, and returns its events.
type (
	clock  func() time.Time
	ledger func(ids []string) (map[string]model.WebhookJob, error)
	heard  func(ctx context.Context, news model.WebhookNews) (job, said string, err error)
	// observer and rigged do what they have a function for.
	observer struct {
		received func(Event)
		refused  func(model.WebhookRefusals)
	}
	rigged struct {
		room func() uint64
		at   func(step string)
	}
)

func (c clock) Now() time.Time { return c() }

func (l ledger) WebhookJobs(_ context.Context, ids []string) (map[string]model.WebhookJob, error) {
	return l(ids)
}

func (h heard) HeardWebhook(ctx context.Context, news model.WebhookNews) (job, said string, err error) {
	return h(ctx, news)
}

func (o observer) Received(e Event) {
	if o.received != nil {
		o.received(e)
	}
}

func (o observer) Refused(r model.WebhookRefusals) {
	if o.refused != nil {
		o.refused(r)
	}
}

func (r rigged) free(dir string) (uint64, error) {
	if r.room == nil {
		return freeBytes(dir)
	}
	return r.room(), nil
}

func (r rigged) step(name string) {
	if r.at != nil {
		r.at(name)
	}
}

func listening(t testing.TB, in *Inbox, c Config) (r *Receiver, events <-chan Event) {
	t.Helper()
	told := make(chan Event, 10_000)
	o, _ := c.Observer.(observer)
	o.received = func(e Event) { told <- e }
	c.Inbox, c.Observer = in, o
	r, err := Listen(t.Context(), "127.0.0.1:0", false, c)
	noerr.Must(t, err)
	t.Cleanup(func() { noerr.Want(t, r.Close()) })
	return r, told
}

func await(t testing.TB, events <-chan Event, duplicate bool) model.Webhook {
	t.Helper()
	return awaitThat(t, events, func(e Event) bool { return e.Duplicate == duplicate })
}

func awaitThat(t testing.TB, events <-chan Event, is func(Event) bool) model.Webhook {
	t.Helper()
	end := time.After(time.Minute)
	for {
		select {
		case e := <-events:
			if is(e) {
				return e.Webhook
			}
		case <-end:
			t.Fatal("nothing was told")
		}
	}
}

// post sends a body and returns the status of the answer.
func post(t testing.TB, url string, body io.Reader, header ...string) int {
	t.Helper()
	status, err := posted(t.Context(), url, body, header...)
	noerr.Want(t, err)
	return status
}

func posted(ctx context.Context, url string, body io.Reader, header ...string) (int, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return 0, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	transport := http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(q)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func verifier(t testing.TB, c VerifierConfig) Verifier {
	t.Helper()
	v, err := NewVerifier(c)
	noerr.Must(t, err)
	return v
}

func TestWhatIsAnsweredAndWhatIsStored(t *testing.T) {
	in := openInbox(t, t.TempDir())
	r, events := listening(t, in, Config{Settings: Settings{MaxBody: 10}})
	resp, err := http.Get(r.URL())
	if err != nil || resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != http.MethodPost {
		t.Errorf("GET: %+v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	if got := post(t, r.URL(), strings.NewReader("01234567890")); got != http.StatusRequestEntityTooLarge {
		t.Errorf("eleven bytes: %d", got)
	}
	if got := post(t, r.URL(), io.MultiReader(strings.NewReader("01234567890"))); got != http.StatusRequestEntityTooLarge {
		t.Errorf("eleven bytes whose number is not said: %d", got)
	}
	if got := post(t, r.URL()+"/"+strings.Repeat("x", 3000), http.NoBody); got != http.StatusRequestURITooLong {
		t.Errorf("a long address: %d", got)
	}
	if got := post(t, r.URL()+"/a?token=hidden&b=1", strings.NewReader("0123456789"), "Authorization", "Bearer hidden", "Cookie", "hidden", "X-Plain", "1"); got != http.StatusOK {
		t.Errorf("ten bytes: %d", got)
	}
	d := await(t, events, false)
	raw, err := os.ReadFile(d.File)
	if err != nil || string(raw) != "0123456789" || d.Size != 10 || d.Target != "/a?token=••••&b=1" || d.Header("Authorization") != mask || d.Header("Cookie") != mask || d.Header("X-Plain") != "1" {
		t.Errorf("%q, %v, %+v", raw, err, d)
	}
	if list, total, err := in.List(t.Context(), Filter{}, 0); err != nil || total != 1 || list[0].ID != d.ID || list[0].Headers != nil {
		t.Errorf("%+v, %d, %v", list, total, err)
	}
	if one, err := in.Get(t.Context(), d.ID); err != nil || one.Headers == nil || strings.Contains(fmt.Sprint(one), "hidden") {
		t.Errorf("%+v, %v", one, err)
	}
	if d.Verdict != model.WebhookUnverified || d.Reason != "no check of the sender is set up" {
		t.Errorf("%+v", d)
	}
}

func TestADeliveryThatComesAgainIsOne(t *testing.T) {
	in := openInbox(t, t.TempDir())
	r, events := listening(t, in, Config{})
	for range 3 {
		if got := post(t, r.URL()+"/a", strings.NewReader("same"), "Webhook-Id", "d_1"); got != http.StatusOK {
			t.Fatal(got)
		}
	}
	first := await(t, events, true)
	for _, other := range [][]string{{"/a", "same", "d_2"}, {"/a", "another part", "d_1"}, {"/a", "same", ""}, {"/b", "same", ""}} {
		if got := post(t, r.URL()+other[0], strings.NewReader(other[1]), "Webhook-Id", other[2]); got != http.StatusOK {
			t.Fatal(got)
		}
	}
	list, total, err := in.List(t.Context(), Filter{}, 0)
	if err != nil || total != 5 || list[4].Times != 3 || first.ID != list[4].ID {
		t.Errorf("%d, %v: %+v", total, err, list)
	}
	entries, err := filepath.Glob(filepath.Join(in.dir, "body-*"))
	if err != nil || len(entries) != 5 {
		t.Errorf("bodies: %v, %v", entries, err)
	}
}

func TestAForgedCopyDoesNotKeepTheRealOneFromBeingVerified(t *testing.T) {
	in := openInbox(t, t.TempDir())
	r, events := listening(t, in, Config{Settings: Settings{Verifiers: []Verifier{verifier(t, VerifierConfig{Kind: KindAuthorization, Secret: keystore.NewSecret("Bearer right")})}}})
	url := r.URL() + "/a"
	if got := post(t, url, strings.NewReader("x"), "Authorization", "Bearer wrong"); got != http.StatusOK {
		t.Fatal(got)
	}
	if d := await(t, events, false); d.Verdict != model.WebhookRejected || d.Outcome != "no job was updated: it was rejected" {
		t.Errorf("%+v", d)
	}
	if got := post(t, url, strings.NewReader("x"), "Authorization", "Bearer right"); got != http.StatusOK {
		t.Fatal(got)
	}
	awaitThat(t, events, func(e Event) bool { return e.Webhook.Verdict == model.WebhookVerified && e.Webhook.Times == 2 })
	if got := post(t, url, strings.NewReader("x"), "Authorization", "Bearer wrong"); got != http.StatusOK {
		t.Fatal(got)
	}
	if d := awaitThat(t, events, func(e Event) bool { return e.Duplicate && e.Webhook.Times == 3 }); d.Verdict != model.WebhookVerified {
		t.Errorf("a copy of what was verified: %+v", d)
	}
}

func TestHowADeliveryCameAgainIsKept(t *testing.T) {
	in := openInbox(t, t.TempDir())
	at := func(minute int) time.Time { return time.Date(2026, 11, 23, 12, minute, 0, 0, time.UTC) }
	arrive := func(minute int, from string, passed bool) {
		t.Helper()
		a := &arrival{identity: "x", done: make(chan placed, 1), row: row{
			Webhook: model.Webhook{At: at(minute), Remote: from, File: "body-x"},
			checks:  []check{{By: "hmac", Passed: passed, Reason: "the signature is wrong"}},
		}}
		in.commitGroup(t.Context(), []*arrival{a})
		if got := <-a.done; got.err != nil {
			t.Fatal(got.err)
		}
	}
	arrive(0, "192.0.2.1", false)
	arrive(1, "192.0.2.2", false)
	arrive(2, "192.0.2.3", true) // replaces the first
	arrive(3, "192.0.2.2", false)
	arrive(4, "192.0.2.3", true)
	wrong := "the signature is wrong"
	d, err := in.Get(t.Context(), "hook-1")
	if want := []model.WebhookRepeat{
		{Last: at(4), Times: 1, Remote: "192.0.2.3", Verdict: model.WebhookVerified, Reason: "verified by hmac"},
		{Last: at(3), Times: 2, Remote: "192.0.2.2", Verdict: model.WebhookRejected, Reason: wrong},
		{Last: at(0), Times: 1, Remote: "192.0.2.1", Verdict: model.WebhookRejected, Reason: wrong},
	}; err != nil || d.Remote != "192.0.2.3" || d.Times != 5 || !slices.Equal(d.Repeats, want) {
		t.Errorf("%+v, %v", d, err)
	}
	for i := range 2 * maxRepeats {
		arrive(5+i, fmt.Sprintf("198.51.100.%d", i), false)
	}
	d, err = in.Get(t.Context(), "hook-1")
	if err != nil || len(d.Repeats) != maxRepeats || d.Repeats[0].Remote != "198.51.100.39" || d.Times != 45 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestWhereItListens(t *testing.T) {
	in := openInbox(t, t.TempDir())
	if _, err := Listen(t.Context(), "0.0.0.0:0", false, Config{Inbox: in}); !errors.Is(err, ErrNotLoopback) {
		t.Errorf("every address: %v", err)
	}
	if _, ok := in.Listening(); ok {
		t.Error("nobody receives")
	}
	r, _ := listening(t, in, Config{})
	if p, ok := in.Listening(); !ok || p.URL != r.URL() || p.PID != os.Getpid() {
		t.Errorf("%+v, %v", p, ok)
	}
	busy := (*BusyError)(nil)
	if _, err := Listen(t.Context(), "127.0.0.1:0", false, Config{Inbox: in, lockPatience: time.Millisecond}); !errors.As(err, &busy) || busy.Place.URL != r.URL() {
		t.Errorf("a second one: %v", err)
	}
	other := openInbox(t, t.TempDir())
	if _, err := Listen(t.Context(), strings.TrimPrefix(r.URL(), "http://"), false, Config{Inbox: other}); !errors.Is(err, errInUse) {
		t.Errorf("a port in use: %v", err)
	}
	noerr.Must(t, r.Close())
	if _, ok := in.Listening(); ok {
		t.Error("it has ended")
	}
}

// TestItListensAtWhatIsAskedAlone: all addresses of IPv4 include none of IPv6, and vice versa.
func TestItListensAtWhatIsAskedAlone(t *testing.T) {
	for address, want := range map[string]struct{ url, reached, refused string }{
		"0.0.0.0:0": {"http://0.0.0.0", "127.0.0.1", "::1"},
		"[::]:0":    {"http://[::]", "::1", "127.0.0.1"},
		":0":        {"http://[::]", "127.0.0.1", ""},
	} {
		t.Run(address, func(t *testing.T) {
			in := openInbox(t, t.TempDir())
			r, err := Listen(t.Context(), address, true, Config{Inbox: in})
			if err != nil && strings.HasPrefix(address, "[") && !hasIPv6(t) {
				return // without IPv6 it says so
			}
			noerr.Must(t, err)
			defer r.Close()
			at, err := url.Parse(r.URL())
			if err != nil || !strings.HasPrefix(r.URL(), want.url+":") && (address != ":0" || hasIPv6(t)) {
				t.Fatalf("%s, %v", r.URL(), err)
			}
			for host, ok := range map[string]bool{want.reached: true, want.refused: false} {
				if host == "" {
					continue
				}
				ok = ok && (host != "::1" || hasIPv6(t))
				if receivesAt(t, in, net.JoinHostPort(host, at.Port())) != ok {
					t.Errorf("%s: received is %v", host, !ok)
				}
			}
		})
	}
}

// receivesAt reports whether a webhook to an address reaches an inbox: another program may have
// the port in the other family.
func receivesAt(t *testing.T, in *Inbox, address string) bool {
	t.Helper()
	before, err := in.Count(t.Context())
	noerr.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // a listener may never answer
	defer cancel()
	if status, err := posted(ctx, "http://"+address, strings.NewReader(address)); err != nil || status != http.StatusOK {
		return false
	}
	now, err := in.Count(t.Context())
	noerr.Must(t, err)
	return now > before
}

func hasIPv6(t *testing.T) bool {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp6", "[::1]:0")
	if err == nil {
		_ = ln.Close()
	}
	return err == nil
}

// TestABurstLosesNothing sends 1,000 webhooks, each twice, as many at once as are served.
func TestABurstLosesNothing(t *testing.T) {
	in := openInbox(t, t.TempDir())
	r, _ := listening(t, in, Config{})
	const burst = 1000
	var all errgroup.Group
	all.SetLimit(maxConnections)
	for i := range 2 * burst {
		all.Go(func() error {
			status, err := posted(t.Context(), r.URL(), strings.NewReader(strconv.Itoa(i%burst)))
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("number %d is answered %d", i, status)
			}
			return err
		})
	}
	failed := all.Wait()
	list, total, err := in.List(t.Context(), Filter{}, 0)
	if err != nil || total != burst || failed != nil {
		t.Fatalf("%d of %d, %v, %v", total, burst, failed, err)
	}
	for _, d := range list {
		if raw, err := os.ReadFile(d.File); d.Times != 2 || err != nil || int64(len(raw)) != d.Size {
			t.Errorf("%+v, %v", d, err)
		}
	}
}

// zeros is a body of that many zero bytes.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	z.left -= n
	return int(n), nil
}

// TestALargeBodyDoesNotGrowMemory receives and verifies one of ZONEDECK_WEBHOOK_MB megabytes.
func TestALargeBodyDoesNotGrowMemory(t *testing.T) {
	mb, err := strconv.ParseInt(cmp.Or(os.Getenv("ZONEDECK_WEBHOOK_MB"), "64"), 10, 64)
	noerr.Must(t, err)
	in := openInbox(t, t.TempDir())
	v := verifier(t, VerifierConfig{Kind: KindHMAC, Secret: keystore.NewSecret("s3cret"), Header: "X-Signature"})
	r, events := listening(t, in, Config{Settings: Settings{Verifiers: []Verifier{v}}})
	hashing := hmac.New(sha256.New, []byte("s3cret"))
	noerr.Must(t, noerr.From(io.Copy(hashing, &zeros{mb << 20})))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got := post(t, r.URL(), &zeros{mb << 20}, "X-Signature", hex.EncodeToString(hashing.Sum(nil))); got != http.StatusOK {
		t.Fatal(got)
	}
	d := await(t, events, false)
	runtime.ReadMemStats(&after)
	if d.Verdict != model.WebhookVerified || d.Size != mb<<20 {
		t.Errorf("%+v", d)
	}
	grown := after.TotalAlloc - before.TotalAlloc
	t.Logf("%d MB: %d KB were allocated in all", mb, grown>>10)
	if grown > 8<<20 {
		t.Errorf("%d bytes were allocated for a body of %d MB", grown, mb)
	}
}

func TestWhatAKilledReceiverLeftIsSweptUpAndWorkedOn(t *testing.T) {
	dir := t.TempDir()
	in := openInbox(t, dir)
	r, err := Listen(t.Context(), "127.0.0.1:0", false, Config{Inbox: in, Jobs: heard(func(ctx context.Context, _ model.WebhookNews) (string, string, error) {
		<-ctx.Done() // the first one never gets so far
		return "", "", ctx.Err()
	})})
	noerr.Must(t, err)
	if got := post(t, r.URL(), bytes.NewReader([]byte(`{"snapshot_id":"sd_1"}`))); got != http.StatusOK {
		t.Fatal(got)
	}
	noerr.Must(t, r.Close())
	left := []string{filepath.Join(in.dir, "body-orphan"), filepath.Join(in.dir, "edited-123")}
	for _, file := range left {
		noerr.Must(t, os.WriteFile(file, nil, 0o600))
	}
	_, events := listening(t, in, Config{Jobs: heard(func(_ context.Context, n model.WebhookNews) (string, string, error) {
		return "job-7", "heard of " + n.Snapshot + ", " + n.How, nil
	})})
	if d := await(t, events, false); d.Job != "job-7" || d.Outcome != "heard of sd_1, unverified" {
		t.Errorf("%+v", d)
	}
	for _, file := range left {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there: %v", file, err)
		}
	}
}

func TestTheOldestGoAndBookmarkedStay(t *testing.T) {
	in := openInbox(t, t.TempDir())
	r, events := listening(t, in, Config{})
	for i := range 5 {
		post(t, r.URL(), strings.NewReader(strconv.Itoa(i)))
		await(t, events, false)
	}
	noerr.Must(t, in.Bookmark(t.Context(), "hook-1", true))
	if err := in.Bookmark(t.Context(), "hook-9", true); !errors.Is(err, ErrUnknown) {
		t.Errorf("one that is not there: %v", err)
	}
	if freed, err := in.Prune(t.Context(), Retention{Count: 2}); err != nil || freed != 2 {
		t.Fatal(freed, err)
	}
	list, _, err := in.List(t.Context(), Filter{}, 0)
	if err != nil || len(list) != 3 || list[0].ID != "hook-5" || list[1].ID != "hook-4" || list[2].ID != "hook-1" {
		t.Errorf("%+v, %v", list, err)
	}
	if files, err := filepath.Glob(filepath.Join(in.dir, "body-*")); err != nil || len(files) != 3 {
		t.Errorf("%v, %v", files, err)
	}
	if freed, err := in.Prune(t.Context(), Retention{Bytes: 1}); err != nil || freed != 1 {
		t.Fatal(freed, err)
	}
	if list, _, err = in.List(t.Context(), Filter{}, 0); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}
