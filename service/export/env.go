package export

import (
	"fmt"
	"strings"
)

// writeEnv writes lines for a shell that most clients then read: by Native the proxy with its
// login, by API the variable that the other programs read. The password becomes a part of
// an address there, whatever it is made of.
func writeEnv(c call) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# . ./zonedeck.env\n%s", comment("#", c.remarks("", false)))
	if c.Secret == "" {
		fmt.Fprintf(&b, "%s\n[ -n \"$%s\" ] || return 1\n", c.shellCheck(), c.Env())
	}
	if !c.byProxy() {
		if c.Secret != "" {
			fmt.Fprintf(&b, "export %s=%s\n", c.Env(), ShellQuote(c.Secret))
		} else {
			fmt.Fprintf(&b, "export %s\n", c.Env())
		}
		fmt.Fprintf(&b, "export %s=%s\n", URLEnv, ShellQuote(c.url))
		return b.String(), nil
	}
	value := ShellQuote(c.proxyURL())
	if c.Secret == "" {
		fmt.Fprintf(&b, "zonedeck_password=$(printf %%s \"$%s\" | od -An -v -tx1 | tr -d ' \\n' | sed 's/../%%&/g')\n", c.Env())
		value = `"` + strings.Replace(c.proxyURL(), "${"+c.Env()+"}", "${zonedeck_password}", 1) + `"`
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		fmt.Fprintf(&b, "export %s=%s\n", name, value)
	}
	if c.Secret == "" {
		b.WriteString("unset zonedeck_password\n")
	}
	if c.ca != "" {
		for _, name := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"} {
			fmt.Fprintf(&b, "export %s=%s\n", name, ShellQuote(c.ca))
		}
	}
	return b.String(), nil
}
