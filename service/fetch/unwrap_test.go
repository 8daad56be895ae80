package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

func TestAnAnswerThatIsNotTheJSONFormIsShownAsItCame(t *testing.T) {
	large := `{"status_code":404,"body":"` + strings.Repeat("page ", 1<<20) + `", and then it breaks`
	for name, c := range map[string]struct {
		body  string
		noted bool
		files int
	}{
		"nothing":  {"", false, 0},
		"one byte": {"x", true, 0},
		"small":    {"<html>", true, 0},
		"large":    {large, true, 1},
	} {
		p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.body) })
		ft := newFetcher(t, p)
		r := askFor(p, "unlocker1")
		r.Format = model.FormatJSON
		res := fetched(t, ft, r)
		got := res.Body.Bytes
		if res.Body.File != "" {
			var err error
			got, err = os.ReadFile(res.Body.File)
			noerr.Must(t, err)
		}
		if string(got) != c.body || res.Body.Size != int64(len(c.body)) {
			t.Errorf("%s: %d bytes are shown of %d", name, len(got), len(c.body))
		}
		if noted := strings.Contains(fmt.Sprint(res.Diagnosis.Evidence), "format json: "); noted != c.noted {
			t.Errorf("%s: noted %v: %v", name, noted, res.Diagnosis.Evidence)
		}
		if files, err := os.ReadDir(ft.cfg.Bodies.Dir); len(files) != c.files {
			t.Errorf("%s: %d files of bodies are left, want %d (%v)", name, len(files), c.files, err)
		}
	}
}

func TestAPageThatCannotBeKeptOnDiskLeavesTheAnswerAsItCame(t *testing.T) {
	answer := `{"status_code":200,"body":"` + strings.Repeat("page ", 1<<20) + `"}`
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
	ft := newFetcher(t, p)
	file := filepath.Join(t.TempDir(), "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	r := askFor(p, "unlocker1")
	r.Format = model.FormatJSON
	res, err := ft.Fetch(t.Context(), r, func(e Event) {
		if e.Bytes > 0 { // the answer has its file, and the page gets none
			ft.cfg.Bodies.Dir = file
		}
	})
	noerr.Must(t, err)
	got, err := os.ReadFile(res.Body.File)
	if err != nil || string(got) != answer || res.Body.Cut {
		t.Errorf("%d bytes of %d, cut %v: %v", len(got), len(answer), res.Body.Cut, err)
	}
	if said := fmt.Sprint(res.Diagnosis.Evidence); !strings.Contains(said, "format json: mkdir "+file) {
		t.Errorf("evidence %s", said)
	}
}

func TestRequiredFieldsAreLookedForInAPageOfEightMiB(t *testing.T) {
	const field = `<p class="price">9</p>`
	for _, c := range []struct {
		size  int
		found bool
	}{{fieldBytes, true}, {fieldBytes + 1, false}} {
		p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, strings.Repeat(" ", c.size-len(field))+field)
		})
		r := askFor(p, "unlocker1")
		r.Required = []string{".price"}
		res := fetched(t, newFetcher(t, p), r)
		if found := len(res.Fields) == 1 && res.Fields[0].Found; found != c.found {
			t.Errorf("%d bytes: found %v: %+v", c.size, found, res.Fields)
		}
		if said := strings.Contains(fmt.Sprint(res.Diagnosis.Evidence), "the required fields were not looked for"); said == c.found {
			t.Errorf("%d bytes: evidence %v", c.size, res.Diagnosis.Evidence)
		}
	}
}

func TestThePasswordOfAZoneComesFromTheProfile(t *testing.T) {
	var logins []string
	px := &loopProxy{Plain: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		logins = append(logins, servicetest.LoginOf(r.Header.Get("Proxy-Authorization")))
		_, _ = io.WriteString(w, servicetest.Page)
	})}
	p := nativeProfile(t, px)
	r := native(p, "http://lab.test/")
	r.Zone.Password = ""
	res, err := newFetcher(t, p).Fetch(t.Context(), r, nil)
	if err != nil || res.Status != http.StatusOK || len(logins) != 1 || !strings.HasSuffix(logins[0], servicetest.Password) {
		t.Errorf("status %d after %d logins, %v", res.Status, len(logins), err)
	}
	r.Zone.Password = "env:GONE" // a password that the request names itself comes first
	if _, err := newFetcher(t, p).Fetch(t.Context(), r, nil); !errors.Is(err, keystore.ErrSecretMissing) || len(logins) != 1 {
		t.Errorf("a password that is missing: %v after %d logins", err, len(logins))
	}
}

func TestAProbeThatIsCancelledBeforeACallMakesNone(t *testing.T) {
	px := &loopProxy{Connect: func(*http.Request, net.Conn) bool { return false }}
	p := nativeProfile(t, px)
	gone := errors.New("the caller left")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := newFetcher(t, p).Probe(ctx, ProbeRequest{Zone: servicetest.Zone(p, "dc1"), Target: "https://lab.test/", Rounds: 1}, func(string) { cancel(gone) })
	if !errors.Is(err, gone) || len(px.lines()) != 0 {
		t.Errorf("%v after %d calls", err, len(px.lines()))
	}
}

func TestTheServicesStatusIsNeverTakenForTheTargets(t *testing.T) {
	for _, service := range []int{200, 299, 300, 404} {
		p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(service)
			_, _ = io.WriteString(w, servicetest.Page)
		})
		res, err := newFetcher(t, p).Fetch(t.Context(), askFor(p, "unlocker1"), nil)
		if err != nil || res.ServiceStatus != service || res.Status != 0 {
			t.Errorf("service %d: %d, target %d, %v", service, res.ServiceStatus, res.Status, err)
		}
	}
}

func TestAProbeWithoutItsPasswordMakesNoCall(t *testing.T) {
	px := &loopProxy{Connect: func(*http.Request, net.Conn) bool { return false }}
	p := nativeProfile(t, px)
	z := servicetest.Zone(p, "dc1")
	z.Password = "env:GONE"
	_, err := newFetcher(t, p).Probe(t.Context(), ProbeRequest{Zone: z, Target: "https://lab.test/", Rounds: 1}, nil)
	if !errors.Is(err, keystore.ErrSecretMissing) || len(px.lines()) != 0 {
		t.Errorf("%v after %d calls", err, len(px.lines()))
	}
}
