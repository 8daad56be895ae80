package importers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func testProfile() model.Profile {
	return model.Profile{
		Name: "local", BaseURL: "http://127.0.0.1:8000", ProxyHost: "127.0.0.1", ProxyPort: 33335, UsernamePrefix: "brd",
		Account: "hl_demo01", Verify: true, CA: "/tmp/ca.pem",
		Zones: []model.Zone{{Name: "unlocker_demo", Password: "env:MINE"}, {Name: "residential_demo"}},
	}
}

var testKeys = []model.Key{{Name: "batch-user", Secret: "env:BATCH_KEY"}}

func TestColumnsOfATemplateAreVariables(t *testing.T) {
	got := noerr.Try(Curl(`curl '{{url}}' -H 'Authorization: Bearer {{token}}' -H 'X-A: {{{{b}}}}' -d '{"q":"{{q}}"}'`, Known{Profile: testProfile(), Columns: true})).Must(t)
	want := http.Header{"Authorization": {"Bearer {{token}}"}, "X-A": {"{{{{b}}}}"}, "Content-Type": {"application/x-www-form-urlencoded"}}
	if r := got.Request; r.URL != "{{url}}" || r.Body != `{"q":"{{q}}"}` || !reflect.DeepEqual(r.Header, want) || len(got.Replaced)+len(got.Dropped) > 0 {
		t.Errorf("%+v, notes %v %v", r, got.Replaced, got.Dropped)
	}
}

