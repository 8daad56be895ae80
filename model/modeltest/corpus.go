// Package modeltest reads the corpus of outcomes, testdata/diagnosis, for tests.
package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

// Case is one file of the corpus: a line that says what it shows, then the sections
// outcome.json, want.json and, when there is a body, body.
type Case struct {
	Name    string // of the file, without its ending
	Outcome model.Outcome
	Want    Want
	// Truth is what the answer really is. It is another class than the wanted one where the
	// rules are known to be wrong.
	Truth model.Class
	// Shows is what the case shows, in a sentence.
	Shows string

	file, before, after string // what stands before and behind want.json
}

// outcome is a model.Outcome as the corpus writes it.
type outcome struct {
	Via           model.Via      `json:"via"`
	Product       model.Product  `json:"product"`
	Verified      bool           `json:"identity_verified"`
	Broke         model.Breakage `json:"broke"`
	BrokeText     string         `json:"broke_text"`
	Peer          string         `json:"peer"`
	ServiceStatus int            `json:"service_status"`
	TargetStatus  int            `json:"target_status"`
	Code          string         `json:"code"`
	Text          string         `json:"text"`
	ServiceClass  model.Class    `json:"service_class"`
	ServiceCause  model.Cause    `json:"service_cause"`
	ReadBy        string         `json:"read_by"`
	Unread        string         `json:"unread"`
	Headers       []string       `json:"headers"`
	Location      string         `json:"location"`
	Cookies       []string       `json:"cookies"`
	ContentType   string         `json:"content_type"`
	Charset       string         `json:"charset"`
	Undecoded     string         `json:"undecoded"`
	Incomplete    bool           `json:"incomplete"`
	Head          bool           `json:"head"`
	InProgress    string         `json:"in_progress"`
	Collect       string         `json:"collect"`
	Required      []string       `json:"required"`
	Missing       []string       `json:"missing"`
	RetryAfter    duration       `json:"retry_after"`
	Elapsed       duration       `json:"elapsed"`
	Timeout       duration       `json:"timeout"`
	Truth         model.Class    `json:"truth"`
}

// duration is like "1.5s".
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	*d = duration(read)
	return err
}

// Want is a whole model.Diagnosis as the corpus writes it. Class, cause and rule are
// written by hand, the rest by Case.Rewrite.
type Want struct {
	Class      model.Class `json:"class"`
	Cause      model.Cause `json:"cause,omitempty"`
	Rule       string      `json:"rule"`
	Retry      bool        `json:"retry,omitempty"`
	RetryAfter string      `json:"retry_after,omitempty"`
	Summary    string      `json:"summary"`
	Steps      []string    `json:"steps,omitempty"`
	Evidence   []string    `json:"evidence,omitempty"` // with what it points at in the body
}

// WantOf writes a diagnosis of an outcome with that body.
func WantOf(d model.Diagnosis, body []byte) Want {
	w := Want{Class: d.Class, Cause: d.Cause, Rule: d.Rule, Retry: d.Retry, Summary: d.Summary}
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
		if e.Length > 0 { // it points at a place in the body
			text += fmt.Sprintf(" at %q", body[e.Offset:e.Offset+e.Length])
		}
		w.Evidence = append(w.Evidence, text)
	}
	return w
}

// String is the section want.json.
func (w Want) String() string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(w); err != nil {
		return err.Error()
	}
	return b.String()
}

// Corpus reads the cases in a folder.
func Corpus(tb testing.TB, dir string) []Case {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no corpus in %s: %v", dir, err)
	}
	cases := make([]Case, 0, len(files))
	for _, file := range files {
		c, err := read(file)
		if err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		cases = append(cases, c)
	}
	return cases
}

func read(file string) (Case, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return Case{}, err
	}
	const outcomeMark, wantMark, bodyMark = "-- outcome.json --\n", "-- want.json --\n", "-- body --\n"
	shows, rest, ok := strings.Cut(string(raw), outcomeMark)
	said, rest, ok2 := strings.Cut(rest, wantMark)
	want, body, hasBody := strings.Cut(rest, bodyMark)
	if strings.TrimSpace(shows) == "" || !ok || !ok2 {
		return Case{}, errors.New("it does not say what it shows, or lacks a section")
	}
	c := Case{Name: strings.TrimSuffix(filepath.Base(file), ".txtar"), file: file, before: shows + outcomeMark + said + wantMark}
	if hasBody {
		c.after = bodyMark + body
	}
	if err := strict(want, &c.Want); err != nil {
		return Case{}, err
	}
	var in outcome
	if err := strict(said, &in); err != nil {
		return Case{}, err
	}
	c.Outcome, c.Shows = in.outcome(strings.ReplaceAll(body, "{{prose}}", prose())), strings.TrimSpace(shows)
	if c.Truth = c.Want.Class; in.Truth != "" {
		c.Truth = in.Truth
	}
	return c, nil
}

func (in outcome) outcome(body string) model.Outcome {
	return model.Outcome{
		Via: in.Via, Zone: model.Zone{Name: "z", Product: in.Product, IdentityVerified: in.Verified},
		Broke: in.Broke, BrokeText: in.BrokeText, Peer: in.Peer,
		ServiceStatus: in.ServiceStatus, TargetStatus: in.TargetStatus,
		ServiceCode: in.Code, ServiceText: in.Text, ServiceClass: in.ServiceClass, ServiceCause: in.ServiceCause,
		ReadBy: in.ReadBy, Unread: in.Unread, Charset: in.Charset, Undecoded: in.Undecoded,
		HeaderEvidence: in.Headers, Location: in.Location, Cookies: in.Cookies, ContentType: in.ContentType,
		BodyHead: []byte(body), BodySize: int64(len(body)),
		Incomplete: in.Incomplete, HeadMethod: in.Head, InProgress: model.InProgress{Says: in.InProgress, Collect: in.Collect}, RequiredFields: in.Required, MissingFields: in.Missing,
		RetryAfter: time.Duration(in.RetryAfter), Elapsed: time.Duration(in.Elapsed), Timeout: time.Duration(in.Timeout),
	}
}

func strict(text string, to any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// prose is more text than a challenge page has.
func prose() string {
	var b strings.Builder
	for i := range 160 {
		fmt.Fprintf(&b, "<p>Chair number %d is made of oak and stands in the garden.</p>\n", i)
	}
	return b.String()
}

// Rewrite replaces what the case wants in its file.
func (c Case) Rewrite(tb testing.TB, want Want) {
	tb.Helper()
	if err := os.WriteFile(c.file, []byte(c.before+want.String()+c.after), 0o600); err != nil {
		tb.Fatal(err)
	}
}
