package exits

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"zonedeck/internal/noerr"
)

func TestExitsAreDistinctPerNetworkCountryAndTurn(t *testing.T) {
	seen := map[netip.Addr]string{}
	for _, network := range networks {
		for _, country := range []string{"us", "de", "aa", "zz"} {
			for n := range perCountry {
				a := address(network, country, n)
				if was, ok := seen[a]; ok || !a.IsLoopback() {
					t.Fatalf("%s of %s/%s/%d is also %q", a, network, country, n, was)
				}
				seen[a] = network + "/" + country
			}
		}
	}
}

func TestSessions(t *testing.T) {
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	p := NewPool(func() time.Time { return now })
	pick := func(w Want) Exit {
		t.Helper()
		e, err := p.Pick(w)
		noerr.Must(t, err)
		return e
	}
	w := Want{Zone: "z", Product: "residential", Session: "a"}
	first := pick(w)
	for range 10 {
		now = now.Add(5 * time.Minute) // used within its idle time, it lasts
		if e := pick(w); e != first {
			t.Fatalf("moved to %v", e)
		}
	}
	release := p.Hold(w)
	now = now.Add(time.Hour) // in use all the while
	if e := pick(w); e != first {
		t.Errorf("moved to %v while in use", e)
	}
	now = now.Add(time.Hour)
	release()
	now = now.Add(5 * time.Minute) // idle from the release on
	if e := pick(w); e != first {
		t.Errorf("moved to %v after its use", e)
	}
	other := w
	other.Zone, other.Country = "y", "jp"
	if e := pick(other); e.Country != "jp" || pick(w) != first {
		t.Error("two zones share a session of the same name")
	}
	moved := w
	moved.Country = "de"
	if e := pick(moved); e == first || e.Country != "de" {
		t.Errorf("a change of country keeps %v", e)
	}
	now = now.Add(5*time.Minute + 1)
	moved.Const = true
	if _, err := p.Pick(moved); !errors.Is(err, ErrSessionLost) {
		t.Errorf("const: %v", err)
	}
	if _, err := p.Pick(moved); err != nil {
		t.Errorf("the next try starts a new session: %v", err)
	}
}

func TestPoolForgetsTheOldestSessionAtItsBound(t *testing.T) {
	now := time.Unix(0, 0)
	p := NewPool(func() time.Time { return now })
	name := func(i int) string { return string(rune('a'+i%26)) + time.Duration(i).String() }
	noerr.Must(t, noerr.From(p.Pick(Want{Zone: "z", Product: "isp", Session: "held"})))
	defer p.Hold(Want{Zone: "z", Product: "isp", Session: "held"})()
	for i := range maxSessions + 10 {
		now = now.Add(time.Millisecond)
		for _, i := range []int{i, 9}[:1+min((i+1)/maxSessions, 1)] {
			noerr.Must(t, noerr.From(p.Pick(Want{Zone: "z", Product: "isp", Session: name(i)})))
		}
	}
	if len(p.sessions) != maxSessions || p.recent.Len() != maxSessions {
		t.Errorf("%d sessions, %d in their order", len(p.sessions), p.recent.Len())
	}
	if _, ok := p.sessions[sessionKey{"z", "held"}]; !ok {
		t.Error("the session that is in use made room")
	}
	for i, kept := range map[int]bool{0: false, 9: true, 11: false, 12: true} { // 9 was used again
		if _, ok := p.sessions[sessionKey{"z", name(i)}]; ok != kept {
			t.Errorf("session %d: kept %v", i, ok)
		}
	}
}

func TestAllocatedDirectAndGroups(t *testing.T) {
	p := NewPool(time.Now)
	own := Allocated("isp")
	if len(own) != perCountry || Allocated("residential") != nil {
		t.Errorf("allocated: %v", own)
	}
	if e, err := p.Pick(Want{Zone: "z", Product: "isp", IP: own[3].String()}); err != nil || e.Addr != own[3] {
		t.Errorf("%v %v", e, err)
	}
	for _, ip := range []string{"8.8.8.8", Allocated("datacenter")[0].String(), "x"} {
		if _, err := p.Pick(Want{Zone: "z", Product: "isp", IP: ip}); !errors.Is(err, ErrNotAllocated) {
			t.Errorf("%s: %v", ip, err)
		}
	}
	g := Want{Zone: "z", Product: "residential", GIP: "us_1"}
	a, err := p.Pick(g)
	b, err2 := p.Pick(g)
	if a != b || err != nil || err2 != nil {
		t.Errorf("a group moved from %v to %v", a, b)
	}
	if e, err := p.Pick(Want{Direct: true}); err != nil || e.Addr.String() != "127.0.0.1" {
		t.Errorf("%v %v", e, err)
	}
}

