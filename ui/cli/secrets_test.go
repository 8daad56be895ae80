package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"zonedeck/internal/noerr"
	"zonedeck/service/config"
	"zonedeck/service/servicetest"
	"zonedeck/ui/uitest"
)

// The secrets that are marked: a key, a zone's password, a variable of a request.
const (
	markedKey      = "Zd+K3y/Marked=Value&0123456789"
	markedPassword = "Zd+Pa55/Marked=Word&9876543210"
	markedToken    = "Zd+T0ken/Marked=Also&5555544444"
	markedOld      = "Zd+01d/Marked=Before&1111133333" // the old value of a rotated key
	markedNew      = "Zd+New/Marked=After&7777799999"
	markedWebhook  = "Zd+H00k/Marked=Auth&2222244444" // the auth_header of a job's endpoint
)

// marked is all of these secrets.
func marked() []string {
	return []string{markedKey, markedPassword, markedToken, markedOld, markedNew, markedWebhook}
}

// repeated is a header as a hostile service repeats it, in three forms.
func repeated(value string) string {
	return value + " " + base64.StdEncoding.EncodeToString([]byte(value)) + " " + url.QueryEscape(value)
}

const lookups = "/datasets/deep_lookup/v1/preview"

// hostileService answers every call of the dialect, and repeats in each answer what was sent.
// used counts the calls that had the key.
func hostileService(t *testing.T, used *atomic.Int64, deleted *atomic.Bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(r.Header.Get("Authorization"), markedKey) {
			used.Add(1)
		}
		echo := repeated(r.Header.Get("Authorization")) + repeated(string(body)) + repeated(r.URL.Query().Get("auth_header")) + r.URL.RawQuery
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		quoted, _ := json.Marshal(echo)
		answer := map[string]string{
			"/datasets/v3/trigger":       `{"snapshot_id":"sd_1","echo":` + string(quoted) + `}`,
			"/datasets/v3/progress/sd_1": `{"status":"ready","records":1,"message":` + string(quoted) + `}`,
			"/datasets/v3/progress/sd_2": `{"status":"failed","error":` + string(quoted) + `}`,
			"/datasets/v3/snapshot/sd_1": `[{"url":"http://shop.test/","echo":` + string(quoted) + `}]`,
			"/datasets/v3/snapshots":     `[{"id":"sd_1","status":` + string(quoted) + `,"dataset_id":"gd_1"}]`,
			"/datasets/v3/scrapers":      `[{"id":"gd_1","name":` + string(quoted) + `,"scraper_type":["collect_by_url"],"scrapers":{"collect_by_url":{"input_schema":[{"name":"url","type":"url","required":true,"description":` + string(quoted) + `,"example":` + string(quoted) + `}]}}}]`,
			lookups:                      `{"preview_id":"dld_1","echo":` + string(quoted) + `}`,
			lookups + "/dld_1":           `{"status":"failed","error":` + string(quoted) + `}`,
			"/datasets/list":             `[{"id":"gd_1","name":` + string(quoted) + `}]`,
			"/status":                    `{"status":"active","customer":"hl_marked"}`,
			"/zone/get_all_zones":        `[{"name":"unlocker1","type":"unblocker","status":"active"}]`,
			"/zone":                      `{"password":["` + markedPassword + `"],"plan":{"echo":` + string(quoted) + `,"type":` + string(quoted) + `},"ips":[` + string(quoted) + `],"description":` + string(quoted) + `}`,
			"/zone/status":               `{"status":` + string(quoted) + `}`,
			"/zone/recent_ips":           `{"unlocker1":[` + string(quoted) + `]}`,
			"/zone/bw":                   `{"hl_marked":{"sums":{"unlocker1":{"custom":{"bw_sum":1,"echo":` + string(quoted) + `}}}}}`,
			"/network_status/all":        `{"status":` + string(quoted) + `}`,
			"/zone/passwords":            `{"passwords":["` + markedPassword + `"]}`,
		}[r.URL.Path]
		switch {
		case deleted.Load() && strings.Contains(r.Header.Get("Authorization"), markedOld):
			w.WriteHeader(http.StatusUnauthorized)
			answer = "Invalid credentials " + echo
		case r.URL.Query().Get("endpoint") != "" && r.URL.Query().Get("auth_header") != markedWebhook:
			w.WriteHeader(http.StatusBadRequest)
			answer = echo
		case r.URL.Query().Get("dataset_id") == "gd_lost": // without an identifier
			answer = string(quoted)
		case r.URL.Path == "/request" && bytes.Contains(body, []byte("refused")):
			w.WriteHeader(http.StatusForbidden)
			answer = echo
		case r.URL.Path == "/request" && bytes.Contains(body, []byte("mygeo.json")): // a proof asks for the test page
			answer = `{"country":` + string(quoted) + `,"asn":{"org_name":` + string(quoted) + `},"geo":{}}`
		case r.URL.Path == "/request":
			w.Header().Set("Content-Type", "text/html")
			answer = "<html><title>" + echo + "</title><p>" + echo + "</p></html>"
		case answer == "":
			w.WriteHeader(http.StatusBadRequest)
			answer = echo
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// hostileProxy refuses every login, and repeats it.
func hostileProxy(t *testing.T, used *atomic.Int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				login := r.Header.Get("Proxy-Authorization")
				if strings.Contains(servicetest.LoginOf(login), markedPassword) {
					used.Add(1)
				}
				echo := login + " " + repeated(servicetest.LoginOf(login))
				fmt.Fprintf(conn, "HTTP/1.1 407 Proxy Authentication Required\r\nX-Echo: %s\r\nx-brd-error: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", login, echo, len(echo), echo)
			}()
		}
	}()
	return l.Addr().String()
}

