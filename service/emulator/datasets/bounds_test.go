package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"zonedeck/service/emulator/jobs"
)

// allocated is the number of bytes that fn allocates, freed ones included.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestABodyThatIsMadeToGrowInMemoryDoesNot(t *testing.T) {
	const size = 8 << 20
	form := func(csv string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"data\"; filename=\"in.csv\"\r\n\r\n" + csv + "\r\n--x--\r\n"
	}
	for name, body := range map[string]string{
		"many small inputs":     "[" + strings.Repeat("1,", size/2) + "1]",
		"a field input of them": `{"input":[` + strings.Repeat("1,", size/2) + `1]}`,
		"one large input":       `[{"url":"` + strings.Repeat("a", size) + `"}]`,
		"many fields":           `{` + strings.Repeat(`"a":1,`, size/6) + `"a":1}`,
		"a setting of parts":    `{"custom_output_fields":"` + strings.Repeat("|", size) + `"}`,
		"a first row of commas": form(strings.Repeat(",", size)),
		"a row of commas":       form("url\n" + strings.Repeat(",", size)),
		"a quote without end":   form(`"` + strings.Repeat("a,", size/2)),
		"many short rows":       form("url\n" + strings.Repeat("x\n", size/2)),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			got := allocated(func() {
				s := settings{spec: jobs.Spec{Dataset: "gd_pages"}}
				if strings.HasPrefix(body, "--x") {
					_, err = readForm(strings.NewReader(body), "x", &s)
				} else {
					_, err = readJSON(strings.NewReader(body), &s)
				}
			})
			if err == nil {
				t.Error("it was taken")
			}
			// The decoder doubles its buffer for the one large input.
			if got > 8*size {
				t.Errorf("%d MB for a body of %d MB", got>>20, size>>20)
			}
		})
	}
}

func TestARefusalOfManyFieldsIsShort(t *testing.T) {
	var fields []string
	for i := range 10_000 {
		fields = append(fields, fmt.Sprintf(`"field%d":1`, i))
	}
	err := New(Config{}).check(&settings{spec: jobs.Spec{Dataset: jobs.CrawlDataset}}, []json.RawMessage{json.RawMessage("{" + strings.Join(fields, ",") + "}")})
	var bad *inputError
	if !errors.As(err, &bad) || len(bad.Errors) == 0 || len(bad.Errors) > 30 {
		t.Fatalf("%d reasons: %.200v", len(bad.Errors), err)
	}
}

// A client that is still sending when its body is refused has to see the answer.
func TestARefusalAtTheFirstByteReachesAClientThatSendsOn(t *testing.T) {
	g := start(t, options{})
	body := "x" + strings.Repeat(" ", 8<<20)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.base+"/datasets/v3/trigger?dataset_id="+jobs.CrawlDataset, struct{ io.Reader }{bytes.NewReader([]byte(body))})
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d", resp.StatusCode)
	}
}