func TestACurlCommandBecomesTheForm(t *testing.T) {
	none := model.FetchRequest{Retries: -1}
	for name, c := range map[string]struct {
		in     string
		want   func(r *model.FetchRequest)
		source string
		notes  string // of Replaced and Left
	}{
		"an address alone": {
			`curl http://lab.test/ok`, func(r *model.FetchRequest) { r.URL = "http://lab.test/ok" }, "curl", "",
		},
		"quotes, continuations and a cluster": {
			"$ curl -sSX PUT \\\r\n  -H $'X-Tab: a\\tb' -H \"X-Q: it's \\\"so\\\"\" --data-raw 'a'\"b\"c lab.test/'a b'?q=*",
			func(r *model.FetchRequest) {
				r.URL, r.Method, r.Body = "http://lab.test/a b?q=*", "PUT", "abc"
				r.Header = http.Header{"X-Tab": {"a\tb"}, "X-Q": {`it's "so"`}, "Content-Type": {"application/x-www-form-urlencoded"}}
			}, "curl", "",
		},
		"the API": {
			`curl -X POST http://127.0.0.1:8000/request -H "Authorization: Bearer $BATCH_KEY" -H 'Content-Type: application/json' -d "{\"zone\":\"unlocker_demo\",\"url\":\"http://lab.test/p?q=$Q\",\"format\":\"json\",\"method\":\"POST\",\"headers\":{\"X-A\":\"1\"},\"body\":\"b\",\"country\":\"de\",\"session\":\"s1\",\"render\":true}"`,
			func(r *model.FetchRequest) {
				r.Zone.Name, r.URL, r.Via, r.Format, r.Key = "unlocker_demo", "http://lab.test/p?q={{Q}}", model.ViaAPI, model.FormatJSON, "batch-user"
				r.Method, r.Header, r.Body, r.Country, r.Session = "POST", http.Header{"X-A": {"1"}}, "b", "de", "s1"
			}, "curl, API Access", `the field "render" of its body: the form has none for it`,
		},
		"the API with a key in it": {
			`curl http://127.0.0.1:8000/request -H 'Authorization: Bearer hunter2hunter2' -d '{"zone":"z","url":"http://lab.test/"}'`,
			func(r *model.FetchRequest) {
				r.Zone.Name, r.URL, r.Via, r.Format = "z", "http://lab.test/", model.ViaAPI, model.FormatRaw
			}, "curl, API Access", "the key in it was left out: the form uses the key it names, by reference",
		},
		"the API of another service": {
			`curl https://api.example.com/request -d '{"zone":"z","url":"http://lab.test/"}'`,
			func(r *model.FetchRequest) {
				r.Zone.Name, r.URL, r.Via, r.Format = "z", "http://lab.test/", model.ViaAPI, model.FormatRaw
			}, "curl, API Access", "the address of its API is not the profile's: the form sends to the profile's",
		},
		"the proxy": {
			`curl -k -x http://127.0.0.1:33335 -U brd-customer-hl_demo01-zone-unlocker_demo-country-de-session-a1-city-berlin:hunter2 https://lab.test/shop`,
			func(r *model.FetchRequest) {
				r.Zone.Name, r.URL, r.Via, r.Country, r.Session = "unlocker_demo", "https://lab.test/shop", model.ViaNative, "de", "a1"
			}, "curl, Native Access", `its password was left out: the profile's reference for zone "unlocker_demo" is used|-k: the profile decides whether certificates are checked (verify)|the parameter city of its username: the form has no field for it`,
		},
		"the proxy in one address": {
			`curl --proxy http://brd-customer-hl_demo01-zone-unlocker_demo:p%40ss@proxy.example.com:22225 http://lab.test/`,
			func(r *model.FetchRequest) {
				r.Zone.Name, r.URL, r.Via = "unlocker_demo", "http://lab.test/", model.ViaNative
			}, "curl, Native Access", `its password was left out: the profile's reference for zone "unlocker_demo" is used|its proxy proxy.example.com is not the profile's (127.0.0.1), which is used|its port 22225 is not the profile's (33335), which is used`,
		},
		"the proxy by references": {
			`curl --cacert /tmp/ca.pem https://lab.test/ -x http://127.0.0.1:33335 -U "brd-customer-hl_demo01-zone-unlocker_demo:$MINE"`,
			func(r *model.FetchRequest) {
				r.Zone.Name, r.URL, r.Via = "unlocker_demo", "https://lab.test/", model.ViaNative
			}, "curl, Native Access", "",
		},
		"another proxy": {
			`curl -x socks5h://a:hunter2@localhost:1080 http://lab.test/`, func(r *model.FetchRequest) { r.URL = "http://lab.test/" },
			"curl", "-x: its login cannot be read, so that zone and access method stay as they are",
		},
		"data into the query": {
			`curl -G -d a=1 --data-urlencode "q=ä b&c$X" --url-query 'z==?' 'http://lab.test/?o=1#f'`,
			func(r *model.FetchRequest) { r.URL = "http://lab.test/?o=1&z=%3D%3F&a=1&q=%C3%A4+b%26c{{X}}#f" }, "curl", "",
		},
		"json": {
			`curl --json '{"a":' --json '1}' http://lab.test/`, func(r *model.FetchRequest) {
				r.URL, r.Method, r.Body = "http://lab.test/", "POST", `{"a":1}`
				r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
			}, "curl", "",
		},
		"what is a secret of the target": {
			`curl http://lab.test/ -b 'sid=hunter2' -H 'Authorization: Bearer hunter2' -H "X-Api-Key: $KEY"`,
			func(r *model.FetchRequest) {
				r.URL = "http://lab.test/"
				r.Header = http.Header{"Cookie": {"{{cookie}}"}, "Authorization": {"Bearer {{authorization}}"}, "X-Api-Key": {"{{KEY}}"}}
			}, "curl", "the value of header Cookie was left out: {{cookie}} stands for it|the value of header Authorization was left out: {{authorization}} stands for it",
		},
		"a login in the address": {
			`curl https://me:hunter2@lab.test:8443/x`, func(r *model.FetchRequest) {
				r.URL, r.Header = "https://lab.test:8443/x", http.Header{"Authorization": {"Basic {{authorization}}"}}
			},
			"curl", "the login of the target (in the URL) was left out: {{authorization}} stands for user:password in base64",
		},
		"times": {
			`curl -m 1.5 --retry 2 -I -L http://lab.test/`, func(r *model.FetchRequest) {
				r.URL, r.Method, r.Timeout, r.Retries = "http://lab.test/", "HEAD", 1500*time.Millisecond, 2
			}, "curl", "-L: redirects are shown, not followed",
		},
		"what looks like a variable is none": {
			`curl -g 'http://lab.test/{{x}}'`, func(r *model.FetchRequest) { r.URL = "http://lab.test/{{{{x}}}}" }, "curl", "",
		},
		"more commands, and what follows": {
			`export A=hunter2; curl -X POST http://lab.test/ http://lab.test/2 > out | jq .; curl http://lab.test/3`,
			func(r *model.FetchRequest) { r.URL, r.Method = "http://lab.test/", "POST" },
			"curl", "the value that it gives the variable A was not read|jq was not read|where the shell writes the output was not read",
		},
		"a transfer after it": {
			`curl -A me -e http://r.test/ --range 0-9 http://lab.test/ --next -d x http://lab.test/2`,
			func(r *model.FetchRequest) {
				r.URL, r.Header = "http://lab.test/", http.Header{"User-Agent": {"me"}, "Referer": {"http://r.test/"}, "Range": {"bytes=0-9"}}
			}, "curl", "what follows --next, another transfer, was not read",
		},
		"what a pipe gives it": {
			`printf 'Authorization: Bearer %s\n' "$B" | curl -H @- http://lab.test/`, func(r *model.FetchRequest) { r.URL = "http://lab.test/" },
			"curl", "printf was not read|what the pipe gives curl was not read",
		},
	} {
		got, err := Curl(c.in, Known{Profile: testProfile(), Keys: testKeys})
		want := none
		c.want(&want)
		if err != nil || got.Source != c.source {
			t.Errorf("%s: source %q, %v", name, got.Source, err)
			continue
		}
		if !reflect.DeepEqual(got.Request, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got.Request, want)
		}
		notes := strings.Join(slices.Concat(got.Replaced, got.Dropped), "|")
		if c.notes == "" && notes != "" || !containsAll(notes, c.notes) {
			t.Errorf("%s:\nnotes %s\nwant  %s", name, notes, c.notes)
		}
		if all := got.Summary(); strings.Contains(all, "hunter2") {
			t.Errorf("%s: it repeats a secret: %s", name, all)
		}
	}
}