// secretRun is one run of a command. {dir} in an argument is the home. With --json its standard output has to be JSON.
type secretRun struct {
	args  string // separated by blanks
	stdin string
	// deleted says that the service refuses the old value of the rotated key from now on.
	deleted bool
	want    string // on its standard output
}

// secretRuns are runs of every command with the marked secrets. Later runs use the results of
// earlier ones.
func secretRuns() []secretRun {
	return []secretRun{
		{args: "paths --json"},
		{args: "version --json"},
		{args: "man"},
		{args: "completion bash"},
		{args: "profiles list --json"},
		{args: "profiles check acme"},
		{args: "profiles check acme --json"},
		{args: "profiles add other --base-url {api} --dialect brightdata --store file --key other --proxy-host {proxy} --admin-reason rehearsed --json", stdin: markedKey + "\n"},
		{args: "--profile other zones password unlocker1 --json"},
		{args: "--profile other zones password unlocker1 --rotate"},
		{args: "--profile other zones password unlocker1 --report --json"},
		{args: "profiles edit acme --color red --json"},
		{args: "profiles remove other --yes --json"},
		{args: "request http://shop.test/ok --zone unlocker1 --json"},
		{args: "request http://shop.test/ok --zone unlocker1 -o {dir}/page.html"},
		{args: "request http://shop.test/refused --zone unlocker1"},
		{args: "request http://shop.test/{{token}} --zone unlocker1 --header X-Token:{{token}} --json"},
		{args: "request http://shop.test/ok --zone unlocker1 --via native"},
		{args: "request https://shop.test/ok --zone unlocker1 --via native --json"},
		{args: "batch probe http://shop.test/ok --zone unlocker1 --yes --json"},
		{args: "compare http://shop.test/ok --zones unlocker1,dc1 --json"},
		{args: "compare {{url}}?t={{token}} --input {dir}/urls.txt --zones unlocker1,dc1 --json", want: `"runs":1`},
		{args: "compare --logins --zones unlocker1,dc1 --json"},
		{args: "twin http://shop.test/ok --zones unlocker1,dc1 --json"},
		{args: "diagnose http://shop.test/refused --zone unlocker1 --json"},
		{args: "diagnose http://shop.test/refused --zone unlocker1 --json"},
		{args: "saved add three http://shop.test/{{token}} --zone unlocker1 --header X-Token:{{token}} --json"},
		{args: "zones list --json"},
		{args: "saved list --json"},
		{args: "saved show one"},
		{args: "saved show one --json"},
		{args: "saved rename one two --json"},
		{args: "saved remove two --json"},
		{args: "saved restore"},
		{args: "saved restore --json"},
		{args: "saved restore two --json"},
		{args: "har -o {dir}/fetches.har"},
		{args: "export http://shop.test/ok --as curl --zone unlocker1"},
		{args: "export http://shop.test/ok --as python --zone unlocker1 --via native"},
		{args: "export --as url --zone unlocker1 --via native"},
		{args: "export --as url --zone unlocker1 --via native --json"},
		{args: "diagnose - --json", stdin: "HTTP/1.1 200 OK\n\nx"},
		{args: "rules {dir}/rules.toml"},
		{args: "rules {dir}/rules.toml --json"},
		{args: "jobs launch gd_1 --input {dir}/urls.txt --json"},
		{args: "jobs follow --until-idle --json"},
		{args: "jobs watch job-1 --json"},
		{args: "jobs download job-1 -o {dir}/rows.json --json"},
		{args: "jobs rows job-1 --json -o {dir}/some.ndjson"},
		{args: "jobs show job-1 --json"},
		{args: "request http://shop.test/ok --zone unlocker1 --require title"},
		{args: "drift list --json", want: `"name":"shop.test/ok"`},
		{args: "drift show gd_1 --json", want: `"field":"echo"`},
		{args: "drift show http://shop.test/ok --json", want: `"field":"title"`},
		{args: "drift accept gd_1 --reason rehearsed --json", want: `"reason":"rehearsed"`},
		{args: "drift contract gd_1"},
		{args: "drift contract gd_1 --json"},
		{args: "drift check --json --input {dir}/rows.json gd_1", want: `"judged":true`},
		{args: "jobs adopt sd_2 --json"},
		{args: "jobs watch job-2 --json"},
		{args: "schedule jobs --as systemd"},
		{args: "schedule jobs --as systemd --json"},
		{args: "jobs list --json"},
		{args: "jobs list --remote --json"},
		{args: "datasets list --json"},
		{args: "datasets show gd_1"},
		{args: "datasets show gd_1 --json"},
		{args: "jobs launch gd_1 --input {dir}/urls.txt --again --save-list one"},
		{args: "jobs cancel job-3 --json"},
		{args: "jobs relaunch job-1 --rest --dry-run"},
		{args: "jobs relaunch job-3 --yes --again --json"},
		{args: "jobs launch gd_lost --input {dir}/urls.txt"},
		{args: "jobs settle job-5"},
		{args: "jobs adopt sd_none --json", want: `"rule":"request_refused"`},
		{args: "jobs launch deep_lookup --input {dir}/lookup.json --preview --json", want: `"rule":"preview_failed"`},
		{args: "jobs settle job-5 --not-started --yes --json"},
		{args: "jobs launch gd_1 --input {dir}/urls.txt --again --endpoint https://hooks.test/in --auth-header env:HOOK --json", want: `"state":"accepted"`},
		{args: "jobs launch gd_lost --input {dir}/urls.txt --again --endpoint https://hooks.test/in --auth-header env:HOOK --json", want: `"state":"may_have"`},
		{args: "jobs relaunch job-6 --yes --again --json", want: `"repeats":"job-6"`},
		{args: "jobs show job-7"},
		{args: "webhook listen --address 127.0.0.1:0 --json", want: `"verified_by":["Authorization"]`},
		{args: "webhook list --json", want: "hook-1"},
		{args: "webhook show hook-1"},
		{args: "webhook show hook-1 --json"},
		{args: "webhook mark hook-1 --json"},
		{args: "webhook mark hook-1 --off --json"},
		{args: "webhook replay hook-1 --to {api}/hook --json", want: "400"},
		{args: "proxy url --zone unlocker1 --json"},
		{args: "proxy test --zone unlocker1 --json"},
		{args: "compare --logins --zones unlocker1,dc1 --json"},
		{args: "zones rates --json --key money"},
		{args: "zones show unlocker1 --json"},
		{args: "zones show unlocker1"},
		{args: "account --json"},
		{args: "account --key money"},
		{args: "keys list --json"},
		{args: "keys check --json"},
		{args: "keys lint --json"},
		{args: "keys uses daily --scan {dir}/repo"},
		{args: "keys uses daily --scan {dir}/repo --json"},
		{args: "keys export --as csv"},
		{args: "keys export --json"},
		{args: "keys import {dir}/repo"},
		{args: "keys import {dir}/repo --json"},
		{args: "schedule keys --as cron"},
		{args: "schedule keys --as cron --json"},
		{args: "keys rotate daily --json"},
		{args: "secrets set file:filed", stdin: markedOld + "\n"},
		{args: "--profile filed keys rotate filed --rehearse", want: "the old value is refused"},
		{args: "--profile filed keys rotate filed --rehearse --json"},
		{args: "--profile filed keys rotate filed --value env:ZNEW --yes"},
		{args: "--profile filed keys rotate filed --json", deleted: true, want: `"status":401`},
		{args: "--profile filed keys rotate filed --report", want: "9999"},
		{args: "--profile filed keys rotate filed --report --json", want: "9999"},
		{args: "--profile filed keys list"},
		{args: "batch {dir}/urls.txt --zone unlocker1 --once n --retries 0"},
		{args: "batch {dir}/urls.txt --zone unlocker1 --once n --retries 0 --dry-run --json"},
		{args: "batch {dir}/urls.txt --template - --once t --retries 0 --json", stdin: "zone = \"unlocker1\"\nurl = \"{{url}}?t={{token}}\"\n[headers]\nX-Api-Key = [\"{{token}}\"]\n", want: `"done":1`},
		{args: "batch results t"},
		{args: "batch list --json"},
		{args: "batch show n --json"},
		{args: "batch resume n --json"},
		{args: "batch pause n --json"},
		{args: "batch set n --at-once 2 --json"},
		{args: "batch lost n --json"},
		{args: "batch retry n --class captcha,outside --json"},
		{args: "batch report n --as markdown"},
		{args: "batch report n --json"},
		{args: "schedule batch n --as cron --json"},
		{args: "batch results n"},
		{args: "batch body n 1"},
		{args: "batch bodies n -o {dir}/pages --json"},
		{args: "batch remove n --yes --json"},
		{args: "secrets set file:spare", stdin: markedKey + "\n"},
		{args: "secrets set file:gone --json", stdin: markedKey + "\n"},
		{args: "secrets remove file:gone --yes --json"},
		{args: "secrets list --json"},
		{args: "secrets migrate --store file --json"},
		{args: "secrets protect --by passphrase --json", stdin: markedToken + "\n"},
		{args: "--profile local emulate reset --json"},
		{args: "worker --database postgres://nobody@127.0.0.1:1/none?sslmode=disable"},
		{args: "mcp --max-cost 5 --allow-unpriced"},
		{args: "emulate --proxy 127.0.0.1:0 --cdp 127.0.0.1:0 --json"},
	}
}

