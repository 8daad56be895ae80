package emulator

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"zonedeck/service/emulator/exits"
	"zonedeck/service/emulator/jobs"
	"zonedeck/service/emulator/username"
)

// jobFetchTimeout bounds one page of a job, body and all. Other fetches are bounded up
// to the target's headers, by the transport.
const jobFetchTimeout = 2 * time.Minute

// refusal is a fetch that the service could not do or would not do: the status native
// access shows, and the code and text of the x-brd-* headers (public documentation).
type refusal struct {
	status    int
	code, msg string
	basis     string
}

// refusalOf names what went wrong on the way to a target.
func refusalOf(err error) refusal {
	var dns *net.DNSError
	var flag *username.FlagError
	var cert *tls.CertificateVerificationError
	var ne net.Error
	switch {
	case errors.As(err, &flag):
		return refusal{http.StatusProxyAuthRequired, "client_10001", "invalid username: " + flag.Error(), basisProxyRefused}
	case errors.Is(err, exits.ErrNotAllocated):
		return refusal{http.StatusBadRequest, "client_10060", "IP is not allocated to the zone", basisProxyRefused}
	case errors.Is(err, exits.ErrSessionLost):
		return refusal{http.StatusBadGateway, "peer_30030", "no peer available: the session's exit is gone", basisProxyRefused}
	case errors.Is(err, exits.ErrBlocked):
		return refusal{http.StatusForbidden, "policy_20030", "target is blocked: not a public address", basisTarget}
	case errors.As(err, &dns):
		return refusal{http.StatusBadGateway, "target_40001", "DNS lookup of the target came to nothing", basisProxyRefused}
	case errors.As(err, &cert):
		return refusal{http.StatusBadGateway, "net_err_cert_invalid", "the target's certificate is not trusted", basisFetchFailed}
	case errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &ne) && ne.Timeout()):
		return refusal{http.StatusBadGateway, "target_40021", "the target did not answer in time", basisProxyRefused}
	default:
		return refusal{http.StatusBadGateway, "target_40020", "could not connect to the target", basisProxyRefused}
	}
}

// want turns the choices of a login or of an API call into what the pool understands;
// the error is a [*username.FlagError] for a choice the product does not offer.
func want(z Zone, f username.Flags) (exits.Want, error) {
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

func (s *Server) pick(z Zone, f username.Flags) (exits.Exit, error) {
	w, err := want(z, f)
	if err != nil {
		return exits.Exit{}, err
	}
	return s.pool.Pick(w)
}

// exitHeaders sets what a successful answer tells about its exit.
func (s *Server) exitHeaders(h http.Header, host string, e exits.Exit, f username.Flags) {
	h.Set("x-brd-ip", e.Addr.String())
	if f.CTag != "" {
		h.Set("x-brd-c_tag", f.CTag)
	}
	if f.GIP != "" {
		h.Set("x-brd-gip", f.GIP)
	}
	if f.Debug == "none" {
		return
	}
	kind := "simulated"
	if s.dialer.Bound(host, e) {
		kind = "bound"
	}
	debug := "exit=" + kind
	if e.Country != "" {
		debug += "; country=" + e.Country
	}
	h.Set("x-brd-debug", debug)
}

// fetchForJob is how jobs get their pages: through the exits of the scrapers, reading
// at most limit bytes of the body.
func (s *Server) fetchForJob(ctx context.Context, url string, limit int64) (jobs.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, jobFetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return jobs.Page{}, fmt.Errorf("fetching: %w", err)
	}
	if refused := portRefused(req.URL.Hostname(), req.URL.Port()); refused != nil {
		return jobs.Page{}, &jobs.FetchError{Code: refused.code, Reason: refused.msg}
	}
	e, err := s.pick(Zone{Name: "\x00jobs", Product: "scrapers"}, username.Flags{})
	if err != nil {
		return jobs.Page{}, err
	}
	resp, err := s.dialer.Transport(req.URL.Hostname(), e).RoundTrip(req)
	if err != nil {
		r := refusalOf(err)
		return jobs.Page{}, &jobs.FetchError{Code: r.code, Reason: r.msg}
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(resp.Body, limit)); err != nil {
		return jobs.Page{}, &jobs.FetchError{Code: "net_err_closed", Reason: "the target's answer was cut off"}
	}
	return jobs.Page{URL: url, Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Body: b.Bytes()}, nil
}
