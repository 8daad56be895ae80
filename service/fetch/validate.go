package fetch

import (
	"errors"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"zonedeck/model"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/fields"
	"zonedeck/service/profile"
)

// check reports with a RequestError why a fetch cannot be sent as it stands.
func check(p profile.Profile, d dialect.Dialect, r model.FetchRequest) error {
	if _, err := model.ParseZoneName(string(r.Zone.Name)); err != nil {
		return model.BadField("zone", "%w", err)
	}
	if _, err := exchange.ParseTarget(r.URL); err != nil {
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
		return model.BadField("format", "%q is not one of raw, json", r.Format)
	}
	if c := r.Country; c != "" && (len(c) != 2 || !isLower(c[0]) || !isLower(c[1])) {
		return model.BadField("country", "%q: write a two-letter code in lower case, like de", c)
	}
	for _, path := range r.Required {
		if err := fields.Validate(path); err != nil {
			return model.BadField("required", "%w", err)
		}
	}
	if err := d.Sends(r); err != nil {
		var ns *dialect.NotShownError
		errors.As(err, &ns)
		return model.BadField(ns.Field, "%w", err)
	}
	switch r.Via {
	case model.ViaAPI:
		_, err := exchange.APIURL(p.BaseURL, dialect.RequestPath, nil)
		return err
	case model.ViaNative:
		return checkNative(p, d, r.Zone)
	default:
		return model.BadField("via", "%q is not one of api, native", string(r.Via))
	}
}

// checkNative reports why a zone cannot be addressed through the proxy.
func checkNative(p profile.Profile, d dialect.Dialect, z model.Zone) error {
	switch {
	case !d.NativeAccess(z.Product):
		return model.BadField("via", "native access is not among what the contract lists for %s (service.md 5.2); use API Access", z.Product.Label())
	case p.ProxyHost == "":
		return model.BadField("profile", "%s has no proxy host", p.Name)
	case p.ProxyPort < 1 || p.ProxyPort > 65535:
		return model.BadField("profile", "proxy port %d", p.ProxyPort)
	case z.Password == "":
		return model.BadField("password", "zone %s has no reference to its proxy password (env:, keyring:, file:, cmd:)", z.Name)
	}
	return nil
}

func isLower(b byte) bool { return b >= 'a' && b <= 'z' }

func checkMethod(m string) error {
	if m == "" {
		return nil
	}
	if !httpguts.ValidHeaderFieldName(m) || len(m) > 20 {
		return model.BadField("method", "%q is not a method", m)
	}
	if strings.EqualFold(m, http.MethodConnect) || strings.EqualFold(m, http.MethodTrace) {
		return model.BadField("method", "%s cannot be sent to a target", strings.ToUpper(m))
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
			return model.BadField("headers", "%q is not a header's name", name)
		}
		if ownHeaders[http.CanonicalHeaderKey(name)] {
			return model.BadField("headers", "%s is written by the console itself", http.CanonicalHeaderKey(name))
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return model.BadField("headers", "the value of %s holds a line break or a control character", name)
			}
		}
	}
	return nil
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
