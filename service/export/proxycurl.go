package export

import (
	"cmp"
	"strings"
)

// Curl writes a command for a POSIX shell that fetches the target through the proxy.
func (l Login) Curl() string {
	return l.curl(PasswordEnv) + " " + ShellQuote(cmp.Or(l.Target, "https://example.com/"))
}

// curl is the command up to its target. It hands curl the login on its standard
// input, so that no process list shows it: printf is a shell builtin. Without a
// password the variable env holds it. Within a quoted value of its config files, curl
// takes \ as an escape, so the command itself escapes \ and " in the login.
func (l Login) curl(env string) string {
	var b strings.Builder
	if l.Password != "" {
		b.WriteString("printf 'proxy-user = \"%s\"\\n' " + ShellQuote(curlEscape(l.Username+":"+l.Password)))
	} else {
		// sed escapes what curl would read as an escape; the login reaches it on a pipe.
		b.WriteString("printf '%s:%s' " + ShellQuote(l.Username) + " \"$" + env + "\" | sed 's/[\\\\\"]/\\\\&/g; s/.*/proxy-user = \"&\"/'")
	}
	b.WriteString(" | curl --config - --proxy " + ShellQuote("http://"+l.addr()))
	if l.Insecure {
		b.WriteString(" --insecure")
	} else if l.CA != "" {
		b.WriteString(" --cacert " + ShellQuote(l.CA))
	}
	return b.String()
}

// curlEscape escapes for a quoted value of a curl config file.
func curlEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
}
