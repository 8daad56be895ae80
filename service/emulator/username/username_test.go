package username

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// unknown has no zone.
func unknown(string) bool { return false }

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
		{"a session with an underscore", "brd-customer-hl_1-zone-z-session-a_1", Name{Zone: "z", Flags: Flags{Session: "a_1"}}},
		{"an address", "brd-customer-hl_1-zone-z-ip-1.2.3.4", Name{Zone: "z", Flags: Flags{IP: "1.2.3.4"}}},
		{"short spellings", "brd-cu-hl_1-z-z1-cy-us-st-ny-ct-newyork-zp-10001-s-a1-d-k-x-ub", Name{Zone: "z1", Flags: Flags{
			Country: "us", State: "ny", City: "newyork", Zip: "10001", Session: "a1", Direct: true, Key: "x", Unblocker: true,
		}}},
		{"a phone's User-Agent", "brd-customer-hl_1-zone-z1-ua-mobile-mobile-render-raw-info", Name{Zone: "z1", Flags: Flags{UA: "mobile", Mobile: true, Render: true, Raw: true, Info: true}}},
		{"what public clients send", "brd-customer-hl_1-zone-z1-vip-a_1-cid-c-route_err-block-gip-g", Name{Zone: "z1", Flags: Flags{VIP: "a_1", CID: "c", RouteErr: "block", GIP: "g"}}},
		{"a value spelt like a flag", "brd-customer-hl_1-zone-z1-session-s-c_tag-country-us", Name{Zone: "z1", Flags: Flags{Session: "s", CTag: "country-us"}}},
		{"a group", "brd-customer-hl_1-zone-z-gip-us_7922_fl_hollywood_0", Name{Zone: "z", Flags: Flags{GIP: "us_7922_fl_hollywood_0"}}},
	} {
		got, err := Parse(c.in, unknown)
		c.want.Prefix, c.want.Account = "brd", "hl_1"
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"", "x", "brd-customer-hl_1", "brd-customer-hl_1-zone-", "brd-customer--zone-z", "-customer-hl_1-zone-z",
		"brd-Customer-hl_1-zone-z", "brd-customer-hl_1-zone-a b", "brd-customer-hl_1-zone-a\n", "brd-customer-hl_1-zone-" + strings.Repeat("z", maxBytes),
	} {
		if _, err := Parse(in, unknown); !errors.Is(err, ErrForm) {
			t.Errorf("%q: %v", in, err)
		}
	}
	for in, flag := range map[string]string{
		"country-usa": "country", "country-US": "country", "country": "country", "country-session-a": "country",
		"country-us-country-de": "country", "city-reno": "city", "state-ny": "state", "session-a!": "session", "const": "const",
		"ip-1.2.3": "ip", "ip-::1": "ip", "dns-both": "dns", "asn-x": "asn", "os-plan9": "os", "session-a-const-x": "x", "debug-some": "debug",
		"route_err-x": "route_err", "zip-1/2": "zip", "ua-desktop": "ua", "ua": "ua", "s-a-session-b": "session", "cy-usa": "country", "render-x": "x", "vip-!": "vip", "cid-!": "cid", "ua-mobile-x": "ua",
	} {
		n, err := Parse("brd-customer-hl_1-zone-z-"+in, unknown)
		var fe *FlagError
		if !errors.As(err, &fe) || fe.Flag != flag || n.Zone != "z" {
			t.Errorf("%s: %v of %+v", in, err, n)
		}
	}
}

func TestParseWithKnownZones(t *testing.T) {
	zones := func(z string) bool { return z == "z" || z == "a-session-b" || z == "a" || z == "my-isp" || z == "s" }
	for _, c := range []struct{ in, zone, flag string }{
		{"a-session-b", "a-session-b", ""},
		{"a-session-b-country-us", "a-session-b", ""},
		{"a-session-c", "a", ""},
		{"a-sesion-c", "a", "sesion"},
		{"my-isp-contry-us", "my-isp", "contry"},
		{"my-other-country-us", "my-other", ""},
		{"s-s-1", "s", ""},
		{"z-", "z", ""},
	} {
		n, err := Parse("brd-customer-hl_1-zone-"+c.in, zones)
		var fe *FlagError
		if n.Zone != c.zone || errors.As(err, &fe) != (c.flag != "" || c.in == "z-") || fe != nil && fe.Flag != c.flag {
			t.Errorf("%s: %+v, %v", c.in, n, err)
		}
	}
}

