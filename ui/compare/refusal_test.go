package compare_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
)

// refusing answers good pages and good zones; others are refused.
func refusing(_ model.Grid, c model.Cell) model.Run {
	run := model.Run{FetchID: "f_" + c.Different(), Status: 200, Class: model.ClassOK, Summary: "The page came."}
	if !strings.Contains(c.Different(), "good") {
		run.Status, run.Class, run.Summary = 403, model.ClassAccessRestricted, "Refused here, too."
	}
	return run
}

func (r *rig) refused(via model.Via) {
	r.run = refusing
	r.profile.Zones = []model.Zone{
		{Name: "dc1", Product: model.ProductDatacenter, Password: "env:P"},
		{Name: "dc2", Product: model.ProductDatacenter, Password: "env:P", Rate: model.Rate{Per1000: 1}},
		{Name: "isp-good", Product: model.ProductISP, Password: "env:P", Rate: model.Rate{Per1000: 2}},
	}
	r.Send(kit.SessionChanged{Session: session(r.profile)})
	subject := model.FetchResult{
		ID: "f_0", KeyName: "k1", Status: 403, Diagnosis: model.Diagnosis{Class: model.ClassAccessRestricted, Summary: "The first refusal."},
		Request: model.FetchRequest{Zone: r.profile.Zones[0], URL: "http://shop.example/", Via: via},
	}
	r.do(func() tea.Cmd { return r.page.Refusal(subject) })
}

// different is what each fetch that was sent has in place of the refused one's.
func (r *rig) different() []string {
	var out []string
	for _, q := range r.sent {
		switch {
		case q.URL != "http://shop.example/":
			out = append(out, q.URL)
		case q.Zone.Name != "dc1":
			out = append(out, string(q.Zone.Name))
		default:
			out = append(out, q.Key)
		}
	}
	return out
}

func TestOnARealAccountTheFetchesAndTheirPricesAreShownBeforeTheyAreSent(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		test(t, real(), size[0], size[1], func(r *rig) {
			r.took = time.Second
			r.refused(model.ViaAPI)
			r.Expect("[y] sends at most 3 requests ($0.0020 + 2 unpriced)", "another zone", "isp-good", "$0.0020", "another key", "k2", "unpriced", "The first refusal.")
			if r.requests() > 0 {
				t.Fatalf("%v was sent unasked", r.different())
			}
			r.Press("y")
			r.Expect("● sending", "esc cancels")
			r.After(3 * time.Second)
			r.Expect("✓ The zone, at this site: ", "✓ ok", "- not sent")
			if got := r.different(); !slices.Equal(got, []string{"http://good.example/", "isp-good"}) || r.grew != 1 {
				t.Errorf("%s were sent; the tab heard of it %d times", got, r.grew)
			}
			r.Press("down", "down", "down")
			r.Expect("not needed: what was sent decides it")
			r.Press("enter")
			r.Expect("it was not sent")
			r.Press("up")
			r.Expect("The page came.")
			r.Press("enter")
			r.Expect("fetch f_isp-good of profile acme")
			r.ExpectNot("What refuses")
		})
	}
}

func TestTheOtherZoneAndTheOtherKeyCanBeChosen(t *testing.T) {
	test(t, real(), 120, 40, func(r *rig) {
		r.refused(model.ViaAPI)
		r.Press("o", "a")
		r.Expect("dc2", "k3", "$0.0010 + 2 unpriced")
		r.Press("a")
		r.Expect("k2")
		r.Press("a", "y")
		r.Expect("✓ The site: with key k1 zone dc1 fetches a good page, and this one is refused to zone dc2 too")
		if got := r.different(); got[1] != "dc2" {
			t.Errorf("%v were sent", got)
		}
	})
}

func TestOnTheEmulatorTheyAreSentAtOnce(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		r.refused(model.ViaNative)
		r.Expect("The zone, at this site: with the proxy login zone dc1")
		r.Press("down", "down", "down")
		r.Expect("by Native Access the zone's password is sent, and no key")
		r.Click("good.example")
		r.Expect("The page came.")
		r.Press("esc")
		r.ExpectNot("What refuses")
	})
}

func TestWhatIsUnderWayIsCancelledAndInTheHistory(t *testing.T) {
	test(t, demo(), 120, 40, func(r *rig) {
		r.took, r.stuck = time.Second, 2*time.Second
		r.refused(model.ViaAPI)
		r.After(1500 * time.Millisecond)
		r.Press("esc")
		r.Expect("cancelling")
		r.After(3 * time.Second)
		r.ExpectNot("What refuses")
		if len(r.sent) == 0 || r.grew != 1 {
			t.Errorf("%v were sent; the tab heard of it %d times", r.different(), r.grew)
		}
		r.stuck = 10 * time.Second
		r.refused(model.ViaAPI)
		r.Press("esc", "esc")
		r.ExpectNot("What refuses")
		if r.grew != 2 {
			t.Errorf("when it was left at once, the tab heard of it %d times", r.grew-1)
		}
		r.After(20 * time.Second)
	})
}

func TestWhyThereIsNoAnswerIsSaid(t *testing.T) {
	test(t, real(), 120, 40, func(r *rig) {
		r.planErr = errors.New("no profile")
		r.refused(model.ViaAPI)
		r.Expect("✗ no profile")
		r.Press("esc")
		r.planErr = nil
		r.refused(model.ViaAPI)
		r.planErr = errors.New("the keyring is locked")
		r.Press("o")
		r.Expect("✗ the keyring is locked")
		if r.Press("y"); len(r.sent) > 0 {
			t.Errorf("%v were sent by the plan before", r.different())
		}
		r.Press("esc")
		r.planErr, r.fails = nil, errors.New("the network is away")
		r.refused(model.ViaAPI)
		r.Press("y")
		r.Expect("✗ the network is away")
	})
}
