package emulator

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

// The clients in this file are those that the real service's users have, as they were
// published. They are given another base address and nothing else; see
// testdata/base-address.mjs.

// published is a client from npm with a home of its own.
type published struct {
	*rig
	modules, home string
}

// publish finds the client module. A client that tried to reach anything but this machine
// fails the test at its end.
func (g *rig) publish(t *testing.T, module string) published {
	t.Helper()
	p := published{g, nodeModules(t, module), t.TempDir()}
	t.Cleanup(func() {
		if b := p.refused(); b != "" {
			t.Errorf("%s went elsewhere:\n%s", module, b)
		}
	})
	return p
}

// refused are the hosts that were asked for and are not of this machine.
func (p published) refused() string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.home, "refused"))
	if err != nil && !os.IsNotExist(err) {
		p.t.Error(err)
	}
	return string(b)
}

// environment is all that a client sees: nothing of the machine's, so that neither a proxy
// nor an account of somebody's is in it.
func (p published) environment(env ...string) []string {
	p.t.Helper()
	preload, err := filepath.Abs(filepath.Join("testdata", "base-address.mjs"))
	noerr.Must(p.t, err)
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "NODE_OPTIONS=--import=" + preload,
		"SERVICE=api.brightdata.com", "API=" + p.r.API, "REFUSED=" + filepath.Join(p.home, "refused"), "MODULES=" + p.modules,
	}, env...)
}

// command is the service's CLI with these arguments.
func (p published) command(args ...string) []string {
	return append([]string{filepath.Join(p.modules, "@brightdata", "cli", "dist", "index.js")}, args...)
}

// cli runs the service's CLI and gives what it printed.
func (p published) cli(env []string, args ...string) string {
	p.t.Helper()
	return string(runNode(p.t, p.home, env, p.command(args...)...))
}

// cliRefused runs the service's CLI, which has to fail and say why.
func (p published) cliRefused(env []string, why string, args ...string) {
	p.t.Helper()
	if out, err := tryNode(p.t, p.home, env, p.command(args...)...); err == nil || !strings.Contains(err.Error(), why) {
		p.t.Errorf("%s: %s %v", args, out, err)
	}
}

