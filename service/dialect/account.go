package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"zonedeck/model"
)

// accountFacts are where an account shows itself, and what its clients are told of the service in
// public. The zero value is what the contract shows: nothing.
type accountFacts struct {
	// baseURL is the public API, host the proxy; prefix begins the usernames.
	baseURL, host, prefix string
	entries               []ProxyEntry
	status, zones, zone   string
	passwords             string
	// bundle is the archive with the CA certificates, at the address site or, for a service at
	// another base URL, below that one.
	site, bundle string
}

// ProxyEntry is one published address of the proxy.
type ProxyEntry struct {
	Host string
	Port int
	// CA is the name of the certificate's file in the archive; empty for none.
	CA string
	// Note is what is published about it, in one phrase.
	Note string
}

var brightDataAccount = accountFacts{
	baseURL: "https://api.brightdata.com", host: "brd.superproxy.io", prefix: "brd",
	entries: []ProxyEntry{
		{Host: "brd.superproxy.io", Port: 44445, CA: "brightdata_root_ca_44445.crt", Note: "the current port"},
		{Host: "brd.superproxy.io", Port: 33335, Note: "the contract's port; its published certificates ended on 25 September 2026"},
		{Host: "brd.superproxy.io", Port: 22225, Note: "the oldest port; its published certificates ended on 25 September 2026"},
	},
	status: "/status", zones: "/zone/get_all_zones", zone: "/zone", passwords: "/zone/passwords",
	site: "https://brightdata.com", bundle: "/static/brightdata_proxy_ca.zip",
}

// ListsAccount reports whether the dialect knows where an account lists its identifier, its zones
// and their passwords. The contract shows no such call.
func (d Dialect) ListsAccount() bool { return d.account.status != "" }

// WithAccounts names the dialects that know where an account lists what it has, quoted.
func WithAccounts() string { return quoted(Dialect.ListsAccount) }

// BaseURL is the published address of the API, or empty.
func (d Dialect) BaseURL() string { return d.account.baseURL }

// UsernamePrefix is the published word that usernames begin with, or empty.
func (d Dialect) UsernamePrefix() string { return d.account.prefix }

// ProxyEntries are the published addresses of the proxy, the one to choose first.
func (d Dialect) ProxyEntries() []ProxyEntry { return d.account.entries }

// CABundle is where the certificates of the proxy are published, as base and path of a ZIP archive:
// at the service's public site, or below the base URL of a profile whose service is elsewhere. ok is
// false where no place is known. It is asked for without a key.
func (d Dialect) CABundle(baseURL string) (base, path string, ok bool) {
	switch {
	case d.account.bundle == "":
		return "", "", false
	case baseURL == d.account.baseURL:
		return d.account.site, d.account.bundle, true
	default:
		return baseURL, d.account.bundle, baseURL != ""
	}
}

// AccountStatus is where an account shows its identifier and whether it may send. The answer is
// for ReadStatus.
func (d Dialect) AccountStatus() (path string) { return d.account.status }

// AccountZones is where an account lists its zones. The answer is for ReadZones.
func (d Dialect) AccountZones() (path string) { return d.account.zones }

// AccountZone is where an account shows one zone. The answer is for ReadZone. The name is never
// empty: a call without one may mean every zone.
func (d Dialect) AccountZone(zone model.ZoneName) (path string, query url.Values) {
	return d.account.zone, url.Values{"zone": {string(zone)}}
}

// AccountPasswords is where an account shows the passwords of one zone. The answer is for
// ReadPasswords.
func (d Dialect) AccountPasswords(zone model.ZoneName) (path string, query url.Values) {
	return d.account.passwords, url.Values{"zone": {string(zone)}}
}

// AccountStatus is what an account says of itself.
type AccountStatus struct {
	ID model.AccountID
	// Active says that the account is not suspended; Word is the service's own word, one line.
	Active bool
	Word   string
}

// ParseAccount checks the form of an account identifier: the contract's, or one more that the dialect
// knows.
func (d Dialect) ParseAccount(s string) (model.AccountID, error) {
	return model.ParseAccountID(s, d.accounts...) //nolint:wrapcheck // it is complete
}

