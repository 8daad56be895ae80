package fetch

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/htmlindex"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/model/modeltest"
	"zonedeck/service/servicetest"
)

// answered is a case of the corpus of diagnoses that an answer of a target can bring
// about, with what the target sends.
type answered struct {
	modeltest.Case
	raw    bool // the target's status is not shown
	header http.Header
	bytes  []byte // the body as it is sent
}

// answeredCases reads the cases. Left out are those in which the service itself
// speaks, something breaks, or the body is not what the case is about.
func answeredCases(t *testing.T) []answered {
	t.Helper()
	var cases []answered
	for _, c := range modeltest.Corpus(t, "../../testdata/diagnosis") {
		o := c.Outcome
		if o.Broke != "" || o.ServiceCode != "" || o.ServiceText != "" || o.Incomplete || o.HeadMethod || o.RetryAfter != 0 || o.RequiredFields != nil ||
			o.MissingFields != nil || o.Zone.Product != "" || o.ReadBy != "" || o.Unread != "" || o.PageStatus() == 0 ||
			o.ServiceStatus != 0 && o.ServiceStatus != http.StatusOK || c.Want.Retry {
			continue
		}
		a := answered{Case: c, raw: o.TargetStatus == 0, header: http.Header{}, bytes: o.BodyHead}
		a.header["Content-Type"] = nil // not guessed by net/http
		for _, h := range o.HeaderEvidence {
			name, value, _ := strings.Cut(h, ": ")
			a.header.Set(name, value)
		}
		if o.ContentType != "" {
			a.header.Set("Content-Type", o.ContentType)
		}
		if o.Charset != "" {
			a.bytes = noerr.Try(noerr.Try(htmlindex.Get(o.Charset)).Must(t).NewEncoder().Bytes(o.BodyHead)).Must(t)
			a.header.Set("Content-Type", o.ContentType+"; charset="+o.Charset)
		}
		if o.Undecoded != "" {
			a.header.Set("Content-Encoding", "dcb")
		}
		if o.Location != "" {
			a.header.Set("Location", o.Location)
		}
		for _, name := range o.Cookies {
			a.header.Add("Set-Cookie", name+"=not-to-be-seen; Path=/")
		}
		cases = append(cases, a)
	}
	return cases
}

// send answers as the case's target does.
func (c answered) send(w http.ResponseWriter) {
	for name, values := range c.header {
		w.Header()[name] = values
	}
	w.WriteHeader(c.Outcome.PageStatus())
	_, _ = w.Write(c.bytes)
}

// inner is the evidence without what follows from the way that an answer took.
func inner(evidence []string) []string {
	return slices.DeleteFunc(slices.Clone(evidence), func(e string) bool {
		return strings.HasPrefix(e, "service_status: ") || strings.HasPrefix(e, "status: ")
	})
}

// TestTheCorpusOverSockets serves what the corpus's targets send over loopback, and
// fetches it by API (format "json", whose answer holds status, headers and body, or raw
// where the case has no status of the target) and by Native Access through a tunnel, once by
// Fetch and once by Send, which have to come to the same. By
// the way that the case names, the whole diagnosis has to be the one that it wants; by
// the other, all but the statuses and the steps, which name what the way has.
func TestTheCorpusOverSockets(t *testing.T) {
	cases := answeredCases(t)
	if len(cases) < 120 {
		t.Errorf("%d cases, fewer than 120", len(cases))
	}
	byName := map[string]answered{}
	for _, c := range cases {
		byName[c.Name] = c
	}
	api := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		var ask struct{ URL string }
		b, _ := io.ReadAll(r.Body)
		noerr.Want(t, json.Unmarshal(b, &ask))
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
		err := json.NewEncoder(w).Encode(map[string]any{"status_code": c.Outcome.TargetStatus, "headers": headers, "body": string(c.Outcome.BodyHead)})
		noerr.Want(t, err)
	})
	dial, ca := servicetest.TLSTarget(t, func(w http.ResponseWriter, r *http.Request) {
		byName[strings.TrimPrefix(r.URL.Path, "/")].send(w)
	})
	proxied := nativeProfile(t, &loopProxy{Target: dial})
	proxied.CA = ca
	ways := map[model.Via]struct {
		p  model.Profile
		ft *Fetcher
	}{model.ViaAPI: {api, newFetcher(t, api)}, model.ViaNative: {proxied, newFetcher(t, proxied)}}
	prepared := map[string]*Prepared{}
	for via, way := range ways {
		for _, format := range []model.Format{model.FormatRaw, model.FormatJSON} {
			r := askFor(way.p, "dc1")
			r.Via, r.Format, r.URL = via, format, "https://example.com/{{name}}"
			p := noerr.Try(way.ft.Prepare(t.Context(), r)).Must(t)
			t.Cleanup(p.Close)
			prepared[string(via)+string(format)] = p
		}
	}
	for _, c := range cases {
		for via, way := range ways {
			t.Run(c.Name+"/"+string(via), func(t *testing.T) {
				t.Parallel()
				if o := c.Outcome; via == model.ViaAPI && !c.raw && o.Charset+o.Undecoded != "" {
					return // a text in JSON is in UTF-8
				}
				r := askFor(way.p, "dc1")
				r.Via, r.URL = via, "https://example.com/"+c.Name
				if via == model.ViaAPI && !c.raw {
					r.Format = model.FormatJSON
				}
				res := fetched(t, way.ft, r)
				body := res.Body.Bytes
				got, want := modeltest.WantOf(res.Diagnosis, c.Outcome.BodyHead), c.Want
				if c.Outcome.Via != via || c.Outcome.ServiceStatus == 0 {
					got.Evidence, want.Evidence = inner(got.Evidence), inner(want.Evidence)
					got.Steps, want.Steps = nil, nil
					if c.raw { // it says that the status is not shown
						got.Summary, want.Summary = "", ""
					}
				}
				if got, want := got.String(), want.String(); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
				sent := noerr.Try(prepared[string(via)+string(r.Format)].Send(t.Context(), column("name", c.Name), nil)).Must(t)
				if got, want := comparable(sent), comparable(res); !reflect.DeepEqual(got, want) {
					t.Errorf("sent\n%+v\nfetched\n%+v", got, want)
				}
				if !bytes.Equal(body, c.bytes) {
					t.Errorf("%d bytes came of %d", len(body), len(c.bytes))
				}
			})
		}
	}
}

// comparable is a result without what differs from call to call: its times and identifier.
func comparable(r model.FetchResult) model.FetchResult {
	r.ID, r.Started, r.Timing = "", time.Time{}, model.Timing{}
	r.Header = r.Header.Clone()
	r.Header.Del("Date")
	for i := range r.Attempts {
		r.Attempts[i].Sent, r.Attempts[i].Total = 0, 0
	}
	return r
}
