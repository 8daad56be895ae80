package code_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/history"
	"zonedeck/ui"
	"zonedeck/ui/code"
	"zonedeck/ui/kit"
	"zonedeck/ui/uitest"
)

const secret = "s3cret-value"

// opener is a tab that asks for the code of a fetch.
type opener struct {
	uitest.OtherTab
	show kit.ShowCode
}

func (o *opener) Bindings() []kit.Binding {
	return []kit.Binding{{Keys: []string{"x"}, Label: "code", Intent: o.show}}
}

func (*opener) Update(tea.Msg) tea.Cmd { return nil }

// bench is the overlay over a tab that opens it.
type bench struct {
	*uitest.Screen
	files    map[string]string
	resolved []string // references
	fault    error
	slow     time.Duration // a secret takes it
	copied   []string
	newest   func(model.FetchRequest) (model.Grid, error)
}

func (b *bench) Source(r model.FetchRequest) history.CodeSource {
	return history.CodeSource{Request: r, Key: "keyring:zonedeck/" + r.Key, Profile: model.Profile{
		BaseURL: "https://api.test", ProxyHost: "proxy.test", ProxyPort: 33335, UsernamePrefix: "brd", Account: "hl_demo01",
		Dialect: "brightdata", Verify: true, Key: "etl",
	}}
}

func (b *bench) Refused(name string) error {
	if name == "boss" {
		return errors.New("key boss is ADMIN, and programs never use one")
	}
	return nil
}

func (b *bench) Secret(_ context.Context, ref string) (keystore.Secret, error) {
	b.resolved = append(b.resolved, ref)
	<-time.After(b.slow)
	return keystore.NewSecret(secret), b.fault
}

func (b *bench) Write(name, text string, replace bool) (string, error) {
	if _, there := b.files[name]; there && !replace {
		return "", fmt.Errorf("%s: %w", name, fs.ErrExist)
	}
	if b.fault != nil {
		return "", b.fault
	}
	b.files[name] = text
	return "/home/op/" + name, nil
}

func (b *bench) Compared(_ context.Context, r model.FetchRequest) (model.Grid, error) {
	if b.newest == nil {
		return model.Grid{}, history.ErrNotFound
	}
	return b.newest(r)
}

func (b *bench) SafePace(_ context.Context, r model.FetchRequest) (atOnce int, probed string) {
	if strings.Contains(r.URL, "probed") {
		return 12, "safe 12 (13 is refused twice)"
	}
	return 0, ""
}

// clipboard is the machine's, which takes nothing.
type clipboard struct{ *bench }

func (c clipboard) Write(_ context.Context, text string) (string, error) {
	c.copied = append(c.copied, text)
	return "", errors.New("there is no clipboard")
}

func (clipboard) Read(context.Context) (string, error) {
	return "", errors.New("there is no clipboard")
}

func open(t *testing.T, show kit.ShowCode, w, h int, change ...func(*bench)) *bench {
	t.Helper()
	b := &bench{files: map[string]string{}}
	theme := kit.NewTheme(true, false)
	for _, c := range change {
		c(b)
	}
	pages := code.New(code.Deps{Ctx: t.Context(), Theme: theme, Fetches: b})
	b.Screen = uitest.Start(t, ui.New(ui.Deps{
		Ctx: t.Context(), Now: time.Now, Theme: theme, FixedTheme: true, Code: pages.Open, Multiplexer: ui.Tmux,
		Clipboard: clipboard{b},
		Tabs:      []ui.Tab{{ID: kit.Sandbox, View: &opener{show: show}}}, Session: kit.Session{ProfileName: "acme", Ready: true},
	}), w, h)
	b.Press("x")
	return b
}

func fetch() kit.ShowCode {
	return kit.ShowCode{Request: model.FetchRequest{
		Zone: model.Zone{Name: "unlocker_demo", Product: model.ProductUnlocker, Password: "env:ZONE_PASS"}, Via: model.ViaAPI, URL: "http://lab.test/shop", Key: "etl",
	}}
}

// compared is a comparison of the fetch by API and by Native.
func compared() *model.Grid {
	t := &model.Grid{Profile: "acme", Base: fetch().Request, Repeat: 2}
	for _, via := range []model.Via{model.ViaAPI, model.ViaNative} {
		c := model.Cell{Vary: model.Vary{Zone: t.Base.Zone, Via: via}}
		c.Zone.Rate.Per1000 = 1.5
		for range 2 {
			c.Runs = append(c.Runs, model.Run{Class: model.ClassOK, Status: 200, Total: 40 * time.Millisecond, Bytes: 9})
		}
		if via == model.ViaNative {
			c.Runs[1].Class = model.ClassTooFast
		}
		t.Cells = append(t.Cells, c)
	}
	return t
}

