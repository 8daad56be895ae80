package sandbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zonedeck/model"
	"zonedeck/service/agent"
	"zonedeck/ui/kit"
)

// openProducts is the Sandbox with a profile that has every way, on one zone.
func openProducts(t *testing.T, zone string) *bench {
	t.Helper()
	b := open(t, 120, 40)
	s := demoSession()
	s.Profile = demoProfile()
	b.Send(kit.SessionChanged{Session: s})
	b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: zone, URL: "http://lab.test/shop"}})
	return b
}

// field moves from one field of the form to the one with a label.
func (b *bench) field(label string) {
	for range 30 {
		if strings.Contains(b.Screen.Screen(), "›"+label) {
			return
		}
		b.Press("down")
	}
	for range 60 {
		if strings.Contains(b.Screen.Screen(), "›"+label) {
			return
		}
		b.Press("up")
	}
}

func (b *bench) lastSent(t *testing.T) model.FetchRequest {
	t.Helper()
	sent := b.svc.requests()
	if len(sent) == 0 {
		t.Fatal("nothing was sent")
	}
	return sent[len(sent)-1]
}

func TestASearchShapesTheFormAndItsURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openProducts(t, "serp_demo")
		b.Expect("Query", "Engine", "Parsed", "Country")
		b.ExpectNot("Render", "Wait for")
		b.field("Query")
		b.Press("enter")
		b.Type("red shoes")
		b.Press("enter")
		b.field("Parsed")
		b.Press("space")
		b.field("Country")
		b.Press("enter")
		b.Type("de")
		b.Press("enter")
		b.Expect("URL  https://www.google.com/search?q=red+shoes&gl=de")
		b.Press("alt+w")
		b.Expect("brd_json=1")
		b.Press("alt+w")
		b.Press("ctrl+j")
		got := b.lastSent(t)
		if got.URL != "https://www.google.com/search?q=red+shoes&gl=de" || got.Options != (model.Options{Query: "red shoes", Parsed: "true"}) || got.Country != "de" {
			t.Errorf("sent %+v", got)
		}
		b.field("Page")
		b.Press("enter")
		b.Type("none")
		b.Press("enter")
		b.Expect(`✗ "none": write a number`)
	})
}

func TestATypedURLEndsTheQueryAndAClearedQueryTakesItsURLAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openProducts(t, "serp_demo")
		b.field("Query")
		b.Press("enter")
		b.Type("a")
		b.Expect("URL  https://www.google.com/search?q=a")
		b.Press("backspace", "enter")
		b.ExpectNot("www.google.com")
		b.field("Query")
		b.Press("enter")
		b.Type("b")
		b.Press("enter")
		b.field("URL")
		b.Press("enter")
		b.Type("&c=1")
		b.Press("enter")
		b.Expect("URL  https://www.google.com/search?q=b&c=1", "Query    words to search for")
		b.Press("ctrl+j")
		if got := b.lastSent(t); got.Options != (model.Options{}) || got.URL != "https://www.google.com/search?q=b&c=1" {
			t.Errorf("sent %+v", got)
		}
	})
}

func TestTheOptionsOfAnotherProductAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openProducts(t, "unlocker_demo")
		b.field("Render")
		b.Press("space")
		b.field("Wait for")
		b.Press("enter")
		b.Type(".price")
		b.Press("enter")
		b.Press("alt+w")
		b.Expect(`"X-Unbloc`, `k-Expect":"{\"element\":\".price\"}"`)
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: "datacenter_demo"}})
		b.Press("alt+w")
		b.ExpectNot("Render", "X-Unbloc", "Expect")
		b.Press("ctrl+j")
		if got := b.lastSent(t); got.Options != (model.Options{}) {
			t.Errorf("sent %+v", got.Options)
		}
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: "unlocker_demo"}})
		b.Press("ctrl+j")
		if got := b.lastSent(t); got.Options != (model.Options{Render: "true", WaitFor: ".price"}) {
			t.Errorf("sent %+v", got.Options)
		}
	})
}

func TestAResultsOptionsComeBackIntoTheForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openProducts(t, "unlocker_demo")
		r := model.FetchRequest{
			Zone: demoZones()[3], URL: "https://www.bing.com/search?q=a&first=11", Via: model.ViaAPI, Retries: -1,
			Options: model.Options{Query: "a", Engine: "bing", Page: "2", Parsed: "true"},
		}
		b.svc.kept["f_9"] = okResult(r)
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_9"}})
		b.Press("esc")
		b.Expect("Engine   bing", "Page     2", "[x] the results as JSON", "URL  https://www.bing.com/search?q=a&first=11")
	})
}

