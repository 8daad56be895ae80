package sandbox_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
	"zonedeck/service/fetch"
	"zonedeck/ui/kit"
)

func TestALateAnswerToAnOldLoadIsDropped(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		r := model.FetchRequest{Zone: demoZones()[1], URL: "http://lab.test/ok", Via: model.ViaAPI}
		b.svc.kept = map[string]model.FetchResult{"f_slow": captchaResult(r), "f_new": okResult(r)}
		b.svc.slow = map[string]time.Duration{"f_slow": time.Second}
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_slow"}})
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_new"}})
		b.Expect("from history", "nothing was sent", "<title>The lab</title>")
		b.After(2 * time.Second)
		b.Expect("<title>The lab</title>")
		b.ExpectNot("CAPTCHA")
		b.wantSent(t, 0, "re-opening sent")
	})
}

func TestAMissingFetchIsReported(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.AllowError("f_gone")
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_gone"}})
		b.Expect("Fetch f_gone could not be opened: the journal has no such fetch")
	})
}

func TestHistoryReopensWithoutSending(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		r := model.FetchRequest{Zone: demoZones()[0], URL: "http://lab.test/shop", Via: model.ViaNative, Retries: -1}
		b.svc.kept["f_2"] = captchaResult(r)
		b.svc.history = []model.HistoryEntry{{
			ID: 1, Ref: "f_2", At: time.Now(), Kind: model.HistoryFetch, Zone: "datacenter_demo",
			URL: r.URL, Via: model.ViaNative, Class: model.ClassCaptcha, Status: 200, Total: 41 * time.Millisecond,
		}}
		b.Press("ctrl+j") // brings history up to date
		b.Press("shift+tab", "enter")
		b.Expect("Response · datacenter_demo · Native · http://lab.test/shop", "from history", "✗ CAPTCHA")
		b.Press("o")
		b.Expect("The form holds this request again")
		b.Press("alt+w")
		b.Expect("▌Will be sent", "GET http://lab.test/shop HTTP/1.1")
		b.Press("alt+w")
		b.wantSent(t, 1, "re-opening sent a request")
		b.Press("U")
		b.Expect("Zone  unlocker_demo")
	})
}

func TestARequestIsSavedAndOpenedAgain(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.Press("ctrl+s")
		b.Expect("Save the request")
		b.Type("../x")
		b.Press("ctrl+s")
		b.Expect("it must start with")
		b.Press("enter")
		for range 4 {
			b.PressFast("backspace")
		}
		b.Type("shop")
		b.Press("ctrl+s")
		b.Expect("Saved as shop · ctrl+o opens it.")
		if _, ok := b.store.kept["shop"]; !ok {
			t.Fatalf("kept: %v", b.store.kept)
		}
		r := b.store.kept["shop"]
		r.URL = "http://lab.test/json"
		b.store.kept["shop"] = r
		b.Press("ctrl+o")
		b.Expect("Saved requests", "shop")
		b.Press("enter")
		b.Press("alt+w")
		b.Expect(`st/json","format":"raw"}`, "Nothing was sent")
		b.Press("ctrl+s", "ctrl+s") // the name is kept; nothing has changed
		b.Expect("shop already holds this request.")
		r.Body, r.Method = "other", "POST"
		b.store.kept["shop"] = r
		b.Press("ctrl+s", "ctrl+s")
		b.Expect("Replace shop?", "body: other → nothing", "method: POST → GET")
		b.Press("y")
		b.Expect("Saved as shop · ctrl+o opens it.")
		if got := b.store.kept["shop"]; got.Body != "" {
			t.Errorf("kept %+v", got)
		}
		b.store.renamed("shop", "a/shop")
		b.Press("ctrl+s")
		b.Expect("a/shop")
	})
}

func TestARealAccountOpensWithItsOwnZoneAndItsLastURL(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		s := demoSession()
		s.Local, s.ProfileName = false, "acme"
		b.Send(kit.SessionChanged{Session: s})
		b.Expect("datacenter_demo", "type the target's")
		b.ExpectNot("lab.test", "embedded emulator", "✗")
		b.Press("ctrl+j")
		b.Expect("✗ URL: type the target's")
		if n := len(b.svc.requests()); n != 0 {
			t.Fatalf("a request without an address was sent")
		}
		b.svc.mu.Lock()
		b.svc.history = []model.HistoryEntry{
			{ID: 2, Ref: "f_2", Kind: model.HistoryFetch, Profile: "other", Zone: "serp_demo", URL: "http://other.test/", Via: model.ViaAPI},
			{ID: 1, Ref: "f_1", Kind: model.HistoryFetch, Profile: "acme", Zone: "unlocker_demo", URL: "http://mine.test/a", Via: model.ViaAPI},
		}
		b.svc.mu.Unlock()
		b.reload()
		b.Expect("http://mine.test/a", "›Zone  unlocker_demo", "enter pick") // there is nothing left to type: letters are keys
		b.Press("down")
		b.Type("bc")
		b.Press("enter")
		b.reload()
		b.Expect("http://mine.test/abc")
	})
}

