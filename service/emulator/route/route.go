// Package route leads from a zone and the flags of a login or a call to a target: it checks
// logins, picks the exit, and words the refusals. Native access and the API share it. It is
// safe for concurrent use.
package route

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/username"
)

// RefusalOf turns an error on the way to a target into a refusal.
func RefusalOf(err error) answer.Refusal {
	var dns *net.DNSError
	var flag *username.FlagError
	var cert *tls.CertificateVerificationError
	var ne net.Error
	var refusal answer.Refusal
	var op *net.OpError
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.As(err, &flag) && flag.Flag == "ip":
		return badIP(flag)
	case errors.As(err, &flag):
		return answer.NewRefusal(http.StatusProxyAuthRequired, "client_10001", "invalid username: "+flag.Error(), answer.BasisProxyRefused)
	case errors.Is(err, exits.ErrNotAllocated):
		return answer.NewRefusal(http.StatusBadRequest, "client_10060", "IP is not allocated to the zone", answer.BasisProxyRefused)
	case errors.Is(err, exits.ErrNoCountry):
		return answer.NewRefusal(http.StatusBadRequest, "client_10062", "no proxies in the country", answer.BasisProxyRefused)
	case errors.Is(err, exits.ErrSessionLost):
		return answer.NewRefusal(http.StatusBadGateway, "peer_30030", "no peer available: the session's exit is gone", answer.BasisProxyRefused)
	case errors.Is(err, exits.ErrBlocked):
		return answer.NewRefusal(http.StatusForbidden, "policy_20030", "target is blocked: not a public address (--allow-private opens others)", answer.BasisTarget)
	case errors.As(err, &dns):
		return answer.NewRefusal(http.StatusBadGateway, "target_40001", "DNS lookup of the target came to nothing", answer.BasisProxyRefused)
	case errors.As(err, &cert):
		return answer.NewRefusal(http.StatusBadGateway, "net_err_cert_invalid", "the target's certificate is not trusted", answer.BasisFetchFailed)
	case errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &ne) && ne.Timeout()):
		return answer.NewRefusal(http.StatusBadGateway, "target_40021", "the target did not answer in time", answer.BasisProxyRefused)
	case errors.As(err, &op) && op.Op == "dial":
		return answer.NewRefusal(http.StatusBadGateway, "target_40020", "could not connect to the target", answer.BasisProxyRefused)
	case closedEarly(err):
		return answer.NewRefusal(http.StatusBadGateway, "net_err_closed", "the target closed the connection without an answer", answer.BasisFetchFailed)
	default:
		return answer.NewRefusal(http.StatusBadGateway, "document_load_failed", "what the target answered could not be read", answer.BasisFetchFailed)
	}
}

func closedEarly(err error) bool {
	for _, e := range [...]error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	// net/http reports this when a target closed before a request with a body was sent, and
	// does not export the error.
	return strings.Contains(err.Error(), "server closed idle connection")
}

// badIP refuses an invalid address with another code than an address for a product that has
// none (public documentation).
func badIP(flag *username.FlagError) answer.Refusal {
	if strings.HasPrefix(flag.Reason, "is for ") {
		return answer.NewRefusal(http.StatusProxyAuthRequired, "policy_20120", "bad ip parameter: "+flag.Error(), answer.BasisProxyRefused)
	}
	return answer.NewRefusal(http.StatusBadRequest, "client_10063", "bad IP format: "+flag.Error(), answer.BasisProxyRefused)
}

// Router picks exits and reaches targets.
type Router struct {
	Pool   *exits.Pool
	Dialer *exits.Dialer
}

// wantedExit translates the flags of a login or an API call for the pool. The error is a
// [*username.FlagError] for a flag that the product does not offer.
func wantedExit(z account.Zone, f username.Flags) (exits.Want, error) {
	residential, mobile := z.Product == "residential", z.Product == "mobile"
	offered := [...]struct {
		flag, value string
		ok          bool
		where       string
	}{
		{"state", f.State, residential || mobile, "residential and mobile zones"},
		{"city", f.City, residential || mobile, "residential and mobile zones"},
		{"zip", f.Zip, residential || mobile, "residential and mobile zones"},
		{"asn", f.ASN, residential || mobile, "residential and mobile zones"},
		{"gip", f.GIP, residential || mobile, "residential and mobile zones"},
		{"os", f.OS, residential, "residential zones"},
		{"carrier", f.Carrier, mobile, "mobile zones"},
		{"ip", f.IP, z.Product == "datacenter" || z.Product == "isp", "datacenter and ISP zones"},
	}
	for _, o := range offered {
		if o.value != "" && !o.ok {
			return exits.Want{}, &username.FlagError{Flag: o.flag, Reason: "is for " + o.where}
		}
	}
	return exits.Want{
		Zone: z.Name, Product: z.Product, Country: f.Country,
		Place:   strings.Join([]string{f.State, f.City, f.Zip, f.ASN, f.OS, f.Carrier}, "/"),
		Session: f.Session, Const: f.Const, IP: f.IP, GIP: f.GIP, Direct: f.Direct,
	}, nil
}

// Pick chooses the exit of one fetch. The error is for [RefusalOf].
func (r Router) Pick(z account.Zone, f username.Flags) (exits.Exit, error) {
	w, err := wantedExit(z, f)
	if err != nil {
		return exits.Exit{}, err
	}
	return r.Pool.Pick(w)
}

