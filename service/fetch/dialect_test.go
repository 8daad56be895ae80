package fetch

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/servicetest"
)

func TestHeadersThatTheContractDoesNotShowAreReadOrCitedAndNeverPassedOver(t *testing.T) {
	const (
		readBy = "note: read by dialect brightdata; the contract does not show it"
		hidden = "status: the target's status is not shown"
		choose = "choose the dialect brightdata"
	)
	for name, tc := range map[string]struct {
		dialect string
		head    map[string]string
		class   model.Class
		cause   model.Cause
		status  int
		says    string // a line of evidence
		step    string
	}{
		"nothing said, named":               {"documented", nil, model.ClassOK, "", 0, hidden, ""},
		"nothing said, unnamed":             {"", nil, model.ClassOK, "", 0, hidden, ""},
		"nothing said, the other dialect":   {"brightdata", nil, model.ClassOK, "", 0, hidden, ""},
		"nothing said with a 204":           {"documented", map[string]string{":status": "204"}, model.ClassOutside, model.CauseEmptyBody, 0, hidden, "the page may need one that renders"},
		"a code, unnamed":                   {"", map[string]string{"x-brd-error-code": "captcha", "x-brd-status-code": "502"}, model.ClassCaptcha, "", 502, readBy, "slow down"},
		"a code, named":                     {"documented", map[string]string{"x-brd-error-code": "captcha", "x-brd-status-code": "502"}, model.ClassOutside, model.CauseUnrecognised, 502, "header: x-brd-error-code: captcha", choose},
		"a code without a status, named":    {"documented", map[string]string{"x-brd-err-code": "policy_20050"}, model.ClassOutside, model.CauseServiceError, 0, "header: x-brd-err-code: policy_20050", choose},
		"200, unnamed":                      {"", map[string]string{"x-brd-status-code": "200"}, model.ClassOK, "", 200, readBy, ""},
		"200, named":                        {"documented", map[string]string{"x-brd-status-code": "200"}, model.ClassOK, "", 200, "header: x-brd-status-code: 200", ""},
		"403, unnamed":                      {"", map[string]string{"x-brd-status-code": "403"}, model.ClassAccessRestricted, model.CauseSiteBlock, 403, readBy, "unlocker"},
		"403, named":                        {"documented", map[string]string{"x-brd-status-code": "403"}, model.ClassAccessRestricted, "", 403, "status: 403 Forbidden reported by the service", choose},
		"429, named":                        {"documented", map[string]string{"x-brd-status-code": "429"}, model.ClassTooFast, "", 429, "header: x-brd-status-code: 429", choose},
		"404, named":                        {"documented", map[string]string{"x-brd-status-code": "404"}, model.ClassOutside, model.CauseUnrecognised, 404, "header: x-brd-status-code: 404", choose},
		"Proxy-Status, unnamed":             {"", map[string]string{"Proxy-Status": `x; received-status=403; error=http_request_denied; details="policy_20050: no"`}, model.ClassAccessRestricted, model.CausePolicy, 0, readBy, "unlocker"},
		"Proxy-Status, named":               {"documented", map[string]string{"Proxy-Status": `x; received-status=403; error=http_request_denied`}, model.ClassAccessRestricted, "", 403, "header: proxy-status: x; received-status=403; error=http_request_denied", choose},
		"Proxy-Status without an error":     {"documented", map[string]string{"Proxy-Status": `cache; hit`}, model.ClassOK, "", 0, hidden, ""},
		"a refusal of the service, named":   {"documented", map[string]string{":status": "401", "x-brd-err-code": "client_10000"}, model.ClassOutside, model.CauseKeyRejected, 0, "header: x-brd-err-code: client_10000", choose},
		"a page's 500, and the name for it": {"brightdata", map[string]string{"x-brd-status-code": "500"}, model.ClassOutside, model.CauseTargetError, 500, "header: x-brd-status-code: 500", "check the URL"},
	} {
		t.Run(name, func(t *testing.T) {
			p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
				status := http.StatusOK
				for name, value := range tc.head {
					if name == ":status" {
						status, _ = strconv.Atoi(value)
						continue
					}
					w.Header().Set(name, value)
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, servicetest.Page)
			})
			p.Dialect = tc.dialect
			r := askFor(p, "dc1")
			r.Retries = 0
			res := fetched(t, newFetcher(t, p), r)
			wantVerdict(t, res, tc.class, tc.cause)
			if res.Status != tc.status || res.Attempts[0].Status != tc.status {
				t.Errorf("status %d, want %d", res.Status, tc.status)
			}
			lines := make([]string, 0, len(res.Diagnosis.Evidence))
			for _, e := range res.Diagnosis.Evidence {
				lines = append(lines, e.Kind+": "+e.Text)
			}
			if !slices.Contains(lines, tc.says) || slices.Contains(lines, readBy) != (tc.says == readBy) {
				t.Errorf("the evidence is %q, without %q", lines, tc.says)
			}
			var steps []string
			for _, s := range res.Diagnosis.Steps {
				steps = append(steps, s.Text)
			}
			if got := strings.Join(steps, "; "); !strings.Contains(got, tc.step) || strings.Contains(got, choose) != (tc.step == choose) {
				t.Errorf("the steps are %q, want %q", got, tc.step)
			}
		})
	}
}

func TestRequiredFieldsAreLookedForInAPageOfUnknownStatus(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, servicetest.Page)
	})
	p.Dialect = "documented"
	r := askFor(p, "dc1")
	r.Required = []string{".no-such-thing"}
	res := fetched(t, newFetcher(t, p), r)
	wantVerdict(t, res, model.ClassParsingDrift, model.CauseMissingFields)
}

// A status that a header tells is not the status that the answer has.
func TestTheStatusOfAnAnswerThroughTheProxyIsNotCalledAHeaders(t *testing.T) {
	for name, tc := range map[string]struct {
		head string
		want string
	}{
		"the answer's own":   {"", "403 Forbidden from the target"},
		"told by the header": {"403", "403 Forbidden reported by the service"},
	} {
		t.Run(name, func(t *testing.T) {
			p := nativeProfile(t, &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("x-brd-ip", "203.0.113.8")
				status := http.StatusForbidden
				if tc.head != "" {
					w.Header().Set("x-brd-status-code", tc.head)
					status = http.StatusOK
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, servicetest.Page)
			})})
			p.Dialect = "documented"
			res := fetched(t, newFetcher(t, p), native(p, "http://lab.test/"))
			cause, told := model.CauseSiteBlock, tc.head != ""
			if told {
				cause = ""
			}
			wantVerdict(t, res, model.ClassAccessRestricted, cause)
			d := res.Diagnosis
			choose := slices.ContainsFunc(d.Steps, func(s model.Step) bool { return s.Action == model.ActionDialect })
			if d.Evidence[0].Text != tc.want || strings.Contains(d.Summary, "header") != told || choose != told {
				t.Errorf("%q, evidence %v, steps %v", d.Summary, d.Evidence, d.Steps)
			}
		})
	}
}