func TestAnExitTellsWhereItIs(t *testing.T) {
	p := NewPool(time.Now)
	for _, product := range networks {
		for _, country := range Countries() {
			for range perCountry {
				e, err := p.Pick(Want{Zone: product, Product: product, Country: country})
				noerr.Must(t, err)
				if gotProduct, gotCountry, ok := Where(e.Addr); gotProduct != product || gotCountry != country || !ok {
					t.Fatalf("%s of %s in %s: %s %s %v", e.Addr, product, country, gotProduct, gotCountry, ok)
				}
			}
		}
	}
	for _, no := range []string{"127.0.0.1", "127.9.0.1", "127.10.0.0", "127.10.0.15", "127.99.0.1", "127.10.255.1", "8.10.0.1", "::1"} {
		if product, country, ok := Where(netip.MustParseAddr(no)); ok {
			t.Errorf("%s is an exit: %s %s", no, product, country)
		}
	}
}

// answerDNS is a resolver's network: it answers every question for an address with a.
func answerDNS(t *testing.T, a [4]byte) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe() // no packet connection, so messages have a length before them
		go func() {
			defer far.Close()
			b := make([]byte, 2048)
			n, err := far.Read(b)
			if err != nil || n < 2 {
				return
			}
			if n == 2 { // the length alone
				if n, err = far.Read(b[2:]); err != nil {
					return
				}
				n += 2
			}
			var m dnsmessage.Message
			if err := m.Unpack(b[2:n]); err != nil {
				t.Error(err)
				return
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
					Body:   &dnsmessage.AResource{A: a},
				}}
			}
			out, err := m.AppendPack(make([]byte, 2, 512))
			if err != nil {
				t.Error(err)
				return
			}
			out[0], out[1] = byte((len(out)-2)>>8), byte(len(out)-2)
			_, _ = far.Write(out)
		}()
		return near, nil
	}}
}

func TestANameThatResolvesToAPrivateAddressIsBlocked(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	defer ln.Close()
	d := NewDialer(netip.MustParseAddrPort(ln.Addr().String()), nil, nil)
	d.UseResolver(answerDNS(t, [4]byte{127, 0, 0, 1}))
	_, port, _ := strings.Cut(ln.Addr().String(), ":")
	c, err := d.Dial(t.Context(), "rebound.example:"+port, Exit{})
	if !errors.Is(err, ErrBlocked) {
		t.Errorf("%v, %v", c, err)
	}
	c, err = d.Dial(t.Context(), "LAB.test.:1", Exit{})
	if err != nil {
		t.Fatalf("the lab by its name: %v", err)
	}
	c.Close()
	if _, err := d.Dial(t.Context(), "no-port", Exit{}); err == nil {
		t.Error("an address without a port was dialled")
	}
}

func TestTransportsAreBoundedAndPerExit(t *testing.T) {
	d := NewDialer(netip.MustParseAddrPort("127.0.0.1:1"), nil, nil)
	defer d.Close()
	a := Exit{Addr: address("isp", "us", 0)}
	if d.Transport("lab.test", a) != d.Transport("LAB.TEST", a) || d.Transport("lab.test", a) == d.Transport("lab.test", Exit{Addr: address("isp", "us", 1)}) {
		t.Error("transports are not kept per exit")
	}
	for i := range 2 * maxPools {
		d.Transport("lab.test", Exit{Addr: address("isp", "us", i)})
	}
	if len(d.pools) > maxPools {
		t.Errorf("%d transports", len(d.pools))
	}
}

func TestTheProvidersTestPagesAreTheLabs(t *testing.T) {
	d := NewDialer(netip.MustParseAddrPort("127.0.0.1:80"), nil, nil)
	d.UseLabFor([]string{"shop.test"})
	for host, want := range map[string]bool{"lab.test": true, "shop.test": true, "geo.brdtest.com": true, "GEO.brdtest.com.": true, "brdtest.com": false, "example.com": false} {
		if got := d.Serves(host); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
}