func TestThePagesAreTurnedAndTheLastOneIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, fetch(), 120, 40)
		b.Expect("▸curl", `"$ZONEDECK_API_KEY" |`, "needs ZONEDECK_API_KEY", "not compared yet: safe concurrency, pause and cost are unknown")
		b.Press("right")
		b.Expect("▸Python", "import requests")
		b.Press("left", "left")
		b.Expect("▸PAC", "PAC: the API needs no proxy: choose Native.")
		b.Press("y")
		b.Expect("copy: PAC: the API needs no proxy")
		b.Press("v")
		b.Expect("▸PAC", `return "PROXY proxy.test:33335"`)
		b.ExpectNot("needs ZONE") // the browser asks
		b.Press("esc", "x")
		b.Expect("▸PAC")
		b.Press("x") // closes it
		b.ExpectNot("▸PAC")
	})
}

func TestAClickOnATitleTurnsToItsPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, w := range []int{120, 60} { // in one line, and in several
			b := open(t, fetch(), w, 40)
			for _, title := range []string{"Go ", "Playwright", "curl"} {
				b.Click(title)
				b.Expect("▸" + title)
			}
		}
	})
}

func BenchmarkFrame(b *testing.B) {
	show := fetch()
	show.Request.Body = strings.Repeat("a line of a body\n", 5000)
	p := code.New(code.Deps{Ctx: b.Context(), Theme: kit.NewTheme(true, false), Fetches: &bench{}}).Open(show)
	for b.Loop() {
		p.Render(p.Size(200, 60))
	}
}

func TestLongCodeScrollsAndNothingIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		show := fetch()
		show.Request.URL = "http://lab.test/" + strings.Repeat("a", 200) + "/end"
		b := open(t, show, 80, 24)
		b.Expect("↪ ", "/end\"")
		b.Press("right")
		b.Expect("↓ ")
		b.ExpectNot("sys.stdout.buffer")
		b.Press("G")
		b.Expect("sys.stdout.buffer.write(answer.content)")
	})
}

func TestACopySaysWhereItWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, fetch(), 120, 40)
		b.Press("y")
		b.Expect("sent code for curl (", "to the terminal's clipboard, which never confirms it", "allow-passthrough on", "▸curl")
		if len(b.resolved) > 0 {
			t.Errorf("a copy by reference asked for %q", b.resolved)
		}
	})
}

func TestACopyWithTheSecretAsksFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, fetch(), 120, 40)
		b.Press("!")
		b.Expect("Copy with the secret?", "the API key in clear")
		b.Press("n")
		if len(b.resolved) > 0 {
			t.Fatal("the key was fetched after no")
		}
		b.Press("!", "y")
		b.Expect("sent code for curl with the API key", "it holds a secret")
		b.ExpectNot(secret)
		b.Press("v", "!", "y")
		b.Expect("with the password of zone unlocker_demo")
		if got := strings.Join(b.resolved, " "); got != "keyring:zonedeck/etl env:ZONE_PASS" {
			t.Errorf("asked for %q", got)
		}
		b.fault = errors.New("the keyring is locked")
		b.AllowError("the keyring is locked")
		b.Press("!", "y")
		b.Expect("the password of zone unlocker_demo: the keyring is locked")
	})
}

func TestASecretThatComesLateIsNotPutIntoOtherCode(t *testing.T) {
	for _, turns := range [][]string{{"v"}, {"v", "v"}, {"right"}, {"right", "left"}} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, fetch(), 120, 40)
			b.slow = 2 * time.Second
			b.Press("!", "y")
			b.Press(turns...)
			b.Expect("nothing was copied: the page shows other code now")
			b.After(time.Minute)
			if len(b.copied) > 0 {
				t.Errorf("after %q %q was copied", turns, b.copied)
			}
			b.Press("!", "y")
			b.After(time.Minute)
			if len(b.copied) != 1 || !strings.Contains(b.copied[0], secret) {
				t.Errorf("after %q and once more %q was copied", turns, b.copied)
			}
		})
	}
}

