package sandbox

import (
	"testing"

	"zonedeck/model"
	"zonedeck/service/dialect"
)

func TestTheCDPAddressHasTheLoginAndNoPassword(t *testing.T) {
	p := model.Profile{BrowserURL: "wss://browser.example:9222", UsernamePrefix: "brd", Account: "hl_1", Can: dialect.Abilities("brightdata")}
	r := model.FetchRequest{Zone: model.Zone{Name: "b1", Product: model.ProductBrowser, Password: "env:B1_PASSWORD"}, Country: "de"}
	if got, want := cdpAddress(p, r), "wss://brd-customer-hl_1-zone-b1-country-de:$B1_PASSWORD@browser.example:9222"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.Zone.Password = "keyring:a/b"
	if got, want := cdpAddress(p, r), "wss://brd-customer-hl_1-zone-b1-country-de:$ZONEDECK_ZONE_PASSWORD@browser.example:9222"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for name, change := range map[string]func(){
		"another product": func() { r.Zone.Product = model.ProductUnlocker },
		"the contract":    func() { r.Zone.Product, p.Can = model.ProductBrowser, dialect.Abilities("") },
		"no address":      func() { p.BrowserURL = "" },
	} {
		before, beforeP := r, p
		change()
		if got := cdpAddress(p, r); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		r, p = before, beforeP
	}
}
