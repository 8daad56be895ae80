package model_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// signsFile has small answers, one a line: a shape of signShapes, what stands in it, the rule that decides, and what it cites.
// The first two are written by hand; -update writes the others.
const signsFile = "../testdata/signs.tsv"

// signShapes are the answers that the lines of signsFile are about. A shape has a second sign where one is not enough.
var signShapes = map[string]func(text string) model.Outcome{
	"page":             markup("%s"),
	"title":            markup("<title>%[1]s</title><h1>%[1]s</h1>"),
	"text":             markup("<title>Shop</title><p>%s</p>"),
	"text of a wall":   markup("<title>Human verification</title><p>%s</p>"),
	"text of a queue":  markup("<title>Waiting room</title><p>%s</p>"),
	"text by a widget": markup(`<p>%s</p><div class="g-recaptcha" data-sitekey="6Lc"></div>`),
	"text of a no":     markup("<title>Access denied</title><p>%s</p>"),
	"text by a field":  markup(`<title>One moment, please</title><p>%s</p><img src="/c.png"><input name="a">`),
	"text of a limit":  markup("<title>Too many requests</title><p>%s</p>"),
	"title of a check": markup("<title>%s</title><p>Bestätigen Sie, dass Sie kein Roboter sind.</p>"),
	"title of a queue": markup("<title>%s</title><p>You are now in line.</p>"),
	"title of a wall":  markup(`<title>%s</title><p>One step.</p><div class="g-recaptcha" data-sitekey="6Lc"></div>`),
	"title of a no":    markup("<title>%s</title><p>Your IP has been blocked.</p>"),
	"element":          markup(`<title>Just a moment</title><p>One step.</p><div class="%s"></div>`),
	"markup":           markup("<title>Just a moment</title><p>One step.</p>%s"),
	"inline script":    markup("<title>Just a moment</title><p>One step.</p><script>%s</script>"),
	"traced script":    markup("<script>%s</script>"),
	"traced element":   markup(`<div id="%s"></div>`),
	"picture":          markup(`<title>Captcha</title><img id="%s"><input name="a">`),
	"json": func(text string) model.Outcome {
		return model.Outcome{TargetStatus: 200, ContentType: "application/json", BodyHead: []byte(text)}
	},
	"redirect": func(text string) model.Outcome { return model.Outcome{TargetStatus: 302, Location: text} },
	"queue cookie": func(text string) model.Outcome {
		o := markup(`<meta http-equiv="refresh" content="20"><h1>Almost there</h1><p>The shop opens for you soon.</p>`)(text)
		o.Cookies = []string{text}
		return o
	},
	"cookie": func(text string) model.Outcome {
		o := markup("<script></script>")(text)
		o.Cookies = []string{text}
		return o
	},
}

func markup(format string) func(text string) model.Outcome {
	return func(text string) model.Outcome {
		body := format
		if strings.Contains(format, "%") {
			body = fmt.Sprintf(format, text)
		}
		return model.Outcome{TargetStatus: 200, ContentType: "text/html", BodyHead: []byte("<!doctype html><html><body>" + body + "</body></html>")}
	}
}

// called is what an answer is called, and what that rests on.
func called(shape, text string) string {
	o := signShapes[shape](text)
	o.Via, o.BodySize = model.ViaNative, int64(len(o.BodyHead))
	d := model.Diagnose(o)
	seen := []string{}
	for _, e := range d.Evidence {
		if (e.Kind == "body" || e.Kind == "header") && !strings.HasPrefix(e.Text, "the text was read as ") {
			seen = append(seen, e.Text)
		}
	}
	return d.Rule + "\t" + strings.Join(seen, " | ")
}

// Each word, name and address that the rules know is there for answers that have it.
func TestEverySignIsSeen(t *testing.T) {
	raw := noerr.Try(os.ReadFile(signsFile)).Must(t)
	var out strings.Builder
	n := 0
	for line := range strings.Lines(string(raw)) {
		cells := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if strings.HasPrefix(line, "#") || len(cells) < 2 {
			out.WriteString(line)
			continue
		}
		n++
		if signShapes[cells[0]] == nil {
			t.Fatalf("%q is no shape", cells[0])
		}
		got := called(cells[0], cells[1])
		fmt.Fprintf(&out, "%s\t%s\t%s\n", cells[0], cells[1], got)
		if !*model.Update && (len(cells) < 3 || cells[2] != got) {
			t.Errorf("%s %q is called %q, want %q", cells[0], cells[1], got, cells[2:])
		}
	}
	if *model.Update {
		noerr.Must(t, os.WriteFile(signsFile, []byte(out.String()), 0o600))
	}
	if n < 1000 {
		t.Errorf("%d answers", n)
	}
}
