package export

import "strings"

// Env writes export lines that most clients read.
func (l Login) Env() string {
	value := "\"" + l.URL() + "\""
	if l.Password != "" {
		value = ShellQuote(l.URL())
	}
	lines := []string{
		"export HTTP_PROXY=" + value,
		"export HTTPS_PROXY=" + value,
		"export http_proxy=" + value,
		"export https_proxy=" + value,
	}
	if l.Password == "" {
		lines = append([]string{"# " + PasswordEnv + " must be URL-escaped if the password holds anything but letters and digits"}, lines...)
	}
	if l.CA != "" && !l.Insecure {
		lines = append(lines, "export SSL_CERT_FILE="+ShellQuote(l.CA), "export CURL_CA_BUNDLE="+ShellQuote(l.CA), "export NODE_EXTRA_CA_CERTS="+ShellQuote(l.CA))
	}
	return strings.Join(lines, "\n") + "\n"
}
