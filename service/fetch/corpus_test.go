package fetch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/profile"
	"zonedeck/service/servicetest"
)

// answered is a case of the corpus of diagnoses (testdata/diagnosis) that an answer
// of a target can bring about: what the target sends, and what is wanted.
type answered struct {
	name    string
	via     model.Via
	service int // as the case has it, 0 for none
	status  int
	raw     bool // the target's status is not shown
	header  http.Header
	body    []byte
	want    wanted
}

// wanted is a whole diagnosis as the corpus writes it.
type wanted struct {
	Class      model.Class `json:"class"`
	Cause      model.Cause `json:"cause"`
	Rule       string      `json:"rule"`
	Retry      bool        `json:"retry"`
	RetryAfter string      `json:"retry_after"`
	Summary    string      `json:"summary"`
	Steps      []string    `json:"steps"`
	Evidence   []string    `json:"evidence"`
}

// wantedOf writes a diagnosis as the corpus does. Length 0 is no place in the body.
func wantedOf(d model.Diagnosis, body []byte) wanted {
	w := wanted{Class: d.Class, Cause: d.Cause, Rule: d.Rule, Retry: d.Retry, Summary: d.Summary}
	if d.RetryAfter != 0 {
		w.RetryAfter = d.RetryAfter.String()
	}
	for _, s := range d.Steps {
		documented := ""
		if s.Documented {
			documented = " (documented)"
		}
		w.Steps = append(w.Steps, string(s.Action)+documented+": "+s.Text)
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

// answeredCases reads the cases. Left out are those in which the service itself
// speaks, something breaks, or the body is not what the case is about.
func answeredCases(t *testing.T) []answered {
	t.Helper()
	files, err := filepath.Glob("../../testdata/diagnosis/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var cases []answered
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := bytes.Cut(text, []byte("-- outcome.json --\n"))
		outcome, rest, _ := bytes.Cut(rest, []byte("-- want.json --\n"))
		want, body, _ := bytes.Cut(rest, []byte("-- body --\n"))
		var in struct {
			Via         model.Via     `json:"via"`
			Product     model.Product `json:"product"`
			Broke       string        `json:"broke"`
			Service     int           `json:"service_status"`
			Target      int           `json:"target_status"`
			Code        string        `json:"code"`
			ReadBy      string        `json:"read_by"`
			Unread      string        `json:"unread"`
			Text        string        `json:"text"`
			Headers     []string      `json:"headers"`
			Location    string        `json:"location"`
			Cookies     []string      `json:"cookies"`
			ContentType string        `json:"content_type"`
			Head        bool          `json:"head"`
			Required    []string      `json:"required"`
			Missing     []string      `json:"missing"`
			Incomplete  bool          `json:"incomplete"`
			RetryAfter  string        `json:"retry_after"`
		}
		c := answered{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), header: http.Header{}}
		if err := json.Unmarshal(outcome, &in); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err := json.Unmarshal(want, &c.want); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if in.Broke != "" || in.Code != "" || in.Text != "" || in.Incomplete || in.Head || in.RetryAfter != "" || in.Required != nil || in.Missing != nil ||
			in.Product != "" || in.ReadBy != "" || in.Unread != "" || in.Target == 0 && (in.Via != model.ViaAPI || in.Service == 0) || in.Service != 0 && in.Service != http.StatusOK || c.want.Retry {
			continue
		}
		c.via, c.service, c.status, c.raw = in.Via, in.Service, in.Target, in.Target == 0
		if c.raw {
			c.status = in.Service
		}
		c.body = bytes.ReplaceAll(body, []byte("{{prose}}"), bytes.Repeat([]byte("<p>A chair of oak stands in the garden.</p>\n"), 250))
		c.header["Content-Type"] = nil // not guessed by net/http
		for _, h := range in.Headers {
			name, value, _ := strings.Cut(h, ": ")
			c.header.Set(name, value)
		}
		if in.ContentType != "" {
			c.header.Set("Content-Type", in.ContentType)
		}
		if in.Location != "" {
			c.header.Set("Location", in.Location)
		}
		for _, name := range in.Cookies {
			c.header.Add("Set-Cookie", name+"=not-to-be-seen; Path=/")
		}
		cases = append(cases, c)
	}
	return cases
}

// send answers as the case's target does.
func (c answered) send(w http.ResponseWriter) {
	for name, values := range c.header {
		w.Header()[name] = values
	}
	w.WriteHeader(c.status)
	_, _ = w.Write(c.body)
}

// inner is the evidence without what follows from the way that an answer took.
func inner(evidence []string) []string {
	return slices.DeleteFunc(slices.Clone(evidence), func(e string) bool {
		return strings.HasPrefix(e, "service_status: ") || strings.HasPrefix(e, "status: ")
	})
}

// TestTheCorpusOverSockets serves what the corpus's targets send over loopback, and
// fetches it by API (format "json", whose answer holds status, headers and body, or raw
// where the case has no status of the target) and by Native Access through a tunnel. By
// the way that the case names, the whole diagnosis has to be the one that it wants; by
// the other, all but the statuses and the steps, which name what the way has.
func TestTheCorpusOverSockets(t *testing.T) {
	cases := answeredCases(t)
	if len(cases) < 120 {
		t.Errorf("%d cases, fewer than 120", len(cases))
	}
	byName := map[string]answered{}
	for _, c := range cases {
		byName[c.name] = c
	}
	api := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		var ask struct{ URL string }
		b, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(b, &ask); err != nil {
			t.Error(err)
		}
		c := byName[strings.TrimPrefix(ask.URL, "https://example.com/")]
		if c.raw {
			c.send(w)
			return
		}
		headers := map[string]any{}
		for name, values := range c.header {
			if len(values) > 0 {
				headers[name] = values
			}
		}
		w.Header().Set("Content-Type", "application/json")
		err := json.NewEncoder(w).Encode(map[string]any{"status_code": c.status, "headers": headers, "body": string(c.body)})
		if err != nil {
			t.Error(err)
		}
	})
	dial, ca := servicetest.TLSTarget(t, func(w http.ResponseWriter, r *http.Request) {
		byName[strings.TrimPrefix(r.URL.Path, "/")].send(w)
	})
	proxied := servicetest.NativeProfile(t, &servicetest.Proxy{Target: dial})
	proxied.CA = ca
	ways := map[model.Via]struct {
		p  profile.Profile
		ft *Fetcher
	}{model.ViaAPI: {api, newFetcher(t, api)}, model.ViaNative: {proxied, newFetcher(t, proxied)}}
	for _, c := range cases {
		for via, way := range ways {
			t.Run(c.name+"/"+string(via), func(t *testing.T) {
				t.Parallel()
				r := servicetest.Ask(way.p, "dc1")
				r.Via, r.URL = via, "https://example.com/"+c.name
				if via == model.ViaAPI && !c.raw {
					r.Format = model.FormatJSON
				}
				res, err := way.ft.Fetch(t.Context(), r, nil)
				if err != nil {
					t.Fatal(err)
				}
				body := res.Body.Bytes
				got, want := wantedOf(res.Diagnosis, body), c.want
				if c.via != via || c.service == 0 {
					got.Evidence, want.Evidence = inner(got.Evidence), inner(want.Evidence)
					got.Steps, want.Steps = nil, nil
					if c.raw { // it says that the status is not shown
						got.Summary, want.Summary = "", ""
					}
				}
				if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
					t.Errorf("got\n%s\nwant\n%s", g, w)
				}
				if !bytes.Equal(body, c.body) {
					t.Errorf("%d bytes came of %d", len(body), len(c.body))
				}
			})
		}
	}
}