// shopTools are the tools of an endpoint.
func shopTools() []agent.Tool {
	return []agent.Tool{
		{Name: "scrape_as_markdown", Description: "One page. More.", Inputs: []agent.Input{{Name: "url", Kind: agent.KindText, Required: true}}},
		{Name: "search_engine", Title: "Search\x1b[31m", Description: "Results of a search engine.", Inputs: []agent.Input{
			{Name: "query", Kind: agent.KindText, Required: true, Description: "What to search for"},
			{Name: "count", Kind: agent.KindInteger},
			{Name: "engine", Kind: agent.KindChoice, Choices: []string{"google", "bing"}, Default: "google"},
			{Name: "fresh", Kind: agent.KindSwitch, Default: "true"},
			{Name: "words", Kind: agent.KindLines},
		}},
	}
}

func TestAToolOfAgentAccessHasAFormFromItsSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openProducts(t, "datacenter_demo")
		b.svc.tools, b.svc.toolsVerdict = shopTools(), model.Diagnosis{Class: model.ClassOK}
		b.field("Via")
		b.Press("right", "right")
		b.Expect("(•) Agent", "Tool", "fetch the URL")
		b.Press("alt+w")
		b.Expect("POST /mcp?token=••••f2a1 HTTP/1.1")
		b.Press("alt+w")
		b.ExpectNot("Zone  datacenter_demo")
		b.field("Tool")
		b.Press("enter")
		b.Type("search_e")
		b.Press("enter")
		b.Expect("›query *") // the first argument comes next, not the field after all of them
		b.field("Tool")
		b.Expect("query *", "✗ query is required", "default: google", "Results of a search")
		b.field("query")
		b.Press("enter")
		b.Type(`red "shoes"`)
		b.Press("enter") // and the next argument is edited
		b.Type("x")
		b.Press("enter")
		b.Expect(`✗ "x" is not a whole`)
		b.Press("ctrl+j")
		b.Expect("Not sent: count: ")
		if n := len(b.svc.requests()); n != 0 {
			t.Fatalf("%d requests were sent", n)
		}
		b.Press("enter", "backspace")
		b.Type("5")
		b.Press("enter")
		b.field("engine")
		b.Press("enter")
		b.Type("bing")
		b.Press("enter")
		b.field("fresh")
		b.Press("right", "right")
		b.field("words")
		b.Press("enter")
		b.Type("a")
		b.Press("enter")
		b.Type("b")
		b.Press("esc", "ctrl+j")
		got := b.lastSent(t)
		want := `{"query":"red \"shoes\"","count":5,"engine":"bing","fresh":false,"words":["a","b"]}`
		if got.Via != model.ViaAgent || got.Tool != "search_engine" || got.Args != want || got.Zone != model.AgentZone() || got.URL != "" {
			t.Errorf("sent %+v", got)
		}
		b.Expect("Response · search_engine")
		if b.svc.listed != 1 {
			t.Errorf("the tools were listed %d times", b.svc.listed)
		}
	})
}

func TestAPageByAgentAccessNeedsNoTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openProducts(t, "datacenter_demo")
		b.svc.tools, b.svc.toolsVerdict = shopTools(), model.Diagnosis{Class: model.ClassOK}
		b.field("Via")
		b.Press("right", "right", "ctrl+j")
		if got := b.lastSent(t); got.Via != model.ViaAgent || got.Tool != "" || got.URL != "http://lab.test/shop" {
			t.Errorf("sent %+v", got)
		}
		b.Expect("Response · Agent · http://lab.test/shop")
	})
}

func TestToolsThatCannotBeListedAreSaidAndArgumentsStayAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openProducts(t, "datacenter_demo")
		b.svc.toolsVerdict = model.Diagnosis{Class: model.ClassOutside, Summary: "The service rejected the API key (401).", Evidence: []model.Evidence{{Kind: "error", Text: "bad \x1b[31mkey"}}}
		r := model.FetchRequest{Zone: model.AgentZone(), Via: model.ViaAgent, Tool: "own_tool", Args: `{"a":1}`, Retries: -1}
		b.svc.kept["f_9"] = okResult(r)
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_9"}})
		b.Press("esc")
		b.field("Tool")
		b.Expect("own_tool", `{"a":1}`, "tools could not be", "401")
		b.Press("ctrl+j")
		if got := b.lastSent(t); got.Tool != "own_tool" || got.Args != `{"a":1}` {
			t.Errorf("sent %+v", got)
		}
	})
}

