package export

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// longestWord bounds a body in bytes: Linux takes 128 KiB in one word of a command.
const longestWord = 120 << 10

// writeCurl writes a command for a POSIX shell. It hands curl the secret as a header on its
// standard input, so that no process list shows it: printf is part of the shell.
func writeCurl(c call) (string, error) {
	switch {
	case strings.ContainsRune(c.body, 0):
		return "", errors.New("a word of a shell cannot hold the zero byte of the body")
	case len(c.body) > longestWord:
		return "", fmt.Errorf("the body has %d bytes, and a shell takes %d in a command", len(c.body), longestWord)
	case c.method == http.MethodHead && c.body != "":
		return "", errors.New("it sends no body with HEAD")
	}
	lines := c.curlLogin()
	switch {
	case c.method == http.MethodHead: // with -X, curl waits for a body
		lines = append(lines, "--head")
	case c.method != http.MethodGet && (c.method != http.MethodPost || c.body == ""):
		lines = append(lines, "-X "+ShellQuote(c.method))
	case c.method == http.MethodGet && c.body != "":
		lines = append(lines, "-X GET")
	}
	for _, l := range c.header {
		text := l.name + ": " + l.value
		if l.value == "" { // curl leaves out "Name:"
			text = l.name + ";"
		}
		lines = append(lines, "-H "+ShellQuote(text))
	}
	if c.body != "" {
		if !c.has("Content-Type") { // which curl would call a form
			lines = append(lines, "-H 'Content-Type:'")
		}
		lines = append(lines, "--data-raw "+ShellQuote(c.body))
	}
	if c.AtOnce > 0 { // counts with -Z and more addresses
		lines = append(lines, fmt.Sprintf("--parallel-max %d", c.AtOnce))
	}
	if c.dots() {
		lines = append(lines, "--path-as-is")
	}
	if strings.ContainsAny(c.url, "[]") { // of an address of IPv6, which curl would take for a range
		lines = append(lines, "--globoff")
	}
	checks := "curl checks the status alone: a wall that comes with 200 passes"
	if !c.byProxy() {
		checks = "curl checks the service's own status alone: a wall, or what the service reports with a 200, passes"
	}
	if len(c.Request.Required) > 0 {
		checks += "; it does not look for the required fields"
	}
	return comment("#", append(c.remarks("sh fetch.sh", false), checks)) + strings.Join(append(lines, ShellQuote(c.url)), " \\\n  ") + "\n", nil
}

// shellCheck is a command that ends a shell's program without the secret. A bash in which
// someone types goes on with the next command.
func (c call) shellCheck() string { return `: "${` + c.Env() + `:?is not set}"` }

// curlLogin is the beginning of the command. As base64 the proxy's login needs no escapes,
// whatever the password is made of.
func (c call) curlLogin() []string {
	secret, check := `"$`+c.Env()+`"`, c.shellCheck()+" &&\n"
	if c.Secret != "" {
		secret, check = ShellQuote(c.Secret), ""
	}
	if !c.byProxy() {
		return []string{check + `printf 'Authorization: Bearer %s\n' ` + secret + " |\n  curl -sS --fail-with-body -H @-"}
	}
	lines := []string{
		check + `printf 'Proxy-Authorization: Basic %s\n' "$(printf '%s:%s' ` + ShellQuote(c.user) + " " + secret + ` | base64 | tr -d '\n')" |` + "\n  curl -sS --fail-with-body --proxy-header @-",
		"--proxy " + ShellQuote("http://"+c.proxy) + " --noproxy ''",
	}
	if c.trusts {
		lines = append(lines, "--insecure")
	} else if c.ca != "" {
		lines = append(lines, "--cacert "+ShellQuote(c.ca))
	}
	return lines
}
