package importers

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// A command is read as the shell reads it that it was copied for.
func TestACommandIsReadAsItsShellReadsIt(t *testing.T) {
	const address = "http://lab.test/whoami"
	post := func(body string, header ...string) string {
		return strings.Join(append([]string{"POST", address, body}, header...), "|")
	}
	for name, c := range map[string]struct{ in, want string }{
		"Chrome on Windows": {
			"curl ^\"http://lab.test/whoami?a=1^&b=two^%^20words^\" ^\r\n  -X ^\"POST^\" ^\r\n  -H ^\"sec-ch-ua: ^\\^\"Chromium^\\^\";v=^\\^\"140^\\^\"^\" ^\r\n  --data-raw ^\"^{^\\^\"name^\\^\":^\\^\"caf^é ^& co^\\^\",^\\^\"pct^\\^\":^\\^\"50^%^\\^\",^\\^\"path^\\^\":^\\^\"C:^\\^\\x^\\^\\^\\^\"^\\^\"^}^\"",
			"POST|http://lab.test/whoami?a=1&b=two%20words|" + `{"name":"café & co","pct":"50%","path":"C:\\x\""}` + `|Content-Type: application/x-www-form-urlencoded|Sec-Ch-Ua: "Chromium";v="140"`,
		},
		"Chrome before 2024": {
			"curl \"http://lab.test/whoami\" ^\n  -H \"Accept: */*\" ^\n  --data-binary \"^{^\\^\"name^\\^\":^\\^\"hello world^\\^\",^\\^\"ids^\\^\":^[^]^}\" --compressed",
			post(`{"name":"hello world","ids":[]}`, "Accept: */*", "Content-Type: application/x-www-form-urlencoded"),
		},
		"a body of lines":               {"curl ^\"http://lab.test/whoami^\" --data-raw ^\"a^\n\nb^\"", post("a\nb", "Content-Type: application/x-www-form-urlencoded")},
		"carets and apostrophes":        {"curl -X POST 'http://lab.test/whoami' ^\n-H 'X-A: b  c;d' ^\n-d '{\"a\":20}'", post(`{"a":20}`, "Content-Type: application/x-www-form-urlencoded", "X-A: b  c;d")},
		"a caret in plain quotes":       {"curl \"http://lab.test/whoami\" ^\n -d \"a^b\" -H \"X-A: C:\\dir\\\\\"", post("a^b", "Content-Type: application/x-www-form-urlencoded", `X-A: C:\dir\`)},
		"a variable of cmd.exe":         {"curl ^\"http://lab.test/whoami^\" -d \"%MY_NAME%=%C3%A9x%20y\"", post("{{MY_NAME}}=%C3%A9x%20y", "Content-Type: application/x-www-form-urlencoded")},
		"doubled quotes":                {`curl "http://lab.test/whoami" -d "{""a"":""b c""}"`, post(`{"a":"b c"}`, "Content-Type: application/x-www-form-urlencoded")},
		"doubled quotes in a list":      {`curl.exe http://lab.test/whoami --data-raw "[""a"",""b""]"`, post(`["a","b"]`, "Content-Type: application/x-www-form-urlencoded")},
		"doubled quotes and blanks":     {`curl.exe http://lab.test/whoami -d "{ ""a"": ""it's $5"" }"`, post(`{ "a": "it's $5" }`, "Content-Type: application/x-www-form-urlencoded")},
		"doubled quotes of a header":    {`curl.exe http://lab.test/whoami -d x -H "X-A: ""x"""`, post("x", "Content-Type: application/x-www-form-urlencoded", `X-A: "x"`)},
		"quotes escaped at an end":      {`curl http://lab.test/whoami -d "\"x\"" -H "X-A:1"`, post(`"x"`, "Content-Type: application/x-www-form-urlencoded", "X-A: 1")},
		"a caret in bash":               {`curl http://lab.test/whoami -d 'x ^"y"' -H 'X-A: ^"x'`, post(`x ^"y"`, "Content-Type: application/x-www-form-urlencoded", `X-A: ^"x`)},
		"a caret at the end in bash":    {"curl http://lab.test/whoami -d 'a ^\nb' -H \"X-A: $B ^\"", post("a ^\nb", "Content-Type: application/x-www-form-urlencoded", "X-A: {{B}} ^")},
		"small escapes of an address":   {"curl ^\"http://lab.test/whoami^\" -d ^\"%c3%a4pfel%20kuchen^\"", post("%c3%a4pfel%20kuchen", "Content-Type: application/x-www-form-urlencoded")},
		"a prompt, and two commands":    {"C:\\Users\\me>curl ^\"http://lab.test/whoami^\" -d ^\"x^\" &\ncurl ^\"http://b/^\"", post("x", "Content-Type: application/x-www-form-urlencoded")},
		"an empty line behind a caret":  {"curl ^\"http://lab.test/whoami^\" ^\n\n  -d ^\"x^\"", post("x", "Content-Type: application/x-www-form-urlencoded")},
		"operators of cmd.exe":          {"curl ^\"http://lab.test/whoami^\" -d \"a \" 2>&1 && echo (a) || curl http://b/", post("a ", "Content-Type: application/x-www-form-urlencoded")},
		"a quote behind a caret's line": {"curl ^\"http://lab.test/whoami^\" -d ^\"a\\^\n\"b^\"", post("a\"b", "Content-Type: application/x-www-form-urlencoded")},
		"output that cmd.exe redirects": {"curl ^\"http://lab.test/whoami^\" > out.txt -d x", post("x", "Content-Type: application/x-www-form-urlencoded")},
		"a byte order mark":             {"\ufeff\n curl http://lab.test/whoami -d x\u200b\n", post("x", "Content-Type: application/x-www-form-urlencoded")},
		"lines that a terminal ends":    {"curl http://lab.test/whoami \\\r -d x\r", post("x", "Content-Type: application/x-www-form-urlencoded")},
		"typographic text in quotes":    {"curl http://lab.test/whoami -d 'it’s “x” – y'", post("it’s “x” – y", "Content-Type: application/x-www-form-urlencoded")},
		"letters of words":              {"curl http://lab.test/whoami -d می\u200cخوا’م", post("می\u200cخوا’م", "Content-Type: application/x-www-form-urlencoded")},
		"operators that end nothing":    {"curl http://lab.test/whoami -d x 2>&1 & wait; curl http://b/ && echo a", post("x", "Content-Type: application/x-www-form-urlencoded")},
		"a login":                       {`curl -u 'me:se:cret' http://lab.test/whoami`, "|" + address + "||Authorization: Basic {{authorization}}"},
		"a login of its own":            {`curl https://me:pw@lab.test/ -H 'Authorization: Bearer x'`, "|https://lab.test/||Authorization: Bearer {{authorization}}"},
	} {
		got, err := Curl(c.in, Known{Profile: testProfile()})
		r := got.Request
		parts := []string{r.Method, r.URL, r.Body}
		for _, n := range []string{"Accept", "Authorization", "Content-Type", "Sec-Ch-Ua", "X-A"} {
			for _, v := range r.Header[n] {
				parts = append(parts, n+": "+v)
			}
		}
		if text := strings.Join(parts, "|"); err != nil || text != c.want || !IsCurl(c.in) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, text, c.want)
		}
	}
}

