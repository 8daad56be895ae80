package model

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// corpusDir holds one response per file: what it shows, the outcome, the expected
// diagnosis, and the body.
const corpusDir = "../testdata/diagnosis"

var update = flag.Bool("update", false, "write what the corpus wants beside class, cause and rule")

// corpusOutcome is an Outcome as the corpus writes it.
type corpusOutcome struct {
	Via           Via      `json:"via"`
	Product       Product  `json:"product"`
	Verified      bool     `json:"identity_verified"`
	Broke         Breakage `json:"broke"`
	BrokeText     string   `json:"broke_text"`
	Peer          string   `json:"peer"`
	ServiceStatus int      `json:"service_status"`
	TargetStatus  int      `json:"target_status"`
	Code          string   `json:"code"`
	Text          string   `json:"text"`
	ServiceClass  Class    `json:"service_class"`
	ServiceCause  Cause    `json:"service_cause"`
	ReadBy        string   `json:"read_by"`
	Unread        string   `json:"unread"`
	Headers       []string `json:"headers"`
	Location      string   `json:"location"`
	Cookies       []string `json:"cookies"`
	ContentType   string   `json:"content_type"`
	Incomplete    bool     `json:"incomplete"`
	Head          bool     `json:"head"`
	Required      []string `json:"required"`
	Missing       []string `json:"missing"`
	RetryAfter    string   `json:"retry_after"`
	Elapsed       string   `json:"elapsed"`
	Timeout       string   `json:"timeout"`
}

// corpusWant is a whole Diagnosis as the corpus writes it. Class, cause and rule
// are written by hand, the rest by -update.
type corpusWant struct {
	Class      Class    `json:"class"`
	Cause      Cause    `json:"cause,omitempty"`
	Rule       string   `json:"rule"`
	Retry      bool     `json:"retry,omitempty"`
	RetryAfter string   `json:"retry_after,omitempty"`
	Summary    string   `json:"summary"`
	Steps      []string `json:"steps,omitempty"`
	Evidence   []string `json:"evidence,omitempty"` // with what it points at in the body
}

func wantOf(d Diagnosis, body []byte) corpusWant {
	w := corpusWant{Class: d.Class, Cause: d.Cause, Rule: d.Rule, Retry: d.Retry, Summary: d.Summary}
	if d.RetryAfter != 0 {
		w.RetryAfter = d.RetryAfter.String()
	}
	for _, s := range d.Steps {
		action := string(s.Action)
		if s.Documented {
			action += " (documented)"
		}
		w.Steps = append(w.Steps, action+": "+s.Text)
	}
	for _, e := range d.Evidence {
		text := e.Kind + ": " + e.Text
		if e.Length > 0 {
			text += fmt.Sprintf(" at %q", body[e.Offset:e.Offset+e.Length])
		}
		w.Evidence = append(w.Evidence, text)
	}
	return w
}

