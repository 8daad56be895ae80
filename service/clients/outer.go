package clients

import (
	"strings"

	"zonedeck/model"
)

// outerNames are the variables by which clients find a proxy. Both spellings are in use: curl
// heeds http_proxy in small letters only.
var outerNames = []string{
	"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy",
}

// settingText bounds a value as it is shown, in bytes.
const settingText = 300

// OuterProxies are the proxy settings that are in force in an environment. The console uses none of them:
// it connects to the API and to the profile's proxy directly. Programs that are started from the
// same shell may use them.
func (m Machine) OuterProxies() []model.EnvSetting { return settings(m.Getenv, outerNames) }

// settings are those of names that are set.
func settings(getenv func(string) string, names []string) []model.EnvSetting {
	out := []model.EnvSetting{}
	for _, name := range names {
		if v := getenv(name); v != "" {
			out = append(out, model.EnvSetting{Name: name, Value: model.Line(withoutLogin(v), settingText)})
		}
	}
	return out
}

// withoutLogin masks the login of an address, or of what looks like one: everything before the
// last "@" but the scheme.
func withoutLogin(s string) string {
	at := strings.LastIndex(s, "@")
	if at < 0 {
		return s
	}
	scheme, _, ok := strings.Cut(s, "://")
	if !ok || strings.ContainsFunc(scheme, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		return "••••" + s[at:]
	}
	return scheme + "://••••" + s[at:]
}
