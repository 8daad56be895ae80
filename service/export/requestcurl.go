package export

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/profile"
)

// RequestCurl is a fetch as a command for a POSIX shell. Its secrets come from
// the environment by way of curl's standard input: printf is part of the shell,
// so that they appear in no list of processes.
func RequestCurl(p profile.Profile, r model.FetchRequest, wire model.WirePreview, keyRef string) (string, error) {
	if r.Via == model.ViaNative {
		return nativeCurl(p, r)
	}
	body, err := wireBody(wire)
	if err != nil {
		return "", err
	}
	lines := []string{
		fmt.Sprintf(`printf 'Authorization: Bearer %%s\n' "$%s" | curl -sS -H @-`, envName(keyRef, KeyEnv)),
		"-H " + ShellQuote("Content-Type: application/json"),
		"--data-raw " + ShellQuote(body),
		ShellQuote(strings.TrimRight(p.BaseURL, "/") + "/request"),
	}
	return demoNote(keyRef, KeyEnv) + strings.Join(lines, " \\\n  "), nil
}

// demoNote is a comment that says where a variable's value comes from, if it is a demo
// value of the embedded emulator; otherwise it is empty.
func demoNote(ref, env string) string {
	kind, name, ok := strings.Cut(strings.TrimPrefix(ref, "demo:"), "/")
	if !ok || !strings.HasPrefix(ref, "demo:") {
		return ""
	}
	return fmt.Sprintf("# %s is the demo account's value of %s %s, in the file that 'zonedeck paths' calls emulator_running\n", env, kind, name)
}

// nativeCurl is the same fetch through the proxy.
func nativeCurl(p profile.Profile, r model.FetchRequest) (string, error) {
	user, err := model.Credential{Prefix: p.UsernamePrefix, Account: p.Account, Zone: r.Zone.Name, Params: r.Params()}.Username()
	if err != nil {
		return "", fmt.Errorf("writing the proxy login: %w", err)
	}
	lines := []string{LoginOf(p, r.Zone, user).curl(envName(r.Zone.Password, PasswordEnv)), "-sS"}
	switch method := strings.ToUpper(r.Method); method {
	case "", http.MethodGet:
	case http.MethodHead: // with -X, curl waits for a body
		lines = append(lines, "--head")
	default:
		lines = append(lines, "-X "+ShellQuote(method))
	}
	for _, h := range HeaderLines(r.Header) {
		if name, empty := strings.CutSuffix(h, ": "); empty { // curl leaves out "Name:"
			h = name + ";"
		}
		lines = append(lines, "-H "+ShellQuote(h))
	}
	if r.Body != "" {
		lines = append(lines, "--data-raw "+ShellQuote(r.Body))
	}
	const sep = " \\\n  "
	return demoNote(r.Zone.Password, PasswordEnv) + strings.Join(lines, sep) + urlArgs(r.URL, sep), nil
}

// wireBody is the body of the request as the preview shows it: what follows the
// first empty line.
func wireBody(w model.WirePreview) (string, error) {
	if w.Problem != "" {
		return "", fmt.Errorf("it cannot be sent as it stands: %s", w.Problem)
	}
	i := slices.Index(w.Lines, "")
	if i < 0 {
		return "", errors.New("the request has no body to copy")
	}
	return strings.Join(w.Lines[i+1:], "\n"), nil
}

// HeaderLines are "Name: value" lines, sorted by name.
func HeaderLines(h http.Header) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			lines = append(lines, name+": "+v)
		}
	}
	return lines
}
