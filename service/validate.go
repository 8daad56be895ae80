package service

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/fields"
	"zonedeck/service/profile"
)

// maxURL bounds a target's address, in bytes: what a public client of a service
// of this kind accepts. The contract shows no limit.
const maxURL = 8192

// check reports with a RequestError why a fetch cannot be sent as it stands.
func check(p profile.Profile, d dialect.Dialect, r model.FetchRequest) error {
	if _, err := model.ParseZoneName(string(r.Zone.Name)); err != nil {
		return &RequestError{Field: "zone", Err: err}
	}
	if _, err := parseTarget(r.URL); err != nil {
		return err
	}
	if err := checkMethod(r.Method); err != nil {
		return err
	}
	if err := checkHeader(r.Header); err != nil {
		return err
	}
	switch r.Format {
	case "", model.FormatRaw, model.FormatJSON:
	default:
		return badField("format", "%q is not one of raw, json", r.Format)
	}
	if c := r.Country; c != "" && (len(c) != 2 || !isLower(c[0]) || !isLower(c[1])) {
		return badField("country", "%q: write a two-letter code in lower case, like de", c)
	}
	for _, path := range r.Required {
		if err := fields.Validate(path); err != nil {
			return &RequestError{Field: "required", Err: err}
		}
	}
	if err := d.Sends(r); err != nil {
		var ns *dialect.NotShownError
		errors.As(err, &ns)
		return &RequestError{Field: ns.Field, Err: err}
	}
	switch r.Via {
	case model.ViaAPI:
		_, err := apiURL(p.BaseURL, dialect.RequestPath, nil)
		return err
	case model.ViaNative:
		return checkNative(p, d, r.Zone)
	default:
		return badField("via", "%q is not one of api, native", string(r.Via))
	}
}

// checkNative reports why a zone cannot be addressed through the proxy.
func checkNative(p profile.Profile, d dialect.Dialect, z model.Zone) error {
	switch {
	case !d.NativeAccess(z.Product):
		return badField("via", "native access is not among what the contract lists for %s (service.md 5.2); use API Access", z.Product.Label())
	case p.ProxyHost == "":
		return badField("profile", "%s has no proxy host", p.Name)
	case p.ProxyPort < 1 || p.ProxyPort > 65535:
		return badField("profile", "proxy port %d", p.ProxyPort)
	case z.Password == "":
		return badField("password", "zone %s has no reference to its proxy password (env:, keyring:, file:, cmd:)", z.Name)
	}
	return nil
}

func isLower(b byte) bool { return b >= 'a' && b <= 'z' }

// parseTarget reads a target's address: absolute, http or https, without a login.
func parseTarget(s string) (*url.URL, error) {
	switch {
	case s == "":
		return nil, badField("url", "it is empty")
	case len(s) > maxURL:
		return nil, badField("url", "%d bytes are too long; at most %d", len(s), maxURL)
	case !utf8.ValidString(s), strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return nil, badField("url", "it holds a space, a control character or bytes that are not text")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, &RequestError{Field: "url", Err: stripURL(err)}
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, badField("url", "write an absolute address, like https://example.com/page")
	case u.User != nil:
		return nil, badField("url", "an address with a login in it is not sent; use an Authorization header")
	case !validPort(u.Port()):
		return nil, badField("url", "port %s: a port is a number from 1 to 65535", u.Port())
	}
	if _, err := connectAddr(u); err != nil {
		return nil, err
	}
	return u, nil
}

// validPort reports whether an address's port, which may be left out, is one.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// connectAddr is the target's host:port as CONNECT names it.
func connectAddr(u *url.URL) (string, error) {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	addr, err := httpguts.PunycodeHostPort(net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return "", &RequestError{Field: "url", Msg: "its host", Err: err}
	}
	return addr, nil
}

func checkMethod(m string) error {
	if m == "" {
		return nil
	}
	if !httpguts.ValidHeaderFieldName(m) || len(m) > 20 {
		return badField("method", "%q is not a method", m)
	}
	if strings.EqualFold(m, http.MethodConnect) || strings.EqualFold(m, http.MethodTrace) {
		return badField("method", "%s cannot be sent to a target", strings.ToUpper(m))
	}
	return nil
}

// ownHeaders are written by the console alone: they frame the message or carry
// the proxy's login.
var ownHeaders = map[string]bool{
	"Content-Length": true, "Transfer-Encoding": true, "Trailer": true, "Connection": true,
	"Upgrade": true, "Keep-Alive": true, "Te": true, "Proxy-Authorization": true, "Proxy-Connection": true, "Expect": true,
}

func checkHeader(h http.Header) error {
	for name, values := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return badField("headers", "%q is not a header's name", name)
		}
		if ownHeaders[http.CanonicalHeaderKey(name)] {
			return badField("headers", "%s is written by the console itself", http.CanonicalHeaderKey(name))
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return badField("headers", "the value of %s holds a line break or a control character", name)
			}
		}
	}
	return nil
}

// credential is the login of a fetch by native access.
func credential(p profile.Profile, zone model.ZoneName, params []model.Param) (string, error) {
	name, err := model.Credential{Prefix: p.UsernamePrefix, Account: p.Account, Zone: zone, Params: params}.Username()
	if err == nil {
		return name, nil
	}
	field := "profile"
	var ue *model.UsernameError
	if errors.As(err, &ue) && ue.Part != "prefix" && ue.Part != "account" {
		field = ue.Part
	}
	return "", &RequestError{Field: field, Err: fmt.Errorf("username: %w", err)}
}

// params are the parameters of the username that a fetch asks for.
func params(r model.FetchRequest) []model.Param {
	var out []model.Param
	if r.Country != "" {
		out = append(out, model.Param{Name: "country", Value: r.Country})
	}
	if r.Session != "" {
		out = append(out, model.Param{Name: "session", Value: r.Session})
	}
	return out
}
