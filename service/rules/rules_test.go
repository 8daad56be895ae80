package rules

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

const good = `# what our shop answers
[[rules]]
name = "sold-out"
profiles = ["acme"]
class = "parsing_drift"
reason = "The shop shows its sold-out page."
[rules.match]
status = [200, 206]
domain = ["shop.example"]
url = '/product/'
content_type = ["Text/HTML", "image/*"]
header = { x-shop = "^de" }
min_size = 10
max_size = 2000
body = '(?i)sold\s+out'

[[rules]]
name = "soft-limit"
class = "outside"
cause = "service_error"
reason = "The service is being repaired."
match = { max_size = 0 }
`

func TestAFileOfRulesIsRead(t *testing.T) {
	all, err := Parse("conf/rules.toml", []byte(good))
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	first, second := all[0], all[1]
	if first.Place != "rules.toml:2" || second.Place != "rules.toml:17" {
		t.Errorf("they stand at %s and %s", first.Place, second.Place)
	}
	if first.Class != model.ClassParsingDrift || first.Cause != model.CauseMissingFields || second.Cause != model.CauseServiceError {
		t.Errorf("%s/%s, %s/%s", first.Class, first.Cause, second.Class, second.Cause)
	}
	m := first.Match
	if !reflect.DeepEqual(m.Statuses, []int{200, 206}) || !reflect.DeepEqual(m.ContentTypes, []string{"text/html", "image/*"}) ||
		m.URL.String() != "/product/" || m.Headers[0].Name != "X-Shop" || m.MinSize != 10 || !m.Bounded || m.MaxSize != 2000 {
		t.Errorf("%+v", m)
	}
	if !second.Match.Bounded || second.Match.MaxSize != 0 {
		t.Errorf("%+v", second.Match)
	}
	if got := Select(all, "other"); len(got) != 1 || got[0].Name != "soft-limit" {
		t.Errorf("for another profile: %+v", got)
	}
	if got := Select(all, "acme"); len(got) != 2 {
		t.Errorf("for the profile: %+v", got)
	}
}

func TestWhatIsWrongWithAFileIsSaidWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"[[rule]]\nname = 'a'":                                                `f.toml:1:3: unknown field "rule"; expected one of rules`,
		"[[rules]]\nname = 'a'\nkind = 'ok'":                                  `f.toml:3:1: unknown field "kind"; expected one of cause, class, match, name, profiles, reason`,
		"rules = 1":                                                           `f.toml:1:`,
		"[[rules]]\nname = 'A b'":                                             `f.toml:2:1: "A b" cannot name a rule`,
		"[[rules]]\nclass = 'ok'":                                             `f.toml:1:3: "" cannot name a rule`,
		"[[rules]]\nname = 'captcha_page'":                                    `"captcha_page" is a rule of the console itself`,
		"[[rules]]\nname = 'breaker'":                                         `"breaker" is a rule of the console itself`,
		"[[rules]]\nname = 'pace'":                                            `"pace" is a rule of the console itself`,
		"[[rules]]\nname = 'a'\nclass = 'ok'":                                 `f.toml:1:3: the reason is missing`,
		"[[rules]]\nname = 'a'\nreason = \"two\\nlines\"":                     `f.toml:3:1: the reason is missing, too long or not one line`,
		"[[rules]]\nname = 'a'\nreason = 'r'\nclass = 'good'":                 `f.toml:4:1: "good" is not a class; expected one of ok, access_restricted`,
		"[[rules]]\nname = 'a'\nreason = 'r'\nclass = 'ok'\ncause = 'policy'": `f.toml:5:1: the class ok has no causes; expected no cause`,

		"[[rules]]\nname = 'a'\nreason = 'r'\nclass = 'outside'\ncause = 'tls_trust'": `f.toml:5:1: "tls_trust" is not a cause that a rule can give with the class outside; expected one of target_error`,
		"[[rules]]\nname = 'a'\nreason = 'r'\nclass = 'ok'":                           `f.toml:1:3: the rule matches every answer; expected at least one of body`,

		rule("status = [20]"):                                  `f.toml:5:21: 20 is not a status`,
		rule("domain = ['https://shop.example/']"):             `"https://shop.example/" is not a domain`,
		rule("domain = ['Shop.example']"):                      `"Shop.example" is not a domain`,
		rule("content_type = ['html']"):                        `"html" is not a content type`,
		rule("content_type = ['text/html; charset=utf-8']"):    `is not a content type`,
		rule("header = { 'x y' = 'a' }"):                       `"x y" cannot name a header`,
		rule("header = { x = '(' }"):                           "missing closing )",
		rule("url = '('"):                                      "missing closing )",
		rule("body = '(?<name'"):                               "f.toml:5:11: ",
		rule("body = 'a(?=b)'"):                                "invalid or unsupported Perl syntax",
		rule("body = '(.{1000}){999}'"):                        "invalid repeat count",
		rule("body = '.{999}.{999}'"):                          "the pattern is too large: 20",
		rule("body = '" + strings.Repeat("a", 1001) + "'"):     "the pattern is too long",
		rule("min_size = -1"):                                  "a size cannot be -1",
		rule("min_size = 7, max_size = 6"):                     "a size cannot be at most 6",
		rule("status = [" + strings.Repeat("200,", 101) + "]"): "the list is too long; expected at most 100",
		rule("max_size = 1") + "\n" + rule("max_size = 2"):     `f.toml:7:1: a second rule is named "a"`,
		strings.Repeat("[[rules]]\n", 101):                     "f.toml:101:3: the file has too many rules; expected at most 100",
	} {
		got, err := Parse("f.toml", []byte(text))
		var fault *textfile.Error
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%.80s\ngave %v\nwant %s", text, err, want)
		}
	}
}

