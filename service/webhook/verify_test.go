package webhook

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
)

// checked returns a verifier's check of a request.
func checked(v Verifier, h http.Header, remote, body string, wall time.Time) check {
	from, _ := netip.ParseAddr(remote)
	hashing, finish := v.begin(h, from, wall)
	if hashing != nil {
		_, _ = io.WriteString(hashing, body) // a hash takes everything
	}
	return finish()
}

func head(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestStandardSignatures(t *testing.T) {
	v := verifier(t, VerifierConfig{Kind: KindStandard, Secret: keystore.NewSecret(testSecret)})
	lib, err := standardwebhooks.NewWebhook(testSecret)
	noerr.Must(t, err)
	at := time.Unix(1_700_000_000, 0)
	sig, err := lib.Sign("m_1", at, []byte("body"))
	noerr.Must(t, err)
	stamp := strconv.FormatInt(at.Unix(), 10)
	for name, c := range map[string]struct {
		body, id, stamp, sig string
		wall                 time.Time
		want                 bool
	}{
		"right":                       {"body", "m_1", stamp, sig, at, true},
		"one of two":                  {"body", "m_1", stamp, "v1,AAAA " + sig, at, true},
		"another body":                {"body ", "m_1", stamp, sig, at, false},
		"another identifier":          {"body", "m_2", stamp, sig, at, false},
		"another version":             {"body", "m_1", stamp, strings.Replace(sig, "v1", "v2", 1), at, false},
		"another time":                {"body", "m_1", "1700000001", sig, at, false},
		"no time":                     {"body", "m_1", "", sig, at, false},
		"a time that is not a number": {"body", "m_1", "soon", sig, at, false},
		"no identifier":               {"body", "", stamp, sig, at, false},
		"no signature":                {"body", "m_1", stamp, "", at, false},
		"five minutes late":           {"body", "m_1", stamp, sig, at.Add(tolerance), true},
		"later":                       {"body", "m_1", stamp, sig, at.Add(tolerance + time.Second), false},
		"from the future":             {"body", "m_1", stamp, sig, at.Add(-tolerance - time.Second), false},
	} {
		got := checked(v, head("webhook-id", c.id, "webhook-timestamp", c.stamp, "webhook-signature", c.sig), "", c.body, c.wall)
		if got.Passed != c.want || got.Passed != (got.Reason == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := NewVerifier(VerifierConfig{Kind: KindStandard, Secret: keystore.NewSecret("whsec_%hidden%")}); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a secret that is not one: %v", err)
	}
}

func TestPlainHMACs(t *testing.T) {
	// HMAC-SHA256 of "what do ya want for nothing?" by "Jefe" (RFC 4231, test case 2).
	const sum = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
	const body = "what do ya want for nothing?"
	v := verifier(t, VerifierConfig{Kind: KindHMAC, Secret: keystore.NewSecret("Jefe"), Header: "X-Hub-Signature-256", Prefix: "sha256="})
	for value, want := range map[string]bool{
		"sha256=" + sum: true, "sha256=" + strings.ToUpper(sum): true, sum: false, "sha256=" + sum[2:]: false, "sha256=zz": false,
		"sha256=" + strings.Repeat("0", 64): false, "": false,
	} {
		if got := checked(v, head("X-Hub-Signature-256", value), "", body, time.Time{}); got.Passed != want {
			t.Errorf("%q: %+v", value, got)
		}
	}
	raw, _ := base64.StdEncoding.DecodeString("W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=")
	v = verifier(t, VerifierConfig{Kind: KindHMAC, Secret: keystore.NewSecret("Jefe"), Header: "X-S", Encoding: "base64"})
	if got := checked(v, head("X-S", base64.StdEncoding.EncodeToString(raw)), "", body, time.Time{}); !got.Passed {
		t.Errorf("%+v", got)
	}
}

func TestWhoMaySend(t *testing.T) {
	v := verifier(t, VerifierConfig{Kind: KindSenders, Senders: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	for address, want := range map[string]bool{"192.0.2.9": true, "::ffff:192.0.2.9": true, "192.0.3.9": false, "::1": false, "": false} {
		if got := checked(v, nil, address, "", time.Time{}); got.Passed != want {
			t.Errorf("%q: %+v", address, got)
		}
	}
	a := verifier(t, VerifierConfig{Kind: KindAuthorization, Secret: keystore.NewSecret("Bearer x")})
	for why, h := range map[string]http.Header{
		"":                                 {"Authorization": {"Bearer x"}},
		"its Authorization does not match": {"Authorization": {"Bearer x", "Bearer x"}},
		"it has no Authorization":          {},
	} {
		if got := checked(a, h, "", "", time.Time{}); got.Reason != why || got.Passed != (why == "") {
			t.Errorf("%v: %+v", h, got)
		}
	}
}

func TestTheVerdictOfSeveralChecks(t *testing.T) {
	passed, failed, absent := check{By: "a", Passed: true}, check{By: "b", Reason: "it is another one"}, check{By: "c", Reason: "it has none"}
	for _, c := range []struct {
		checks []check
		want   model.WebhookVerdict
		why    string
	}{
		{nil, model.WebhookUnverified, "no check of the sender is set up"},
		{[]check{passed}, model.WebhookVerified, "verified by a"},
		{[]check{absent}, model.WebhookRejected, "it has none"},
		{[]check{absent, passed}, model.WebhookRejected, "it has none"},
		{[]check{passed, failed}, model.WebhookRejected, "it is another one"},
	} {
		if v, _, why := verdictOf(c.checks); v != c.want || why != c.why {
			t.Errorf("%+v: %s, %q", c.checks, v, why)
		}
	}
}

// FuzzSignatures compares the verification of a stream with the library's.
func FuzzSignatures(f *testing.F) {
	lib, err := standardwebhooks.NewWebhook(testSecret)
	noerr.Must(f, err)
	sig, err := lib.Sign("m", time.Unix(1_700_000_000, 0), []byte("b"))
	noerr.Must(f, err)
	f.Add("m", "1700000000", sig, []byte("b"))
	f.Add("m", "01700000000", "v1,x "+sig, []byte("b"))
	f.Add("m", "+1700000000", sig+",", []byte("b"))
	f.Add("m", "1700000000", ","+sig+" v1", []byte{})
	v := verifier(f, VerifierConfig{Kind: KindStandard, Secret: keystore.NewSecret(testSecret)})
	f.Fuzz(func(t *testing.T, id, stamp, signature string, body []byte) {
		h := head(standardwebhooks.HeaderWebhookID, id, standardwebhooks.HeaderWebhookTimestamp, stamp, standardwebhooks.HeaderWebhookSignature, signature)
		if strings.Count(signature, " ") >= maxSignatures {
			return // the library reads them all
		}
		want := lib.VerifyIgnoringTimestamp(body, h) == nil
		wall := time.Unix(0, 0)
		if n, err := strconv.ParseInt(stamp, 10, 64); err == nil {
			wall = time.Unix(n, 0)
		}
		if c := checked(v, h, "", string(body), wall); c.Passed != want {
			t.Errorf("%q %q %q %q: %+v, the library says %v", id, stamp, signature, body, c, want)
		}
	})
}

// FuzzNamed looks for identifiers in hostile webhooks: whatever it finds must be well-formed.
func FuzzNamed(f *testing.F) {
	f.Add("/a?snapshot_id=sd_1", "X-Emulator-Snapshot", "sd_2", []byte(`{"snapshot_id":"sd_3"}`))
	f.Add("/a?snapshot_id=%zz", "Content-Encoding", "gzip", []byte("\x1f\x8b\x08\x00"))
	f.Add("", "", "", []byte(`{"snapshot_id":7}`))
	file := filepath.Join(f.TempDir(), "body")
	f.Fuzz(func(t *testing.T, target, name, value string, body []byte) {
		noerr.Must(t, os.WriteFile(file, body, 0o600))
		d := row{Webhook: model.Webhook{Target: target, Headers: []model.WebhookHeader{{Name: name, Value: value}}, File: file, Size: int64(len(body))}}
		if id := d.snapshotNamed(); id != reference(id) || len(id) > maxReference {
			t.Errorf("%q", id)
		}
	})
}

func TestAReplayGoesToThisMachineAlone(t *testing.T) {
	in := openInbox(t, t.TempDir())
	v := verifier(t, VerifierConfig{Kind: KindStandard, Secret: keystore.NewSecret(testSecret)})
	r, events := listening(t, in, Config{Settings: Settings{Verifiers: []Verifier{v}}})
	post(t, r.URL()+"/a", strings.NewReader("original"), "Authorization", "Bearer hidden", "X-Plain", "1", "Webhook-Id", "m_1")
	d := await(t, events, false)
	type received struct {
		header http.Header
		body   string
	}
	came := make(chan received, 1)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b := new(bytes.Buffer)
		_, _ = b.ReadFrom(q.Body)
		came <- received{q.Header.Clone(), b.String()}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer other.Close()
	got, err := Replay{Webhook: d, To: other.URL}.Send(t.Context())
	g := <-came
	if err != nil || got.Status != http.StatusTeapot || g.body != "original" || g.header.Get("X-Plain") != "1" || g.header.Get("Webhook-Id") != "m_1" || g.header.Get("Authorization") != "" ||
		len(got.Without) != 1 {
		t.Errorf("%+v, %v, %+v", got, err, g)
	}
	away := httptest.NewServer(http.RedirectHandler("http://192.0.2.1/x", http.StatusFound))
	defer away.Close()
	if got, err := (Replay{Webhook: d, To: away.URL}).Send(t.Context()); err != nil || got.AnswerText() != "302, a redirect to http://192.0.2.1/x that was not followed" {
		t.Errorf("a redirect: %+v, %v", got, err)
	}
	for _, to := range []string{"http://192.0.2.1/", "http://example.com/", "http://127.0.0.1.example.com/", "http://[2001:db8::1]/", "http://0.0.0.0:1/", "ftp://127.0.0.1/", "nowhere", "http://"} {
		if _, err := (Replay{Webhook: d, To: to}).Send(t.Context()); err == nil {
			t.Errorf("%s was taken", to)
		}
	}
}
