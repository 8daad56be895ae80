package sandbox_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/sandbox"
)

// owners notes the keys of other accounts that were confirmed.
type owners struct{ confirmed []string }

func (o *owners) Confirm(key string) { o.confirmed = append(o.confirmed, key) }

// The key of another account is sent only after a yes to its name and the address.
func TestAKeyOfAnotherAccountIsAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := &owners{}
		b := open(t, 120, 40, func(d *sandbox.Deps) { d.Owners = keys })
		s := demoSession()
		s.OtherAccounts = map[string]string{"finance-review": "profile acme (https://api.example.com)"}
		s.Profile = demoProfile()
		b.Send(kit.SessionChanged{Session: s})
		b.Press("ctrl+j")
		res := captchaResult(model.FetchRequest{Zone: demoZones()[0], URL: "http://lab.test/shop", Via: model.ViaAPI, Retries: -1})
		res.KeyName = "finance-review"
		b.svc.kept["f_2"] = res
		b.Send(kit.Addressed{View: kit.Sandbox, Msg: kit.OpenFetch{ID: "f_2"}})
		b.Press("ctrl+j")
		b.Expect("Send it anyway?", "key finance-review is that of profile acme (https://", "api.example.com). Its value would be sent to http://", "127.0.0.1:8080, the service of profile local")
		if n := len(b.svc.requests()); n != 1 {
			t.Fatalf("%d requests, want the first one alone", n)
		}
		b.Press("y")
		if sent := b.svc.requests(); len(sent) != 2 || sent[1].Key != "finance-review" || !slices.Equal(keys.confirmed, []string{"finance-review"}) {
			t.Errorf("sent %+v, confirmed %q", sent, keys.confirmed)
		}
	})
}

func TestAnItemOfABatchFillsTheForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40)
		b.Send(kit.Goto{View: kit.Sandbox, Msg: kit.OpenRequest{Request: model.FetchRequest{
			Zone: demoZones()[0], URL: "http://lab.test/item/7", Via: model.ViaAPI, Method: "POST", Body: "sku=7",
		}}})
		b.Expect("http://lab.test/item/7", "POST")
		if n := len(b.svc.requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
		b.Press("B") // the form's request is the template of a batch
		b.Expect("kit.NewBatch {Request:{Zone:{Name:datacenter_demo")
	})
}
