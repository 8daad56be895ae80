package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/model/modeltest"
)

// corpusDir holds one response per file: what it shows, the outcome, the expected
// diagnosis, and the body.
const corpusDir = "../testdata/diagnosis"

func TestCorpusIsClassified(t *testing.T) {
	cases := modeltest.Corpus(t, corpusDir)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			d := model.Diagnose(c.Outcome)
			if d.Class != c.Want.Class || d.Cause != c.Want.Cause || d.Rule != c.Want.Rule {
				t.Fatalf("got %s/%s by %s, want %s/%s by %s\nevidence %+v", d.Class, d.Cause, d.Rule, c.Want.Class, c.Want.Cause, c.Want.Rule, d.Evidence)
			}
			if problem := wellFormed(d, c.Outcome); problem != "" {
				t.Error(problem)
			}
			got := modeltest.WantOf(d, c.Outcome.BodyHead)
			if *model.Update {
				c.Rewrite(t, got)
			} else if got, want := got.String(), c.Want.String(); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func actions(steps []model.Step) []model.Action {
	var out []model.Action
	for _, s := range steps {
		out = append(out, s.Action)
	}
	return out
}

func TestCorpusCoversEveryClassCauseAndRule(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range modeltest.Corpus(t, corpusDir) {
		seen["class "+string(c.Want.Class)] = true
		seen["cause "+string(c.Want.Cause)] = true
		seen["rule "+c.Want.Rule] = true
	}
	var need []string
	for _, class := range model.Classes() {
		need = append(need, "class "+string(class))
		for _, cause := range class.Causes() {
			need = append(need, "cause "+string(cause))
		}
	}
	for _, r := range model.DiagnosisRules() {
		need = append(need, "rule "+r.Name)
	}
	for _, n := range need {
		if !seen[n] {
			t.Errorf("the corpus has no case for %s", n)
		}
	}
}

// wellFormed says what is wrong with a diagnosis, whatever the outcome was.
func wellFormed(d model.Diagnosis, o model.Outcome) string {
	causes := d.Class.Causes()
	switch {
	case !slices.Contains(model.Classes(), d.Class):
		return fmt.Sprintf("unknown class %q", d.Class)
	case d.Cause == model.CauseNone && len(causes) > 0 && d.Class != model.ClassAccessRestricted:
		return fmt.Sprintf("%s without a cause", d.Class)
	case d.Cause != model.CauseNone && !slices.Contains(causes, d.Cause):
		return fmt.Sprintf("%s with the cause %q", d.Class, d.Cause)
	case d.Summary == "" || d.Rule == "":
		return "no summary or no rule"
	case d.OK() != (len(d.Steps) == 0):
		return fmt.Sprintf("%s with %d steps", d.Class, len(d.Steps))
	case d.RetryAfter != 0 && !d.Retry:
		return "a wait without a retry"
	case d.Retry && !slices.Contains(actions(d.Steps), model.ActionRetry):
		return "a retry that is not offered"
	}
	for _, status := range []int{o.ServiceStatus, o.TargetStatus} {
		if status == 403 && d.Class != model.ClassAccessRestricted {
			return fmt.Sprintf("a 403 is %s", d.Class)
		}
		if refused := status == 401 || status == 407 || status == 403; refused && d.Retry && d.Class != model.ClassTooFast && status == o.ServiceStatus {
			return fmt.Sprintf("a %d of the service is retried", status)
		}
	}
	for _, s := range d.Steps {
		if s.Text == "" || s.Action == "" || s.Documented && d.Class == model.ClassOutside {
			return fmt.Sprintf("step %+v", s)
		}
	}
	for _, e := range d.Evidence {
		switch e.Kind {
		case "status", "service_status", "header", "body", "error", "timing", "note":
		default:
			return fmt.Sprintf("evidence of kind %q", e.Kind)
		}
		if e.Text == "" || len(e.Text) > 380 {
			return fmt.Sprintf("evidence of %d bytes", len(e.Text))
		}
		if e.Offset < 0 || e.Length < 0 || e.Offset+e.Length > int64(len(o.BodyHead)) || e.Length > 0 && e.Kind != "body" {
			return fmt.Sprintf("evidence %+v is not in the body of %d bytes", e, len(o.BodyHead))
		}
	}
	return ""
}

func TestEveryStatusHasOneClass(t *testing.T) {
	for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
		for service := -1; service < 1000; service++ {
			for _, target := range []int{0, 200, 403, 404, 429, 502} {
				o := model.Outcome{Via: via, ServiceStatus: service, TargetStatus: target}
				if problem := wellFormed(model.Diagnose(o), o); problem != "" {
					t.Fatalf("%s %d/%d: %s", via, service, target, problem)
				}
			}
		}
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	long := strings.Repeat("é\x1b[31m", 1000)
	o := model.Outcome{
		Via: model.ViaAPI, ServiceStatus: 400, ServiceText: long, ServiceCode: long, BrokeText: long, Broke: "odd",
		HeaderEvidence: slices.Repeat([]string{long}, 100), MissingFields: slices.Repeat([]string{long}, 1000),
		ContentType: "text/html", BodyHead: []byte(strings.Repeat(`<div class="g-recaptcha h-captcha">`, 1000)),
	}
	o.BodySize = int64(len(o.BodyHead))
	d := model.Diagnose(o)
	if problem := wellFormed(d, o); problem != "" {
		t.Error(problem)
	}
	if len(d.Evidence) > 40 {
		t.Errorf("%d pieces of evidence", len(d.Evidence))
	}
}

func FuzzDiagnose(f *testing.F) {
	for _, c := range modeltest.Corpus(f, corpusDir) {
		o := c.Outcome
		f.Add(o.Via == model.ViaNative, o.ServiceStatus, o.TargetStatus, string(o.Broke), string(o.ServiceClass), string(o.ServiceCause),
			o.ServiceCode, o.ServiceText, strings.Join(o.HeaderEvidence, "\n"), o.Location, strings.Join(o.Cookies, "\n"), o.ContentType, o.BodyHead, o.More, o.Incomplete, int64(o.RetryAfter))
	}
	f.Fuzz(func(t *testing.T, native bool, service, target int, broke, class, cause, code, text, headers, location, cookies, contentType string,
		body []byte, more, incomplete bool, retryAfter int64,
	) {
		o := model.Outcome{
			Via: model.ViaAPI, ServiceStatus: service, TargetStatus: target, Broke: model.Breakage(broke), ServiceClass: model.Class(class), ServiceCause: model.Cause(cause),
			ServiceCode: code, ServiceText: text, HeaderEvidence: strings.Split(headers, "\n"), ContentType: contentType,
			Location: location, Cookies: strings.Split(cookies, "\n"),
			BodyHead: body, More: more, BodySize: int64(len(body)), Incomplete: incomplete, RetryAfter: time.Duration(retryAfter),
		}
		if native {
			o.Via = model.ViaNative
		}
		d := model.Diagnose(o)
		if problem := wellFormed(d, o); problem != "" {
			t.Fatalf("%s\n%+v", problem, d)
		}
	})
}

// The verdicts that no outcome of a call leads to keep to the classes and causes, too.
func TestVerdictsOnJobsAreWellFormed(t *testing.T) {
	for _, d := range []model.Diagnosis{
		model.NotOver(time.Hour, ""), model.PreviewNotOver(time.Hour, "running"), model.JobForgotten(model.Diagnosis{}),
		model.JobFailedFault("x").Diagnosis, model.NoIdentifier(model.CallTrigger, 200), model.PreviewEnded(model.JobFailed, "x"),
	} {
		if problem := wellFormed(d, model.Outcome{}); problem != "" {
			t.Errorf("%s: %s", d.Rule, problem)
		}
	}
	for _, r := range model.DiagnosisRules() {
		if r.Class != "" && r.Cause != model.CauseNone && !slices.Contains(r.Class.Causes(), r.Cause) {
			t.Errorf("%s: %s does not have the cause %s", r.Name, r.Class, r.Cause)
		}
	}
}
