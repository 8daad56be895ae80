package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/config"
)

// served is "zonedeck mcp" with the official Go client on its pipes. end closes its standard
// input and returns the exit code.
type served struct {
	*sdk.ClientSession

	process Process
	stdout  *bytes.Buffer // all of it
	stderr  *bytes.Buffer // to be read after end
	end     func() int
}

func serve(t *testing.T, env map[string]string, args ...string) *served {
	t.Helper()
	p, stdout, stderr := process(t, env, append([]string{"mcp"}, args...)...)
	if slices.Contains(args, "--profiles") {
		twoAccounts(t, p.Getenv)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	p.Stdin, p.Stdout = in, io.MultiWriter(stdout, out)
	code := make(chan int, 1)
	go func() {
		code <- Main(t.Context(), p)
		out.Close()
	}()
	ended := -1
	s := &served{process: p, stdout: stdout, stderr: stderr, end: func() int {
		if ended < 0 {
			toServer.Close()
			ended = <-code
		}
		return ended
	}}
	t.Cleanup(func() { s.end() })
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	var err error
	s.ClientSession, err = client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatalf("connect: %v; exit %d; stderr %s", err, s.end(), stderr)
	}
	return s
}

// call calls a tool and returns the text of its result.
func (s *served) call(t *testing.T, tool, args string) (text string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := s.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	if len(r.Content) != 1 {
		t.Fatalf("%s: %d contents", tool, len(r.Content))
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

// history is the console's history, newest first.
func (s *served) history(t *testing.T) []model.HistoryEntry {
	t.Helper()
	opened, err := service.Open(t.Context(), service.Options{Getenv: s.process.Getenv, Now: time.Now, Journal: true, Say: t.Logf})
	noerr.Must(t, err)
	defer opened.Close(t.Context())
	list, err := opened.History.Entries(t.Context(), model.HistoryFilter{})
	noerr.Must(t, err)
	return list
}

func TestAnAgentFetchesUnderTheRules(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, "--allow-domain", "lab.test", "--zones", "unlocker_demo,residential_demo", "--max-cost", "0.003")
	if text := s.InitializeResult().Instructions; !strings.Contains(text, "at most $0.0030") || !strings.Contains(text, "lab.test") {
		t.Errorf("the rules are not told: %s", text)
	}
	text, failed := s.call(t, "fetch", `{"url":"http://lab.test/ok","zone":"unlocker_demo"}`)
	if failed || !strings.Contains(text, "It works") || !strings.Contains(text, `"cost_left":0.0015`) || !strings.Contains(text, `"untrusted":{`) {
		t.Fatalf("failed %v: %s", failed, text)
	}
	for args, want := range map[string]string{
		`{"url":"http://other.test/","zone":"unlocker_demo"}`:                                 `host "other.test" is not allowed`,
		`{"url":"http://lab.test.evil.example/","zone":"unlocker_demo"}`:                      `is not allowed`,
		`{"url":"http://evillab.test/","zone":"unlocker_demo"}`:                               `is not allowed`,
		`{"url":"http://lab.test/ok","zone":"datacenter_demo"}`:                               `zone "datacenter_demo" is not allowed`,
		`{"url":"http://lab.test/ok","zone":"unlocker_demo","profile":"acme"}`:                `profile "acme" is not allowed`,
		`{"url":"http://lab.test/ok","zone":"unlocker_demo","retries":1}`:                     `it may cost up to $0.0030`,
		`{"url":"http://lab.test/ok","zone":"unlocker_demo","headers":{"HOST":"other.test"}}`: `header Host`,
		`{"url":"http://lab.test/ok","zone":"residential_demo","via":"native"}`:               `it may cost up to`,
		`{"url":"http://lab.test/ok","zone":"unlocker_demo","via":"agent"}`:                   `write api, native or browser`,
		`{"url":"http://lab.test/ok","zone":"unlocker_demo","max_bytes":60000000}`:            `max_bytes`,
		`{"url":"http://lab.test/ok","zone":"unlocker_demo","max_chars":-1}`:                  `max_chars`,

		`{"zone":"unlocker_demo"}`:                                        `url is missing`,
		`{"url":"http://lab.test/ok"}`:                                    `zone`,
		`{"query":"lentils","zone":"unlocker_demo"}`:                      `host "www.google.com" is not allowed`,
		`{"url":"file:///etc/passwd","zone":"unlocker_demo"}`:             `use http or https`,
		`{"url":"http://u:pw@lab.test/ok","zone":"unlocker_demo"}`:        `login in the address`,
		`{"url":"http://lab.test/ok","zone":"unlocker_demo","unheard":1}`: `unheard`,
	} {
		if text, failed := s.call(t, "fetch", args); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: failed %v, %s; want %q", args, failed, text, want)
		}
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	fetches, refused := 0, 0
	for _, a := range s.history(t) {
		if a.Source != model.SourceAgent {
			t.Errorf("not marked: %+v", a)
		}
		switch {
		case a.Kind == model.HistoryFetch:
			fetches++
		case strings.Contains(a.Text, "refused by the operator's rules"):
			refused++
		case strings.Contains(a.Text, "under way"):
			t.Errorf("it has not ended: %+v", a)
		}
	}
	if fetches != 1 || refused < 8 {
		t.Errorf("the history has %d fetches, %d refusals", fetches, refused)
	}
	for line := range strings.Lines(s.stdout.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("stdout has a line that is not of the protocol: %s", line)
		}
	}
}