// markedHome writes the files of a home with the marked secrets behind references, and returns its folder.
func markedHome(t *testing.T, base Process, api, proxy string) (dir string) {
	t.Helper()
	dir = base.Getenv("HOME")
	host, port, _ := net.SplitHostPort(proxy)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		noerr.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	paths := config.FindPaths(base.Getenv)
	relative := func(path string) string {
		name, err := filepath.Rel(dir, path)
		noerr.Must(t, err)
		return name
	}
	write("urls.txt", "http://shop.test/1\n")
	write("lookup.json", `[{"query":"lamps"}]`)
	write("repo/.env", "OTHER_API_KEY="+markedKey+"\n")
	write("rules.toml", "")
	write(relative(filepath.Join(paths.ContractsDir(), "one.toml")), "dataset = \"gd_1\"\n")
	write(relative(filepath.Join(paths.RequestsDir(), "one.toml")), "zone = \"unlocker1\"\nurl = \"http://shop.test/{{token}}\"\n")
	write(relative(paths.ConfigFile()), fmt.Sprintf(`
[profiles.acme]
base_url = %q
dialect = "brightdata"
proxy_host = %q
proxy_port = %s
username_prefix = "brd"
account = "hl_marked"
key = "daily"
[profiles.acme.variables]
token = "env:TOKEN"
[[profiles.acme.zones]]
name = "unlocker1"
product = "unlocker"
password = "env:ZP"
[[profiles.acme.zones]]
name = "dc1"
product = "datacenter"
password = "env:ZP"
[[webhook.verify]]
kind = "authorization"
secret = "env:TOKEN"
[[webhook.verify]]
kind = "hmac"
header = "X-Signature"
secret = "env:ZK"
[profiles.filed]
base_url = %q
dialect = "brightdata"
key = "filed"
[[profiles.filed.zones]]
name = "unlocker1"
product = "unlocker"
`, api, host, port, api))
	write(relative(paths.KeysFile()), "[[keys]]\nname = \"daily\"\nlevel = \"USER\"\nsecret = \"env:ZK\"\n[[keys]]\nname = \"money\"\nlevel = \"FINANCE\"\nsecret = \"env:ZK\"\n[[keys]]\nname = \"filed\"\nlevel = \"OPS\"\nsecret = \"file:filed\"\n")
	return dir
}