// What a command would be sent without is refused, with the line.
func TestNothingIsTakenFromACommandInSilence(t *testing.T) {
	for in, want := range map[string]string{
		"curl http://lab.test/ \\\n\n  --data a=b":                   `line 3: it begins with an option, but the command has ended above it: end the line above with a backslash (\)`,
		"curl 'http://lab.test/' \\ \n  -H 'X-A: 1'":                 `line 1: a blank follows the \ at the end`,
		"curl \"http://lab.test/\" ^ \n  -H \"X-A: 1\"":              "line 1: a blank follows the ^ at the end",
		"curl http://lab.test/\n-H 'X-A: 1'":                         "line 2: it begins with an option",
		"\n\ncurl http://lab.test/?a=1&b=2 -H 'X-A: 1'":              "line 3: the & outside of quotes ends the command there",
		"curl http://lab.test/?a=1&b=2":                              "line 1: the & outside of quotes",
		"curl http://lab.test/?a=1\\\n&b=2":                          "line 2: the & outside of quotes",
		"curl http://lab.test/?a=1\\ &b=2":                           "line 1: the & outside of quotes",
		"curl http://lab.test/?a=1& -H x":                            "line 1: the & outside of quotes ends the command there, before its options",
		"curl http://lab.test/ \\\n -X POST;\n -d a":                 "line 2: the ; outside of quotes ends the command there, before its options",
		"curl http://lab.test/ \\\n -X POST | cat &\n -d a":          "line 2: the & outside of quotes ends the command there",
		"curl http://lab.test/ \\\n -d @body.json":                   "line 2: -d names a file",
		"curl http://lab.test/ \\\n -d \\\n $(id)":                   "line 3: a command substitution is not run",
		"curl http://lab.test/ \\\n {a,b}":                           "line 2: braces outside of quotes",
		"curl http://lab.test/ \\\n -d @- <<EOF\nhunter\nEOF":        "line 2: a here-document is not read",
		"curl ^\"http://lab.test/^\" ^\n -F ^\"a=b^\"":               "line 2: -F makes a multipart body",
		"curl ^\n http://lab.test/?a=1&b=2":                          "line 2: the & outside of quotes",
		"curl http://lab.test/a;v=1":                                 "line 1: the ; outside of quotes",
		"curl \\\n -X “POST” http://lab.test/":                       "line 2: '“' (U+201C) stands outside of quotes",
		"curl http://lab.test/ -H‘X-A: 1’":                           "line 1: '‘' (U+2018)",
		"curl http://lab.test/ –header 'X-A: 1'":                     "line 1: '–' (U+2013)",
		"curl http://lab.test/ \\\n—data 'a=1'":                      "line 2: '—' (U+2014)",
		"curl http://lab.test/ \\\n\u00a0 -d a":                      `line 2: '\u00a0' (U+00A0)`,
		"curl ^\"http://lab.test/^\" ^\n –d ^\"x^\"":                 "line 2: '–' (U+2013)",
		"curl http://lab.test/ -d @body.json":                        "line 1: -d names a file, and a command that is pasted reads no files",
		"echo '{}' | curl http://lab.test/ --json @-":                "line 1: --json names a file",
		"curl http://lab.test/ --data-urlencode n@f":                 "line 1: --data-urlencode names a file",
		"curl http://lab.test/ --url-query @f":                       "line 1: --url-query names a file",
		"curl http://lab.test/ -b jar.txt":                           "line 1: -b names a file",
		"curl http://lab.test/ -H @h":                                "line 1: -H names a file",
		"printf 'X-A: %s' \"$B\" | curl -H @- http://a/":             "line 1: -H names a file",
		"curl http://lab.test/ -K conf":                              "line 1: -K names a file",
		"curl http://lab.test/ -T file":                              "line 1: -T names a file",
		"curl http://lab.test/ -n":                                   "line 1: -n names a file",
		"curl http://lab.test/ --netrc-optional":                     "line 1: --netrc-optional names a file",
		"curl http://lab.test/ --etag-compare e":                     "--etag-compare names a file",
		"curl http://lab.test/ -z yesterday":                         "line 1: -z sends a header or an address that the form cannot make",
		"curl http://lab.test/ -C 5":                                 "-C sends a header",
		"curl http://lab.test/ --tr-encoding":                        "--tr-encoding sends a header",
		"curl http://lab.test/ --digest -u me:hunter":                "--digest sends a header",
		"curl http://lab.test/ -H 'X Foo: hunter'":                   "header … cannot be sent",
		"curl http://lab.test/ -H $'X-Foo: a\\nhunter'":              "header X-Foo cannot be sent",
		"curl http://lab.test/ -F a=b":                               "line 1: -F makes a multipart body",
		"curl ^\"http://a/^\" ^\n -d ^\"a^\n\nb^\" ^\n –x y":         "line 5: '–' (U+2013)",
		"curl.exe \"http://lab.test/\" `\n  -H \"X-A: 1\"":           "line 1: it is written for PowerShell",
		"curl.exe http://lab.test/ \n -d \"{`\"a`\":1}\"":            "line 2: it is written for PowerShell",
		"curl.exe http://lab.test/ -d 'it''s'":                       "line 1: it is written for PowerShell",
		`curl.exe http://lab.test/ -d '{\"a\":1}'`:                   "line 1: it is written for PowerShell",
		`curl http://lab.test/ -H "X: $env:KEY"`:                     "line 1: it is written for PowerShell",
		"curl -Uri http://lab.test/ -Method POST -Body hunter":       "-Uri is an option of PowerShell's own curl",
		"curl.exe http://lab.test/ \n -d \"{\"\"a\"\":\"\"$b\"\"}\"": "line 2: bash and cmd.exe read doubled quotes with a $",
		"curl ^\"http://lab.test/":                                   "a quote or a bracket is not closed",
	} {
		_, err := Curl(in, Known{Profile: testProfile()})
		if !errors.Is(err, errImport) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%q: %v\nwant %s", in, err, want)
		}
	}
}

