package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// errLogin is wrapped by every refusal of a pasted login. Its texts never quote
// the input, which may hold a password.
var errLogin = errors.New("proxy login")

// maxLogin bounds what ParseLogin looks at, in bytes.
const maxLogin = 4096

// The values of Login.Source: the form in which a login was pasted.
const (
	sourceURL          = "URL"
	sourceHostFirst    = "host:port:user:password"
	sourceUserFirst    = "user:password:host:port"
	sourceUserAtHost   = "user:password@host:port"
	sourceUserPassword = "user:password"
	sourceHostPort     = "host:port"
	sourceUsername     = "username"
)

// Login is a proxy login as it was pasted. Printing one, by any verb, as JSON or
// in a log, never shows the password.
type Login struct {
	Host        string // empty when the input named none
	Port        int    // 0 when the input named none
	Username    string // empty when the input was a host and a port alone
	HasPassword bool
	Password    string
	// Source is the form that was recognised.
	Source string
}

// String is the login with its password masked.
func (l Login) String() string {
	var b strings.Builder
	b.WriteString(l.Username)
	if l.HasPassword {
		b.WriteString(":••••")
	}
	if l.Host != "" {
		if b.Len() > 0 {
			b.WriteString("@")
		}
		b.WriteString(l.Host)
		if l.Port != 0 {
			b.WriteString(":" + strconv.Itoa(l.Port))
		}
	}
	return b.String()
}

// GoString masks the password for %#v.
func (l Login) GoString() string { return "model.Login(" + l.String() + ")" }

// Format masks the password for every verb.
func (l Login) Format(f fmt.State, _ rune) { io.WriteString(f, l.String()) } //nolint:errcheck // a fmt.State reports its own errors

// MarshalJSON leaves the password out.
func (l Login) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{
		"host": l.Host, "port": l.Port, "username": l.Username, "has_password": l.HasPassword, "source": l.Source,
	})
}

// LogValue masks the password in logs.
func (l Login) LogValue() slog.Value { return slog.StringValue(l.String()) }

// ParseLogin reads a proxy login in any of the usual forms: a URL,
// host:port:user:password, user:password:host:port, user:password@host:port,
// user:password, host:port, or a username alone. It does not read the username's
// own grammar: that is ReadUsername. Errors wrap ErrLogin.
func ParseLogin(s string) (Login, error) {
	s, _ = TrimMarks(s)
	switch {
	case s == "":
		return Login{}, fmt.Errorf("%w: there is nothing to read", errLogin)
	case len(s) > maxLogin:
		return Login{}, fmt.Errorf("%w: it has %d bytes, more than %d", errLogin, len(s), maxLogin)
	case strings.ContainsFunc(s, unicode.IsControl):
		return Login{}, fmt.Errorf("%w: it has more than one line, or control characters", errLogin)
	}
	l, err := splitLogin(s)
	if err != nil {
		return Login{}, err
	}
	if l.Username != "" && strings.ContainsFunc(l.Username, unicode.IsSpace) {
		return Login{}, fmt.Errorf("%w: the username has a space in it (contract 5.2 rule 1)", errLogin)
	}
	if l.Username == "" && l.Host == "" {
		return Login{}, fmt.Errorf("%w: it names neither a user nor a host", errLogin)
	}
	if l.HasPassword && l.Username == "" {
		return Login{}, fmt.Errorf("%w: a password without a username", errLogin)
	}
	return l, nil
}

func splitLogin(s string) (Login, error) {
	if scheme, _, ok := strings.Cut(s, "://"); ok && isScheme(scheme) {
		return loginFromURL(s)
	}
	// The password may hold "@", the host cannot: the last one counts, if what
	// follows it is an address.
	if at := strings.LastIndex(s, "@"); at >= 0 {
		host, port, ok := hostPort(s[at+1:])
		if ok && (port != 0 || strings.ContainsAny(host, ".:") || host == "localhost") {
			l := userPassword(s[:at])
			l.Host, l.Port, l.Source = host, port, sourceUserAtHost
			return l, nil
		}
	}
	if l, ok := loginHostFirst(s); ok {
		return l, nil
	}
	if l, ok := loginUserFirst(s); ok {
		return l, nil
	}
	if host, port, ok := hostPort(s); ok && port != 0 && !strings.Contains(s, "-"+wordCustomer+"-") {
		return Login{Host: host, Port: port, Source: sourceHostPort}, nil
	}
	l := userPassword(s)
	l.Source = sourceUsername
	if l.HasPassword {
		l.Source = sourceUserPassword
	}
	return l, nil
}

