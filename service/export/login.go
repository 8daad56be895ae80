package export

import (
	"net"
	"strconv"
	"strings"

	"zonedeck/model"
	"zonedeck/service/profile"
)

// The variables that exports take their secrets from, unless the reference to a
// secret is an environment variable itself.
const (
	KeyEnv      = "ZONEDECK_API_KEY"
	PasswordEnv = "ZONEDECK_ZONE_PASSWORD"
)

// Login is a proxy login to export. Password is empty unless the operator asked
// for an export that holds it.
type Login struct {
	Host     string
	Port     int
	Username string
	Password string
	CA       string // path of the CA to trust; empty when none is needed or known
	Insecure bool   // the profile switched certificate checks off
	Target   string
}

// LoginOf is a profile's login with a username. The CA, which programs trust in place
// of the system's, is named where a zone's targets need it, and for the embedded
// emulator, whose authority signs for its own sites.
func LoginOf(p profile.Profile, z model.Zone, username string) Login {
	l := Login{Host: p.ProxyHost, Port: p.ProxyPort, Username: username, Insecure: !p.Verify}
	if z.NeedsCA() || p.Local {
		l.CA = p.CA
	}
	return l
}

func (l Login) addr() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// ShellQuote makes one word of a POSIX shell.
func ShellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// envName is the environment variable of a reference, or a default.
func envName(ref, def string) string {
	if name, ok := strings.CutPrefix(ref, "env:"); ok && name != "" {
		return name
	}
	return def
}
