package config

import (
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestAProfileIsRedirectedByAnotherSchemeHostOrPort(t *testing.T) {
	for address, want := range map[string]bool{
		"":                                false,
		"https://api.example.com/":        false,
		"https://API.example.com:443":     false,
		"https://api.example.com/v2":      false,
		"http://api.example.com":          true,
		"https://api.example.com:8443":    true,
		"https://api.example.com.evil.io": true,
		"https://api.example.org":         true,
	} {
		p := model.Profile{Name: "acme", BaseURL: "https://api.example.com", Verify: true}
		o := Override{"account": "hl_12345678"}
		if address != "" {
			o["base_url"] = address
		}
		if got := noerr.Try(o.On(p)).Must(t); got.Redirected != (model.Redirected{API: want}) {
			t.Errorf("%q: redirected %+v", address, got.Redirected)
		}
	}
	p := model.Profile{
		Name: "acme", BaseURL: "https://api.example.com", ProxyHost: "proxy.example.com", ProxyPort: 33335, UsernamePrefix: "u",
		AgentURL: "https://mcp.example.com/mcp", BrowserURL: "wss://browser.example.com", Verify: true,
	}
	for field, c := range map[string]struct {
		same, other string
		want        model.Redirected
	}{
		"proxy_host":  {"PROXY.example.com", "proxy.example.org", model.Redirected{Logins: true}},
		"proxy_port":  {"33335", "33336", model.Redirected{Logins: true}},
		"browser_url": {"wss://browser.example.com:443/x", "ws://browser.example.com", model.Redirected{Logins: true}},
		"agent_url":   {"https://mcp.example.com/sse", "https://mcp.example.org/mcp", model.Redirected{Agent: true}},
	} {
		for address, want := range map[string]model.Redirected{c.same: {}, c.other: c.want} {
			if got := noerr.Try(Override{"account": "hl_12345678", field: address}.On(p)).Must(t); got.Redirected != want {
				t.Errorf("%s %q: redirected %+v", field, address, got.Redirected)
			}
		}
	}
	// An address alone has no configuration whose keys it could use.
	if p := noerr.Try(FromFlags(Override{"base_url": "https://api.example.com"})).Must(t); !p.Redirected.API {
		t.Error("the profile of flags has a key of its own")
	}
}