// loginHostFirst reads host:port:user:password; the password may hold ":".
func loginHostFirst(s string) (Login, bool) {
	var host, rest string
	if strings.HasPrefix(s, "[") {
		end := strings.Index(s, "]:")
		if end < 0 {
			return Login{}, false
		}
		host, rest = s[1:end], s[end+2:]
	} else {
		var ok bool
		if host, rest, ok = strings.Cut(s, ":"); !ok {
			return Login{}, false
		}
	}
	portText, rest, ok := strings.Cut(rest, ":")
	port, valid := parsePort(portText)
	if !ok || !valid || !isHost(host) {
		return Login{}, false
	}
	l := userPassword(rest)
	// A username first, with a password of digits and a ":" in it, looks the same;
	// the username's own words tell.
	if strings.Contains(host, "-"+wordCustomer+"-") && !strings.Contains(l.Username, "-"+wordCustomer+"-") {
		return Login{}, false
	}
	l.Host, l.Port, l.Source = host, port, sourceHostFirst
	return l, true
}

// loginUserFirst reads user:password:host:port.
func loginUserFirst(s string) (Login, bool) {
	last := strings.LastIndex(s, ":")
	if last < 0 {
		return Login{}, false
	}
	before := strings.LastIndex(s[:last], ":")
	if before < 0 || !strings.Contains(s[:before], ":") {
		return Login{}, false
	}
	host, port, ok := hostPort(s[before+1:])
	// An address needs a dot or to be localhost here: otherwise any password with
	// ":" and digits would be taken for one.
	if !ok || port == 0 || !strings.Contains(host, ".") && host != "localhost" {
		return Login{}, false
	}
	l := userPassword(s[:before])
	l.Host, l.Port, l.Source = host, port, sourceUserFirst
	return l, true
}

// isScheme tells a URL from a username whose password begins with "//".
func isScheme(s string) bool {
	for i := range len(s) {
		if !isWordByte(s[i]) && !strings.ContainsRune("+.-", rune(s[i])) {
			return false
		}
	}
	return s != "" && !strings.Contains(s, "-"+wordCustomer+"-")
}

func loginFromURL(s string) (Login, error) {
	if clearLogin().MatchString(s) {
		return Login{}, fmt.Errorf("%w: %s", errLogin, escapeLogin)
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		// The parser's error quotes the input, which may hold a password.
		return Login{}, fmt.Errorf("%w: it looks like a URL but cannot be read as one; write http://user:password@host:port, with %%-escapes for special characters", errLogin)
	}
	l := Login{Host: u.Hostname(), Source: sourceURL}
	if !isHost(l.Host) {
		return Login{}, fmt.Errorf("%w: the URL's host is not a host name", errLogin)
	}
	if p := u.Port(); p != "" {
		port, ok := parsePort(p)
		if !ok {
			return Login{}, fmt.Errorf("%w: the URL's port is not between 1 and 65535", errLogin)
		}
		l.Port = port
	}
	l.Username = u.User.Username()
	l.Password, l.HasPassword = u.User.Password()
	return l, nil
}

// escapeLogin says what to write for a password that ends the address.
const escapeLogin = "its password holds /, ? or # in the clear, which ends a host: write %2F, %3F or %23 for it, and %40 for @"

// clearLogin is an address with such a password: what stands before the "/", "?" or "#" is a name and no port, or a name
// without a dot and a port, and what follows has an @ and a host.
var clearLogin = Pattern(`^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@:\[]+:[^/?#@]*[^/?#@0-9][^/?#@]*[/?#].*@|[^/?#@:.\[]+:[0-9]+[/?#].*@[^/?#@]+:[0-9]+)`)

// userPassword splits at the first ":", which cannot stand in a username
// (service.md 5.2 rule 2).
func userPassword(s string) Login {
	user, password, has := strings.Cut(s, ":")
	return Login{Username: user, Password: password, HasPassword: has}
}

// hostPort reads host, host:port or [v6]:port; port is 0 when there is none.
func hostPort(s string) (host string, port int, ok bool) {
	if v6, rest, found := strings.Cut(strings.TrimPrefix(s, "["), "]"); found && strings.HasPrefix(s, "[") {
		if rest == "" {
			return v6, 0, isHost(v6)
		}
		port, ok = parsePort(strings.TrimPrefix(rest, ":"))
		return v6, port, ok && strings.HasPrefix(rest, ":") && isHost(v6)
	}
	host, portText, has := strings.Cut(s, ":")
	if !has {
		return host, 0, isHost(host)
	}
	port, ok = parsePort(portText)
	return host, port, ok && isHost(host)
}

func parsePort(s string) (int, bool) {
	if len(s) > 5 || strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 1 && n <= 65535
}

// isHost accepts names and addresses: letters, digits, ".", "-", "_" and the
// ":" and "%" of IPv6.
func isHost(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for i := range len(s) {
		if !isWordByte(s[i]) && !strings.ContainsRune(".-:%", rune(s[i])) {
			return false
		}
	}
	return true
}