func parsed[T any](t *testing.T, text []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

type namedZone struct{ Name, Type string }

type fetchedPage struct {
	StatusCode int `json:"status_code"`
	Body       string
}

const review = "http://lab.test/docs/brass-desk-lamp-review"

func TestTheServicesSDKWorksUnchanged(t *testing.T) {
	needChromium(t)
	g := start(t, Options{})
	p := g.publish(t, "@brightdata/sdk")
	script, err := filepath.Abs(filepath.Join("testdata", "sdk.mjs"))
	noerr.Must(t, err)
	seen := parsed[struct {
		Failed                            map[string]string
		Before, Zones                     []namedZone
		Raw, Markdown, Posted, Shot, Bing string
		Google                            string
		JSON                              fetchedPage
		Batch                             []string
		Searches                          []fetchedPage
		Collected, Records                []rec
		Ended                             struct {
			Status  string
			Records int
		}
	}](t, runNode(t, p.home, p.environment("KEY="+g.key("etl-main"), "DATASET=gd_pages"), script))
	for step, said := range seen.Failed {
		t.Logf("%s: %s", step, said)
	}
	made := slices.DeleteFunc(slices.Clone(seen.Zones), func(z namedZone) bool { return slices.Contains(seen.Before, z) })
	const title = "<h1>Brass desk lamp review</h1>"
	for what, ok := range map[string]bool{
		"zones as they were":      slices.Contains(seen.Before, namedZone{"unlocker_demo", "unblocker"}),
		"zones that it made":      slices.Equal(made, []namedZone{{"sdk_unlocker", "unblocker"}, {"sdk_serp", "serp"}}),
		"a page":                  strings.Contains(seen.Raw, title),
		"a page in JSON":          seen.JSON.StatusCode == http.StatusOK && strings.Contains(seen.JSON.Body, title),
		"a page in Markdown":      strings.Contains(seen.Markdown, "# Brass desk lamp review\n") && !strings.Contains(seen.Markdown, "<h1>"),
		"a batch":                 len(seen.Batch) == 2 && strings.Contains(seen.Batch[0], "It works") && strings.Contains(seen.Batch[1], `"LAB-1007"`),
		"another method":          strings.Contains(seen.Posted, `"method": "POST"`),
		"a screenshot":            strings.Contains(seen.Shot, "PNG"),
		"a search":                strings.Contains(seen.Google, `data-engine="google" data-query="brass desk lamp"`) && strings.Contains(seen.Google, review),
		"a search in Markdown":    strings.Contains(seen.Bing, "("+review+")") && !strings.Contains(seen.Bing, "<li"),
		"several searches":        len(seen.Searches) == 2 && strings.Contains(seen.Searches[1].Body, `data-query="lamp"`) && seen.Searches[1].StatusCode == http.StatusOK,
		"records at once":         len(seen.Collected) == 1 && seen.Collected[0].URL == review,
		"a job's end":             seen.Ended.Status == "ready" && seen.Ended.Records == 2,
		"a job's records":         len(seen.Records) == 2 && slices.ContainsFunc(seen.Records, func(r rec) bool { return r.URL == review && r.Error == "" }),
		"nothing else is refused": len(seen.Failed) == 2,
		// The ids that the SDK's methods know are of the public catalogue.
		"an id that is not there": strings.Contains(seen.Failed["catalogue"], "dataset does not exist"),
		"a key that is none":      strings.Contains(seen.Failed["key"], "invalid API key"),
	} {
		if !ok {
			t.Errorf("%s: %+v", what, seen)
		}
	}
}

func TestTheServicesCLIWorksUnchanged(t *testing.T) {
	needChromium(t)
	g := start(t, Options{})
	p := g.publish(t, "@brightdata/cli")
	env := p.environment()
	p.cli(env, "login", "--api-key", g.key("etl-main"))
	zones := parsed[[]namedZone](t, []byte(p.cli(env, "zones", "--json")))
	for _, want := range []namedZone{{"serp_demo", "serp"}, {"cli_unlocker", "unblocker"}, {"cli_browser", "browser_api"}} {
		if !slices.Contains(zones, want) {
			t.Errorf("%+v is not among %+v", want, zones)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"zones", "serp_demo        | serp"},
		{"zones info cli_unlocker --json", `"product":"unblocker"`},
		{"scrape " + review, "# Brass desk lamp review\n"},
		{"scrape http://lab.test/forbidden --format html --country de", "This is the page behind the block"},
		{"scrape http://lab.test/ok --format json --json", `"status_code":200`},
		{"discover brass-desk-lamp-review --num-results 2", `"link":"` + review + `"`},
		{"search lamp", "Brass desk lamp review "},
		{"search lamp --zone serp_demo --page 1 --json", `"search_engine":"google","query":"lamp"`},
		{"search lamp --engine bing", `data-engine="bing" data-query="lamp"`},
		{"search lamp --engine yandex", review},
	} {
		if got := p.cli(env, strings.Fields(c.args)...); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.args, got)
		}
	}
	p.cliRefused(env, "JSON output is not supported", "search", "lamp", "--engine", "yandex", "--json")
	p.cliRefused(env, "async is not allowed", "scrape", review, "--async")
	p.cli(env, "scrape", review, "--format", "screenshot", "--output", "shot.png")
	if b, err := os.ReadFile(filepath.Join(p.home, "shot.png")); err != nil || !strings.HasPrefix(string(b), "\x89PNG\r\n\x1a\n") {
		t.Errorf("%.20q, %v", b, err)
	}
	id := decode[struct {
		ID string `json:"snapshot_id"`
	}](t, g.do("POST", g.r.API+"/datasets/v3/trigger?dataset_id=gd_pages", g.key("etl-main"), `[{"url":"http://lab.test/ok"}]`)).ID
	if got := p.cli(env, "status", id, "--wait", "--json"); !strings.Contains(got, `"status":"ready"`) || !strings.Contains(got, id) {
		t.Errorf("%s: %s", id, got)
	}
	// Money is for other keys than those that fetch.
	paying := append(slices.Clone(env), "BRIGHTDATA_API_KEY="+g.key("finance-review"))
	if got := p.cli(paying, "budget", "zones"); !regexp.MustCompile(`cli_unlocker +\| \$0\.0[1-9]`).MatchString(got) {
		t.Errorf("%s", got)
	}
}

// TestTheServicesCLITakesItsBaseAddressItself: by its own setting, without a word of ours.
// Its login alone does not look at the setting, so the key comes as a variable.
func TestTheServicesCLITakesItsBaseAddressItself(t *testing.T) {
	g := start(t, Options{})
	p := g.publish(t, "@brightdata/cli")
	env := p.environment("API=", "BRIGHTDATA_API_KEY="+g.key("batch-user"))
	p.cli(env, "config", "set", "api_url", g.r.API)
	if got := p.cli(env, "scrape", "http://lab.test/ok", "--zone", "unlocker_demo"); !strings.Contains(got, "# It works") {
		t.Error(got)
	}
}

