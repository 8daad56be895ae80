package route

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/guard"
	"zonedeck/service/emulator/username"
)

func zone(product string, verified bool) account.Zone {
	return account.Zone{Name: "z", Product: product, IdentityVerified: verified}
}

func TestEveryFailureHasItsOwnCode(t *testing.T) {
	for want, err := range map[string]error{
		"407 client_10001":         &username.FlagError{Flag: "country", Reason: "x"},
		"400 client_10063":         &username.FlagError{Flag: "ip", Reason: "takes an address like 1.2.3.4"},
		"407 policy_20120":         &username.FlagError{Flag: "ip", Reason: "is for datacenter and ISP zones"},
		"400 client_10060":         exits.ErrNotAllocated,
		"400 client_10062":         exits.ErrNoCountry,
		"502 peer_30030":           exits.ErrSessionLost,
		"403 policy_20030":         fmt.Errorf("dial: %w", guard.ErrBlocked),
		"502 target_40001":         &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host"}},
		"502 target_40020":         &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"502 target_40021":         &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
		"502 net_err_cert_invalid": &tls.CertificateVerificationError{Err: errors.New("unknown authority")},
		"502 net_err_closed":       fmt.Errorf("reading: %w", io.EOF),
		"502 document_load_failed": errors.New("malformed HTTP response"),
		"418 own":                  fmt.Errorf("unlocking: %w", answer.NewRefusal(418, "own", "x", "y")),
	} {
		r := RefusalOf(err)
		if got := fmt.Sprint(r.Status, " ", r.Code); got != want || r.Msg == "" || r.Basis == "" {
			t.Errorf("%v: %s %q, want %s", err, got, r.Msg, want)
		}
	}
	if r := RefusalOf(context.DeadlineExceeded); r.Code != "target_40021" {
		t.Error(r)
	}
	if r := RefusalOf(fmt.Errorf("reading: %w", os.NewSyscallError("read", syscall.ECONNRESET))); r.Code != "net_err_closed" {
		t.Error(r)
	}
}

// TestEveryFlagByEveryProduct: which choices a product offers (public documentation).
func TestEveryFlagByEveryProduct(t *testing.T) {
	r := Router{Pool: exits.NewPool(time.Now)}
	const all = "datacenter isp residential mobile unlocker browser"
	for _, c := range []struct {
		flags username.Flags
		by    string
		code  string // where it is not offered
	}{
		{username.Flags{Country: "de"}, all, ""},
		{username.Flags{Country: "eu"}, all, ""},
		{username.Flags{Country: "zz"}, "", "client_10062"},
		{username.Flags{Session: "a"}, all, ""},
		{username.Flags{Session: "b", Const: true}, all, ""},
		{username.Flags{Direct: true}, all, ""},
		{username.Flags{DNS: "remote", RouteErr: "block", CTag: "x", Debug: "full"}, all, ""},
		{username.Flags{Raw: true, Info: true, Render: true, Unblocker: true, Mobile: true, UA: "mobile", VIP: "1", CID: "1", Key: "1"}, all, ""},
		{username.Flags{Country: "us", State: "ny"}, "residential mobile", "client_10001"},
		{username.Flags{Country: "us", City: "reno"}, "residential mobile", "client_10001"},
		{username.Flags{Zip: "10001"}, "residential mobile", "client_10001"},
		{username.Flags{ASN: "7922"}, "residential mobile", "client_10001"},
		{username.Flags{OS: "windows"}, "residential", "client_10001"},
		{username.Flags{Carrier: "t"}, "mobile", "client_10001"},
		{username.Flags{GIP: "us_7922_fl_hollywood_0"}, "residential mobile", "client_10001"},
		{username.Flags{IP: exits.Allocated("isp")[0].String()}, "isp", "client_10060"},
		{username.Flags{IP: exits.Allocated("datacenter")[0].String()}, "datacenter", "client_10060"},
	} {
		for _, product := range []string{"datacenter", "isp", "residential", "mobile", "unlocker", "browser"} {
			_, err := r.Pick(zone(product, false), c.flags)
			offered := false
			for _, p := range []string{"datacenter", "isp", "residential", "mobile", "unlocker", "browser"} {
				offered = offered || p == product && strings.Contains(c.by, p)
			}
			code := c.code
			if c.flags.IP != "" && product != "isp" && product != "datacenter" {
				code = "policy_20120"
			}
			switch {
			case offered && err != nil:
				t.Errorf("%+v by %s: %v", c.flags, product, err)
			case !offered && (err == nil || RefusalOf(err).Code != code):
				t.Errorf("%+v by %s: %v, want %s", c.flags, product, err, code)
			}
		}
	}
}

func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		product  string
		verified bool
		host     string
		code     string
	}{
		{"datacenter", false, "www.google.com", "policy_20110"},
		{"residential", true, "google.co.uk", "policy_20110"},
		{"isp", false, "Bing.com.", "policy_20110"},
		{"mobile", false, "yandex.com.tr", "policy_20110"},
		{"unlocker", false, "www.google.com", ""},
		{"serp", false, "www.google.com", ""},
		{"datacenter", false, "google.example", ""},
		{"datacenter", false, "notgoogle.com", ""},
		{"datacenter", false, "docs.google.com", ""},
		{"residential", false, "www.irs.gov", "policy_20051"},
		{"mobile", false, "example.gov.uk", "policy_20051"},
		{"residential", false, "example.mil", "policy_20051"},
		{"residential", true, "www.irs.gov", ""},
		{"isp", false, "www.irs.gov", ""},
		{"residential", false, "gov.example", ""},
		{"residential", false, "lab.test", ""},
	} {
		r := Policy(zone(c.product, c.verified), c.host)
		switch {
		case c.code == "" && r != nil, c.code != "" && (r == nil || r.Code != c.code || r.Status != http.StatusForbidden):
			t.Errorf("%s to %s: %+v, want %q", c.product, c.host, r, c.code)
		case c.code == "policy_20051" && (r.Remedy == nil || len(r.Remedy.Alternatives) == 0):
			t.Errorf("%s says nothing of what to do", c.code)
		}
	}
}

func TestPorts(t *testing.T) {
	rules, err := guard.Parse([]string{"mail.internal:25", "10.0.0.0/8"})
	noerr.Must(t, err)
	r := Router{Dialer: exits.NewDialer(netip.MustParseAddrPort("127.0.0.1:1"), nil, rules)}
	for _, c := range []struct {
		host, port string
		ok         bool
	}{
		{"example.com", "", true},
		{"example.com", "80", true},
		{"example.com", "443", true},
		{"example.com", "8080", true},
		{"example.com", "25", false},
		{"example.com", "22", false},
		{"example.com", "0", false},
		{"example.com", "65536", false},
		{"example.com", "x", false},
		{"lab.test", "25", true},
		{"lab.test", "0", false},
		{"mail.internal", "25", true},
		{"10.0.0.1", "25", false},
	} {
		if got := r.PortRefused(c.host, c.port) == nil; got != c.ok {
			t.Errorf("%s:%s: %v", c.host, c.port, got)
		}
	}
}