// The most that a job may cost counts under the cap, also after it was started.
func TestAJobCountsUnderTheCap(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, "--allow-domain", "lab.test", "--max-cost", "0.004", "--job-inputs", "9") // 0.0015 a record
	trigger := func(want string, refused bool, urls ...string) {
		t.Helper()
		inputs := make([]map[string]string, len(urls))
		for i, u := range urls {
			inputs[i] = map[string]string{"url": u}
		}
		args, _ := json.Marshal(map[string]any{"dataset": "gd_products", "inputs": inputs})
		if text, failed := s.call(t, "jobs_launch", string(args)); failed != refused || !strings.Contains(text, want) {
			t.Errorf("%v: failed %v, %s; want %q", urls, failed, text, want)
		}
	}
	trigger("it may cost up to $0.0045, and $0.0040 of the cap of $0.0040 are left", true, "http://lab.test/1", "http://lab.test/2", "http://lab.test/3")
	trigger(`"state":"accepted"`, false, "http://lab.test/shop")
	trigger("it may cost up to $0.0030, and $0.0025 of the cap of $0.0040 are left", true, "http://lab.test/1", "http://lab.test/2")
	if text, failed := s.call(t, "fetch", `{"url":"http://lab.test/ok","zone":"unlocker_demo"}`); failed || !strings.Contains(text, `"cost_left":0.001`) {
		t.Errorf("failed %v: %s", failed, text)
	}
}

// The job is followed although nobody waits for it.
func TestJobsAreFollowedWhileAnAgentIsServed(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, "--allow-domain", "lab.test", "--job-inputs", "2")
	if text, failed := s.call(t, "jobs_launch", `{"dataset":"gd_products","inputs":[{"url":"http://lab.test/product/1"}]}`); failed {
		t.Fatal(text)
	}
	end := time.After(30 * time.Second)
	for text := ""; !strings.Contains(text, `"state":"ready"`); {
		select {
		case <-end:
			t.Fatal(text)
		default:
			text, _ = s.call(t, "jobs_list", `{}`)
		}
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	lines := s.history(t)
	i := slices.IndexFunc(lines, func(a model.HistoryEntry) bool { return strings.HasSuffix(a.Text, "gd_products: ready") })
	if i < 0 || lines[i].Source != "" {
		t.Errorf("no line of the job's end, or one of the agent's: %+v", lines)
	}
}

