package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/servicetest"
)

// A secret of a variable reaches the service and nothing else: not the result, the preview
// or the history, even when the answer repeats it.
func TestASecretVariableIsPutInWhenTheRequestIsWritten(t *testing.T) {
	const secret = `hunter2"hunter2`
	var got string
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		noerr.Want(t, err)
		got = string(b)
		_, _ = io.WriteString(w, "<p>you sent "+secret+"</p>")
	})
	p.Dialect = "brightdata"
	change, j, _ := withJournal(t)
	values := map[string]string{"env:TOKEN": secret, "env:EMPTY": "", "env:BAD": "a\nb-hunter2"}
	c := newFetcher(t, p, change, func(c *Config) {
		inner := c.Source.Secret
		c.Source = servicetest.Source{Base: c.Source, SecretBy: func(ctx context.Context, ref string) (keystore.Secret, error) {
			if v, ok := values[ref]; ok {
				return keystore.NewSecret(v), nil
			}
			return inner(ctx, ref)
		}}
	})
	r := askFor(p, "dc1")
	r.URL, r.Method, r.Body = "http://lab.test/x?{{{{raw}}}}", "POST", "t={{token}}"
	r.Header = http.Header{"X-A": {"{{token}}"}}
	r.Secrets = map[string]string{"token": "env:TOKEN"}
	if w := c.Preview(p, r, ""); w.Problem != "" || !strings.Contains(strings.Join(w.Lines, "\n"), "t=••••") {
		t.Errorf("preview %+v", w)
	}
	res := fetched(t, c, r)
	if !strings.Contains(got, `"body":"t=hunter2\"hunter2"`) || !strings.Contains(got, "http://lab.test/x?{{raw}}") {
		t.Errorf("the service got %s", got)
	}
	if res.Request.Body != "t={{token}}" || strings.Contains(string(res.Body.Bytes), "hunter2") {
		t.Errorf("the result holds %+v and %s", res.Request, res.Body.Bytes)
	}
	again, err := j.Fetch(t.Context(), res.ID)
	if err != nil || again.Request.Secrets["token"] != "env:TOKEN" || again.Request.Body != "t={{token}}" {
		t.Errorf("the history has %+v, %v", again.Request, err)
	}
	for ref, want := range map[string]string{"env:EMPTY": "headers: {{token}}: env:EMPTY is empty", "env:BAD": "headers: it cannot be sent with the values of its variables"} {
		r := r
		r.Body, r.Secrets = "", map[string]string{"token": ref}
		_, err := c.Fetch(t.Context(), r, nil)
		if !errors.Is(err, model.ErrRequest) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", ref, err)
		}
	}
}
