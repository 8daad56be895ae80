package sandbox_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/model/modeltest"
	"zonedeck/ui/kit"
	"zonedeck/ui/sandbox"
)

func TestACaptchaShowsItsEvidenceAndWhatToDo(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.answers(captchaResult)
		b.Press("ctrl+j")
		b.Expect("✗ CAPTCHA", "body bytes 76-86: match", "[b] try zone browser_demo", "[H] wait 5.0 s, send again")
		b.Expect("[t] send by Native")
		b.Press("b")
		b.Expect("browser_demo. ctrl+j sends")
		if n := len(b.svc.requests()); n != 1 {
			t.Fatalf("a step that fills the form sent a request (%d in all)", n)
		}
		b.Press("ctrl+j")
		if sent := b.svc.requests(); len(sent) != 2 || sent[1].Zone.Name != "browser_demo" {
			t.Errorf("sent %+v, want the second with browser_demo", sent)
		}
		b.Press("H")
		b.Expect("send again: letters send nothing while a form has the focus; press tab to leave it first")
		b.wantSent(t, 2, "from the form")
		b.Press("alt+r", "H")
		b.Expect("● waiting")
		b.wantSent(t, 2, "slowing down sent at once")
		b.After(5 * time.Second)
		b.wantSent(t, 3, "after the wait")
	})
}

// Every next step keeps what was edited after its result came.
func TestANextStepKeepsWhatWasEditedSince(t *testing.T) {
	for key, c := range map[string]struct {
		action model.Action
		sends  bool
		change func(*model.FetchRequest) // what the step itself changes
	}{
		"ctrl+j": {model.ActionRetry, true, nil},
		"H":      {model.ActionSlowDown, true, nil},
		"b":      {model.ActionTryBrowser, false, func(r *model.FetchRequest) { r.Zone = demoZones()[2] }},
		"t":      {model.ActionOtherWay, true, func(r *model.FetchRequest) { r.Via = model.ViaNative }},
		"T":      {model.ActionRaiseTimeout, false, func(r *model.FetchRequest) { r.Timeout = time.Minute }},
		"f":      {model.ActionFixRequest, false, nil},
	} {
		for from, bring := range map[string]func(b *bench){
			"sent":     func(b *bench) { b.Press("ctrl+j") },
			"reopened": func(b *bench) { b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2"}}) },
		} {
			t.Run(string(c.action)+" "+from, func(t *testing.T) {
				onScreen(t, 120, 40, func(t *testing.T, b *bench) {
					failed := func(r model.FetchRequest) model.FetchResult {
						res := captchaResult(r)
						res.Diagnosis.Steps = []model.Step{{Action: c.action, Text: "do it"}}
						return res
					}
					b.answers(failed)
					first := model.FetchRequest{Zone: demoZones()[1], URL: "http://lab.test/ok", Via: model.ViaAPI, Format: model.FormatRaw, Retries: -1}
					b.svc.kept["f_2"] = failed(first)
					bring(b)
					b.ExpectNot("as edited")
					want := len(b.svc.requests()) + 1
					b.Press("esc", "j", "enter")
					b.Type("/edited")
					b.Press("alt+r", key)
					if c.sends {
						b.After(model.Diagnosis{}.Pause())
					} else {
						b.Press("ctrl+j")
					}
					sent := b.svc.requests()
					if len(sent) != want {
						t.Fatalf("%d requests in all, want %d", len(sent), want)
					}
					first.URL += "/edited"
					first.Key = "batch-user"
					if c.change != nil {
						c.change(&first)
					}
					if got := sent[want-1]; !reflect.DeepEqual(got, first) {
						t.Errorf("sent %+v\nwant %+v", got, first)
					}
				})
			})
		}
	}
}

// Every next step of every class and cause has a key that acts, and the screen says which.
func TestEveryNextStepHasAKeyThatActs(t *testing.T) {
	for name, d := range modeltest.Steps(t, "../../testdata/diagnosis") {
		t.Run(name, func(t *testing.T) {
			onScreen(t, 120, 40, func(t *testing.T, b *bench) {
				b.answers(func(r model.FetchRequest) model.FetchResult {
					res := okResult(r)
					res.Diagnosis, res.Fields = d, []model.Field{{Path: "price"}}
					return res
				})
				b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: "datacenter_demo"}})
				b.Press("ctrl+j", "tab", "tab")
				key := kit.StepKey(d.Steps[0].Action)
				b.Expect("do next   [" + key + "] ")
				before := b.Below()
				b.Press(key)
				if why := b.Refusal(key, before); why != "" || key != "ctrl+j" && b.Below() == before {
					t.Errorf("%s does nothing: %s", key, why)
				}
				if n := len(b.svc.requests()); key == "ctrl+j" && n != 2 {
					t.Errorf("%d requests after ctrl+j, want 2", n)
				}
			})
		})
	}
}

