package account

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/scenario"
)

func TestListsOfCallersUnderstandEveryForm(t *testing.T) {
	for _, c := range []struct{ entry, in, out string }{
		{"10.1.2.3", "10.1.2.3", "10.1.2.4"},
		{" 10.1.2.3 ", "10.1.2.3", "10.1.2.2"},
		{"10.1.2.3-10.1.2.9", "10.1.2.9", "10.1.2.10"},
		{"10.1.2.3 - 10.1.2.9", "10.1.2.3", "10.1.2.2"},
		{"10.1.2.0/24", "10.1.2.255", "10.1.3.0"},
		{"10.1.2.77/24", "10.1.2.0", "10.1.1.255"},
		{"10.1.2.0/255.255.254.0", "10.1.3.255", "10.1.4.0"},
		{"0.0.0.0/0", "255.255.255.255", "::1"},
		{"2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"},
		{"::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2"},
		{"any", "10.0.0.1", ""},
		{"any", "2001:db8::1", ""},
	} {
		list, err := spans([]string{strings.TrimSpace(c.entry)})
		if err != nil {
			t.Errorf("%q: %v", c.entry, err)
			continue
		}
		if !holds(list, netip.MustParseAddr(c.in)) || c.out != "" && holds(list, netip.MustParseAddr(c.out)) {
			t.Errorf("%q: holds %s %v, %s otherwise", c.entry, c.in, holds(list, netip.MustParseAddr(c.in)), c.out)
		}
	}
	for _, entry := range []string{
		"", "x", "10.0.0", "10.0.0.9-10.0.0.1", "10.0.0.1-", "-", "10.0.0.1-::1", "10.0.0.0/33", "10.0.0.0/255.0.255.0",
		"10.0.0.0/", "::1/255.0.0.0", "fe80::1%eth0", "10.0.0.1,10.0.0.2", strings.Repeat("1", 300),
	} {
		if s, err := parseSpan(entry); err == nil {
			t.Errorf("%q was read as %v", entry, s)
		}
	}
}

func TestListsAreEditedByWhatTheyMean(t *testing.T) {
	a := open(t, folder(t), scenario.Demo())
	step := func(list List, remove bool, entries ...string) []string {
		t.Helper()
		zs, err := a.EditIPs([]string{"isp_demo"}, list, entries, remove)
		noerr.Must(t, err)
		if list == Deny {
			return zs[0].Settings().DenyIPs
		}
		return zs[0].Settings().AllowIPs
	}
	for i, c := range []struct{ got, want []string }{
		{step(Allow, false, "10.0.0.0/24", "1.2.3.4"), []string{"10.0.0.0/24", "1.2.3.4"}},
		{step(Allow, false, "1.2.3.4"), []string{"10.0.0.0/24", "1.2.3.4"}},
		{step(Allow, true, "10.0.0.0/255.255.255.0"), []string{"1.2.3.4"}},
		{step(Allow, true, "9.9.9.9"), []string{"1.2.3.4"}},
		{step(Allow, false, "any"), nil},
		{step(Deny, false, "any"), []string{"any"}},
		{step(Deny, true, "any"), []string{}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("step %d: %q, want %q", i, c.got, c.want)
		}
	}
	noerr.Must(t, noerr.From(a.EditIPs(nil, Allow, []string{"5.5.5.5"}, false)))
	for _, z := range a.Zones() {
		if !slices.Equal(z.Settings().AllowIPs, []string{"5.5.5.5"}) {
			t.Errorf("%s: %q", z.Name, z.Settings().AllowIPs)
		}
	}
	if _, err := a.EditIPs([]string{"isp_demo"}, Allow, []string{"6.6.6.6", "nonsense"}, false); err == nil {
		t.Error("nonsense was taken")
	}
	many := make([]string, maxListed+1)
	for i := range many {
		many[i] = fmt.Sprintf("10.0.%d.%d", i/256, i%256)
	}
	if _, err := a.EditIPs([]string{"isp_demo"}, Deny, many, false); err == nil {
		t.Error("a list without end was taken")
	}
}

