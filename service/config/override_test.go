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
		if got := noerr.Try(o.On(p)).Must(t); got.Redirected != want {
			t.Errorf("%q: redirected %t", address, got.Redirected)
		}
	}
	// An address alone has no configuration whose keys it could use.
	if p := noerr.Try(FromFlags(Override{"base_url": "https://api.example.com"})).Must(t); !p.Redirected {
		t.Error("the profile of flags has a key of its own")
	}
}