// Hold keeps the exit of a login's session while a request or a tunnel uses it; see
// [exits.Pool.Hold].
func (r Router) Hold(z account.Zone, f username.Flags) (release func()) {
	if f.Session == "" {
		return func() {}
	}
	w, err := wantedExit(z, f)
	if err != nil {
		return func() {}
	}
	return r.Pool.Hold(w)
}

// Describe sets the headers of a successful answer that describe its exit; id is the request's
// identifier.
func (r Router) Describe(h http.Header, host string, e exits.Exit, f username.Flags, id string) {
	h["X-Brd-Ip"] = []string{e.Addr.String()}
	if f.CTag != "" {
		h.Set("x-brd-c_tag", f.CTag)
	}
	if f.GIP != "" {
		h.Set("x-brd-gip", f.GIP)
	}
	if f.Debug == "none" {
		return
	}
	debug := append(append(append(make([]byte, 0, 64), "req_id="...), id...), "; "...)
	if r.Dialer.Bound(host, e) {
		debug = append(debug, "exit=bound"...)
	} else {
		debug = append(debug, "exit=simulated"...)
	}
	if e.Country != "" {
		debug = append(append(debug, "; country="...), e.Country...)
	}
	h["X-Brd-Debug"] = []string{string(debug)}
}

// PortRefused keeps the proxy, the API and the jobs from relaying to mail servers and the
// like. A port that --allow-private names is open.
func (r Router) PortRefused(host, port string) *answer.Refusal {
	if port == "" {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || !exits.IsLab(host) && n != 80 && n != 443 && n < 1024 && !r.Dialer.Rules().AllowsPort(host, port) {
		return new(answer.NewRefusal(http.StatusForbidden, "policy_20020", "port "+strconv.QuoteToASCII(port)+" is not allowed", answer.BasisTarget))
	}
	return nil
}

// IDs numbers requests for x-brd-debug: a random word for each start, and a number. The
// identifiers are not secret.
type IDs struct {
	word string
	last atomic.Uint64
}

// NewIDs begins a series.
func NewIDs() *IDs {
	word := make([]byte, 4)
	rand.Read(word) // never fails (crypto/rand)
	return &IDs{word: hex.EncodeToString(word)}
}

// Next returns the next identifier of the series.
func (i *IDs) Next() string {
	b := append(append(make([]byte, 0, 32), i.word...), '_')
	return string(strconv.AppendUint(b, i.last.Add(1), 16))
}

// legacyPrefix is the first word that old clients still send (public documentation).
const legacyPrefix = "lum"

// The reasons to refuse a login, beside [username.ErrForm].
var (
	ErrAccount  = errors.New("unknown account")
	ErrZone     = errors.New("not found") // with the zone's name before it
	ErrPassword = errors.New("wrong password")
)

// Login checks a login name and its password (service.md 5.2) against the account. Any error
// other than those three and [username.ErrForm] is about the flags of a name whose password
// is right; [RefusalOf] words it.
func Login(acc *account.Account, user, password string) (account.Zone, username.Flags, error) {
	name, err := username.Parse(user, func(zone string) bool {
		_, err := acc.Zone(zone)
		return err == nil
	})
	if errors.Is(err, username.ErrForm) {
		return account.Zone{}, username.Flags{}, username.ErrForm
	}
	if name.Prefix != acc.Prefix && name.Prefix != legacyPrefix || name.Account != acc.ID {
		return account.Zone{}, username.Flags{}, ErrAccount
	}
	z, unknown := acc.Zone(name.Zone)
	if unknown != nil {
		return account.Zone{}, username.Flags{}, fmt.Errorf("zone %q %w", name.Zone, ErrZone)
	}
	if !z.Accepts(password) {
		return account.Zone{}, username.Flags{}, ErrPassword
	}
	return z, name.Flags, err
}

// Policy refuses targets that a zone's product may not reach: the policies in the public
// documentation of a service of this kind, as far as the host shows. Nil permits.
func Policy(z account.Zone, host string) *answer.Refusal {
	network := z.Product == "datacenter" || z.Product == "isp" || z.Product == "residential" || z.Product == "mobile"
	if !network {
		return nil
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if searchEngine(host) {
		return new(answer.NewRefusal(http.StatusForbidden, "policy_20110", "search engines are for SERP zones: use one of those", answer.BasisPolicy))
	}
	if (z.Product == "residential" || z.Product == "mobile") && !z.IdentityVerified && governmental(host) {
		r := answer.NewRefusal(http.StatusForbidden, "policy_20051", "governmental targets need an identity check (KYC)", answer.BasisPolicy)
		r.Remedy = &answer.Remedy{
			Action:       "complete the identity check of the zone",
			Alternatives: []string{"a datacenter or ISP zone", "an unlocker zone"},
			Docs:         "contract 5.2",
		}
		return &r
	}
	return nil
}

// searchEngine reports whether the service reserves a host for its SERP product.
func searchEngine(host string) bool {
	host = strings.TrimPrefix(host, "www.")
	name, rest, ok := strings.Cut(host, ".")
	if !ok {
		return false
	}
	switch name {
	case "google", "yandex": // "com", "de", "co.uk", "com.tr"
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, "com."), "co.")
		return rest == "com" || len(rest) == 2
	case "bing", "duckduckgo":
		return rest == "com"
	}
	return false
}

func governmental(host string) bool {
	for _, label := range [...]string{"gov", "mil"} {
		if strings.HasSuffix(host, "."+label) {
			return true
		}
		// example.gov.uk
		if i := strings.LastIndexByte(host, '.'); i > 0 && len(host)-i == 3 && strings.HasSuffix(host[:i], "."+label) {
			return true
		}
	}
	return false
}
