package username

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Name
	}{
		{"the documented form", "brd-customer-hl_1-zone-isp1", Name{Zone: "isp1"}},
		{"a zone with dashes", "brd-customer-hl_1-zone-my-isp-2", Name{Zone: "my-isp-2"}},
		{"a zone spelt like a flag", "brd-customer-hl_1-zone-country-country-us", Name{Zone: "country", Flags: Flags{Country: "us"}}},
		{"case is kept", "brd-customer-hl_1-zone-ISP", Name{Zone: "ISP"}},
		{
			"flags", "brd-customer-hl_1-zone-z-country-us-state-ny-city-newyork-session-a1-const-dns-remote-c_tag-x-debug-full",
			Name{Zone: "z", Flags: Flags{Country: "us", State: "ny", City: "newyork", Session: "a1", Const: true, DNS: "remote", CTag: "x", Debug: "full"}},
		},
		{"a value with dashes", "brd-customer-hl_1-zone-z-c_tag-a-b-c-direct", Name{Zone: "z", Flags: Flags{CTag: "a-b-c", Direct: true}}},
		{"an address", "brd-customer-hl_1-zone-z-ip-1.2.3.4", Name{Zone: "z", Flags: Flags{IP: "1.2.3.4"}}},
		{"a group", "brd-customer-hl_1-zone-z-gip-us_7922_fl_hollywood_0", Name{Zone: "z", Flags: Flags{GIP: "us_7922_fl_hollywood_0"}}},
	} {
		got, err := Parse(c.in)
		c.want.Prefix, c.want.Account, c.want.ZoneParts = "brd", "hl_1", strings.Split(c.want.Zone, "-")
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"", "x", "brd-customer-hl_1", "brd-customer-hl_1-zone-", "brd-customer--zone-z", "-customer-hl_1-zone-z",
		"brd-Customer-hl_1-zone-z", "brd-customer-hl_1-zone-a b", "brd-customer-hl_1-zone-a\n", "brd-customer-hl_1-zone-" + strings.Repeat("z", MaxBytes),
	} {
		if _, err := Parse(in); !errors.Is(err, ErrForm) {
			t.Errorf("%q: %v", in, err)
		}
	}
	for in, flag := range map[string]string{
		"country-usa": "country", "country-US": "country", "country": "country", "country-session-a": "country",
		"country-us-country-de": "country", "city-reno": "city", "state-ny": "state", "session-a!": "session", "const": "const",
		"ip-1.2.3": "ip", "ip-::1": "ip", "dns-both": "dns", "asn-x": "asn", "os-plan9": "os", "session-a-const-x": "x", "debug-some": "debug",
		"route_err-x": "route_err", "zip-1/2": "zip",
	} {
		n, err := Parse("brd-customer-hl_1-zone-z-" + in)
		var fe *FlagError
		if !errors.As(err, &fe) || fe.Flag != flag || n.Zone != "z" {
			t.Errorf("%s: %v of %+v", in, err, n)
		}
	}
}

// FuzzParse: what is accepted can be put together again to what was read.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"brd-customer-hl_1-zone-z", "brd-customer-hl_1-zone-a-b-country-us-session-x-const", "brd-customer-hl_1-zone-z-ip-1.2.3.4-direct",
		"----", "brd-customer-hl_1-zone--country-us", "brd-customer-hl_1-zone-z-country--us",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if err != nil {
			var fe *FlagError
			if !errors.Is(err, ErrForm) && !errors.As(err, &fe) {
				t.Fatalf("%v", err)
			}
			return
		}
		head := n.Prefix + "-customer-" + n.Account + "-zone-" + n.Zone
		if !strings.HasPrefix(s, head) || n.Zone != strings.Join(n.ZoneParts, "-") {
			t.Fatalf("%q read as %q", s, head)
		}
		again := head
		add := func(flag, v string) {
			if v != "" {
				again += "-" + flag + "-" + v
			}
		}
		fl := n.Flags
		add("country", fl.Country)
		add("state", fl.State)
		add("city", fl.City)
		add("zip", fl.Zip)
		add("asn", fl.ASN)
		add("os", fl.OS)
		add("carrier", fl.Carrier)
		add("session", fl.Session)
		add("ip", fl.IP)
		add("gip", fl.GIP)
		add("dns", fl.DNS)
		add("route_err", fl.RouteErr)
		add("c_tag", fl.CTag)
		add("debug", fl.Debug)
		if fl.Const {
			again += "-const"
		}
		if fl.Direct {
			again += "-direct"
		}
		if len(again) != len(s) {
			t.Fatalf("%q put together again is %q", s, again)
		}
		back, err := Parse(again)
		if err != nil || !reflect.DeepEqual(back.Flags, n.Flags) {
			t.Fatalf("%q and %q: %+v, %+v, %v", s, again, n.Flags, back.Flags, err)
		}
	})
}