// What is just within the bounds is a rule.
func TestBoundsBelongToWhatIsAllowed(t *testing.T) {
	for _, text := range []string{
		rule("status = [100, 999]"), rule("min_size = 0, max_size = 0, status = [200]"), rule("min_size = 6, max_size = 6"),
		rule("status = [" + strings.Repeat("200,", 100) + "]"),
	} {
		if all, err := Parse("f.toml", []byte(text)); err != nil || len(all) != 1 {
			t.Errorf("%.80s\ngave %v", text, err)
		}
	}
	for _, text := range []string{rule("status = [99]"), rule("status = [1000]")} {
		if _, err := Parse("f.toml", []byte(text)); err == nil {
			t.Errorf("%.80s\nis a rule", text)
		}
	}
}

func rule(match string) string {
	return "[[rules]]\nname = 'a'\nclass = 'ok'\nreason = 'r'\nmatch = { " + match + " }"
}

func TestAFileThatChangesIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.toml")
	f := New(path)
	see := func(want int, fails bool) {
		t.Helper()
		got, err := f.For("acme")
		if len(got) != want || (err != nil) != fails {
			t.Fatalf("%d rules, %v; want %d", len(got), err, want)
		}
	}
	write := func(text string) {
		t.Helper()
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	see(0, false)
	write(good)
	see(2, false)
	see(2, false)
	write(good + "\nwrong")
	see(0, true)
	see(0, true)
	write(rule("status = [200]"))
	see(1, false)
	write("")
	see(0, false)
	write(strings.Repeat("#", maxSize+1))
	see(0, true)
	noerr.Must(t, os.Remove(path))
	see(0, false)
}

func TestAFileIsReadFromManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.toml")
	f := New(path)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			text := strings.ReplaceAll(good, "sold-out", "sold-"+string(rune('a'+i)))
			noerr.Want(t, textfile.Write(path, []byte(text)))
			if got, err := f.For("acme"); err != nil || len(got) != 2 {
				t.Errorf("%d rules, %v", len(got), err)
			}
		})
	}
	all.Wait()
}

// Whatever stands in a file, it is refused with a reason or its rules judge an answer.
func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add(rule("body = '[[:word:]]+', status = [200]"))
	f.Add("[[rules]]\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse("f.toml", []byte(text))
		if err != nil {
			var fault *textfile.Error
			if !errors.As(err, &fault) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for _, r := range all {
			o := model.Outcome{
				Via: model.ViaNative, TargetStatus: 200, URL: "http://shop.example/product/1", ContentType: "text/html",
				Header: http.Header{"X-Shop": {"de"}}, BodyHead: []byte("<p>sold out"), BodySize: 11,
			}
			d := model.Diagnose(o, r.UserRule)
			if d.Rule == r.Name && (d.Class != r.Class || d.Cause != r.Cause || d.Summary != r.Reason) {
				t.Errorf("%+v by %+v", d, r)
			}
		}
	})
}