func TestAKeptBodyIsNamed(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Press("S")
		b.Expect("there is no body")
		b.Press("ctrl+j", "S")
		b.Expect("Saved the body as /kept/f_1.html.")
	})
}

// Keeping, copying and editing a body do not get in each other's way.
func TestABodyIsKeptCopiedAndEditedAtOnce(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.keepOnDisk("f_1")
		b.files.slow["editor"], b.files.slow["kept"] = 8*time.Second, 4*time.Second
		b.openFetch("f_1")
		b.Press("e", "S", "S")
		b.Expect("a body is being copied to its file")
		b.Press("y", "b")
		b.Expect("sent body (")
		b.After(4 * time.Second)
		b.Expect("Saved the body as /kept/f_1.html.")
		b.After(4 * time.Second)
		if e := b.files.editors; len(e) != 1 || *e[0] != (fakeEditor{ran: true}) {
			t.Errorf("%d editors were prepared, want one that ran", len(e))
		}
	})
}

func TestAnEditorThatIsNotOpenedIsClosed(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.files.slow["editor"] = 5 * time.Second
		b.Press("ctrl+j", "e", "e")
		b.After(6 * time.Second)
		ran, closed := 0, 0
		for _, e := range b.files.editors {
			switch *e {
			case fakeEditor{ran: true}:
				ran++
			case fakeEditor{closed: true}:
				closed++
			}
		}
		if len(b.files.editors) != 2 || ran != 1 || closed != 1 {
			t.Errorf("of %d editors %d only ran and %d were only closed, want one each of two", len(b.files.editors), ran, closed)
		}
	})
}

func TestTSendsTheOtherWayAndBack(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.Press("t")
		b.Expect("no result yet")
		b.Press("ctrl+j", "t")
		b.Expect("t send by Native: letters send nothing while a form has the focus")
		b.Press("alt+r", "t", "t")
		b.Expect("✓ ok")
		sent := b.svc.requests()
		if len(sent) != 3 {
			t.Fatalf("%d requests, want 3", len(sent))
		}
		for i, via := range []model.Via{model.ViaAPI, model.ViaNative, model.ViaAPI} {
			if sent[i].Via != via || sent[i].URL != sent[0].URL || sent[i].Zone != sent[0].Zone {
				t.Errorf("request %d: %+v, want that of the first by %s", i+1, sent[i], via)
			}
		}
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: "serp_demo"}})
		b.Press("t")
		b.Expect("has no native access")
		b.wantSent(t, 3, "a search zone has no native access")
	})
}

func TestSendingAgainSaysThatTheFormWasEdited(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.answers(captchaResult)
		b.Press("ctrl+j")
		b.Expect("[H] wait 5.0 s, send again")
		b.Press("b")
		b.Expect("[H] wait 5.0 s, send as edited")
		b.Press("U")
		b.Expect("[H] wait 5.0 s, send again")
	})
}

func TestANewRequestEmptiesTheFormUntilItIsUndone(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Paste("curl -x http://x -U brd-customer-hl_demo01-zone-datacenter_demo:$ZONEDECK_ZONE_PASSWORD -X PUT -d abc http://lab.test/pasted")
		b.Press("enter") // the page about the other host
		b.Expect("http://lab.test/pasted", "PUT", "abc")
		b.Press("ctrl+n")
		b.Expect("The form is empty; U brings back what it held.", "datacenter_demo", "(•) Native")
		b.ExpectNot("pasted", "PUT", "abc", "✗")
		b.Type("http://lab.test/typed")
		b.Press("enter")
		b.Press("alt+w")
		b.Expect("GET http://lab.test/typed HTTP/1.1")
		b.Press("U")
		b.Expect("http://lab.test/pasted", "PUT", "abc")
	})
}

func TestThePaletteFindsWhatRefusesWithoutARefusal(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		for _, word := range []string{"split", "refuses"} {
			b.Press("2", "ctrl+p")
			b.Type(word)
			b.Expect("what refuses? (split)", "no result yet")
			b.Press("esc")
		}
		b.Press("1", "ctrl+j", "I")
		b.Expect("what refuses?: the fetch on screen was not refused")
	})
}

