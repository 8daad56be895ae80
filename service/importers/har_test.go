package importers

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/export"
)

const chromeEntry = `{"startedDateTime":"2026-11-20T10:00:00.5Z","time":12,"request":{"method":"POST","url":"https://lab.test/search?q=1","httpVersion":"HTTP/2.0",
"headers":[{"name":":authority","value":"lab.test"},{"name":"Host","value":"lab.test"},{"name":"accept","value":"*/*"},{"name":"cookie","value":"sid=hunter2"},{"name":"accept-encoding","value":"gzip, br"},
{"name":"content-length","value":"3"},{"name":"x-empty","value":""},{"name":"Content-Type","value":"text/plain"}],
"postData":{"mimeType":"text/plain","text":"a={{x}}"}},"response":{"status":201}}`

func TestAnEntryOfAHARFileBecomesTheForm(t *testing.T) {
	for _, in := range []string{chromeEntry, `{"log":{"version":"1.2","entries":[` + chromeEntry + `]}}`} {
		list, err := HAR(strings.NewReader(in))
		if err != nil || len(list) != 1 || list[0].Status != 201 {
			t.Fatalf("%+v, %v", list, err)
		}
		got, err := list[0].Import(Known{Profile: testProfile()})
		want := model.FetchRequest{
			URL: "https://lab.test/search?q=1", Method: "POST", Body: "a={{{{x}}}}", Retries: -1,
			Header: http.Header{"Accept": {"*/*"}, "Cookie": {"{{cookie}}"}, "X-Empty": {""}, "Content-Type": {"text/plain"}},
		}
		if err != nil || !reflect.DeepEqual(got.Request, want) {
			t.Errorf("%v\ngot  %+v\nwant %+v", err, got.Request, want)
		}
		notes := slices.Concat(got.Replaced, got.Dropped)
		if want := []string{
			"the value of header Cookie was left out: {{cookie}} stands for it",
			"header Accept-Encoding: the console asks for gzip, which it inflates", "header Content-Length is set by the console itself",
		}; !slices.Equal(notes, want) {
			t.Errorf("notes %q", notes)
		}
	}
}

func TestTheBodyOfAnEntry(t *testing.T) {
	for post, want := range map[string]string{
		`{"mimeType":"a/b","params":[{"name":"a b","value":"1"},{"name":"c","value":"&"}]}`: "a+b=1&c=%26",
		`{"mimeType":"a/b","text":"aGk=","encoding":"base64"}`:                              "hi",
		`{"mimeType":"a/b","text":""}`:                                                      "",
	} {
		list, err := HAR(strings.NewReader(`{"request":{"method":"POST","url":"http://lab.test/","postData":` + post + `}}`))
		noerr.Must(t, err)
		if got, err := list[0].Import(Known{Profile: testProfile()}); err != nil || got.Request.Body != want {
			t.Errorf("%s: %q, %v", post, got.Request.Body, err)
		}
	}
}

func TestWhatIsNoHARFileIsRefused(t *testing.T) {
	for in, want := range map[string]string{
		`[`: "it is not JSON, or ends early", `{"log":{"entries":[]}}`: "there is no request in it", `{}`: "entry 1 has no request with a url",
		`{"log":{"entries":[{"request":{"method":1}}]}}`:                    "it is not a HAR file: a number stands where the format has none",
		`{"log":{"entries":[` + strings.Repeat(`{},`, maxEntries) + `{}]}}`: "it has more than 10000 entries",
	} {
		if _, err := HAR(strings.NewReader(in)); !errors.Is(err, errImport) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", in, err)
		}
	}
	if _, err := HAR(io.LimitReader(spaces{}, maxHAR+10)); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("a large one: %v", err)
	}
}

// Of the entries above the bound nothing is decoded: a small file must not take much memory.
func TestEntriesAboveTheBoundAreNotDecoded(t *testing.T) {
	var log harLog
	text := `{"log":{"entries":[` + strings.Repeat(`{},`, 10*maxEntries) + `{}]}}`
	if err := json.Unmarshal([]byte(text), &log); err != nil || len(log.Log.Entries) != maxEntries+1 {
		t.Errorf("%d entries, %v", len(log.Log.Entries), err)
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// What the console exports it reads back.
func TestAnExportedHARFileIsReadBack(t *testing.T) {
	r := model.FetchResult{
		Request: model.FetchRequest{
			Zone: model.Zone{Name: "unlocker_demo"}, Via: model.ViaNative, URL: "http://lab.test/x?a=1", Method: "PUT", Body: "b{{y}}",
			Header: http.Header{"X-A": {"1", "2"}}, Country: "de", Session: "s1",
		},
		Started: time.Unix(1, 0), Status: 200,
	}
	var b strings.Builder
	n, err := export.HAR(&b, "1", func(yield func(model.FetchResult, error) bool) {
		for range 2 {
			if !yield(r, nil) {
				return
			}
		}
	}, nil)
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	list, err := HAR(strings.NewReader(b.String()))
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	got, err := list[1].Import(Known{Profile: testProfile()})
	want := r.Request.Template()
	want.Retries = -1
	if err != nil || !reflect.DeepEqual(got.Request, want) || len(got.Dropped)+len(got.Replaced) > 0 {
		t.Errorf("%v\ngot  %+v %v\nwant %+v", err, got.Request, got.Dropped, want)
	}
}

// A file that another one made puts no value of this machine into a request.
func TestNoPartOfAnEntryBecomesAVariable(t *testing.T) {
	list, err := HAR(strings.NewReader(`{"request":{"method":"GET","url":"http://lab.test/{{A}}"},"_zonedeck":{"zone":"{{B}}","via":"native","country":"{{C}}","session":"{{D}}"}}`))
	noerr.Must(t, err)
	got, err := list[0].Import(Known{Profile: testProfile()})
	if err != nil || len(got.Request.Variables()) > 0 || got.Request.Session != "{{{{D}}}}" {
		t.Errorf("%v in %+v, %v", got.Request.Variables(), got.Request, err)
	}
}

func FuzzHAR(f *testing.F) {
	for _, s := range []string{chromeEntry, `{"log":{"entries":[` + chromeEntry + `]}}`, `{"request":{"url":"a","headers":null,"postData":{"params":[{}]}},"_zonedeck":{"zone":"a\u0000"}}`} {
		f.Add(s)
	}
	p := testProfile()
	f.Fuzz(func(t *testing.T, text string) {
		IsHAR(text)
		list, err := HAR(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, errImport) || len(err.Error()) > 200 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for _, e := range list {
			got, err := e.Import(Known{Profile: p, Keys: testKeys})
			if err != nil {
				if !errors.Is(err, errImport) || len(err.Error()) > 200 {
					t.Fatalf("%q: %v", text, err)
				}
				continue
			}
			if strings.Contains(got.Summary()+got.Request.URL+got.Request.Body+string(got.Request.Zone.Name), markEnv) {
				t.Fatalf("%q: a mark is left in %+v", text, got)
			}
			r := got.Request
			r.Header = nil // holds those of what was left behind
			if names := r.Variables(); len(names) > 0 {
				t.Fatalf("%q: the variables %q", text, names)
			}
		}
	})
}