// The shapes in which programs write a body into a HAR file.
func TestTheShapesOfABodyInAHARFile(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	for in, want := range map[string]struct {
		body   string
		header http.Header
		err    string
	}{
		`"postData":{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"q","value":"red lentil & co"},{"name":"u","value":"é"}]}`:          {"q=red+lentil+%26+co&u=%C3%A9", http.Header{"Content-Type": {form}}, ""},
		`"headers":[{"name":"content-type","value":"x/y"}],"postData":{"mimeType":"application/x-www-form-urlencoded","text":"","params":[{"name":"q"}]}`: {"q=", http.Header{"Content-Type": {"x/y"}}, ""},
		`"postData":{"mimeType":"","params":[{"name":"q","value":"1"}]}`:                                                                                  {"q=1", http.Header{"Content-Type": {form}}, ""},
		`"postData":{"mimeType":"application/json","text":"{}"}`:                                                                                          {"{}", http.Header{"Content-Type": {"application/json"}}, ""},
		`"postData":{"mimeType":"multipart/form-data","params":[{"name":"q","value":"x"},{"name":"f","fileName":"a.txt","contentType":"text/plain"}]}`:    {"", nil, "of its multipart body it holds the parts alone"},
		`"postData":{"mimeType":"a/b","text":"!","encoding":"base64"}`:                                                                                    {"", nil, "its body is not the base64 that it says it is"},
		`"bodySize":-1,"headers":[{"name":"content-length","value":"12"}]`:                                                                                {"", nil, "its body of 12 bytes is not in the file"},
		`"headers":[{"name":"X Foo","value":"hunter2"}]`:                                                                                                  {"", nil, "header … cannot be sent"},
		`"bodySize":12`: {"", nil, "its body of 12 bytes is not in the file"},
		`"bodySize":0,"cookies":[{"name":"a","value":"hunter2"}]`: {"", http.Header{"Cookie": {"{{cookie}}"}}, ""},
	} {
		list, err := HAR(strings.NewReader("\ufeff" + `{"request":{"method":"POST","url":"http://lab.test/",` + in + "}}\n\n"))
		if err != nil || !IsHAR("\ufeff"+`{"startedDateTime":"","request":{"headers":[]}}`) {
			t.Fatal(in, err)
		}
		got, err := list[0].Import(Known{Profile: testProfile()})
		if want.err != "" {
			if !errors.Is(err, errImport) || !strings.Contains(err.Error(), want.err) {
				t.Errorf("%s: %v", in, err)
			}
			continue
		}
		if err != nil || got.Request.Body != want.body || !reflect.DeepEqual(got.Request.Header, want.header) || !strings.Contains(got.Summary(), "U+FEFF at the ends of what is imported was taken off") {
			t.Errorf("%s: %v\n%q %v %s", in, err, got.Request.Body, got.Request.Header, got.Summary())
		}
	}
}