func TestAnAgentUsesEveryTool(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, "--allow-domain", "lab.test", "--job-inputs", "2")
	tools, err := s.ListTools(t.Context(), nil)
	noerr.Must(t, err)
	left := map[string]bool{}
	for _, tool := range tools.Tools {
		left[tool.Name] = true
	}
	// try calls a tool and returns its result as an object.
	try := func(tool, args string, want ...string) map[string]any {
		t.Helper()
		text, failed := s.call(t, tool, args)
		for _, w := range want {
			if failed || !strings.Contains(text, w) {
				t.Fatalf("%s %s: failed %v: %s; want %s", tool, args, failed, text, w)
			}
		}
		delete(left, tool)
		out := map[string]any{}
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return out
	}
	refused := func(tool, args, want string) {
		t.Helper()
		if text, failed := s.call(t, tool, args); !failed || !strings.Contains(text, want) {
			t.Errorf("%s %s: failed %v: %s; want %q", tool, args, failed, text, want)
		}
	}
	fetched := try("fetch", `{"url":"http://lab.test/shop","zone":"unlocker_demo","markdown":true,"max_chars":60,"require":[".price"]}`, `"class":"ok"`, `"body_file"`, `# `)
	if body := fetched["untrusted"].(map[string]any)["body"].(string); len([]rune(body)) != 60 {
		t.Errorf("the body is not cut at 60: %q", body)
	}
	try("history_fetch", `{"id":"`+fetched["id"].(string)+`"}`, `class=\"price\"`)
	try("compare", `{"url":"http://lab.test/captcha","zones":["datacenter_demo","unlocker_demo"]}`, `"text":`, `"zone":"unlocker_demo"`, `"class":"captcha"`)
	try("diagnose", `{"answer":"HTTP/1.1 429 Too Many Requests\r\n\r\nslow down"}`, `"class":"too_fast"`)
	try("keys_check", `{}`, `"name":"etl-main"`, `"findings"`)
	try("zones", `{}`, `{"name":"unlocker_demo","product":"unlocker","rate_per_1000":1.5}`)
	try("datasets", `{"search":"products"}`, `"total":1`, `"id":"gd_products"`)
	refused("jobs_launch", `{"dataset":"gd_products","inputs":[{"url":"http://lab.test/shop"},{"url":"http://other.test/"}]}`, `input 2: refused by the operator's rules: host "other.test"`)
	refused("jobs_launch", `{"dataset":"gd_products","inputs":[{"keyword":"lamp"}]}`, `it has no url`)
	refused("jobs_launch", `{"dataset":"gd_products","inputs":[{"url":"http://lab.test/shop","more":[{"seed":"https://other.test/"}]}]}`, `host "other.test"`)
	refused("jobs_launch", `{"dataset":"gd_products","inputs":[{"url":"http://lab.test/1"},{"url":"http://lab.test/2"},{"url":"http://lab.test/3"}]}`, `the job has 3 inputs, and 2 of the 2`)
	job := try("jobs_launch", `{"dataset":"gd_products","inputs":[{"url":"http://lab.test/shop"}]}`, `"state":"accepted"`)["id"].(string)
	refused("jobs_launch", `{"dataset":"gd_products","inputs":[{"url":"http://lab.test/shop"}]}`, `the same inputs were launched as `+job)
	try("jobs_watch", `{"id":"`+job+`","wait_seconds":60}`, `"state":"ready"`)
	try("jobs_download", `{"id":"`+job+`","format":"ndjson"}`, `"results":"{`)
	try("jobs_list", `{}`, job)
	refused("jobs_launch", `{"dataset":"gd_products","inputs":[{"url":"http://lab.test/1"},{"url":"http://lab.test/2"}]}`, `1 of the 2`)
	refused("jobs_watch", `{"id":"job-99"}`, "no such job")
	begun := try("batch_start", `{"urls":["http://lab.test/ok?n=1","http://lab.test/ok?n=2"],"zone":"unlocker_demo"}`, `"total":2`)["id"].(string)
	refused("batch_start", `{"urls":["http://other.test/"],"zone":"unlocker_demo"}`, `host "other.test"`)
	looks := 0
	for shown := ""; !strings.Contains(shown, `"state":"done"`); looks++ {
		<-time.After(50 * time.Millisecond) // each look is a line of the history
		shown, _ = s.call(t, "batch_show", `{"id":"`+begun+`"}`)
	}
	try("batch_show", `{"id":"`+begun+`","results":2}`, `"done":2`, `"ok":2`, `"url":"http://lab.test/ok?n=1"`)
	try("batch_pause", `{"id":"`+begun+`"}`, `"state":"done"`)
	try("history", `{"search":"shop","kind":"fetch"}`, `"by":"agent"`, `"url":"http://lab.test/shop"`)
	for tool := range left {
		t.Errorf("%s was not used", tool)
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d, stderr %s", code, s.stderr)
	}
	calls := 0
	for _, a := range s.history(t) {
		// That the job is ready is found by the agent's watching or by the operator's, whichever asks first.
		ready := a.Kind == model.HistoryJob && strings.HasSuffix(a.Text, ": ready")
		if a.Source != model.SourceAgent && !ready || strings.Contains(a.Text, "under way") {
			t.Errorf("the history has %+v", a)
		}
		if a.Kind == model.HistoryAgent {
			calls++
		}
	}
	if calls != 23+looks {
		t.Errorf("%d calls stand in the history", calls)
	}
}