func containsAll(notes, want string) bool {
	for part := range strings.SplitSeq(want, "|") {
		if !strings.Contains(notes, part) {
			return false
		}
	}
	return true
}

func TestWhatCannotBeReadIsRefusedByName(t *testing.T) {
	for in, want := range map[string]string{
		`curl 'http://lab.test/`:                               "a quote or a bracket is not closed",
		`curl "http://lab.test/$(cat hunter2)"`:                "a command substitution is not run",
		"curl http://lab.test/ -H \"X: `id`\"":                 "a command substitution is not run",
		`curl --proxy=http://a:hunter2@b http://lab.test/`:     "curl takes no --proxy=VALUE: the value is the next word",
		`curl --hunter-two http://lab.test/`:                   "curl has no option --hunter-two",
		`curl --HUNTER2 http://lab.test/`:                      "curl has no option --…",
		`curl http://lab.test/ -H`:                             "-H needs a value",
		`curl -sS`:                                             "the command names no URL",
		`wget http://lab.test/`:                                "there is no curl command in it",
		`curl ftp://lab.test/`:                                 "the URL is neither http nor https",
		`curl "http://lab.test/${X%hunter2}"`:                  "the expansion of a parameter is more than a variable: write $NAME",
		`curl "http://lab.test/$1"`:                            "the expansion of a parameter is more than a variable: write $NAME",
		`curl http://lab.test/$((1+1))`:                        "arithmetic of the shell is not evaluated",
		`curl http://127.0.0.1:8000/request -d hunter2`:        "the body of the call is not a JSON object",
		`curl http://127.0.0.1:8000/request -d '{"zone":"z"}'`: "the body of the call names no url",
		"curl http://lab.test/\x00":                            "it holds control characters",
		strings.Repeat("$(", 5000) + "curl":                    "a quote or a bracket is not closed, or too many stand in one another",
		strings.Repeat("(", 100<<10) + "curl":                  "or too many stand in one another",
		"curl http://a/ -d 'b' \\\n | jq (":                    "line 2: bash cannot read it",
		"curl http://a/\ncurl http://a/ -d 'hunter2":           "line 2: a quote or a bracket is not closed",
		"curl http://a/ =(hunter2)":                            "line 1: bash cannot read it",
		"curl http://a/ # why \\\n -d hunter2":                 "line 1: a comment ends in a backslash",
		"curl http://a/ -d $'a\\x00hunter2'":                   "a word of the shell cannot hold a zero byte",
		"curl http://a/ -d caf\xe9":                            "or is not UTF-8",
		"curl http://lab.test/ -d @- <<EOF\nhunter2\nEOF":      "a here-document is not read: put the data into quotes",
		"curl http://lab.test/" + strings.Repeat("x", 300<<10): "it has 307221 bytes, more than 131072",
		`curl http://lab.test/{a,b}`:                           "braces outside of quotes make several words",
		"curl " + strings.Repeat("{1..9}", 20):                 "braces outside of quotes make several words",
		`curl <(hunter2) http://lab.test/`:                     "a process substitution is not run",
		`curl "http://lab.test/$(echo a; echo hunter2)"`:       "a command substitution is not run",
	} {
		_, err := Curl(in, Known{Profile: testProfile()})
		if !errors.Is(err, errImport) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.80q: %v\nwant %s", in, err, want)
		}
	}
}

