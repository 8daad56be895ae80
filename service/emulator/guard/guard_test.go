package guard

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

func TestPublic(t *testing.T) {
	for _, s := range []string{"8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"} {
		if !public(netip.MustParseAddr(s)) {
			t.Errorf("%s is public", s)
		}
	}
	for _, s := range []string{
		"127.0.0.1", "127.14.1.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.255",
		"0.0.0.0", "0.1.2.3", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::7f00:1",
		"64:ff9b::a00:1", "2002:a00:1::", "2001:db8::1", "2001::1", "fec0::1",
		"64:ff9b:1::a00:1", "::ffff:0:10.0.0.1", "100::1", "5f00::1", "200:db8::1", "1fff::1", "4000::1", "2620:4f:8000::1", "3fff::1",
	} {
		if public(netip.MustParseAddr(s)) {
			t.Errorf("%s is not public", s)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"", ":80", "host:", "host:0", "host:99999", "host:x", "10.0.0.0/33", "10.0.0", "1.2.3.4.5", "a b", "a..b", "[::1", "[::1]80", "[::1]:",
		"fe80::1%eth0", "host/24", "::ffff:10.0.0.0/90", "*", "-", strings.Repeat("a", 300),
	} {
		if _, err := Parse([]string{s}); err == nil || !strings.Contains(err.Error(), "private target to allow") {
			t.Errorf("%q: %v", s, err)
		}
	}
	if _, err := Parse(make([]string, maxRules+1)); err == nil {
		t.Error("too many are taken")
	}
}

func TestCheck(t *testing.T) {
	rules, err := Parse([]string{
		"127.0.0.1:8080", "10.0.0.0/8", "App.Internal.", "db.internal:5432", "[fd00::/8]:80", "::1", "::ffff:192.168.0.0/112", "0.0.0.0/0:9",
	})
	noerr.Must(t, err)
	rules = rules.Never(netip.MustParseAddrPort("127.0.0.1:7000"), netip.MustParseAddrPort("10.1.1.1:7000"))
	for _, c := range []struct {
		host, to string
		ok       bool
	}{
		{"example.com", "93.184.216.34:443", true},
		{"x", "127.0.0.1:8080", true},
		{"x", "127.0.0.1:8081", false},
		{"x", "[::ffff:127.0.0.1]:8080", true},
		{"x", "127.0.0.2:8080", false},
		{"x", "10.255.0.1:1", true},
		{"x", "11.0.0.1:1", true}, // public
		{"app.internal", "127.0.0.1:3000", true},
		{"APP.internal.", "172.16.0.1:3000", true},
		{"app.internal.example", "172.16.0.1:3000", false},
		{"app.internal", "0.0.0.0:3000", false},
		{"app.internal", "224.0.0.1:3000", false},
		{"db.internal", "192.0.2.1:5432", true},
		{"db.internal", "192.0.2.1:5433", false},
		{"x", "[fd12::1]:80", true},
		{"x", "[fd12::1]:443", false},
		{"x", "[::1]:443", true},
		{"x", "192.168.7.7:1", true},
		{"x", "169.254.169.254:80", false},
		{"x", "0.0.0.0:9", false},
		{"x", "255.255.255.255:9", false},
		{"x", "169.254.169.254:9", true},
		{"app.internal", "127.0.0.1:7000", false},
		{"app.internal", "127.9.9.9:7000", false},
		{"app.internal", "[::1]:7000", false},
		{"x", "10.1.1.1:7000", false},
		{"x", "10.1.1.2:7000", true},
	} {
		err := rules.Check(c.host, netip.MustParseAddrPort(c.to))
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrBlocked) {
			t.Errorf("%s at %s: %v", c.host, c.to, err)
		}
	}
	if !rules.Opens() || (&Rules{}).Opens() {
		t.Error("what is open is not known")
	}
	notes := rules.Notes()
	if len(notes) != 8 || !strings.Contains(notes[0], "127.0.0.1/32 on port 8080") || !strings.Contains(notes[2], "app.internal, whatever address") {
		t.Errorf("%q", notes)
	}
	for _, c := range []struct {
		host, port string
		ok         bool
	}{
		{"db.internal", "5432", true},
		{"127.0.0.1", "8080", true},
		{"127.0.0.1", "80", false},
		{"app.internal", "25", false},
		{"8.8.8.8", "9", true},
		{"db.internal", "x", false},
	} {
		if got := rules.AllowsPort(c.host, c.port); got != c.ok {
			t.Errorf("port %s of %s: %v", c.port, c.host, got)
		}
	}
}

func TestListen(t *testing.T) {
	for _, c := range []struct {
		addr   string
		remote bool
		ok     bool
		loud   bool
	}{
		{"127.0.0.1:0", false, true, false},
		{"[::1]:80", false, true, false},
		{"localhost:80", true, true, false},
		{"0.0.0.0:80", false, false, false},
		{"0.0.0.0:80", true, true, true},
		{":80", false, false, false},
		{":80", true, true, true},
		{"10.0.0.1:80", true, true, true},
		{"build.example:80", true, true, true},
		{"a b:80", true, false, false},
		{"127.0.0.1", true, false, false},
	} {
		note, err := Listen(c.addr, c.remote)
		if (err == nil) != c.ok || strings.HasPrefix(note, "WARNING") != c.loud {
			t.Errorf("%s (%v): %q, %v", c.addr, c.remote, note, err)
		}
	}
}

func TestALiteralAddressIsOfItsOwnFamilyAlone(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0:0": "tcp4", "127.0.0.1:80": "tcp4", "0.0.0.0:http": "tcp4", "[::ffff:10.0.0.1]:80": "tcp4",
		"[::]:0": "tcp6", "[::1]:80": "tcp6", "[fe80::1%eth0]:80": "tcp6",
		":80": "tcp", "localhost:80": "tcp", "build.example:80": "tcp",
	} {
		if got := Network(addr); got != want {
			t.Errorf("%s: %s", addr, got)
		}
	}
}

// FuzzParse: whatever is written, no rule opens what is no target, and a rule without a
// name opens its own range alone.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"127.0.0.1:8080", "10.0.0.0/8", "app.internal", "[fd00::/8]:80", "::1", "::ffff:1.2.3.4", "[::ffff:0:0/96]", "a:1"} {
		f.Add(s, "127.0.0.1", uint16(80))
	}
	f.Fuzz(func(t *testing.T, spec, addr string, port uint16) {
		rules, err := Parse([]string{spec})
		if err != nil {
			return
		}
		a, err := netip.ParseAddr(addr)
		if err != nil {
			return
		}
		err = rules.Check("elsewhere.example", netip.AddrPortFrom(a, port))
		if err != nil && !errors.Is(err, ErrBlocked) {
			t.Fatal(err)
		}
		if err != nil || public(a) {
			return
		}
		a = a.Unmap()
		if a.IsUnspecified() || a.IsMulticast() {
			t.Fatalf("%q opens %s", spec, a)
		}
		ru := rules.rules[0]
		if ru.host != "" && ru.host != "elsewhere.example" || ru.host == "" && !ru.prefix.Contains(a.WithZone("")) || ru.port != 0 && ru.port != port {
			t.Fatalf("%q opens %s port %d", spec, a, port)
		}
	})
}

func TestOwn(t *testing.T) {
	for host, own := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1": true, "127.9.9.9:80": true, "[::1]": true, "::1": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true,
		"": false, ":80": false, "localhost.example": false, "127.0.0.1.example": false, "10.0.0.1": false, "0.0.0.0": false, "example": false,
	} {
		if ThisMachine(host) != own {
			t.Errorf("%q: %v", host, !own)
		}
	}
}
