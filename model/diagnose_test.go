package model

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRulesAreNamedOnceAndReasoned(t *testing.T) {
	seen := map[string]bool{}
	notes := DiagnosisRules()
	for _, r := range notes {
		if r.Name == "" || r.Reason == "" || seen[r.Name] {
			t.Errorf("rule %+v has no name of its own or no reason", r)
		}
		seen[r.Name] = true
		if r.Class == "" && r.Name != "dialect" {
			t.Errorf("rule %s has no class", r.Name)
		}
	}
	last := notes[len(notes)-1]
	if last.Cause != CauseUnrecognised || !rules[len(rules)-1].applies(&facts{}) {
		t.Errorf("the last rule %+v must match everything", last)
	}
}

func TestAWidgetOnAPageLongerThanTheScanIsNotAChallenge(t *testing.T) {
	head := []byte(`<html><body><div class="g-recaptcha"></div><script>` + strings.Repeat("x", maxScan) + `</script>`)
	o := Outcome{Via: ViaNative, TargetStatus: 200, ContentType: "text/html", BodyHead: head[:maxScan], More: true, BodySize: 5 << 20}
	if d := Diagnose(o); !d.OK() {
		t.Errorf("the rest of the page was not seen, and it is called %s", d.Class)
	}
}

func BenchmarkDiagnose(b *testing.B) {
	page := append([]byte(`<!doctype html><html><head><title>Shop</title></head><body>`), bytes.Repeat([]byte(
		`<div class="card product-card" id="p1" data-sku="1"><a class="link card-link" href="/p/1"><img src="/i/1.jpg" alt="Chair"></a><p>A chair, 19.50</p></div>`), 2000)...)
	script := []byte(`<html><body><script>` + strings.Repeat("var captcha_delivery=1;</scrip", 9000) + `</script>`)
	for name, body := range map[string][]byte{
		"page":        page,
		"script":      script,
		"lone tags":   bytes.Repeat([]byte("<a "), 100_000),
		"open quotes": bytes.Repeat([]byte(`<a b="`), 50_000),
		"raw texts":   bytes.Repeat([]byte("<title></"), 30_000),
		"class words": []byte(`<a class="` + strings.Repeat("captch1 ", 32_000) + `">`),
		"text":        append([]byte("<html>"), bytes.Repeat([]byte("a chair "), 32_000)...),
	} {
		b.Run(name, func(b *testing.B) {
			o := Outcome{Via: ViaNative, TargetStatus: 200, ContentType: "text/html", BodyHead: body[:min(len(body), maxScan)], More: len(body) > maxScan, BodySize: int64(len(body))}
			b.SetBytes(int64(len(o.BodyHead)))
			b.ReportAllocs()
			for b.Loop() {
				Diagnose(o)
			}
		})
	}
}

func TestTheServicesCAIsOnlyForNativeAccess(t *testing.T) {
	zone := Zone{Name: "z", Product: ProductUnlocker}
	for via, want := range map[Via]bool{ViaAPI: false, ViaNative: true} {
		d := Diagnose(Outcome{Via: via, Zone: zone, Broke: BreakTLSTrust, Peer: "service"})
		if got := strings.Contains(d.Summary+d.Steps[0].Text, "5.2 rule 3"); got != want {
			t.Errorf("%s: CA offered %t: %s / %s", via, got, d.Summary, d.Steps[0].Text)
		}
	}
}

func TestChallengeHeadersAreThoseThatDecide(t *testing.T) {
	names := ChallengeHeaders()
	if want := []string{"cf-mitigated", "x-amzn-waf-action", "sg-captcha", "x-vercel-mitigated"}; !slices.Equal(names, want) {
		t.Errorf("%v, want each once: %v", names, want)
	}
	for _, h := range challengeHeaders {
		name, value, _ := strings.Cut(h, ":")
		o := Outcome{Via: ViaNative, TargetStatus: 200, HeadMethod: true, HeaderEvidence: []string{strings.ToUpper(name) + ":  " + value}}
		if d := Diagnose(o); !slices.Contains(names, name) || d.Class != ClassCaptcha {
			t.Errorf("%s: %s, in the list %t", h, d.Class, slices.Contains(names, name))
		}
	}
}

func TestADialectsVerdictHasAClearSummary(t *testing.T) {
	for _, c := range []struct {
		class Class
		cause Cause
		want  string
	}{
		{ClassOutside, CauseTargetError, "The service reports an error that means: target error."},
		{ClassCaptcha, CauseNone, "The service reports an error that means: CAPTCHA."},
		{ClassAccessRestricted, CausePolicy, "The service reports an error that means: access restricted, policy."},
	} {
		d := Diagnose(Outcome{Via: ViaAPI, ServiceStatus: 200, TargetStatus: 502, ServiceCode: "code", ServiceClass: c.class, ServiceCause: c.cause})
		if d.Rule != "dialect" || d.Summary != c.want {
			t.Errorf("%s, %s: rule %s says %q, want %q", c.class, c.cause, d.Rule, d.Summary, c.want)
		}
	}
}