// FuzzParse: an accepted name can be put together again from its parts.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"brd-customer-hl_1-zone-z", "brd-customer-hl_1-zone-a-b-country-us-session-x-const", "brd-customer-hl_1-zone-z-ip-1.2.3.4-direct",
		"----", "brd-customer-hl_1-zone--country-us", "brd-customer-hl_1-zone-z-country--us", "lum-cu-a-z-b-cy-us-d", "brd-customer-a-zone-b-ua-mobile-mobile",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s, unknown)
		if err != nil {
			var fe *FlagError
			if !errors.Is(err, ErrForm) && !errors.As(err, &fe) {
				t.Fatalf("%v", err)
			}
			return
		}
		head := n.Prefix + "-customer-" + n.Account + "-zone-" + n.Zone
		if !strings.HasPrefix(s, n.Prefix) || !strings.Contains(s, n.Account) || !strings.Contains(s, n.Zone) {
			t.Fatalf("%q read as %q", s, head)
		}
		again := head
		fl := n.Flags
		for _, one := range flags {
			if one.value != nil && *one.value(&fl) != "" {
				again += "-" + one.name + "-" + *one.value(&fl)
			}
		}
		for _, one := range flags {
			if one.bare != nil && *one.bare(&fl) {
				again += "-" + one.name
			}
		}
		back, err := Parse(again, unknown)
		if err != nil || !reflect.DeepEqual(back.Flags, n.Flags) {
			t.Fatalf("%q and %q: %+v, %+v, %v", s, again, n.Flags, back.Flags, err)
		}
	})
}

// TestEveryFlagIsRead: each flag of the table has a place of its own in Flags, and the
// table has them all.
func TestEveryFlagIsRead(t *testing.T) {
	var all Flags
	for _, one := range flags {
		if (one.bare == nil) == (one.value == nil) || (one.value == nil) != (one.ok == nil) {
			t.Errorf("%s: neither alone nor with a value", one.name)
		}
		before := all
		if one.bare != nil {
			*one.bare(&all) = true
		} else {
			*one.value(&all) = "x"
		}
		if all == before {
			t.Errorf("%s stands in the place of another flag", one.name)
		}
		if !IsFlag(one.name) || one.short != "" && !IsFlag(one.short) {
			t.Errorf("%s is not known", one.name)
		}
	}
	v := reflect.ValueOf(all)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("no flag is read into %s", v.Type().Field(i).Name)
		}
	}
	for _, w := range []string{"k", "d", "s", "cy", "st", "ct", "zp", "ub"} {
		if !IsFlag(w) {
			t.Errorf("%s is not known", w)
		}
	}
}

func TestWhatFlagsTake(t *testing.T) {
	for _, in := range []string{
		"country-de", "country-eu", "country-us-state-nv", "country-us-city-reno", "zip-89501", "asn-7922", "carrier-dtag", "gip-us_7922_fl_hollywood_0",
		"os-windows", "os-osx", "os-macos", "os-android", "session-a1", "session-a1-const", "ip-1.2.3.4", "dns-local", "dns-remote", "direct",
		"route_err-pass_dyn", "route_err-block", "c_tag-t1", "debug-full", "debug-none", "raw-info-unblocker-mobile-vip-1-cid-2", "ua-mobile",
	} {
		if n, err := Parse("brd-customer-hl_1-zone-z-"+in, unknown); err != nil || n.Zone != "z" || n.Flags == (Flags{}) {
			t.Errorf("%s: %+v, %v", in, n, err)
		}
	}
}
