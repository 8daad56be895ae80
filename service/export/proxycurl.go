package export

import (
	"cmp"
	"strings"
)

// Curl writes a command for a POSIX shell that fetches the target through the proxy.
func (l Login) Curl() string {
	return l.curl(PasswordEnv) + urlArgs(cmp.Or(l.Target, "https://example.com/"), " ")
}

// curl is the command up to its target. It hands curl the login as a header on its
// standard input, so that no process list shows it: printf is part of the shell.
// Without a password the variable env holds it. As base64 the login needs no escapes,
// whatever the password is made of.
func (l Login) curl(env string) string {
	password := `"$` + env + `"`
	if l.Password != "" {
		password = ShellQuote(l.Password)
	}
	var b strings.Builder
	b.WriteString(`printf 'Proxy-Authorization: Basic %s\n' "$(printf '%s:%s' ` + ShellQuote(l.Username) + " " + password + ` | base64 | tr -d '\n')"`)
	b.WriteString(" | curl --proxy-header @- --proxy " + ShellQuote("http://"+l.addr()))
	if l.Insecure {
		b.WriteString(" --insecure")
	} else if l.CA != "" {
		b.WriteString(" --cacert " + ShellQuote(l.CA))
	}
	return b.String()
}

// urlArgs are the arguments that make curl fetch an address as it is, each after sep:
// curl would take brackets and braces for a range of addresses.
func urlArgs(address, sep string) string {
	if strings.ContainsAny(address, "[]{}") {
		return sep + "--globoff" + sep + ShellQuote(address)
	}
	return sep + ShellQuote(address)
}
