package export

import (
	"errors"
	"fmt"
	"strings"

	"zonedeck/model"
)

// writePAC writes a file that sends a browser through the proxy. The format has no place for
// a login: the browser asks for it.
func writePAC(c call) (string, error) {
	if !c.byProxy() {
		return "", errors.New("the API needs no proxy: choose Native")
	}
	var b strings.Builder
	b.WriteString("// The browser asks for the login, which a PAC file cannot hold:\n")
	fmt.Fprintf(&b, "//   username  %s\n", c.user)
	if c.Secret != "" {
		return "", errors.New("a PAC file cannot hold a password")
	}
	_, what := c.SecretRef()
	fmt.Fprintf(&b, "//   password  %s\n", what)
	if c.ca != "" {
		fmt.Fprintf(&b, "// It must trust the authority in %s\n", model.Line(c.ca, 400))
	}
	b.WriteString("function FindProxyForURL(url, host) {\n")
	fmt.Fprintf(&b, "  return %s;\n}\n", jsString("PROXY "+c.proxy))
	return b.String(), nil
}