func (w corpusWant) text(tb testing.TB) string {
	tb.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(w); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

type corpusCase struct {
	name    string
	outcome Outcome
	want    corpusWant
}

func loadCorpus(tb testing.TB) []corpusCase {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(corpusDir, "*.txtar"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no corpus in %s: %v", corpusDir, err)
	}
	cases := make([]corpusCase, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		cases = append(cases, readCase(tb, strings.TrimSuffix(filepath.Base(file), ".txtar"), text))
	}
	return cases
}

// readCase reads one file: a line that says what it shows, then the sections
// "-- outcome.json --", "-- want.json --" and, when there is a body, "-- body --".
func readCase(tb testing.TB, name string, text []byte) corpusCase {
	tb.Helper()
	shows, rest, ok := bytes.Cut(text, []byte("-- outcome.json --\n"))
	outcome, rest, ok2 := bytes.Cut(rest, []byte("-- want.json --\n"))
	want, body, _ := bytes.Cut(rest, []byte("-- body --\n"))
	if len(bytes.TrimSpace(shows)) == 0 || !ok || !ok2 {
		tb.Fatalf("%s does not say what it shows, or lacks a section", name)
	}
	c := corpusCase{name: name}
	var in corpusOutcome
	strictJSON(tb, name, outcome, &in)
	strictJSON(tb, name, want, &c.want)
	body = bytes.ReplaceAll(body, []byte("{{prose}}"), prose())
	c.outcome = Outcome{
		Via: in.Via, Zone: Zone{Name: "z", Product: in.Product, IdentityVerified: in.Verified},
		Broke: in.Broke, BrokeText: in.BrokeText, Peer: in.Peer,
		ServiceStatus: in.ServiceStatus, TargetStatus: in.TargetStatus,
		ServiceCode: in.Code, ServiceText: in.Text, ServiceClass: in.ServiceClass, ServiceCause: in.ServiceCause,
		ReadBy: in.ReadBy, Unread: in.Unread,
		HeaderEvidence: in.Headers, Location: in.Location, Cookies: in.Cookies, ContentType: in.ContentType, BodyHead: body, BodySize: int64(len(body)),
		Incomplete: in.Incomplete, HeadMethod: in.Head, RequiredFields: in.Required, MissingFields: in.Missing,
		RetryAfter: duration(tb, in.RetryAfter), Elapsed: duration(tb, in.Elapsed), Timeout: duration(tb, in.Timeout),
	}
	return c
}

func strictJSON(tb testing.TB, name string, b []byte, to any) {
	tb.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
}

func duration(tb testing.TB, s string) time.Duration {
	tb.Helper()
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// prose is more text than a challenge page has.
func prose() []byte {
	var b bytes.Buffer
	for i := range 160 {
		fmt.Fprintf(&b, "<p>Chair number %d is made of oak and stands in the garden.</p>\n", i)
	}
	return b.Bytes()
}

func TestCorpusIsClassified(t *testing.T) {
	cases := loadCorpus(t)
	if len(cases) < 60 {
		t.Errorf("%d cases, fewer than 60", len(cases))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := Diagnose(c.outcome)
			if d.Class != c.want.Class || d.Cause != c.want.Cause || d.Rule != c.want.Rule {
				t.Fatalf("got %s/%s by %s, want %s/%s by %s\nevidence %+v", d.Class, d.Cause, d.Rule, c.want.Class, c.want.Cause, c.want.Rule, d.Evidence)
			}
			if problem := wellFormed(d, c.outcome); problem != "" {
				t.Error(problem)
			}
			got := wantOf(d, c.outcome.BodyHead).text(t)
			if *update {
				c.rewrite(t, got)
			} else if want := c.want.text(t); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// rewrite replaces the expected diagnosis in the case's file.
func (c corpusCase) rewrite(t *testing.T, want string) {
	t.Helper()
	file := filepath.Join(corpusDir, c.name+".txtar")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "-- want.json --\n")
	if at := strings.Index(rest, "-- body --\n"); at >= 0 {
		want += rest[at:]
	}
	if err := os.WriteFile(file, []byte(head+"-- want.json --\n"+want), 0o600); err != nil {
		t.Fatal(err)
	}
}

func actions(steps []Step) []Action {
	var out []Action
	for _, s := range steps {
		out = append(out, s.Action)
	}
	return out
}

func TestCorpusCoversEveryClassCauseAndRule(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range loadCorpus(t) {
		seen["class "+string(c.want.Class)] = true
		seen["cause "+string(c.want.Cause)] = true
		seen["rule "+c.want.Rule] = true
	}
	var need []string
	for _, class := range Classes() {
		need = append(need, "class "+string(class))
		for _, cause := range class.Causes() {
			need = append(need, "cause "+string(cause))
		}
	}
	for _, r := range DiagnosisRules() {
		need = append(need, "rule "+r.Name)
	}
	for _, n := range need {
		if !seen[n] {
			t.Errorf("the corpus has no case for %s", n)
		}
	}
}