func TestTheLoginOfACurlCommand(t *testing.T) {
	l, err := Login(`curl --proxy proxy.test:33335 --proxy-user "brd-customer-hl_1-zone-a:hunter2" https://lab.test/`)
	if err != nil || l.Host != "proxy.test" || l.Port != 33335 || l.Username != "brd-customer-hl_1-zone-a" || !l.HasPassword {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := Login(`curl -x http://brd-customer-hl_1-zone-a@[::1]:33335 https://lab.test/`); err != nil || l.Host != "::1" || l.Port != 33335 || l.HasPassword {
		t.Errorf("%+v, %v", l, err)
	}
	for in, want := range map[string]string{
		`curl https://lab.test/`:                        "the command names no proxy",
		`curl -x "$PROXY" https://lab.test/`:            "the command gives its proxy no login that can be read",
		`curl -x socks5://a:b@c:1080 https://lab.test/`: "the command gives its proxy no login that can be read",
	} {
		if _, err := Login(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// What curl itself sends for a command is what the form holds after reading it.
func TestTheFormHoldsWhatCurlSends(t *testing.T) {
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("install %s to run this test", tool)
		}
	}
	for _, in := range []string{
		`curl ADDR/a`,
		`curl -sSXDELETE ADDR/a?b=c`,
		`curl -d a=1 -d 'b=2 3' ADDR`,
		`curl --data-binary $'a\nb' -H 'Content-Type: text/plain' ADDR/`,
		`curl --data-urlencode 'a=1 &é' --data-urlencode '=x=y' --data-urlencode plain+ ADDR/`,
		`curl -G --data-urlencode 'a=1 &é~' -d b ADDR/x?y`,
		`curl --json '{"a":1}' ADDR/`,
		`curl -H 'X-A: 1' -H 'X-B;' -H 'X-C:' -A ua -e ref --range 1-2 ADDR/`,
		`curl 'ADDR/{x,y}[1-2]z' -g`,
		`curl --request POST --no-silent --url ADDR/u --head`,
		`curl --data a --get --data b ADDR/`,
		`curl -H 'Content-Type:' -d x ADDR/`,
		`curl -H 'Content-Type;' -d x ADDR/`,
		`curl -H Accept --json '{}' ADDR/`,
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		noerr.Must(t, err)
		in := strings.ReplaceAll(in, "ADDR", "http://"+ln.Addr().String())
		type arrival struct {
			req  *http.Request
			body string
		}
		arrived := make(chan arrival, 1)
		go func() {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			req, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return
			}
			arrived <- arrival{req, string(body)}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") // curl may have left
		}()
		got, err := Curl(in, Known{Profile: model.Profile{Verify: true}})
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-c", "curl() { command curl --max-time 30 --noproxy '*' -sS \"$@\"; }\n"+in)
		var out bytes.Buffer
		cmd.Stderr = &out
		runErr := cmd.Run()
		ln.Close()
		var a arrival
		select {
		case a = <-arrived:
		default:
			t.Fatalf("%s: nothing arrived: %v, %s", in, runErr, out.String())
		}
		r := got.Request.Reveal(nil)
		method := r.Method
		if method == "" {
			method = http.MethodGet
		}
		address := model.ExpandVariables(r.URL, nil)
		sent := "http://" + a.req.Host + a.req.RequestURI
		if strings.EqualFold(sent, address) || sent == address+"/" { // curl writes some escapes in small letters
			sent = address
		}
		if a.req.Method != method || sent != address || a.body != r.Body {
			t.Errorf("%s\ncurl sent %s %s %q\nthe form  %s %s %q", in, a.req.Method, sent, a.body, method, address, r.Body)
		}
		for _, own := range []string{"Accept", "User-Agent", "Content-Length"} { // which every client writes
			if r.Header.Get(own) == "" {
				a.req.Header.Del(own)
			}
		}
		if len(a.req.Header) > 0 && !reflect.DeepEqual(a.req.Header, r.Header) || len(a.req.Header) == 0 && len(r.Header) > 0 {
			t.Errorf("%s\ncurl sent %v\nthe form  %v", in, a.req.Header, r.Header)
		}
	}
}

// Words that a shell reads in its own way reach the form as they reach a program.
func TestWordsAreReadAsBashReadsThem(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("install bash to run this test")
	}
	for _, word := range []string{
		`a\ b`, `'a\b'`, `"a\b\"c\\d"`, `$'a\x41\u00e9\101\'q'`, `$"a"`, `a'b'"c"`, `*`, `[a-c]`, `a#b`, `"a` + "\n" + `b"`,
		`\$HOME`, `'$HOME'`, `!x`, `"!x"`, `a=b`, `x\` + "\n" + `y`, `""`, `{a}`, `{a,b`, `é`, `%s`, `&1`[1:],
		`a\\\` + "\n" + `b`, `"a\\\` + "\n" + `b"`, `$'\1018'`,
	} {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", `f() { printf '%s\0' "$@"; }; f `+word)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "LC_ALL=C.UTF-8") // what \u stands for goes by the locale
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		args, _, err := readShell("curl "+word, &Imported{})
		if err != nil || !slices.Equal(args, want) {
			t.Errorf("%s: %q, %v; bash says %q", word, args, err, want)
		}
	}
}

func TestACurlCommandIsKnownByItsBeginning(t *testing.T) {
	for text, want := range map[string]bool{
		"curl http://a": true, " $ curl -s http://a\n": true, "curl\\\n http://a": true, "# why\n# more\ncurl http://a": true,
		"export A=b\ncurl http://a": true, "A=b curl http://a": true, "printf x |\n  curl http://a": true, "curl.exe http://a": true,
		": \"${A:?}\" &&\ncurl http://a": true, ":curl http://a": false, ": x": false,
		"": false, "http://lab.test/curl x": false, "curly http://a": false, "echo curl": false, "printf x": false, "text\ncurl http://a": false, "curl": false,
	} {
		if IsCurl(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

func FuzzCurl(f *testing.F) {
	for _, s := range []string{
		`curl http://lab.test/ -H 'A: b'`, "curl -K - <<< 'url = \"http://a\"'", `printf '%s' "$X" | curl -H @- http://a`,
		`curl -x http://u:hunter2secret@h:1 http://a`, `curl -d '{"zone":"a","url":"http://b"}' http://127.0.0.1:8000/request`,
		"curl <<A\n$x\nA", `curl $'\x01' "${X:-hunter2secret}" -U "$U:$P"`, `curl -H "Authorization: Basic $(printf %s:%s a "$b" | base64 | tr -d '\n')" http://a`,
		`curl -H a "x Basic $(printf %s:%s "a$b" | base64 | tr -d '\n')"`,
	} {
		f.Add(s)
	}
	p := testProfile()
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Curl(text, Known{Profile: p, Keys: testKeys})
		if err != nil {
			if !errors.Is(err, errImport) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if strings.ContainsAny(got.Summary()+got.Request.URL+got.Request.Body+string(got.Request.Zone.Name), markEnv) {
			t.Fatalf("%q: a mark is left in %+v", text, got)
		}
		if got.Request.URL == "" {
			t.Fatalf("%q: no URL in %+v", text, got)
		}
	})
}

