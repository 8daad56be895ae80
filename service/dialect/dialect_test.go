package dialect

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func brightdata(t testing.TB) Dialect {
	t.Helper()
	d, err := Find("brightdata")
	noerr.Must(t, err)
	return d
}

func TestFindKnowsItsNames(t *testing.T) {
	for _, name := range Names() {
		if d, err := Find(name); err != nil || d.Name() != name {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	if d, err := Find(""); err != nil || d.Name() != "documented" {
		t.Errorf("the empty name is %v, %v", d, err)
	}
	if _, err := Find("Brightdata"); err == nil {
		t.Error("a name that is not known is taken")
	}
}

func TestTheEmbeddedDialectKnowsEverything(t *testing.T) {
	d := Embedded()
	if d.Name() != "brightdata" || !d.AsksForJobs() || Default().Name() != "documented" {
		t.Errorf("embedded %q, default %q", d.Name(), Default().Name())
	}
}

func TestTheRequestBodyByteForByte(t *testing.T) {
	full := model.FetchRequest{
		Zone: model.Zone{Name: "z1"}, URL: "https://a.test/?x=1&y=<2>", Format: model.FormatJSON, Method: "post",
		Header: http.Header{"x-a": {"1", "2"}, "Accept": {"*/*"}}, Body: "b\"b", Country: "de", Via: model.ViaAPI,
	}
	got, err := brightdata(t).Request(full)
	want := `{"zone":"z1","url":"https://a.test/?x=1&y=<2>","format":"json","method":"POST","headers":{"Accept":"*/*","X-A":"1, 2"},"body":"b\"b","country":"de"}`
	if err != nil || string(got) != want {
		t.Errorf("%s\n%s: %v", got, want, err)
	}
	got, err = Default().Request(model.FetchRequest{Zone: full.Zone, URL: full.URL, Method: "GET", Via: model.ViaAPI})
	if want := `{"zone":"z1","url":"https://a.test/?x=1&y=<2>","format":"raw"}`; err != nil || string(got) != want {
		t.Errorf("%s\n%s: %v", got, want, err)
	}
}

func TestDocumentedRefusesWhatIsNotShown(t *testing.T) {
	for field, change := range map[string]func(*model.FetchRequest){
		"format":  func(r *model.FetchRequest) { r.Format = model.FormatJSON },
		"method":  func(r *model.FetchRequest) { r.Method = "HEAD" },
		"headers": func(r *model.FetchRequest) { r.Header = http.Header{"A": {"b"}} },
		"body":    func(r *model.FetchRequest) { r.Body = "x" },
		"country": func(r *model.FetchRequest) { r.Country = "de" },
		"session": func(r *model.FetchRequest) { r.Session = "a" },
	} {
		r := model.FetchRequest{Zone: model.Zone{Name: "z"}, URL: "http://a.test", Via: model.ViaAPI}
		change(&r)
		_, err := Default().Request(r)
		var re *model.RequestError
		if !errors.As(err, &re) || re.Field() != field || len(re.Problems) != 1 || !errors.Is(err, ErrNotShown) || !strings.Contains(err.Error(), "choose dialect brightdata") {
			t.Errorf("%s: %v", field, err)
		}
		if _, err := brightdata(t).Request(r); err != nil {
			t.Errorf("brightdata refuses %s: %v", field, err)
		}
		r.Via = model.ViaNative
		native := r.NotSent(Default().Sends())
		if wantRefusal := field == "country" || field == "session"; (len(native) > 0) != wantRefusal {
			t.Errorf("%s by native access: %v", field, native)
		}
	}
	if err := Default().RefuseParams([]model.Param{{Name: "city"}}); !errors.Is(err, ErrNotShown) {
		t.Errorf("a parameter: %v", err)
	}
}

func TestReadHeader(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		head http.Header
		want Reading
	}{
		"nothing": {http.Header{}, Reading{}},
		"a page":  {http.Header{"X-Brd-Status-Code": {"200"}, "X-Brd-Ip": {"203.0.113.5"}}, Reading{TargetStatus: 200, Exit: "203.0.113.5"}},
		"an unlocker's error": {
			http.Header{"X-Brd-Status-Code": {"502"}, "X-Brd-Error": {"blocked"}, "X-Brd-Error-Code": {"reject_block"}},
			Reading{TargetStatus: 502, Code: "reject_block", Text: "blocked", Class: model.ClassAccessRestricted, Cause: model.CauseSiteBlock},
		},
		"the unlocker's code goes before the proxy's": {
			http.Header{"X-Brd-Error-Code": {"captcha"}, "X-Brd-Err-Code": {"client_10000"}, "X-Brd-Err-Msg": {"m"}},
			Reading{Code: "captcha", Text: "m", Class: model.ClassCaptcha},
		},
		"Proxy-Status among others": {
			http.Header{"Proxy-Status": {`cache.a; hit`, `brd; received-status=407; error="http_request_denied"; details="client_10000: say \"no\", really"`}},
			Reading{Code: "client_10000", Text: `say "no", really`, Class: model.ClassOutside, Cause: model.CauseLoginRejected, Unanswered: true, Received: 407},
		},
		"quotes that do not end": {http.Header{"Proxy-Status": {`brd; error="; details=x`}}, Reading{Text: "; details=x"}},
		"a lone quote":           {http.Header{"Proxy-Status": {`brd; error="`}}, Reading{}},
		"a Proxy-Status without an error reads as nothing": {http.Header{"Proxy-Status": {"brd; received-status=200"}}, Reading{}},
		"an unknown code leaves the verdict to the status": {http.Header{"X-Brd-Err-Code": {"zz_1"}}, Reading{Code: "zz_1"}},
		"a policy on the rate means too fast":              {http.Header{"X-Brd-Err-Code": {"policy_20222"}}, Reading{Code: "policy_20222", Class: model.ClassTooFast}},
		"hostile values": {
			http.Header{"X-Brd-Status-Code": {"99999999999"}, "X-Brd-Err-Code": {"a b\x1b[31m"}, "X-Brd-Ip": {"<script>"}, "Retry-After": {"-5"}, "X-Brd-Error": {"\x1b]0;x\x07 bad\xff"}},
			Reading{Text: "]0;x bad?"},
		},
		"Retry-After in seconds":           {http.Header{"Retry-After": {" 30 "}}, Reading{RetryAfter: 30 * time.Second}},
		"Retry-After as a date":            {http.Header{"Retry-After": {"Sat, 21 Nov 2026 12:01:00 GMT"}}, Reading{RetryAfter: time.Minute}},
		"Retry-After in parts of a second": {http.Header{"Retry-After": {"1.5"}}, Reading{RetryAfter: 1500 * time.Millisecond}},
		"Retry-After that is huge":         {http.Header{"Retry-After": {"99999999999999999999"}}, Reading{RetryAfter: maxRetryAfter}},
		"Retry-After that is no number":    {http.Header{"Retry-After": {"NaN"}}, Reading{}},
		"Retry-After that is negative":     {http.Header{"Retry-After": {"-30"}}, Reading{}},
		"Retry-After without end":          {http.Header{"Retry-After": {"4294967295"}}, Reading{RetryAfter: maxRetryAfter}},
	} {
		t.Run(name, func(t *testing.T) {
			got := brightdata(t).ReadHeader(tc.head, now)
			got.Evidence = nil
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
			// Without a name the answer says by which dialect it is read; the contract alone
			// repeats what the headers say and gives it no meaning.
			by := ""
			if fromBrightData(tc.head) {
				by = "brightdata"
			}
			open, named := tc.want, tc.want
			open.ReadBy, named.Unread = by, by
			named.Class, named.Cause, named.Unanswered, named.Exit = "", "", false, ""
			unnamed := Default()
			contract, err := Find("documented")
			noerr.Must(t, err)
			for d, want := range map[*Dialect]Reading{&unnamed: open, &contract: named} {
				got := d.ReadHeader(tc.head, now)
				got.Evidence = nil
				if !reflect.DeepEqual(got, want) {
					t.Errorf("the default reads %+v, want %+v", got, want)
				}
			}
		})
	}
}

func TestEvidenceQuotesWhatWasRead(t *testing.T) {
	h := http.Header{"X-Brd-Err-Code": {"policy_20050"}, "Retry-After": {"9"}, "X-Brd-Err-Msg": {"no\r\nway"}, "X-Emulator-Note": {"a.test is not asked"}}
	got := strings.Join(brightdata(t).ReadHeader(h, time.Now()).Evidence, "|")
	for _, want := range []string{"x-brd-err-code: policy_20050", "retry-after: 9", "x-brd-err-msg: no way", "x-emulator-note: a.test is not asked"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

func TestEveryCodeRuleIsReached(t *testing.T) {
	for _, rule := range codeRules {
		for c := range strings.FieldsSeq(rule.codes) {
			code := strings.Replace(c, "*", "zzz", 1)
			if m := meaning(code); m != rule {
				t.Errorf("%s means %+v, its rule says %+v", code, m, rule)
			}
		}
	}
	if meaning("client_1000").class != "" {
		t.Error("a prefix of a code is taken for the code")
	}
}

func TestErrorText(t *testing.T) {
	for name, tc := range map[string]struct{ kind, body, want string }{
		"plain text":     {"text/plain", "Auth method is not supported\n", "Auth method is not supported"},
		"validation":     {"application/json", `{"error":"Request validation failed","error_code":"validation","details":[{"field":"zone"}]}`, `Request validation failed: [{"field":"zone"}]`},
		"a nested error": {"application/json", `{"error":{"code":"kyc_required","message":"verify first"}}`, "kyc_required: verify first"},
		"msg":            {"application/json", `{"msg":"add a payment method","err_id":"x"}`, "add a payment method"},
		"a page":         {"text/html; charset=utf-8", "<html><body><h1>Zone has</h1> reached <b>usage limit</b></body></html>", "Zone has reached usage limit"},
		"broken JSON":    {"application/json", `{"error":`, `{"error":`},
		"an odd type":    {"text/html; =", "a <b>c</b>", "a <b>c</b>"},
		"text like HTML": {"", " <b>c</b>", "c"},
		"a late end":     {"application/json", `{"msg":"abc"` + strings.Repeat(" ", 16<<10) + `}`, `{"msg":"abc"`},
		"nothing":        {"", "", ""},
		"control bytes":  {"text/plain", "a\x00b\x1b[2Jc\u009bd", "a b [2Jc d"},
		"far too much":   {"text/plain", strings.Repeat("ä", 20_000), strings.Repeat("ä", 250) + "…"},
	} {
		if got := ErrorText(tc.kind, []byte(tc.body)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestJobPathsAndQuery(t *testing.T) {
	d := brightdata(t)
	got, err := d.JobPaths("v4", "gd_x", "sd_1")
	if want := (JobPaths{"/datasets/v4/progress/sd_1", "/datasets/v4/snapshot/sd_1", "/datasets/v4/snapshot/sd_1/cancel", "/datasets/v4/snapshot/sd_1/parts", ""}); err != nil || got != want {
		t.Errorf("%+v: %v", got, err)
	}
	for _, bad := range []string{"", "../x", "a/b", "a?b", "a\n", strings.Repeat("a", 81)} {
		if _, err := d.JobPaths("v3", "", bad); err == nil {
			t.Errorf("identifier %q stands in a path", bad)
		}
	}
	if _, err := Default().JobPaths("v3", "", "sd_1"); !errors.Is(err, ErrNotShown) {
		t.Errorf("documented: %v", err)
	}
	if d.TriggerPath("", "") != "/datasets/v3/trigger" || d.TriggerPath("v3/../x", "gd_x") != "/datasets/v3/trigger" {
		t.Error("the version segment is not held")
	}
	if d.TriggerQuery("gd_x", model.JobSettings{}).Encode() != "dataset_id=gd_x&include_errors=true" || Default().TriggerQuery("gd_x", model.JobSettings{}) != nil {
		t.Error("the dataset's query")
	}
	all := model.JobSettings{Discover: "keyword", LimitPerInput: 2, LimitTotal: 3, Notify: "https://a.test/n", Endpoint: "https://a.test/e", Format: "csv", Plain: true}
	if got := d.TriggerQuery("gd_x", all).Encode(); got != "dataset_id=gd_x&discover_by=keyword&endpoint=https%3A%2F%2Fa.test%2Fe&format=csv&include_errors=true&limit_multiple_results=3&limit_per_input=2&notify=https%3A%2F%2Fa.test%2Fn&type=discover_new&uncompressed_webhook=true" {
		t.Error(got)
	}
}

func TestJobNames(t *testing.T) {
	both := model.JobNames{Snapshot: "sd_1", JobID: "j_1", SnapshotID: "sd_1"}
	for body, want := range map[string][2]model.JobNames{ // documented, brightdata
		`{"snapshot_id":"sd_1"}`:                       {{Snapshot: "sd_1", SnapshotID: "sd_1"}, {Snapshot: "sd_1", SnapshotID: "sd_1"}},
		`{"job_id":"j_1"}`:                             {{Snapshot: "j_1", JobID: "j_1"}, {Snapshot: "j_1", JobID: "j_1"}},
		`{"job_id":"j_1","snapshot_id":"sd_1","id":7}`: {both, both},
		`{"job_id":"j_1","snapshot_id":"../../x"}`:     {{Snapshot: "j_1", JobID: "j_1"}, {Snapshot: "j_1", JobID: "j_1"}},
		`{"snapshot_id":"../../x","id":"ok1"}`:         {{Snapshot: "ok1"}, {}},
		`{"snapshot_id":".."}`:                         {},
		`{"snapshot_id":"."}`:                          {},
		`{"snapshot_id":7}`:                            {},
		`["sd_1"]`:                                     {},
		`nonsense`:                                     {},
	} {
		for i, d := range All() {
			if got, ok := d.JobNames("", []byte(body)); got != want[i] || ok != (want[i].Snapshot != "") {
				t.Errorf("%s by %s: %+v, want %+v", body, d.Name(), got, want[i])
			}
		}
	}
}

func TestReadProgress(t *testing.T) {
	for body, want := range map[string]model.JobState{
		`{"status":"starting"}`: model.JobRunning, `{"status":"building"}`: model.JobRunning, `{"status":"a word of tomorrow"}`: model.JobRunning, `{}`: model.JobRunning,
		`{"status":"ready"}`: model.JobReady, `{"status":"failed","error_message":"x"}`: model.JobFailed,
		`{"status":"canceled"}`: model.JobCanceled, `{"status":"cancelled"}`: model.JobCanceled, `{"status":"Snapshot is empty"}`: model.JobFailed,
	} {
		if got, err := Default().ReadProgress([]byte(body)); err != nil || got.State != want {
			t.Errorf("%s: %s, %v; want %s", body, got.State, err, want)
		}
	}
	p, err := Default().ReadProgress([]byte(`{"status":"running","inputs":200,"inputs_done":3,"records":-7}`))
	if err != nil || p.Inputs != 200 || p.Done != 3 || p.Records != -1 {
		t.Errorf("%+v: %v", p, err)
	}
	if _, err := Default().ReadProgress([]byte("<html>")); err == nil {
		t.Error("a page is taken for progress")
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add("200", "captcha", "client_10000", "text", `p; error="x"; details="client_10000: y"`, "30", "1.2.3.4")
	f.Add("", "", "", "", `a;b="\`, "Sat, 21 Nov 2026 12:01:00 GMT", "::1%eth0")
	f.Fuzz(func(t *testing.T, status, code, errCode, text, proxy, retry, ip string) {
		h := http.Header{headStatus: {status}, headErrorCode: {code}, headErrCode: {errCode}, headError: {text}, headProxy: {proxy}, headRetry: {retry}, headIP: {ip}}
		for _, d := range All() {
			r := d.ReadHeader(h, time.Unix(0, 0))
			if r.RetryAfter < 0 || r.RetryAfter > maxRetryAfter {
				t.Errorf("Retry-After %q becomes %v", retry, r.RetryAfter)
			}
			if r.TargetStatus != 0 && (r.TargetStatus < 100 || r.TargetStatus > 999) {
				t.Errorf("status %d", r.TargetStatus)
			}
			if _, ok := word(r.Code); r.Code != "" && !ok {
				t.Errorf("code %q", r.Code)
			}
			for _, s := range append([]string{r.Text, r.Exit}, r.Evidence...) {
				if len(s) > maxText+100 || !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\r\n\u009b") {
					t.Errorf("text %q", s)
				}
			}
		}
	})
}

func FuzzErrorText(f *testing.F) {
	f.Add("application/json", []byte(`{"error":{"code":"a","message":"b"}}`))
	f.Add("text/html", []byte("<<>><a"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		s := ErrorText(kind, body)
		if len(s) > maxText+4 || !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\x1b\r\n\u009b") {
			t.Errorf("%q", s)
		}
	})
}

func TestAWordCannotLeadAPathElsewhere(t *testing.T) {
	for _, s := range []string{"a", "z", "A", "Z", "0", "9", "a_-.", ".a", strings.Repeat("a", 80)} {
		if got, ok := word(s); !ok || got != s {
			t.Errorf("%q: %q, %t", s, got, ok)
		}
	}
	for _, s := range []string{"", ".", "..", "...", "a/b", "a b", "`", "{", "@", "[", ":", "é", "a\n", strings.Repeat("a", 81)} {
		if got, ok := word(s); ok || got != "" {
			t.Errorf("%q: %q, %t", s, got, ok)
		}
	}
}

func TestProxyStatusIsReadMemberByMember(t *testing.T) {
	for in, want := range map[string][2]string{
		"":                                     {"", ""},
		",":                                    {"", ""},
		`a; error=dns_error`:                   {"", "dns_error"},
		`a; details="just a text"`:             {"", "just a text"},
		`a; details="c_1: text"`:               {"c_1", "text"},
		`a; details="two words: text"`:         {"", "two words: text"},
		`a; details="c_1:"; error=dns`:         {"c_1", "dns"},
		`a; error=one, b; error=two`:           {"", "two"},
		`,error=two`:                           {"", "two"},
		`"a,b;error=no"; error=yes`:            {"", "yes"},
		`a; details="c_1: x", b; hit`:          {"c_1", "x"},
		`a; details="c_1: x", b; error="none"`: {"", "none"},
		`a; details="q\\"; error=e`:            {"", `q\`},
		`a; details="no end`:                   {"", "no end"},
		`a; details="no end\`:                  {"", `no end\`},
	} {
		if code, text, _ := proxyStatus(http.Header{headProxy: {in}}); [2]string{code, text} != want {
			t.Errorf("%s: %q, %q; want %q", in, code, text, want)
		}
	}
}

func TestEscapesInANameCountAsWhatTheyStandFor(t *testing.T) {
	var b bytes.Buffer
	if w, err := Unwrap(strings.NewReader(`{"status_c\u006fde":200,"b\u006fdy":"page"}`), &b); err != nil || w.StatusCode != http.StatusOK || b.String() != "page" {
		t.Errorf("%+v, %q, %v", w, b.String(), err)
	}
	name := func(n int) string { return `{"` + strings.Repeat("n", n-2) + `\u00e4":1,"body":"b"}` } // "ä" is two bytes
	if _, err := Unwrap(strings.NewReader(name(256)), io.Discard); err != nil {
		t.Errorf("a name at the bound: %v", err)
	}
	if _, err := Unwrap(strings.NewReader(name(257)), io.Discard); !errors.Is(err, errTooLong) {
		t.Errorf("a name beyond the bound: %v", err)
	}
}

func TestAListOfDialectsIsQuoted(t *testing.T) {
	if WithJobs() != `"brightdata"` || WithDatasets() != `"brightdata"` || quoted(func(Dialect) bool { return true }) != `"documented" or "brightdata"` {
		t.Errorf("%s, %s", WithJobs(), WithDatasets())
	}
}

func TestATextOfTheServiceIsCutAtItsBound(t *testing.T) {
	for n, want := range map[int]string{500: strings.Repeat("a", 500), 501: strings.Repeat("a", 500) + "…"} {
		if got := ErrorText("text/plain", []byte(strings.Repeat("a", n))); got != want {
			t.Errorf("%d bytes became %d", n, len(got))
		}
	}
}

func TestEveryDialectSendsAllBeyondTheContractOrNothing(t *testing.T) {
	for _, d := range All() {
		s := d.Sends()
		if s.Exit != s.Target || s.Dataset != s.Target || s.InputFields != s.Target {
			t.Errorf("%s: %+v", d.Name(), s)
		}
	}
}