func TestWhoIsAdmitted(t *testing.T) {
	here := netip.MustParseAddr("127.0.0.1")
	a := open(t, folder(t), &scenario.Scenario{Account: "hl_1", Prefix: "brd", Zones: []scenario.Zone{
		{Name: "open", Product: "isp"},
		{Name: "off", Product: "isp", Disabled: true},
		{Name: "allowed", Product: "isp", AllowIPs: []string{"127.0.0.0/30"}, DenyIPs: []string{"127.0.0.2"}},
		{Name: "hosts", Product: "isp", AllowDomains: []string{"*.example.com", "lab.test"}, DenyDomains: []string{"bad.example.com"}},
		{Name: "one host", Product: "isp", AllowDomains: []string{"only.test"}},
		{Name: "spent", Product: "isp", UsageLimit: &scenario.UsageLimit{Dollars: 2, Cycle: "day"}},
		{Name: "monthly", Product: "isp", UsageLimit: &scenario.UsageLimit{Dollars: 2}},
	}})
	spent := 1.99
	var windows []string
	a.ChargeBy(func(zone string, from, to time.Time) float64 {
		windows = append(windows, zone+" "+from.Format(time.DateOnly)+" "+to.Format(time.DateOnly))
		return spent
	})
	check := func(zone, caller, host, want string) {
		t.Helper()
		addr := here
		if caller != "" {
			addr = netip.MustParseAddr(caller)
		}
		got := ""
		if r := a.Admit(zone, addr, host); r != nil {
			got = fmt.Sprint(r.Status, " ", r.Code)
			if r.Basis == "" || r.Msg == "" {
				t.Errorf("%+v", r)
			}
		}
		if got != want {
			t.Errorf("%s from %s to %s: %q, want %q", zone, caller, host, got, want)
		}
	}
	check("open", "", "anything.test", "")
	check("open", "::ffff:127.0.0.1", "", "")
	check("off", "", "", "407 client_10002")
	check("nowhere", "", "", "407 client_10002")
	check("allowed", "127.0.0.3", "", "")
	check("allowed", "::ffff:127.0.0.3", "", "")
	check("allowed", "127.0.0.2", "", "401 client_10050")
	check("allowed", "127.0.0.4", "", "407 client_10030")
	check("allowed", "::1", "", "407 client_10030")
	check("hosts", "", "www.example.com", "")
	check("hosts", "", "EXAMPLE.com.", "")
	check("hosts", "", "lab.test", "")
	check("hosts", "", "notexample.com", "403 client_10250")
	check("hosts", "", "example.com.evil.test", "403 client_10250")
	check("hosts", "", "a.bad.example.com", "403 client_10260")
	check("one host", "", "only.test", "")
	check("one host", "", "sub.only.test", "")
	check("one host", "", "other.test", "403 client_10250")
	check("one host", "", "test", "403 client_10250")
	check("spent", "", "", "")
	spent = 2
	check("spent", "", "", "502 client_10100")
	check("monthly", "", "", "502 client_10100")
	if want := []string{"spent 2027-03-14 2027-03-15", "spent 2027-03-14 2027-03-15", "monthly 2027-03-01 2027-04-01"}; !slices.Equal(windows, want) {
		t.Errorf("%q", windows)
	}
	noerr.Must(t, a.Suspend(true))
	check("open", "", "", "407 client_10020")
	if r := a.HostRefused("hosts", "x.test"); r == nil || r.Code != "client_10250" || a.HostRefused("open", "x.test") != nil {
		t.Errorf("%+v", r)
	}
	if r := a.Admit("hosts", netip.Addr{}, ""); r == nil || r.Code != "client_10020" {
		t.Errorf("without a caller: %+v", r)
	}
}

func TestRecentCallersAreBoundedAndNewestFirst(t *testing.T) {
	a := open(t, folder(t), scenario.Demo())
	for i := range 300 {
		a.Admit("isp_demo", netip.AddrFrom4([4]byte{127, 0, byte(i / 256), byte(i)}), "")
	}
	a.Admit("isp_demo", netip.MustParseAddr("127.0.1.1"), "")
	a.Admit("nowhere", netip.MustParseAddr("127.0.1.1"), "")
	got := a.RecentCallers("isp_demo")
	if len(got) != maxCallers || got[0] != netip.MustParseAddr("127.0.1.1") || got[1] != netip.MustParseAddr("127.0.1.43") {
		t.Errorf("%d: %v", len(got), got[:2])
	}
	if got := a.RecentCallers("nowhere"); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if n := testing.AllocsPerRun(100, func() { a.Admit("isp_demo", got[0], "") }); n != 0 {
		t.Errorf("%v allocations for a caller who was the last one, too", n)
	}
	if _, err := a.DisableZone("isp_demo", false); err != nil || len(a.RecentCallers("isp_demo")) != maxCallers {
		t.Errorf("after a change: %d, %v", len(a.RecentCallers("isp_demo")), err)
	}
	// Another zone of the same name was used by nobody yet.
	noerr.Must(t, noerr.From(a.DeleteZones([]string{"isp_demo"})))
	noerr.Must(t, noerr.From(a.CreateZone(NewZone{Name: "isp_demo", Plan: plan(t, `{"type":"unblocker"}`)})))
	if got := a.RecentCallers("isp_demo"); len(got) != 0 {
		t.Errorf("a new zone: %v", got)
	}
}

func FuzzSpan(f *testing.F) {
	for _, s := range []string{"10.0.0.1", "10.0.0.1-10.0.0.9", "10.0.0.0/8", "10.0.0.0/255.0.0.0", "::/0", "any", "::ffff:1.2.3.4/100"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		s, err := parseSpan(entry)
		if err != nil {
			return
		}
		if !s.first.IsValid() || s.first.BitLen() != s.last.BitLen() || s.last.Less(s.first) || !s.holds(s.first) || !s.holds(s.last) || s.first.Is4In6() {
			t.Errorf("%q is %v", entry, s)
		}
		if again, err := editCallers([]string{entry}, []string{entry}, true); err == nil && len(again) != 0 {
			t.Errorf("%q is not the same as itself", entry)
		}
	})
}

func FuzzDomains(f *testing.F) {
	f.Add("example.com", "www.example.com")
	f.Add("*.example.com", "EXAMPLE.com.")
	f.Add("[::1]", "::1")
	f.Add("::%]", ":11")
	f.Fuzz(func(t *testing.T, entry, host string) {
		list, err := domains([]string{entry})
		if err != nil {
			return
		}
		if !underDomain(list, list[0]) || !underDomain(list, "x."+list[0]) {
			t.Errorf("%q does not hold itself", list)
		}
		if underDomain(list, host) && !strings.HasSuffix(strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), ".")), list[0]) {
			t.Errorf("%q holds %q", list, host)
		}
	})
}

func BenchmarkAdmit(b *testing.B) {
	a := open(b, folder(b), scenario.Demo())
	caller := netip.MustParseAddr("127.0.0.1")
	b.ReportAllocs()
	for b.Loop() {
		if r := a.Admit("residential_demo", caller, "lab.test"); r != nil {
			b.Fatal(r)
		}
	}
}
