package export

import "strings"

// Curl writes a command for a POSIX shell that hands curl the login on its
// standard input, so that no process list shows it: printf is a shell builtin.
// Within a quoted value of its config files, curl takes \ as an escape, so \ and
// " in the password are escaped by the command itself.
func (l Login) Curl() string {
	var b strings.Builder
	if l.Password != "" {
		b.WriteString("printf 'proxy-user = \"%s\"\\n' " + ShellQuote(curlEscape(l.Username+":"+l.Password)))
	} else {
		// sed escapes what curl would read as an escape; the login reaches it on a pipe.
		b.WriteString("printf '%s:%s' " + ShellQuote(l.Username) + " \"$" + PasswordEnv + "\" | sed 's/[\\\\\"]/\\\\&/g; s/.*/proxy-user = \"&\"/'")
	}
	b.WriteString(" | curl --config - --proxy " + ShellQuote("http://"+l.addr()))
	if l.Insecure {
		b.WriteString(" --insecure")
	} else if l.CA != "" {
		b.WriteString(" --cacert " + ShellQuote(l.CA))
	}
	target := l.Target
	if target == "" {
		target = "https://example.com/"
	}
	return b.String() + " " + ShellQuote(target)
}

// curlEscape escapes for a quoted value of a curl config file.
func curlEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
}