func TestAHeaderThatIsASecretIsCopiedAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		show := fetch()
		show.Request.Header = map[string][]string{"Cookie": {"a=b"}}
		b := open(t, show, 120, 40)
		b.Press("y")
		b.Expect("code for curl with header Cookie", "it holds a secret")
	})
}

func TestTheCodeIsSavedAsAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, fetch(), 120, 40)
		b.Press("right", "s")
		b.Expect("Save the code as", "fetch.py")
		b.Press("ctrl+s")
		b.Expect("saved the code as /home/op/fetch.py", "▸Python")
		if got := b.files["fetch.py"]; !strings.Contains(got, "import requests") {
			t.Errorf("%q", got)
		}
		b.files["fetch.py"] = "other"
		b.Press("s", "ctrl+s")
		b.Expect("Replace it?", "fetch.py is there already")
		b.Press("n")
		if b.files["fetch.py"] != "other" {
			t.Error("it was replaced after no")
		}
		b.Press("s", "ctrl+s", "y")
		if got := b.files["fetch.py"]; !strings.Contains(got, "import requests") {
			t.Errorf("after yes the file holds %q", got)
		}
		b.fault = errors.New("no space left on device")
		b.files = map[string]string{}
		b.Press("s", "ctrl+s")
		b.Expect("✗ no space left on device", "Save the code as")
	})
}

func TestAComparisonIsAReportAndSaysWhatItsRunsShowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		show := fetch()
		show.Comparison = compared()
		b := open(t, show, 200, 60)
		b.Expect("▸Markdown", "| unlocker_demo | API | ok | 2 of 2 | 200 |", "winner: unlocker_demo by API")
		b.Press("y")
		b.Expect("sent comparison as Markdown")
		b.Press("!")
		b.Expect("a comparison holds no secret")
		b.Press("right")
		b.Expect("▸JSON", `"schema_version": 1`)
		b.Press("right")
		b.Expect("▸curl", "needs ZONEDECK_API_KEY · compared runs: 2 of 2 ok; 1 at once worked without a pause; more was not tried; $1.50 per 1000")
		b.Press("v")
		b.Expect("compared runs: 1 of 2 ok, 1 too fast; 1 at once without a pause was too much, and the right pause is unknown")
	})
}

func TestWithoutAComparisonOnScreenTheNewestOfTheHistoryIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, fetch(), 200, 60, func(b *bench) {
			b.newest = func(r model.FetchRequest) (model.Grid, error) {
				if r.URL != "http://lab.test/shop" || r.Via != model.ViaAPI {
					return model.Grid{}, errors.New("the disk is gone")
				}
				twin := *compared()
				twin.Started = time.Date(2026, 3, 4, 5, 6, 0, 0, time.Local)
				return twin, nil
			}
		})
		b.Expect("▸curl", "needs ZONEDECK_API_KEY · runs compared 2026-03-04 05:06: 2 of 2 ok; 1 at once worked without a pause", "# runs compared 2026-03-04 05:06: 2 of 2 ok")
		b.Press("v")
		b.Expect("the compared runs could not be read: the disk is gone")
		b.ExpectNot("2 of 2 ok")
	})
}

func TestTheCodeHoldsToWhatAProbeFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		show := fetch()
		show.Request.URL = "http://lab.test/probed"
		b := open(t, show, 200, 60)
		b.Expect("# no more than 12 of these at once: safe 12 (13 is refused twice)", "--parallel-max 12")
	})
	synctest.Test(t, func(t *testing.T) {
		b := open(t, fetch(), 200, 60)
		b.ExpectNot("at once", "--parallel-max")
	})
}

func TestALoginHasNoOtherWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		show := fetch()
		show.Request.Via, show.Username = model.ViaNative, "brd-customer-hl_demo01-zone-unlocker_demo-city-x"
		b := open(t, show, 120, 40)
		b.Expect("unlocker_demo-city-x")
		b.Press("v")
		b.Expect("a proxy login always goes through the proxy")
	})
}

func TestNoProgramGetsAnAdminKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		show := fetch()
		show.Request.Key = "boss"
		b := open(t, show, 120, 40)
		b.Expect("key boss is ADMIN, and programs never use one")
		b.ExpectNot("/request")
		b.Press("!")
		if len(b.resolved) > 0 {
			t.Errorf("the value was taken: %q", b.resolved)
		}
		show.Request.Via = model.ViaNative // a login holds no key
		b = open(t, show, 120, 40)
		b.ExpectNot("ADMIN")
	})
}
