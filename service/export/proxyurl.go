package export

import (
	"net/url"
	"strings"
)

// URL writes http://user:password@host:port. With the variable in the
// password's place it is text for a shell's double quotes, so a "$" of the
// username, which URLs allow as it is, is escaped.
func (l Login) URL() string {
	u := url.URL{Scheme: "http", Host: l.addr(), User: url.User(l.Username)}
	if l.Password != "" {
		u.User = url.UserPassword(l.Username, l.Password)
		return u.String()
	}
	return strings.Replace(strings.ReplaceAll(u.String(), "$", "%24"), "@", ":${"+PasswordEnv+"}@", 1)
}