func TestANoticeOnTheFormGoesWhenItIsNoLongerTrue(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.answers(func(r model.FetchRequest) model.FetchResult {
			res := captchaResult(r)
			res.Diagnosis.Steps = append(res.Diagnosis.Steps, model.Step{Action: model.ActionTryUnlocker})
			return res
		})
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: "datacenter_demo"}})
		b.Press("ctrl+j", "u")
		b.Expect("The form now has zone unlocker_demo")
		b.Press("b")
		b.Expect("The form now has zone browser_demo")
		b.ExpectNot("zone unlocker_demo now")
		b.Press("U")
		b.ExpectNot("The form now has zone")
		b.Press("u")
		b.Expect("The form now has zone unlocker_demo")
		b.Press("down", "down", "space") // by hand: Native
		b.ExpectNot("The form now has zone")
	})
}

func TestWaitingToSlowDownCanBeCancelled(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.answers(captchaResult)
		b.Press("ctrl+j", "alt+r", "H", "esc")
		b.Expect("Cancelled after")
		b.After(10 * time.Second)
		b.wantSent(t, 1, "the first alone")
	})
}

func TestEvidenceInTheBodyIsShown(t *testing.T) {
	onScreen(t, 80, 24, func(_ *testing.T, b *bench) {
		b.answers(func(r model.FetchRequest) model.FetchResult {
			res := captchaResult(r)
			body := strings.Repeat("filler\n", 300) + "<div class=\"g-recaptcha\">\n" + strings.Repeat("filler\n", 300)
			res.Body = model.BodyRef{Bytes: []byte(body), Size: int64(len(body))}
			res.Diagnosis.Evidence[3].Offset = int64(strings.Index(body, "g-recaptcha"))
			return res
		})
		b.Press("ctrl+j")
		b.ExpectNot("<div class=")
		b.Press("v")
		b.After(100 * time.Millisecond)
		b.Expect(`<div class="g-recaptcha">`)
	})
}

func TestTheCopyMenuSaysWhatWentWhere(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Press("y")
		b.Expect("no result yet", "request as shown", "secrets masked")
		b.Press("w")
		b.Expect("request as shown")
		b.Press("ctrl+j", "y", "b")
		b.Expect("90 B")
	})
}

// The service counts the answers in a row; the step says how long the pause is, and why.
func TestTheOfferedPauseSaysThatItHasGrown(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		before := 0
		b.answers(func(r model.FetchRequest) model.FetchResult {
			res := okResult(r)
			res.Diagnosis = model.Diagnose(model.Outcome{Via: model.ViaAPI, ServiceStatus: 429, TooFastBefore: before})
			before++
			return res
		})
		b.Press("ctrl+j")
		b.Expect("[H] wait 5.0 s, send again")
		b.Press("alt+r", "H")
		b.After(5 * time.Second)
		b.Expect("[H] wait 10.0 s (second too fast in a row), send again", "the second answer in a row that says too fast")
		b.Press("H")
		b.After(10 * time.Second)
		b.Expect("[H] wait 20.0 s (third too fast in a row), send again")
		b.wantSent(t, 3, "")
	})
}

// Where a request is billed no letter sends one without a question, and ctrl+j does.
func TestALetterAsksBeforeItSendsABilledRequest(t *testing.T) {
	for key, want := range map[string]model.FetchRequest{
		"H": {Via: model.ViaAPI}, "t": {Via: model.ViaNative},
	} {
		onScreen(t, 120, 40, func(t *testing.T, b *bench) {
			b.answers(func(r model.FetchRequest) model.FetchResult {
				res := captchaResult(r)
				res.Diagnosis.Steps = []model.Step{{Action: model.ActionRetry, Text: "again"}, {Action: model.ActionSlowDown, Text: "slow down"}}
				return res
			})
			s := demoSession()
			s.Local, s.ProfileName, s.Profile = false, "acme", demoProfile()
			b.Send(kit.SessionChanged{Session: s})
			b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{URL: "http://lab.test/json", Zone: "unlocker_demo"}})
			b.Press("ctrl+j", "tab", "tab")
			if n := len(b.svc.requests()); n != 1 {
				t.Fatalf("ctrl+j sent %d requests", n)
			}
			b.Press(key)
			b.Expect("Send a request?", "One request to profile acme by zone unlocker_demo, "+want.Via.String(), "billed", "unpriced:")
			b.After(time.Second) // a question ignores keys that were meant for something else
			b.Press("n")
			b.After(time.Minute)
			if n := len(b.svc.requests()); n != 1 {
				t.Fatalf("%s, n: %d requests in all, want 1", key, n)
			}
			b.Press(key)
			b.After(time.Second)
			b.Press("y")
			b.After(time.Minute)
			if sent := b.svc.requests(); len(sent) != 2 || sent[1].Via != want.Via {
				t.Errorf("%s, y: sent %+v", key, sent)
			}
		})
	}
}