func TestTheServicesMCPServerWorksUnchanged(t *testing.T) {
	g := start(t, Options{})
	p := g.publish(t, "@brightdata/mcp")
	nodeModules(t, "@modelcontextprotocol/sdk")
	client, err := filepath.Abs(filepath.Join("agent", "testdata", "client.mjs"))
	noerr.Must(t, err)
	seen := parsed[struct {
		Tools   []string
		Results map[string]struct {
			Text    string
			IsError bool
		}
		Error string
	}](t, runNode(t, p.home, p.environment("API_TOKEN="+g.key("etl-main"), "PRO_MODE=true", "TRANSPORT=stdio",
		"SERVER="+filepath.Join(p.modules, "@brightdata", "mcp", "server.js"),
		`CALLS=[["scrape_as_markdown",{"url":"`+review+`"}],["scrape_as_html",{"url":"http://lab.test/forbidden"}],
			["scrape_batch",{"urls":["http://lab.test/ok","http://lab.test/json"]}],["discover",{"query":"brass desk lamp review"}],
			["search_engine",{"query":"brass desk lamp"}],
			["search_engine_batch",{"queries":[{"query":"bread","engine":"bing"},{"query":"lamp","engine":"yandex"}]}],
			["web_data_amazon_product",{"url":"http://lab.test/ok"}]]`), client))
	if seen.Error != "" || !slices.Contains(seen.Tools, "scrape_as_html") {
		t.Fatalf("%+v", seen)
	}
	for tool, parts := range map[string][]string{
		"scrape_as_markdown":  {"Brass desk lamp review", "reading and drawing at night"},
		"scrape_as_html":      {"<h1>Members only</h1>", "This is the page behind the block"},
		"scrape_batch":        {"This page answers 200", "LAB-1007"},
		"discover":            {`"title":"Brass desk lamp review"`, `"relevance_score":`},
		"search_engine":       {`"link": "` + review + `"`},
		"search_engine_batch": {`"engine": "bing"`, `"engine": "yandex"`, review},
	} {
		r := seen.Results[tool]
		for _, part := range parts {
			if r.IsError || !strings.Contains(r.Text, part) || strings.Contains(r.Text, `"error"`) {
				t.Errorf("%s, %s: %t %s", tool, part, r.IsError, r.Text)
			}
		}
	}
	// The ids that its tools know are of the public catalogue.
	if r := seen.Results["web_data_amazon_product"]; !r.IsError || !strings.Contains(r.Text, "dataset does not exist") {
		t.Errorf("%+v", r)
	}
	for name, kind := range map[string]string{"mcp_unlocker": "unblocker", "mcp_browser": "browser_api"} {
		if z, err := g.account.Zone(name); err != nil || z.Type() != kind {
			t.Errorf("%s: %+v, %v", name, z, err)
		}
	}
}

// TestAPublishedClientIsKeptToThisMachine: the other tests of this file mean what they
// say only when going elsewhere is seen.
func TestAPublishedClientIsKeptToThisMachine(t *testing.T) {
	g := start(t, Options{})
	p := published{g, nodeModules(t, "undici"), t.TempDir()}
	out := runNode(t, p.home, p.environment("KEY="+g.key("batch-user")), "--input-type=module", "--eval", `
		import { createRequire } from "node:module";
		import { resolve4 } from "node:dns/promises";
		import dgram from "node:dgram";
		import https from "node:https";
		import net from "node:net";
		const undici = createRequire(process.env.MODULES + "/")("undici");
		const socket = (options) => new Promise((yes, no) => net.connect(options).once("connect", yes).once("error", no));
		const get = (url) => new Promise((yes, no) => https.get(url, yes).once("error", no));
		const seen = {};
		for (const [name, run] of Object.entries({
			fetch: () => fetch("https://telemetry.example/"),
			undici: () => undici.request("https://metrics.example/"),
			https: () => get("https://other.brightdata.com/"),
			socket: () => socket({ host: "192.0.2.1", port: 443 }),
			dns: async () => resolve4("names.example"),
			udp: async () => dgram.createSocket("udp4"),
			service: async () => (await fetch("https://api.brightdata.com/status", { headers: { Authorization: "Bearer " + process.env.KEY } })).status,
		})) seen[name] = await run().catch((e) => (e.cause ?? e).message);
		console.log(JSON.stringify(seen));`)
	seen := parsed[map[string]any](t, out)
	refused := p.refused()
	for how, host := range map[string]string{
		"fetch": "telemetry.example", "undici": "metrics.example", "https": "other.brightdata.com",
		"socket": "192.0.2.1", "dns": "names.example", "udp": "UDP",
	} {
		if seen[how] != "not of this machine: "+host || !strings.Contains(refused, host+"\n") {
			t.Errorf("%s: %v, %q", how, seen[how], refused)
		}
	}
	if seen["service"] != 200.0 {
		t.Errorf("the service itself: %v", seen["service"])
	}
}