// TestNoCommandWritesASecret runs every command against a service and a proxy that repeat what
// they are sent. It searches for the secrets in all output: both streams, every file of the home,
// and the arguments of other programs.
func TestNoCommandWritesASecret(t *testing.T) {
	var byKey, byPassword atomic.Int64
	var deleted atomic.Bool
	api, proxy := hostileService(t, &byKey, &deleted), hostileProxy(t, &byPassword)
	base, _, _ := process(t, map[string]string{
		"ZK": markedKey, "ZP": markedPassword, "TOKEN": markedToken, "HOOK": markedWebhook, "ZNEW": markedNew, profileVariable: "acme", "ZONEDECK_EMULATOR_PROXY": "127.0.0.1:0",
	})
	dir := markedHome(t, base, api, proxy)
	noteArguments(t, dir)
	root := (&app{Process: base}).rootCommand()
	ran, ranJSON := map[string]bool{}, map[string]bool{}
	place := strings.NewReplacer("{dir}", dir, "{api}", api, "{proxy}", proxy)
	run := func(r secretRun) (stdout, stderr string, code int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := base
		var out, errs bytes.Buffer
		p.Args = strings.Fields(place.Replace(r.args))
		p.Stdin, p.Stdout, p.Stderr = strings.NewReader(r.stdin), &out, &errs
		if strings.HasPrefix(r.args, "emulate") {
			p.Stdout = io.MultiWriter(&out, endsAtOnce{cancel})
		}
		if strings.HasPrefix(r.args, "webhook listen") {
			p.Stdout = io.MultiWriter(&out, &sendsWebhook{t: t, end: cancel})
		}
		code = Main(ctx, p)
		return out.String(), errs.String(), code
	}
	for _, r := range secretRuns() {
		cmd, _, err := root.Find(strings.Fields(r.args))
		if err != nil || !cmd.Runnable() || cmd == root {
			t.Fatalf("%s is no command: %v", r.args, err)
		}
		ran[cmd.CommandPath()] = true
		if r.deleted {
			deleted.Store(true)
		}
		stdout, stderr, code := run(r)
		if !strings.Contains(stdout, r.want) {
			t.Errorf("%s did not say %q: %s%s", r.args, r.want, stdout, stderr)
		}
		if code == exitUsage {
			t.Errorf("%s was not done: %s", r.args, stderr)
		}
		if slices.Contains(strings.Fields(r.args), "--json") {
			ranJSON[cmd.CommandPath()] = true
			if err := versioned(stdout); err != nil {
				t.Errorf("%s: %v: %s%s", r.args, err, stdout, stderr)
			}
		}
		for _, leak := range append(servicetest.Leaks(r.args+": stdout", []byte(stdout), marked()...),
			servicetest.Leaks(r.args+": stderr", []byte(stderr), marked()...)...) {
			t.Error(leak)
		}
	}
	for _, c := range leaves(root) {
		path := c.CommandPath()
		if !ran[path] && !slices.Contains([]string{"zonedeck", "zonedeck help"}, path) {
			t.Errorf("%s is not run here: add it to secretRuns", path)
		}
		if without := withoutJSON[path]; !ranJSON[path] == (without == "") {
			t.Errorf("%s: it is run with --json: %v; why it has none: %q", path, ranJSON[path], without)
		}
	}
	completesNames(t, base)
	found, err := servicetest.LeaksUnder(dir, []string{"repo/.env"}, marked()...)
	noerr.Want(t, err)
	for _, leak := range found {
		t.Error(leak)
	}
	if byKey.Load() < 15 || byPassword.Load() < 3 {
		t.Errorf("the key was sent %d times, the password %d times: nothing could be seen here", byKey.Load(), byPassword.Load())
	}
	// The same search finds a secret that is shown on purpose.
	if stdout, _, _ := run(secretRun{args: "proxy url --zone unlocker1 --reveal"}); len(servicetest.Leaks("", []byte(stdout), markedPassword)) == 0 {
		t.Errorf("a secret that is shown is not found: %s", stdout)
	}
}