func TestAFetchWithoutAResultCannotBeOpened(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.svc.history = []model.HistoryEntry{{ID: 1, At: time.Now(), Kind: model.HistoryFetch, Zone: "unlocker_demo", URL: "http://lab.test/ok", Via: model.ViaAPI}}
		b.reload()
		b.Press("shift+tab", "enter")
		b.Expect("it ended without a result")
	})
}

func TestAReopenedFetchFillsTheForm(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		r := model.FetchRequest{Zone: demoZones()[1], URL: "http://lab.test/shop", Via: model.ViaNative, Required: []string{".price"}, Retries: -1}
		b.svc.kept["f_2"] = captchaResult(r)
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2"}})
		b.Expect("from history", "(•) Native", "http://lab.test/shop", "U undoes this")
		b.Press("ctrl+j")
		sent := b.svc.requests()
		if len(sent) != 1 || sent[0].URL != r.URL || sent[0].Via != r.Via || len(sent[0].Required) != 1 {
			t.Fatalf("sent %+v, want the request that was opened", sent)
		}
		b.Press("U")
		b.Expect("URL  http://lab.test/ok")
	})
}

// TestAProofsRefusalIsNoFailure opens the call by which a rotation saw the old value refused.
func TestAProofsRefusalIsNoFailure(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		key := model.OldValueOf("batch-user")
		proof := model.FetchResult{
			Request: model.FetchRequest{Zone: demoZones()[0], URL: "http://lab.test/whoami", Via: model.ViaAPI, Key: key}, KeyName: key,
			Proves: "the rotation of batch-user, step refused", ServiceStatus: 401, Attempts: []model.Attempt{{N: 1, Class: model.ClassOutside, Cause: model.CauseKeyRejected}},
			Diagnosis: model.Diagnose(model.Outcome{Via: model.ViaAPI, ServiceStatus: 401}),
		}
		if d := proof.Diagnosis; d.Cause != model.CauseKeyRejected || len(d.Steps) == 0 {
			t.Fatalf("it is diagnosed as %+v", d)
		}
		b.svc.kept["f_2"] = proof.AsProof()
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2"}})
		b.Expect("proof for the rotation of batch-user, step refused", "✓ refused as wanted   service 401 · API", "The old value is refused, as the proof of its rotation expects.")
		b.ExpectNot("✗", "do next", "[K]", "(old value)")
	})
}

func TestACredentialThatTheJournalDroppedIsNotSentAgain(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		res := captchaResult(model.FetchRequest{
			Zone: demoZones()[1], URL: "http://lab.test/shop", Via: model.ViaNative,
			Header: http.Header{"Cookie": {"••••"}}, Retries: -1,
		})
		b.svc.kept["f_2"] = res
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2"}})
		b.Press("s") // wait, send again
		b.After(10 * time.Second)
		b.Expect("✗ line 1: the journal")
		b.Press("ctrl+j")
		b.wantSent(t, 0, "went out with a mask in place of the cookie")
	})
}

func TestAFetchOfAnotherProfileIsNotSentWithTheCurrentKey(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.svc.kept["f_2"] = captchaResult(model.FetchRequest{
			Zone: model.Zone{Name: "acme_unlocker", Product: model.ProductUnlocker}, URL: "http://lab.test/shop", Via: model.ViaAPI, Retries: -1,
		})
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2"}})
		b.Press("H")
		b.After(10 * time.Second)
		b.Expect(`✗ Zone: zone "acme_unlocker" is not in profile "local"`)
		b.wantSent(t, 0, "to a zone of another profile")
	})
}

func TestSendingAFetchOfAnotherProfileAsksAndNamesBoth(t *testing.T) {
	for name, c := range map[string]struct {
		via  model.Via
		ways []string // that the question names
	}{
		"by API":   {model.ViaAPI, []string{"uses key batch-user", "sent to http://127.0.0.1:8080"}},
		"natively": {model.ViaNative, []string{"password of zone", "sent to 127.0.0.1:33335"}},
	} {
		t.Run(name, func(t *testing.T) {
			onScreen(t, 120, 40, func(t *testing.T, b *bench) {
				res := captchaResult(model.FetchRequest{Zone: demoZones()[0], URL: "http://lab.test/shop", Via: c.via, Retries: -1})
				res.KeyName = "finance-review" // it is in the inventory, which all profiles share
				b.svc.kept["f_2"] = res
				b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2", Profile: "acme"}})
				b.Expect("Response of profile acme", "Request of profile acme", "! a request of profile acme")
				for _, key := range []string{"ctrl+j", "H"} {
					b.Press(key)
					b.Expect("Send it with another profile?", "was sent with profile acme", "With profile local it uses ")
					b.Expect(c.ways...)
					b.Press("enter")
				}
				b.After(10 * time.Second)
				if n := len(b.svc.requests()); n != 0 {
					t.Fatalf("%d requests went out without a yes", n)
				}
				b.Press("ctrl+j", "y")
				sent := b.svc.requests()
				if len(sent) != 1 || sent[0].Key == "finance-review" {
					t.Fatalf("sent %+v, want one request, without the key of the other profile", sent)
				}
				b.ExpectNot("of profile acme")
				b.Press("ctrl+j")
				b.wantSent(t, 2, "the form is this profile's own after the yes")
			})
		})
	}
}

