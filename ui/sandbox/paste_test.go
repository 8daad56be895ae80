package sandbox_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/sandbox"
)

func TestAPastedCurlCommandFillsTheForm(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Paste("curl -X PUT --data-raw 'a b' -H 'X-A: 1' http://lab.test/pasted\n")
		b.Expect("curl: URL, method PUT, 2 headers, body of 3 bytes", "http://lab.test/pasted", "U undoes this")
		b.Press("esc", "U")
		b.ExpectNot("http://lab.test/pasted")
		b.Expect("http://lab.test/ok")

		// What the form cannot hold is listed, and a secret is not in it.
		b.Paste(`curl -L -x http://127.0.0.1:33335 -U brd-customer-hl_demo01-zone-unlocker_demo-country-de:hunter2 -b 'sid=hunter2' http://lab.test/x`)
		b.Expect("Pasted: curl, Native Access", "zone unlocker_demo, URL, via Native, 1 header, country de", "redirects are shown, not followed", "{{cookie}} stands for it")
		b.ExpectNot("hunter2")
		b.Press("enter")
		b.Expect("Cookie: {{cookie}}")
		b.ExpectNot("hunter2")

		b.Paste("curl 'http://lab.test/")
		b.Expect("did not fill the form", "a quote or a bracket is not closed")

		// A body that the form would hold as another one is not taken.
		b.Paste(`curl http://lab.test/form -d $'a\r\nb'`)
		b.Expect("did not fill the form", "its body holds line ends")
		b.ExpectNot("http://lab.test/form")
	})
}

func TestTheFooterSaysWhereLettersGoAt80Columns(t *testing.T) {
	onScreen(t, 80, 24, func(_ *testing.T, b *bench) {
		b.Press("alt+u")
		b.Expect("ctrl+j send · esc end typing · typing replaces URL")
	})
}

func TestAURLPastedOutsideAFieldGoesToTheURL(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Press("tab", "tab")
		b.Paste(" https://lab.test/pasted?q=1\n")
		b.Expect("URL  https://lab.test/pasted?q=1", "Pasted URL. U undoes this.")
		b.Press("U")
		b.Paste("\ufeffhttp://lab.test/?q=a\u200cb\u200b\n")
		b.Expect("URL  http://lab.test/?q=a‹U+200C›b ", "Without U+FEFF, U+200B at its ends.")
		b.Press("U")
		b.Expect("URL  http://lab.test/ok")
		b.Paste("no address")
		b.Expect("URL  http://lab.test/ok")
		b.Press("down", "down", "down", "down", "down", "down", "down", "down", "space", "down", "down")
		b.Paste("http://lab.test/a-header")
		b.Expect("URL  http://lab.test/ok", "›Headers   http://lab.test/a-header")
	})
}

func TestAPasteIntoAFieldOfLinesIsItsText(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Press("down", "down", "down", "down", "down", "down", "down", "down", "space", "down", "down")
		b.Paste("curl http://lab.test/not-taken")
		b.ExpectNot("Pasted")
		b.Expect("›Headers   curl", "http://lab.test/not-taken")
	})
}

func TestAPastedHARFileFillsTheForm(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		entry := func(path string) string {
			return `{"startedDateTime":"2026-11-20T10:00:00Z","request":{"method":"GET","url":"http://lab.test/` + path + `","headers":[]},"response":{"status":204}}`
		}
		b.Paste(`{"log":{"entries":[` + entry("one") + "]}}")
		b.Expect("Pasted HAR entry: URL.", "http://lab.test/one")
		b.Paste(`{"log":{"entries":[` + entry("two") + "," + entry("three") + "]}}")
		b.Expect("Requests of the HAR file", "1  GET  http://lab.test/two", "204")
		b.Press("down", "enter")
		b.Expect("http://lab.test/three")
		b.Paste(`{"log":{"entries":[{}]}}`)
		b.Expect("entry 1 has no request with a url")
	})
}

func TestAVariableOfTheFormIsResolvedOrAskedFor(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.vars.values["page"] = model.Variable{Value: "shop"}
		b.vars.values["key"] = model.Variable{Ref: "env:KEY"}
		b.Paste("curl -x http://x -U brd-customer-hl_demo01-zone-datacenter_demo:$ZONEDECK_ZONE_PASSWORD http://lab.test/$page -H \"X-Api-Key: $key\" -H \"Authorization: Bearer $token\" -H \"X-Q: $q\"")
		b.Press("enter") // the page about the other host
		b.Expect("lab.test/{{page}}", "GET http://lab.test/sh", "✗ no value yet for {{token}},")
		b.Press("ctrl+j")
		b.Expect("Values for this request", "token", "q")
		b.Type("hunter2")
		b.Press("enter")
		b.Type("word")
		b.ExpectNot("hunter2")
		b.Press("ctrl+s")
		reqs := b.svc.requests()
		if len(reqs) != 1 || reqs[0].Secrets["key"] != "env:KEY" || reqs[0].Secrets["token"] != "asked:token" || reqs[0].Header.Get("X-Q") != "word" || reqs[0].URL != "http://lab.test/shop" {
			t.Fatalf("%+v\n%s", reqs, b.Screen.Screen())
		}
		b.ExpectNot("without a value")

		// What is saved has the variables.
		b.Press("ctrl+s")
		b.Type("v")
		b.Press("ctrl+s")
		if r := b.store.kept["v"]; r.URL != "http://lab.test/{{page}}" || r.Header.Get("X-Q") != "{{q}}" || len(r.Secrets) > 0 {
			t.Errorf("saved %+v", r)
		}
		b.ExpectNot("Left out")
	})
}

