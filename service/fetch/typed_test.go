package fetch

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// What a target repeats of the secrets that were typed into the form is masked like the key: in
// the result and in what is kept of it.
func TestATypedSecretThatTheTargetRepeatsIsMasked(t *testing.T) {
	const token, password, sid, short, plain = "hand-typed-token-1", "opensesame", "c2Vzc2lvbi1pZC0x%2F9", "tok-9x7q", "dark-mode"
	typed := http.Header{
		"Authorization": {"Bearer " + token},
		"X-Api-Key":     {"Basic " + base64.StdEncoding.EncodeToString([]byte("operator:"+password))},
		"Cookie":        {`theme=` + plain + `; sid="` + sid + `"; csrf_token=` + short},
		"X-Plain":       {"harmless-words"},
	}
	said := strings.Join([]string{
		"Bearer " + token, token, typed.Get("X-Api-Key"), "operator:" + password, password, typed.Get("Cookie"), sid, "c2Vzc2lvbi1pZC0x/9", short, plain, "harmless-words",
	}, " | ")
	change, j, dir := withJournal(t)
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Seen", said)
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<p>"+said+"</p>")
	})
	p := servicetest.API(t, answer)
	px := &loopProxy{Plain: answer}
	p.ProxyHost, p.ProxyPort = startProxy(t, px)
	p.Dialect = "brightdata"
	c := newFetcher(t, p, change)
	for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
		r := askFor(p, "dc1")
		r.URL, r.Via, r.Header = "http://lab.test/headers", via, typed
		res := fetched(t, c, r)
		res.Request.Header = nil // what was typed stays in the form
		b, err := json.Marshal(res)
		noerr.Must(t, err)
		shown := fmt.Sprintf("%s %s", b, res.Body.Bytes)
		if !strings.Contains(shown, plain) || !strings.Contains(shown, "harmless-words") {
			t.Errorf("%s: what is no secret is masked, too: %s", via, shown)
		}
		noneOf(t, string(via), shown, token, password, sid, "c2Vzc2lvbi1pZC0x/9", short)
	}
	noerr.Must(t, j.Close())
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		noneOf(t, path, string(b), token, password, sid, short)
		return err
	})
	noerr.Want(t, err)
}

func noneOf(t *testing.T, where, text string, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s holds %q", where, s)
		}
	}
}