func TestTheRemoteBrowserIsAWayOfABrowserZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openProducts(t, "browser_demo")
		b.field("Via")
		b.Expect("( ) Browser")
		b.Press("right", "right", "right")
		b.Expect("(•) Browser", "Country")
		b.Press("alt+w")
		b.Expect("Upgrade: websocket", "Page.navigate")
		b.Press("ctrl+j")
		if got := b.lastSent(t); got.Via != model.ViaBrowser || got.Zone.Name != "browser_demo" {
			t.Errorf("sent %+v", got)
		}
		b.Press("y")
		b.Expect("CDP address with login")
		b.Press("d")
		b.Expect("CDP address")
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: "unlocker_demo", Via: model.ViaBrowser}})
		b.Expect("the remote browser needs") // what asks for it is not changed
	})
}

func TestAZoneThatCannotGoTheWayGoesByAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openProducts(t, "browser_demo")
		zone := func(name string) {
			b.field("Zone")
			b.Press("enter")
			b.Type(name)
			b.Press("enter")
		}
		b.field("Via")
		b.Press("right", "right", "right")
		b.Expect("(•) Browser")
		zone("serp_demo")
		b.Expect("(•) API", "Query", "Engine")
		b.ExpectNot("Browser", "✗")
		zone("unlocker_demo")
		b.Expect("(•) API")
		zone("browser_demo") // it comes back
		b.Expect("(•) Browser")
		b.ExpectNot("Query")
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: "datacenter_demo"}})
		b.Expect("(•) API")
		b.field("Via")
		b.Press("right") // by hand: that stays
		b.Expect("(•) Native")
		zone("browser_demo")
		b.ExpectNot("(•) Browser")
	})
}

func TestAFormThatWasFilledLikeTheFirstOneStays(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		s := demoSession()
		s.Profile, s.ProfileName, s.Local = demoProfile(), "acme", false
		b.Send(kit.SessionChanged{Session: s})
		b.ExpectNot("lab.test/ok")
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: "unlocker_demo", URL: "http://lab.test/ok"}})
		b.Expect("http://lab.test/ok")
		b.Send(kit.SessionChanged{Session: s}) // a file of the settings was changed
		b.Expect("unlocker_demo", "http://lab.test/ok")
		s.ProfileName = "other"
		b.Send(kit.SessionChanged{Session: s})
		b.ExpectNot("lab.test/ok")
	})
}

func TestTheStepsOfAVisitAreItsTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openProducts(t, "browser_demo")
		res := okResult(model.FetchRequest{Zone: demoZones()[2], URL: "http://lab.test/shop", Via: model.ViaBrowser, Retries: -1})
		res.Phases = []model.Phase{
			{Name: "connect", Duration: 20 * time.Millisecond},
			{Name: "CDP handshake", Duration: 5 * time.Millisecond},
			{Name: "navigate", Duration: 300 * time.Millisecond},
			{Name: "screenshot", Duration: 80 * time.Millisecond},
		}
		res.Timing.Total = 405 * time.Millisecond
		b.svc.kept["f_9"] = res
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_9"}})
		b.Press("]", "]", "]")
		b.Expect("CDP handshake    5.0 ms", "navigate         300 ms  ", "screenshot        80 ms", "total            405 ms", "the connection: connect 1.0 ms, wait 38 ms")
	})
}

func TestAgentAccessIsARowOfEachComparison(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		synctest.Test(t, func(t *testing.T) {
			b := openProducts(t, "datacenter_demo")
			b.svc.profile = demoProfile
			b.Resize(size[0], size[1])
			agents := func() (n int) {
				for _, r := range b.svc.requests() {
					if r.Via == model.ViaAgent {
						n++
					}
				}
				return n
			}
			b.compare()
			b.Expect("Comparison · http://lab.test/shop", "API    ✓ ok", "Native ✓ ok", "agent access", "Agent  ✓ ok")
			if agents() != 1 {
				t.Errorf("%d requests went by agent access, want 1", agents())
			}
			b.Press("end")
			b.Expect("╭ agent access ─")
			b.Press("f5")
			if agents() != 2 {
				t.Errorf("%d requests went by agent access, want 2", agents())
			}
			b.Press("e")
			b.Expect("What to compare", "by Native", "by Agent")
			b.field("by Agent")
			b.Press("space", "ctrl+s")
			b.Expect("Native ✓ ok")
			b.ExpectNot("agent access")
			if agents() != 2 {
				t.Errorf("%d requests went by agent access, want 2", agents())
			}
		})
	}
}

func TestToolsThatCannotBeListedAreAskedForOnce(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.svc.toolsErr = fmt.Errorf("listing the tools: %w", context.Canceled)
		b.store.kept["agent"] = model.FetchRequest{Via: model.ViaAgent, Tool: "search_engine"}
		b.Press("ctrl+o", "enter")
		b.field("Tool")
		b.Expect("! the tools could not be", "context canceled")
		if b.svc.listed != 1 {
			t.Errorf("the tools were listed %d times", b.svc.listed)
		}
	})
}
