package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/profile"
)

// Names of the environment variables that a copied command takes its secrets
// from, where the reference is not an environment variable itself.
const (
	envKey      = "ZONEDECK_API_KEY"
	envPassword = "ZONEDECK_ZONE_PASSWORD"
)

// asCurl is the request as a command for a POSIX shell. Its secrets come from
// the environment by way of curl's standard input: printf is part of the shell,
// so that they appear in nobody's list of processes.
func asCurl(p profile.Profile, r model.FetchRequest, wire model.WirePreview, keyRef string) (string, error) {
	if r.Via == model.ViaNative {
		return nativeCurl(p, r)
	}
	body, err := wireBody(wire)
	if err != nil {
		return "", err
	}
	lines := []string{
		fmt.Sprintf(`printf 'Authorization: Bearer %%s\n' "$%s" | curl -sS -H @-`, envName(keyRef, envKey)),
		"-H " + quote("Content-Type: application/json"),
		"--data-raw " + quote(body),
		quote(strings.TrimRight(p.BaseURL, "/") + "/request"),
	}
	return strings.Join(lines, " \\\n  "), nil
}

// nativeCurl is the same fetch through the proxy, with the login as a line of
// curl's config format on its standard input. A password with a quote or a
// backslash in it would have to be escaped by hand: what is copied cannot know.
func nativeCurl(p profile.Profile, r model.FetchRequest) (string, error) {
	user, err := credential(p, r).Username()
	if err != nil {
		return "", fmt.Errorf("writing the proxy login: %w", err)
	}
	lines := []string{
		fmt.Sprintf(`printf 'proxy-user = "%s:%%s"\n' "$%s" | curl -sS -K -`, strings.ReplaceAll(user, "%", "%%"), envName(r.Zone.Password, envPassword)),
		"--proxy " + quote("http://"+p.ProxyAddr()),
	}
	switch {
	case !p.Verify:
		lines = append(lines, "--insecure")
	case p.CA != "":
		lines = append(lines, "--cacert "+quote(p.CA))
	}
	if r.Method != "" && r.Method != methodGet {
		lines = append(lines, "-X "+quote(r.Method))
	}
	for _, h := range headerArgs(r.Header) {
		lines = append(lines, "-H "+quote(h))
	}
	if r.Body != "" {
		lines = append(lines, "--data-raw "+quote(r.Body))
	}
	lines = append(lines, quote(r.URL))
	return strings.Join(lines, " \\\n  "), nil
}

// credential is the proxy login of a request (service.md 5.2).
func credential(p profile.Profile, r model.FetchRequest) model.Credential {
	c := model.Credential{Prefix: p.UsernamePrefix, Account: p.Account, Zone: r.Zone.Name}
	if r.Country != "" {
		c.Params = append(c.Params, model.Param{Name: "country", Value: r.Country})
	}
	if r.Session != "" {
		c.Params = append(c.Params, model.Param{Name: "session", Value: r.Session})
	}
	return c
}

// wireBody is the body of the request as the preview shows it: what follows the
// first empty line.
func wireBody(w model.WirePreview) (string, error) {
	if w.Problem != "" {
		return "", fmt.Errorf("it cannot be sent as it stands: %s", w.Problem)
	}
	i := slices.Index(w.Lines, "")
	if i < 0 {
		return "", fmt.Errorf("the request has no body to copy")
	}
	return strings.Join(w.Lines[i+1:], "\n"), nil
}

func headerArgs(h map[string][]string) []string {
	text := headerText(h)
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// envName is the environment variable of a reference, or a default.
func envName(ref, def string) string {
	if name, ok := strings.CutPrefix(ref, "env:"); ok && name != "" {
		return name
	}
	return def
}

// quote makes one word of a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
