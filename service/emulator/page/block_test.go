package page

import (
	"net/http"
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	widget := `<title>Are you a robot?</title><form><div class="x g-recaptcha"></div><button>Go</button></form>`
	for name, c := range map[string]struct {
		status int
		header [2]string
		body   string
		want   BlockKind
	}{
		"a CAPTCHA with 200":               {200, [2]string{"Content-Type", "text/html"}, widget, Captcha},
		"a CAPTCHA with 403":               {403, [2]string{"Content-Type", "text/html"}, widget, Captcha},
		"a CAPTCHA without a type":         {200, [2]string{}, "<!doctype html>" + widget, Captcha},
		"a script challenge":               {503, [2]string{"Content-Type", "text/html"}, "<title>Just a moment...</title>", Challenge},
		"a header names the challenge":     {403, [2]string{"Cf-Mitigated", "challenge"}, "", Challenge},
		"a plain 403":                      {403, [2]string{"Content-Type", "text/html"}, "<h1>No</h1>", Forbidden},
		"a plain 429":                      {429, [2]string{"Content-Type", "text/html"}, "<h1>Slow</h1>", TooFast},
		"a login form with a widget":       {200, [2]string{"Content-Type", "text/html"}, `<input name="user"><div class="g-recaptcha">`, NotBlocked},
		"a long article with a widget":     {200, [2]string{"Content-Type", "text/html"}, widget + strings.Repeat("<p>many words", 200), NotBlocked},
		"an article about CAPTCHAs":        {200, [2]string{"Content-Type", "text/html"}, "<title>How captchas work</title><p>A g-recaptcha class", NotBlocked},
		"a JSON text that quotes a widget": {200, [2]string{"Content-Type", "application/json"}, widget, NotBlocked},
		"a page that is not found":         {404, [2]string{"Content-Type", "text/html"}, "<h1>404</h1>", NotBlocked},
	} {
		h := http.Header{}
		if c.header[0] != "" {
			h.Set(c.header[0], c.header[1])
		}
		if got := Detect(c.status, h, []byte(c.body)); got.Kind != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