// A failure has one name wherever the Sandbox shows it, and "check" goes where its words say.
func TestANetworkFailureHasOneNameAndLeadsToTheURL(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.svc.history = []model.HistoryEntry{{ID: 1, At: time.Now(), Kind: model.HistoryFetch, Zone: "unlocker_demo", Class: model.ClassOutside, Cause: model.CauseNetwork, Profile: "local"}}
		b.answers(func(r model.FetchRequest) model.FetchResult {
			res := okResult(r)
			res.Attempts[0].Class, res.Attempts[0].Cause = model.ClassOutside, model.CauseNetwork
			res.Diagnosis = model.Diagnosis{
				Class: model.ClassOutside, Cause: model.CauseNetwork, Summary: "The target could not be reached.",
				Steps: []model.Step{{Action: model.ActionCheckZone, Text: "check the scheme, host and port of the URL"}},
			}
			return res
		})
		b.reload()
		b.Press("esc", "k", "enter")
		b.Expect("unlocker_demo   unlocker", "▁ 0 of 1 useful · ✗ network")
		b.Press("esc", "esc", "ctrl+j")
		b.Expect("✗ network   200", "[f] check the URL")
		b.Press("tab", "tab", "]", "]", "]", "]")
		b.Expect("╶ Attempts ╴", "  1  ✗ network ")
		b.ExpectNot("outside")
		b.Press("f")
		b.Expect("›URL")
	})
}

// keptTimeouts keeps what is written into the profile.
type keptTimeouts struct {
	model.Timeouts
	err error
}

func (k *keptTimeouts) SetTimeout(_ context.Context, product model.Product, d time.Duration) error {
	k.Timeouts = model.Timeouts{product: d}
	return k.err
}

func TestALongerTimeoutIsSetInTheProfileAfterAQuestion(t *testing.T) {
	kept := &keptTimeouts{}
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.answers(func(r model.FetchRequest) model.FetchResult {
			res := captchaResult(r)
			res.Diagnosis.Steps = []model.Step{{Action: model.ActionRaiseTimeout, Text: "longer", Timeout: 6 * time.Minute}}
			return res
		})
		b.Press("ctrl+j", "T")
		b.Expect("Set a longer timeout?", "gives one attempt 6m0s (unlocker)")
		if kept.Timeouts != nil {
			t.Error("it was set before the answer")
		}
		b.Press("y")
		b.Expect("set the timeout of unlocker in profile local to 6m0s")
		if kept.String() != "unlocker=6m0s" {
			t.Error(kept)
		}
		kept.err = errors.New("the disk is full")
		b.AllowError("the disk is full")
		b.Press("T", "y")
		b.Expect("the timeout was not set: the disk is full")
		b.wantSent(t, 1, "a setting sends nothing")
		kept.Timeouts = nil
		b.svc.kept["f_2"] = noerr.Try(b.svc.Fetch(t.Context(), b.svc.requests()[0], nil)).Must(t)
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2", Profile: "acme"}})
		b.Press("T")
		b.Expect("it was sent with profile acme")
		b.ExpectNot("Set a longer timeout?")
		if kept.Timeouts != nil {
			t.Errorf("the timeout of another profile's product was set in this one: %s", kept)
		}
	}, func(d *sandbox.Deps) { d.Timeouts = kept })
}

// What a request costs stands where it is shown before it is sent; the emulator charges nothing.
func TestThePriceStandsAtWhatWillBeSent(t *testing.T) {
	for _, size := range [][2]int{{60, 16}, {80, 24}, {120, 40}, {200, 60}} {
		priced := demoProfile()
		onScreen(t, size[0], size[1], func(_ *testing.T, b *bench) {
			b.Expect("Will be sent · alt+w")
			b.ExpectNot("unpriced:")
			s := demoSession()
			s.Local, s.ProfileName = false, "acme"
			b.Send(kit.SessionChanged{Session: s})
			b.Expect("Will be sent · unpriced: ctrl+p rates · alt+w")
			priced.Zones = demoZones()
			for i := range priced.Zones {
				priced.Zones[i].Rate.Per1000 = 1.5
			}
			b.Send(kit.SessionChanged{Session: s})
			b.Expect("Will be sent · $1.5 per 1000 · alt+w")
			b.Press("alt+w")
			b.Expect("Will be sent · $1.5 per 1000")
		}, func(d *sandbox.Deps) { d.Profile = inUse(func() model.Profile { return priced }) })
	}
}