// profileVariable is the variable that names the profile.
const profileVariable = "ZONEDECK_PROFILE"

// endsAtOnce calls a function when something is written.
type endsAtOnce struct{ call func() }

func (w endsAtOnce) Write(b []byte) (int, error) {
	w.call()
	return len(b), nil
}

// sendsWebhook posts a webhook with a marked secret to the address in the first line, and calls end
// at the second.
type sendsWebhook struct {
	t     *testing.T
	end   func()
	begun bool
}

func (w *sendsWebhook) Write(b []byte) (int, error) {
	if w.begun {
		w.end()
		return len(b), nil
	}
	w.begun = true
	var ready struct{ URL string }
	if err := json.Unmarshal(b, &ready); err != nil {
		w.t.Error(err)
		return len(b), nil
	}
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, ready.URL+"/hook?token="+url.QueryEscape(markedToken), strings.NewReader(`{"snapshot_id":"sd_1"}`))
	if err != nil {
		w.t.Error(err)
		return len(b), nil
	}
	r.Header.Set("Authorization", markedToken)
	r.Header.Set("X-Api-Key", markedKey)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Error(err)
		return len(b), nil
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		w.t.Errorf("the webhook was answered with %d", resp.StatusCode)
	}
	return len(b), nil
}

// leaves are the commands that do something.
func leaves(c *cobra.Command) (all []*cobra.Command) {
	if c.Runnable() && !c.HasSubCommands() || !c.HasParent() {
		all = append(all, c)
	}
	for _, child := range c.Commands() {
		all = append(all, leaves(child)...)
	}
	return all
}

// noDemoSecret searches the output of the walk through the console for the secrets of the demo
// account: every byte for the terminal, both streams, and every file of the home except the one
// in which the emulator announces them.
func noDemoSecret(t *testing.T, p Process, w *uitest.Whole) {
	t.Helper()
	paths := config.FindPaths(p.Getenv)
	secrets := servicetest.SecretsOf(t, paths.EmulatorFile())
	found := servicetest.Leaks("the terminal", w.Written(), secrets...)
	for _, dir := range []string{paths.Config, paths.Data, paths.Cache, paths.State} {
		more, err := servicetest.LeaksUnder(dir, []string{filepath.Base(paths.EmulatorFile())}, secrets...)
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		found = append(found, more...)
	}
	for _, leak := range found {
		t.Error(leak)
	}
}