func TestADeletedRequestIsBroughtBackFromTheSandbox(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.store.deleted = "shop/cart"
		b.Press("O")
		b.Expect("shop/cart is back among the saved requests · ctrl+o")
		b.Press("2", "ctrl+p")
		b.Type("bring back")
		b.Press("enter")
		b.Expect("no removed request is kept")
	})
}

func TestAVariableGetsAnotherValue(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.Press("V")
		b.Expect("the form has no {{name}}")
		b.vars.values["page"] = model.Variable{Value: "shop"}
		b.vars.values["token"] = model.Variable{Ref: "env:TOKEN"}
		b.vars.values["zone_key"] = model.Variable{Refused: "it is a key"}
		b.Paste("curl -x http://x -U brd-customer-hl_demo01-zone-datacenter_demo:$ZONEDECK_ZONE_PASSWORD http://lab.test/$page/$q -H \"X-A: $token\" -H \"X-B: $zone_key\"")
		b.Press("enter") // the page about the other host
		b.Press("V")
		b.Expect("Values of this request", "›page", "shop", "token", "set; type another", "q")
		b.ExpectNot("zone_key ")
		b.Type("ping")
		b.Press("enter")
		b.Type("word")
		b.Press("ctrl+s")
		b.Press("alt+w")
		b.Expect("GET http://lab.test/shopping/word")
		if v := b.vars.values["token"]; v.Ref != "env:TOKEN" {
			t.Errorf("a secret that was not typed is %+v now", v)
		}
		b.Press("V")
		b.Expect("shopping", "word")
		b.Press("ctrl+u")
		b.Type("cart")
		b.Press("tab", "ctrl+u", "tab")
		b.Type("hunter2")
		b.ExpectNot("hunter2")
		b.Press("ctrl+s")
		b.Expect("GET http://lab.test/cart/", "no value yet for {{q}}")
		if v := b.vars.values["token"]; v.Ref != "asked:token" {
			t.Errorf("the secret that was typed is %+v", v)
		}
	})
}

func TestAValueWithALineBreakMakesNoHeader(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.vars.values["a"] = model.Variable{Value: "1\nX-Evil: 2"}
		b.Paste("curl -x http://x -U brd-customer-hl_demo01-zone-datacenter_demo:$ZONEDECK_ZONE_PASSWORD http://lab.test/ -H \"X-A: $a\"")
		b.Press("enter")
		b.Press("ctrl+j")
		if n := len(b.svc.requests()); n != 0 || !strings.Contains(b.Screen.Screen(), "line break") {
			t.Errorf("%d were sent\n%s", n, b.Screen.Screen())
		}
	})
}

func TestTheFetchOnScreenIsWrittenAsHAR(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Press("E")
		b.Expect("HAR: no result yet")
		b.Press("ctrl+j")
		b.Expect("✓ ok")
		b.Press("E")
		b.Expect("Wrote /downloads/f", ".har; credentials are redacted.")
	})
}

func TestABodyIsKeptWhileAHARFileIsWritten(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.files.slow["kept"] = 2 * time.Second
		b.Press("ctrl+j")
		b.Expect("✓ ok")
		b.Press("S", "E")
		b.Expect("Wrote /downloads/f")
		b.After(3 * time.Second)
		b.Expect("Saved the body as /kept/f")
	})
}

// slowHAR takes a second to write a HAR file.
type slowHAR struct {
	sandbox.History
	written int
}

func (s *slowHAR) OneHAR(context.Context, string) (string, error) {
	s.written++
	<-time.After(time.Second)
	return "/downloads/f.har", nil
}

func TestAHARFileIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowHAR{}
		b := open(t, 120, 40, func(d *sandbox.Deps) {
			slow.History = d.History
			d.History = slow
		})
		b.Press("ctrl+j")
		b.Press("E", "E")
		b.Expect("a HAR file is being written")
		b.After(2 * time.Second)
		if b.Expect("Wrote /downloads/f.har"); slow.written != 1 {
			t.Errorf("written %d times", slow.written)
		}
	})
}

func TestAnotherTabGetsNoFinderOfAPaste(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		entry := `{"request":{"method":"GET","url":"http://lab.test/","headers":[]}}`
		read := kit.Serve(b.view, tea.PasteMsg{Content: `{"log":{"entries":[` + entry + "," + entry + "]}}"})
		b.view.Blur()
		b.Send(read())
		b.ExpectNot("Requests of the HAR file")
	})
}

// A secret's name is enough, wherever its variable stands; what then cannot hold one says so.
func TestASecretIsMaskedInAnOption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openProducts(t, "serp_demo")
		b.store.kept["search"] = model.FetchRequest{Zone: model.Zone{Name: "serp_demo"}, Via: model.ViaAPI, Options: model.Options{Query: "{{api_key}}"}}
		b.Press("ctrl+o", "enter")
		b.Press("ctrl+j")
		b.Expect("Values for this request", "api_key")
		b.Type("hunter2")
		b.ExpectNot("hunter2")
		b.Press("ctrl+s")
		b.Expect("{{api_key}} holds a secret")
		b.ExpectNot("hunter2")
		b.wantSent(t, 0, "")
	})
}