func TestUndoRestoresWhoseRequestTheFormHolds(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.svc.kept["f_2"] = captchaResult(model.FetchRequest{Zone: demoZones()[0], URL: "http://lab.test/shop", Via: model.ViaAPI, Retries: -1})
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2", Profile: "acme"}})
		b.Press("U")
		b.ExpectNot("Request of profile acme")
		b.Press("o")
		b.Expect("Request of profile acme")
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2", Profile: "local"}})
		b.ExpectNot("of profile")
		b.Press("ctrl+j")
		b.wantSent(t, 1, "a fetch of the profile in use is sent without a question")
	})
}

func TestHistoryIsThatOfTheProfileInUse(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.svc.history = []model.HistoryEntry{
			{ID: 2, Ref: "f_2", At: time.Now(), Kind: model.HistoryFetch, Profile: "acme", Zone: "acme_zone", URL: "http://acme.test/", Class: model.ClassOK},
			{ID: 1, Ref: "f_1", At: time.Now(), Kind: model.HistoryFetch, Profile: "local", Zone: "serp_demo", URL: "http://lab.test/json", Class: model.ClassOK},
		}
		b.reload()
		b.Expect("serp_demo")
		b.ExpectNot("acme_zone")
		s := demoSession()
		s.ProfileName, s.Local = "acme", false
		b.Send(kit.SessionChanged{Session: s})
		b.Expect("acme_zone")
		b.ExpectNot("✓ ok                serp_demo")
	})
}

// What a rotation fetches to prove its steps is no try of the operator's: neither the list nor an empty form has it.
func TestTheCallsOfRotationsAreNotAmongTheTries(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.svc.history = []model.HistoryEntry{
			{ID: 2, Ref: "f_2", At: time.Now(), Kind: model.HistoryFetch, Profile: "acme", Zone: "acme_zone", URL: "http://lab.test/whoami", Class: model.ClassOK, Source: model.SourceRotation},
			{ID: 1, Ref: "f_1", At: time.Now(), Kind: model.HistoryFetch, Profile: "acme", Zone: "acme_zone", URL: "http://mine.test/", Class: model.ClassOK},
		}
		s := demoSession()
		s.ProfileName, s.Local = "acme", false
		b.Send(kit.SessionChanged{Session: s})
		b.reload()
		b.Expect("http://mine.test/")
		b.ExpectNot("whoami")
	})
}

func TestTheCursorStaysAtTheNewestFetch(t *testing.T) {
	entry := func(ref, url string) model.HistoryEntry {
		return model.HistoryEntry{Ref: ref, At: time.Now(), Kind: model.HistoryFetch, Profile: "local", Zone: "serp_demo", URL: url, Class: model.ClassOK}
	}
	older, newer, newest := entry("f_1", "http://lab.test/1"), entry("f_2", "http://lab.test/2"), entry("f_3", "http://lab.test/3")
	for _, c := range []struct {
		name string
		keys []string // before the newest fetch comes
		want string
	}{
		{"at the newest it goes along", nil, "GET http://lab.test/3 "},
		{"at another it stays there", []string{"j"}, "GET http://lab.test/1 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
				for _, a := range []model.HistoryEntry{older, newer, newest} {
					res := okResult(model.FetchRequest{Zone: demoZones()[0], URL: a.URL, Via: model.ViaNative, Retries: -1})
					res.ID = a.Ref
					b.svc.kept[a.Ref] = res
				}
				b.svc.history = []model.HistoryEntry{newer, older}
				b.reload()
				b.Press("shift+tab")
				b.Press(c.keys...)
				b.svc.history = []model.HistoryEntry{newest, newer, older}
				b.reload()
				b.Press("enter")
				b.Expect("from history")
				b.Press("o")
				b.Expect(c.want)
			})
		})
	}
}