func TestWithoutABudgetAnAgentCannotLaunchJobs(t *testing.T) {
	s := serve(t, nil)
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "jobs_launch", Arguments: json.RawMessage(`{}`)}); err == nil || !strings.Contains(err.Error(), "jobs_launch") {
		t.Errorf("it is answered: %v", err)
	}
}

// twoAccounts writes a home with the profiles acme, which has the zone unlocker1, and adm, whose key
// is ADMIN. Nothing listens at their addresses.
func twoAccounts(t *testing.T, getenv func(string) string) {
	t.Helper()
	paths := config.FindPaths(getenv)
	for file, text := range map[string]string{
		paths.ConfigFile(): `
[profiles.acme]
base_url = "http://127.0.0.1:1"
key = "user"
[[profiles.acme.zones]]
name = "unlocker1"
product = "unlocker"
[profiles.adm]
base_url = "http://127.0.0.1:1"
key = "boss"
[[profiles.adm.zones]]
name = "dc1"
product = "datacenter"
`,
		paths.KeysFile(): "[[keys]]\nname = \"user\"\nlevel = \"USER\"\nsecret = \"env:ZK\"\n[[keys]]\nname = \"boss\"\nlevel = \"ADMIN\"\nsecret = \"env:ZK\"\n",
	} {
		noerr.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		noerr.Must(t, os.WriteFile(file, []byte(text), 0o600))
	}
}

func TestWhatNoCallCouldKeepIsRefusedAtTheStart(t *testing.T) {
	p, _, _ := process(t, nil)
	twoAccounts(t, p.Getenv)
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"--profiles acme --zones nozone":                          {exitUsage, `--zones nozone: zone "nozone" is not in profile "acme": it has unlocker1; name zones`},
		"--profiles acme,adm --admin-reason x --zones dc1,nozone": {exitUsage, `it has unlocker1; zone "nozone" is not in profile "adm": it has dc1`},
		"--profiles acme,nope":                                    {exitUsage, `no such profile "nope"`},
		"--profiles nope":                                         {exitUsage, `no such profile "nope"`},
		"--profiles acme,adm":                                     {exitLint, `profile adm: key boss is ADMIN`},
		"--profiles adm":                                          {exitLint, `--admin-reason`},
		"--profiles acme --allow-domain a;b":                      {exitUsage, `--allow-domain "a;b": write a host`},
		"--profiles acme --allow-domain --zones":                  {exitUsage, `--allow-domain "--zones": write a host`},
		"--profiles acme --allow-domain=":                         {exitUsage, `--allow-domain is empty: name at least one`},
		"--profiles acme --zones=":                                {exitUsage, `--zones is empty`},
		"--profiles=":                                             {exitUsage, `--profiles is empty`},
		"--profiles acme,local --zones unlocker_demo":             {exitOK, "Zones: unlocker_demo."},
		"--profiles adm --admin-reason rehearsed":                 {exitOK, "Profiles: adm."},
	} {
		var stdout, stderr bytes.Buffer
		run := p
		run.Args = append([]string{"mcp", "--max-cost", "1"}, strings.Fields(args)...)
		run.Stdin, run.Stdout, run.Stderr = strings.NewReader(""), &stdout, &stderr
		if code := Main(t.Context(), run); code != want.code || !strings.Contains(stderr.String(), want.says) || stdout.Len() > 0 {
			t.Errorf("%s: exit %d, stdout %q, stderr %s; want exit %d, %q", args, code, &stdout, &stderr, want.code, want.says)
		}
	}
}