// A secret that stands where secrets stand never leaves the command.
func FuzzCurlSecret(f *testing.F) {
	f.Add("hunter2hunter2", "lab.test/x")
	p := testProfile()
	f.Fuzz(func(t *testing.T, secret, address string) {
		if len(secret) < 6 || strings.Contains(address, secret) || strings.ContainsAny(secret+address, "\x00"+markEnv) {
			return
		}
		q := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
		for _, form := range []string{
			"curl " + q(address) + " -H " + q("Authorization: Bearer "+secret),
			"curl " + q(address) + " -H " + q("Cookie: "+secret) + " -u " + q("x:"+secret),
			"curl " + q(address) + " -x h:1 -U " + q("brd-customer-hl_demo01-zone-z:"+secret),
			"curl http://127.0.0.1:8000/request -H " + q("authorization: bearer "+secret) + ` -d '{"zone":"z","url":"http://b/"}'`,
		} {
			got, err := Curl(form, Known{Profile: p, Keys: testKeys})
			all := got.Summary()
			if err != nil {
				all = err.Error()
			}
			for _, words := range []string{"authorization", "password", "reference", "profile", "header", "cookie", "unlocker_demo"} {
				if strings.Contains(words, secret) || strings.Contains(all, words) && strings.Contains("the value of header was left behind stands for it by reference uses key names login has no field one zone", secret) {
					return
				}
			}
			r := got.Request
			for _, s := range []string{all, r.URL, r.Body, r.Header.Get("Authorization"), r.Header.Get("Cookie"), r.Session, r.Country} {
				if strings.Contains(s, secret) {
					t.Fatalf("%s: %q holds it", form, s)
				}
			}
		}
	})
}