func TestAWaitIsNamedOnlyWhenTheAnswerAsksForOne(t *testing.T) {
	for wait, want := range map[time.Duration][3]string{
		0:               {"The service says that requests come too fast (429).", "try again, a few times at most", ""},
		-time.Second:    {"The service says that requests come too fast (429).", "try again, a few times at most", ""},
		1:               {"The service says that requests come too fast (429) and asks to wait 1ns.", "try again after 1ns, as the answer asks", "the answer asks to wait 1ns"},
		2 * time.Second: {"The service says that requests come too fast (429) and asks to wait 2s.", "try again after 2s, as the answer asks", "the answer asks to wait 2s"},
	} {
		d := Diagnose(Outcome{Via: ViaAPI, ServiceStatus: 429, RetryAfter: wait})
		timing := ""
		for _, e := range d.Evidence {
			if e.Kind == "timing" {
				timing += e.Text
			}
		}
		if got := [3]string{d.Summary, d.Steps[len(d.Steps)-1].Text, timing}; got != want {
			t.Errorf("wait %v: %q, want %q", wait, got, want)
		}
	}
}

func TestTheEdgesOfTheStatuses(t *testing.T) {
	for status, want := range map[int]string{
		299: "ok", 300: "redirect", 399: "redirect", 400: "target_error", 599: "target_error",
	} {
		o := Outcome{Via: ViaNative, TargetStatus: status, BodyHead: []byte("x"), BodySize: 1}
		if d := Diagnose(o); d.Rule != want {
			t.Errorf("target %d: rule %s, want %s", status, d.Rule, want)
		}
	}
	for status, want := range map[int]string{
		199: "unrecognised", 200: "ok", 299: "ok", 300: "unrecognised", 399: "unrecognised",
		499: "request_refused_4xx", 500: "service_5xx", 599: "service_5xx", 600: "unrecognised",
	} {
		o := Outcome{Via: ViaAPI, ServiceStatus: status, BodyHead: []byte("x"), BodySize: 1}
		if d := Diagnose(o); d.Rule != want {
			t.Errorf("service %d: rule %s, want %s", status, d.Rule, want)
		}
	}
}

func TestEveryObservationIsListedInOrder(t *testing.T) {
	o := Outcome{
		Via: ViaAPI, ServiceStatus: 1, TargetStatus: 1, ServiceCode: "c", ServiceText: "t", Broke: BreakTimeout, BrokeText: "b",
		HeaderEvidence: slices.Repeat([]string{"h: v"}, 9), Incomplete: true, BodySize: 3, Elapsed: 1, Timeout: time.Second,
	}
	want := append([]Evidence{
		{Kind: "service_status", Text: "1 from the service"},
		{Kind: "status", Text: "1 from the target"},
		{Kind: "error", Text: "the service says: c t"},
		{Kind: "error", Text: string(BreakTimeout) + " (peer not known) b"},
	}, slices.Repeat([]Evidence{{Kind: "header", Text: "h: v"}}, 8)...)
	want = append(want,
		Evidence{Kind: "body", Text: "the body ended after 3 bytes, before it was complete"},
		Evidence{Kind: "timing", Text: "0s passed; the client's limit is 1s"})
	if got := Diagnose(o).Evidence; !slices.Equal(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	o.Elapsed, o.Timeout, o.Peer = 1500*time.Microsecond, 0, "target"
	got := Diagnose(o).Evidence
	if last := got[len(got)-1].Text; last != "2ms passed" || got[3].Text != string(BreakTimeout)+" (at the target) b" {
		t.Errorf("got %q and %q", last, got[3].Text)
	}
}

func TestALongListOfFieldsIsCut(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	for n, want := range map[int]string{1: "a", 5: "a, b, c, d, e", 6: "a, b, c, d, e and 1 more", 7: "a, b, c, d, e and 2 more"} {
		if got := fieldList(names[:n]); got != want {
			t.Errorf("%d fields: %q, want %q", n, got, want)
		}
	}
	if got := quote(strings.Repeat("x", maxQuote)); len(got) != 300 {
		t.Errorf("a text of 300 bytes becomes %d", len(got))
	}
	if got := quote(strings.Repeat("x", maxQuote+1)); !strings.HasPrefix(got, strings.Repeat("x", 290)) || strings.HasSuffix(got, "x") {
		t.Errorf("a longer text becomes %q", got)
	}
}

func TestANoteIsAHeaderOfTheEmulator(t *testing.T) {
	for e, want := range map[Evidence]string{
		{Kind: "header", Text: NoteHeader + ": somebody else's results"}: "somebody else's results",
		{Kind: "body", Text: NoteHeader + ": x"}:                         "",
		{Kind: "header", Text: "x-other: x"}:                             "",
	} {
		if got := e.Note(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}

func TestLettersOfTagsAreReadInEitherCase(t *testing.T) {
	for in, want := range map[byte]byte{'A': 'a', 'Z': 'z', 'a': 'a', 'z': 'z', '@': '@', '[': '[', '0': '0'} {
		if got := lowerByte(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	for c, want := range map[byte]bool{'A': true, 'Z': true, 'a': true, 'z': true, '@': false, '[': false, '`': false, '{': false, '0': false} {
		if isLetter(c) != want {
			t.Errorf("%q a letter: %t", c, !want)
		}
	}
}