func TestTheCursorIsOnTheFetchThatAnotherTabOpened(t *testing.T) {
	for name, late := range map[string]bool{"listed before": false, "listed after": true} {
		t.Run(name, func(t *testing.T) {
			onScreen(t, 120, 40, func(t *testing.T, b *bench) {
				list := make([]model.HistoryEntry, 0, 3)
				for i, ref := range []string{"f_c", "f_b", "f_a"} {
					list = append(list, model.HistoryEntry{Ref: ref, At: time.Now(), Kind: model.HistoryFetch, Profile: "local", Zone: "serp_demo", URL: "http://lab.test/" + ref, Total: time.Duration(i+1) * time.Millisecond, Class: model.ClassOK})
					res := okResult(model.FetchRequest{Zone: demoZones()[0], URL: "http://lab.test/" + ref, Via: model.ViaNative, Retries: -1})
					res.ID = ref
					b.svc.kept[ref] = res
				}
				b.svc.history = list
				if late {
					b.svc.history = list[:1]
				}
				b.reload()
				b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_b", Profile: "local"}})
				b.Expect("from history")
				b.svc.history = list
				b.reload()
				b.Press("tab")
				if line := lineOf(b.Screen.Screen(), "│›00"); !strings.Contains(line, " 2 ms http") {
					t.Errorf("the cursor of the history is on %q, want the fetch on screen", line)
				}
			})
		})
	}
}

// lineOf is the first line with the mark.
func lineOf(screen, mark string) string {
	for line := range strings.Lines(screen) {
		if strings.Contains(line, mark) {
			return line
		}
	}
	return ""
}

func TestAnotherTabFillsInWhatItNamesAndLeavesTheRest(t *testing.T) {
	onScreen(t, 200, 50, func(_ *testing.T, b *bench) {
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: "serp_demo", URL: "http://lab.test/search"}})
		b.Press("alt+w")
		b.Expect(`"zone":"serp_demo"`, `"url":"http://lab.test/search"`)
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{URL: "http://lab.test/json"}})
		b.Press("alt+w")
		b.Expect(`"zone":"serp_demo"`, `"url":"http://lab.test/json"`)
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenURL{Zone: "unlocker_demo"}})
		b.Press("alt+w")
		b.Expect(`"zone":"unlocker_demo"`, `"url":"http://lab.test/json"`)
	})
}

func TestAResultSaysItsCostAtEveryWidth(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		onScreen(t, size[0], size[1], func(_ *testing.T, b *bench) {
			b.answers(func(r model.FetchRequest) model.FetchResult {
				r.Zone.Rate = model.Rate{Per1000: 1.5}
				res := captchaResult(r)
				res.Exit, res.Timing.Total, res.Body.Size = "2001:db8:1234:5678:9abc:def0:1234:5678", 12345*time.Millisecond, 1_234_567
				res.Fields = []model.Field{{Path: ".price"}, {Path: ".name", Found: true}}
				res.Diagnosis.Class = model.ClassParsingDrift
				return res
			})
			b.Press("ctrl+j")
			b.Expect("! parsing drift   200 · API · 12.3 s · 1.2 MB · $0.0030 · 1 of 2")
		})
	}
}

func TestAZoneShowsItsFetchesHoweverManyAnotherHasSince(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		for i := range 300 {
			zone := "unlocker_demo"
			if i >= 297 {
				zone = "serp_demo"
			}
			b.svc.history = append(b.svc.history, model.HistoryEntry{Ref: fmt.Sprint("f_", i), At: time.Now(), Kind: model.HistoryFetch, Profile: "local", Zone: zone, Class: model.ClassOK, Total: time.Millisecond})
		}
		b.reload()
		b.Expect("1 ms · 12/12", "1 ms · 3/3")
	})
}

// A result that came while another profile was in use is in that one's history.
func TestAFlightOfAnotherProfileIsForgottenWhenItHasLanded(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		answer := make(chan struct{})
		b.svc.answer = func(_ context.Context, r model.FetchRequest, _ func(fetch.Event)) (model.FetchResult, error) {
			<-answer
			return okResult(r), nil
		}
		b.Press("ctrl+j")
		b.After(2 * time.Second)
		b.Press("ctrl+j")
		s := demoSession()
		s.ProfileName, s.Local = "acme", false
		b.Send(kit.SessionChanged{Session: s})
		b.Expect("● sending")
		close(answer)
		b.Settle()
		b.Expect("No fetch yet")
	})
}

func TestOnePressGoesFromTheZoomedFormToWhatIsSentAndOneBack(t *testing.T) {
	onScreen(t, 80, 24, func(_ *testing.T, b *bench) {
		b.Press("esc", "z")
		b.Expect("▌Request")
		b.Press("alt+w")
		b.Expect("▌Will be sent")
		b.ExpectNot("Request")
		b.Press("alt+w")
		b.Expect("▌Request")
		b.ExpectNot("Will be sent")
	})
}
