package importers

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"zonedeck/model"
)

// proxyLogin is a login for a proxy.
type proxyLogin struct {
	model.Login
	passwordEnv string // the variable that the password is, if it is one
}

// login takes the login of the proxy from where it stands: the address, -U, or a header.
func (c *call) login() (proxyLogin, bool) {
	var l proxyLogin
	scheme, rest, ok := strings.Cut(c.proxy, "://")
	if !ok {
		scheme, rest = "http", c.proxy
	}
	rest, _, _ = strings.Cut(rest, "/")
	user := ""
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		user, rest = rest[:at], rest[at+1:]
		name, password, has := strings.Cut(user, ":")
		if user = unescaped(name); has {
			user += ":" + unescaped(password)
		}
	}
	if c.proxyUser != "" {
		user = c.proxyUser
	}
	for _, line := range c.proxyHeader {
		name, value := header(line)
		if kind, code, _ := strings.Cut(value, " "); strings.EqualFold(name, "Proxy-Authorization") && strings.EqualFold(kind, "Basic") {
			if b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(code)); err == nil {
				user = string(b)
			}
		}
	}
	if host, port, err := net.SplitHostPort(rest); err == nil {
		if n, err := strconv.Atoi(port); err == nil && n > 0 && n < 1<<16 {
			l.Port = n
		}
		l.Host = host
	} else {
		l.Host = strings.TrimSuffix(strings.TrimPrefix(rest, "["), "]")
	}
	name, password, has := strings.Cut(user, ":")
	l.Username, l.HasPassword, l.Source = name, has, "curl"
	l.passwordEnv, _ = soleVariable(password)
	if l.passwordEnv == "" && has {
		l.Password = cleared(password)
	}
	readable := name != "" && !strings.Contains(name+l.Host, markEnv) && (scheme == "http" || scheme == "https")
	return l, readable
}

func unescaped(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// throughProxy takes zone, country and session from the login of the proxy.
func (c *call) throughProxy(p model.Profile) {
	if c.proxy == "" && c.proxyUser == "" && len(c.proxyHeader) == 0 {
		return
	}
	l, ok := c.login()
	if !ok {
		c.out.dropped("-x: its login cannot be read, so that zone and access method stay as they are")
		return
	}
	readings, err := model.ReadUsername(l.Username, p.ZoneNames())
	if err != nil {
		c.out.dropped("-x: its username is not one of this service (contract 5.2), so that zone and access method stay as they are")
		return
	}
	c.out.Source = c.out.Source + ", Native Access"
	cred := readings[0].Credential
	knows := func(i int) bool { return slices.Contains(p.ZoneNames(), readings[i].Credential.Zone) }
	if n := len(readings); n > 1 && (!knows(0) || knows(1)) {
		c.out.dropped("its username can be read in %d ways; zone %q is the likeliest", n, cred.Zone)
	}
	r := &c.out.Request
	r.Via, r.Zone.Name = model.ViaNative, cred.Zone
	for _, param := range cred.Params {
		switch param.Name {
		case "country":
			r.Country = param.Value
		case "session":
			r.Session = param.Value
		default:
			c.out.dropped("the parameter %s of its username: the form has no field for it", param.Name)
		}
	}
	c.notOfProfile(l, cred, p)
	c.password(l, cred.Zone, p)
}

// notOfProfile says what of a login is another than the profile's.
func (c *call) notOfProfile(l proxyLogin, cred model.Credential, p model.Profile) {
	other := func(is bool, what, have, want string) {
		if is {
			c.out.dropped("its %s %s is not the profile's (%s), which is used", what, have, want)
		}
	}
	other(l.Host != "" && !strings.EqualFold(l.Host, p.ProxyHost), "proxy", model.Cut(model.Line(l.Host, 80), 80), cmp.Or(p.ProxyHost, "none"))
	other(l.Port != 0 && l.Port != p.ProxyPort, "port", strconv.Itoa(l.Port), strconv.Itoa(p.ProxyPort))
	other(cred.Account != p.Account, "account", string(cred.Account), cmp.Or(string(p.Account), "none"))
	other(cred.Prefix != p.UsernamePrefix, "prefix", cred.Prefix, cmp.Or(p.UsernamePrefix, "none"))
}

// password says what stands for the password that was left behind.
func (c *call) password(l proxyLogin, zone model.ZoneName, p model.Profile) {
	z, known := p.Zone(string(zone))
	switch {
	case !l.HasPassword:
	case l.passwordEnv != "" && known && z.Password == "env:"+l.passwordEnv, l.passwordEnv == "ZONEDECK_ZONE_PASSWORD":
	case l.passwordEnv != "":
		c.out.replaced("$%s is not the reference of the zone's password: the profile's reference is used", l.passwordEnv)
	default:
		c.out.replaced("its password was left out: the profile's reference for zone %s is used", fmt.Sprintf("%q", zone))
	}
}