// Under a cap an agent is refused every fetch by a zone without a rate. The operator is told at the start.
func TestWhatACapRefusesWithoutARateIsSaidAtTheStart(t *testing.T) {
	p, _, _ := process(t, nil)
	twoAccounts(t, p.Getenv)
	config := config.FindPaths(p.Getenv).ConfigFile()
	text, err := os.ReadFile(config)
	noerr.Must(t, err)
	for _, c := range []struct{ flags, dialect, rate, says string }{
		{"--max-cost 1", "brightdata", "", "profile acme has no rate for unlocker1: under --max-cost, fetches by such a zone are refused. Give it one with 'zonedeck --profile acme zones rates --set ZONE=DOLLARS', measure it by a FINANCE or ADMIN key with 'zonedeck --profile acme zones rates --save --key NAME', or start with --allow-unpriced"},
		{"--max-cost 1", "documented", "", "Give it one with 'zonedeck --profile acme zones rates --set ZONE=DOLLARS', or start with --allow-unpriced"},
		{"--max-cost 1 --allow-unpriced", "documented", "", ""},
		{"--max-cost 1", "documented", "rate_per_1000 = 1.5\n", ""},
	} {
		changed := strings.Replace(string(text), "key = \"user\"\n", "key = \"user\"\ndialect = \""+c.dialect+"\"\n", 1)
		changed = strings.Replace(changed, "product = \"unlocker\"\n", "product = \"unlocker\"\n"+c.rate, 1)
		noerr.Must(t, os.WriteFile(config, []byte(changed), 0o600))
		var stderr bytes.Buffer
		run := p
		run.Args = append([]string{"mcp", "--profiles", "acme"}, strings.Fields(c.flags)...)
		run.Stdin, run.Stdout, run.Stderr = strings.NewReader(""), io.Discard, &stderr
		code := Main(t.Context(), run)
		if said := strings.Contains(stderr.String(), "has no rate for"); code != exitOK || said != (c.says != "") || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s %s %q: exit %d, %s", c.flags, c.dialect, c.rate, code, &stderr)
		}
	}
}

func TestTheReasonForAnADMINKeyOfAnAgentIsRecorded(t *testing.T) {
	s := serve(t, map[string]string{"ZK": "a-key-of-level-admin", profileVariable: "acme"}, "--profiles", "local,adm", "--max-cost", "1", "--allow-unpriced", "--admin-reason", "rehearsed")
	for range 2 {
		if text, _ := s.call(t, "fetch", `{"profile":"adm","url":"http://lab.test/ok","zone":"dc1"}`); !strings.Contains(text, `"cause":"network"`) {
			t.Fatal(text)
		}
	}
	s.end()
	reasons := 0
	for _, a := range s.history(t) {
		if strings.Contains(a.Text, "as ADMIN for an agent, because: rehearsed") {
			reasons++
		}
	}
	if reasons != 1 {
		t.Errorf("the reason stands in the history %d times", reasons)
	}
}
