package proxy

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// passwordEnv is the variable that exports refer to instead of the password.
const passwordEnv = "ZONEDECK_ZONE_PASSWORD"

// login is what an export is made of. Password is empty unless the operator
// asked for an export that holds it.
type login struct {
	Host     string
	Port     int
	Username string
	Password string
	CA       string // path of the CA to trust; empty when none is needed or known
	Insecure bool   // the profile switched certificate checks off
	Target   string
}

func (l login) addr() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// asURL writes http://user:password@host:port. With the variable in the
// password's place it is text for a shell's double quotes, so a "$" of the
// username, which URLs allow as it is, is escaped.
func (l login) asURL() string {
	u := url.URL{Scheme: "http", Host: l.addr(), User: url.User(l.Username)}
	if l.Password != "" {
		u.User = url.UserPassword(l.Username, l.Password)
		return u.String()
	}
	return strings.Replace(strings.ReplaceAll(u.String(), "$", "%24"), "@", ":${"+passwordEnv+"}@", 1)
}

// asCurl writes a command for a POSIX shell that hands curl the login on its
// standard input, so that no process list shows it: printf is a shell builtin.
// Within a quoted value of its config files, curl takes \ as an escape, so \ and
// " in the password are escaped by the command itself.
func (l login) asCurl() string {
	var b strings.Builder
	if l.Password != "" {
		b.WriteString("printf 'proxy-user = \"%s\"\\n' " + shellQuote(curlEscape(l.Username+":"+l.Password)))
	} else {
		// sed escapes what curl would read as an escape; the login reaches it on a pipe.
		b.WriteString("printf '%s:%s' " + shellQuote(l.Username) + " \"$" + passwordEnv + "\" | sed 's/[\\\\\"]/\\\\&/g; s/.*/proxy-user = \"&\"/'")
	}
	b.WriteString(" | curl --config - --proxy " + shellQuote("http://"+l.addr()))
	if l.Insecure {
		b.WriteString(" --insecure")
	} else if l.CA != "" {
		b.WriteString(" --cacert " + shellQuote(l.CA))
	}
	target := l.Target
	if target == "" {
		target = "https://example.com/"
	}
	return b.String() + " " + shellQuote(target)
}

// asEnv writes export lines that most clients read.
func (l login) asEnv() string {
	value := "\"" + l.asURL() + "\""
	if l.Password != "" {
		value = shellQuote(l.asURL())
	}
	lines := []string{
		"export HTTP_PROXY=" + value,
		"export HTTPS_PROXY=" + value,
		"export http_proxy=" + value,
		"export https_proxy=" + value,
	}
	if l.Password == "" {
		lines = append([]string{"# " + passwordEnv + " must be URL-escaped if the password holds anything but letters and digits"}, lines...)
	}
	if l.CA != "" && !l.Insecure {
		lines = append(lines, "export SSL_CERT_FILE="+shellQuote(l.CA), "export CURL_CA_BUNDLE="+shellQuote(l.CA), "export NODE_EXTRA_CA_CERTS="+shellQuote(l.CA))
	}
	return strings.Join(lines, "\n") + "\n"
}

// shellQuote quotes for a POSIX shell.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// curlEscape escapes for a quoted value of a curl config file.
func curlEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
}