// ReadStatus reads an answer to AccountStatus. That no zone was named is normal and no fault.
func (d Dialect) ReadStatus(body []byte) (AccountStatus, error) {
	var a struct {
		Status   string `json:"status"`
		Customer string `json:"customer"`
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Customer == "" {
		return AccountStatus{}, errors.New("the answer names no account")
	}
	id, err := d.ParseAccount(a.Customer)
	if err != nil {
		return AccountStatus{}, fmt.Errorf("the answer names no account: %w", err)
	}
	return AccountStatus{ID: id, Active: a.Status == "active" || a.Status == "", Word: clean(a.Status)}, nil
}

// ListedZone is a zone that an account lists.
type ListedZone struct {
	Name model.ZoneName
	// Product is unknown for a type that the dialect does not know; Type is the service's word.
	Product model.Product
	Type    string
	// Status is the service's word, empty where it shows none; Usable is false for a zone that is
	// disabled or deleted.
	Status string
	Usable bool
}

// maxZones bounds a list of zones, maxZoneName the bytes of a name: longer ones fit into no username.
const (
	maxZones    = 5000
	maxZoneName = 200
)

// ReadZones reads an answer to AccountZones. skipped counts entries whose name cannot be a zone's.
func (d Dialect) ReadZones(body []byte) (zones []ListedZone, skipped int, err error) {
	var list []struct {
		Name   string `json:"name"`
		Type   string `json:"type"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list == nil {
		return nil, 0, errors.New("the answer is not a list of zones")
	}
	if len(list) > maxZones {
		return nil, 0, fmt.Errorf("the answer lists %d zones, and at most %d are read", len(list), maxZones)
	}
	seen := map[model.ZoneName]bool{}
	for _, z := range list {
		name, err := model.ParseZoneName(z.Name)
		if err != nil || seen[name] || len(name) > maxZoneName || strings.ContainsFunc(z.Name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			skipped++
			continue
		}
		seen[name] = true
		zones = append(zones, ListedZone{
			Name: name, Product: zoneProduct(z.Type), Type: clean(z.Type), Status: clean(z.Status), Usable: z.Status == "" || z.Status == "active",
		})
	}
	return zones, skipped, nil
}

// zoneProduct is the product of a zone by the word that the account has for it.
func zoneProduct(word string) model.Product {
	switch strings.ToLower(word) {
	case "unblocker":
		return model.ProductUnlocker
	case "browser_api":
		return model.ProductBrowser
	case "dc", "static":
		return model.ProductDatacenter
	case "res_static", "static_res":
		return model.ProductISP
	case "res_rotating", "resident":
		return model.ProductResidential
	}
	p, err := model.ParseProduct(strings.ToLower(word))
	if err != nil {
		return model.ProductUnknown
	}
	return p
}

// ZoneAccess is what an account shows of one zone besides its name and type.
type ZoneAccess struct {
	// Passwords are secrets, the one to use first; those that the service itself calls compromised
	// are only counted. Shown is false where the answer has no passwords at all: ask for
	// AccountPasswords.
	Passwords   []string
	Known       bool
	Compromised int
	Disabled    bool
}

// ReadZone reads an answer to AccountZone.
func (d Dialect) ReadZone(body []byte) (ZoneAccess, error) {
	var a struct {
		Passwords []string `json:"password"`
		Plan      struct {
			Disabled json.RawMessage `json:"disabled"`
		} `json:"plan"`
		Compromised []string `json:"compromised_password"`
	}
	if err := json.Unmarshal(body, &a); err != nil || !passwords(a.Passwords) {
		return ZoneAccess{}, errors.New("the answer does not show a zone") // err may repeat a password
	}
	bad := func(p string) bool { return slices.Contains(a.Compromised, p) }
	return ZoneAccess{
		Passwords: slices.DeleteFunc(a.Passwords, bad), Known: a.Passwords != nil,
		Compromised: len(a.Compromised), Disabled: charged(a.Plan.Disabled) && string(a.Plan.Disabled) != "false",
	}, nil
}

// The bounds of the passwords of one zone, and of the bytes of each.
const (
	maxPasswords = 100
	maxPassword  = 256
)

// passwords reports whether texts can be the passwords of a zone.
func passwords(texts []string) bool {
	return len(texts) <= maxPasswords && !slices.ContainsFunc(texts, func(p string) bool {
		return p == "" || len(p) > maxPassword || strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsGraphic(r) })
	})
}

// ReadPasswords reads an answer to AccountPasswords: secrets, the first the one to use.
func (d Dialect) ReadPasswords(body []byte) ([]string, error) {
	var a struct {
		Passwords []string `json:"passwords"`
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Passwords == nil || !passwords(a.Passwords) {
		return nil, errors.New("the answer does not show the passwords of one zone") // err may repeat them
	}
	return a.Passwords, nil
}

// PasswordCall is a call that changes the passwords of a zone. Its body holds one.
type PasswordCall struct {
	Method, Path string
	Body         []byte
}

// passwordPaths are where a zone's passwords are changed.
type passwordPaths struct{ add, remove string }

// ChangesPasswords reports whether the dialect knows how a zone gets another password. The
// contract shows no such call.
func (d Dialect) ChangesPasswords() bool { return d.passwords != passwordPaths{} }

// AddPassword is the call that lets a zone accept value besides its other passwords.
func (d Dialect) AddPassword(zone, value string) PasswordCall {
	return passwordCall(d.passwords.add, zone, value)
}

// RemovePassword is the call after which a zone does not accept value any more.
func (d Dialect) RemovePassword(zone, value string) PasswordCall {
	return passwordCall(d.passwords.remove, zone, []string{value})
}

func passwordCall(path, zone string, password any) PasswordCall {
	body, _ := json.Marshal(map[string]any{"zone": zone, "password": password}) // strings always encode
	return PasswordCall{Method: http.MethodPost, Path: path, Body: body}
}
