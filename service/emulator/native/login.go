package native

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/route"
	"zonedeck/service/emulator/username"
)

// legacyPrefix is the first word that old clients still send (public documentation).
const legacyPrefix = "lum"

// credential is what a client logs in with.
type credential struct{ user, password string }

// login is one accepted proxy login.
type login struct {
	credential
	zone  account.Zone
	flags username.Flags
}

// login checks the credential of service.md 5.2 against the account as it is now.
func (p *Proxy) login(c credential) (login, *answer.Refusal) {
	acc := p.conf.Account
	n, err := username.ParseFor(c.user, func(zone string) bool {
		_, err := acc.Zone(zone)
		return err == nil
	})
	if errors.Is(err, username.ErrForm) {
		return login{}, authRefused("client_10000", "authentication failed: "+username.ErrForm.Error())
	}
	if n.Prefix != acc.Prefix && n.Prefix != legacyPrefix || n.Account != acc.ID {
		return login{}, authRefused("client_10000", "authentication failed: unknown account")
	}
	z, zerr := acc.Zone(n.Zone)
	if zerr != nil {
		return login{}, authRefused("client_10002", fmt.Sprintf("zone %q not found", n.Zone))
	}
	if !z.Accepts(c.password) {
		return login{}, authRefused("client_10000", "authentication failed: wrong password")
	}
	if err != nil {
		r := route.RefusalOf(err)
		return login{}, &r
	}
	if !z.Native() {
		return login{}, new(answer.NewRefusal(http.StatusForbidden, "client_10090",
			fmt.Sprintf("zone %q is a %s zone: it has no native access, use the API", z.Name, z.Product), answer.BasisProxyProduct))
	}
	return login{c, z, n.Flags}, nil
}

// proxyAuth reads Basic credentials; the password may hold colons, the user may not.
func proxyAuth(h string) (credential, bool) {
	scheme, enc, found := strings.Cut(h, " ")
	if !found || !strings.EqualFold(scheme, "Basic") {
		return credential{}, false
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(enc))
	if err != nil {
		return credential{}, false
	}
	user, password, ok := strings.Cut(string(b), ":")
	return credential{user, password}, ok
}

func authRefused(code, msg string) *answer.Refusal {
	return new(answer.NewRefusal(http.StatusProxyAuthRequired, code, msg, answer.BasisProxyRefused))
}

// barred says why a zone may not go to a target, before anything is dialled.
func (p *Proxy) barred(z account.Zone, host, port string) *answer.Refusal {
	if host == "" {
		return new(answer.NewRefusal(http.StatusForbidden, "client_10080", "the request names no host", answer.BasisProxyRefused))
	}
	if r := p.conf.Route.PortRefused(host, port); r != nil {
		return r
	}
	return route.Policy(z, host)
}

// protocolRefused is for absolute addresses that are not http.
func protocolRefused(scheme string) *answer.Refusal {
	if scheme == "" {
		return new(answer.NewRefusal(http.StatusForbidden, "client_10070", "this is a proxy: the request needs an absolute address", answer.BasisProxyRefused))
	}
	return new(answer.NewRefusal(http.StatusForbidden, "policy_20010", "protocol "+strconv.QuoteToASCII(scheme)+" is not allowed: use http, or CONNECT for https", answer.BasisProxyRefused))
}
