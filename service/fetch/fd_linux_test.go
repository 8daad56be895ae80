package fetch

import (
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/servicetest"
)

func TestABodyOnDiskIsClosedWhenItHasBeenRead(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collected file would be closed too
	page := strings.Repeat("<p class='price'>1</p>", 10_000)
	p := servicetest.API(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"json"`) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"status_code":200,"headers":{"content-type":"text/html"},"body":"`+page+`"}`)
			return
		}
		_, _ = io.WriteString(w, page)
	})
	c := newFetcher(t, p, func(c *Config) { c.Bodies.Memory = 1 << 10 })
	for _, format := range []model.Format{model.FormatRaw, model.FormatJSON} {
		r := askFor(p, "unlocker1")
		r.Format, r.Required = format, []string{".price"}
		res, err := c.Fetch(t.Context(), r, nil)
		if err != nil || res.Body.File == "" || len(res.Fields) != 1 || !res.Fields[0].Found {
			t.Fatalf("format %s: %+v, %v", format, res.Fields, err)
		}
		if n := servicetest.OpenIn(t, c.cfg.Bodies.Dir); n != 0 {
			t.Errorf("format %s: %d bodies are still open", format, n)
		}
	}
}
