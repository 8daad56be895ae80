package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestAProfileSaysWhatIsWrongWithIt(t *testing.T) {
	good := model.Profile{Name: "a", BaseURL: "https://a.test", Verify: true}
	if err := Validate(good); err != nil {
		t.Errorf("%v", err)
	}
	bad := good
	bad.Account = "c_1"
	if err := Validate(bad); !errors.Is(err, ErrProfile) || !strings.HasPrefix(err.Error(), "account: ") || !strings.HasSuffix(err.Error(), "; expected an identifier like hl_1234abcd") {
		t.Errorf("%v", err)
	}
	if got := (&fieldError{field: "f", msg: "m"}).Error(); got != "f: m" {
		t.Errorf("%q", got)
	}
}

func TestTheZonesNamesAreInTheirOrder(t *testing.T) {
	p := model.Profile{Zones: []model.Zone{{Name: "b"}, {Name: "a"}}}
	if got := p.ZoneNames(); !slices.Equal(got, []model.ZoneName{"b", "a"}) {
		t.Errorf("%v", got)
	}
}

func TestTheHostOfAProxyIsTakenAsItIsWritten(t *testing.T) {
	for host, want := range map[string]string{"p.test": "p.test:1", "[::1]": "[::1]:1", "::1": "[::1]:1", "": ""} {
		p := model.Profile{ProxyHost: host, ProxyPort: 1}
		if err := checkProxy(&p); err != nil || p.ProxyAddr() != want {
			t.Errorf("%q: %s, %v", host, p.ProxyAddr(), err)
		}
	}
	for _, host := range []string{"a b", "a\tb", "a\x00b", "a/b", "a@b", "a?b", "a#b", "a:1", "[a:1]", "[::1"} {
		p := model.Profile{ProxyHost: host, ProxyPort: 1}
		if err := checkProxy(&p); (err == nil) != (host == "[::1") {
			t.Errorf("%q: %v", host, err)
		}
	}
	for port, good := range map[int]bool{0: false, 1: true, 65535: true, 65536: false} {
		if err := checkProxy(&model.Profile{ProxyPort: port}); (err == nil) != good {
			t.Errorf("port %d: %v", port, err)
		}
		if validPort(strconv.Itoa(port)) != good {
			t.Errorf("port %d of an address: %v", port, !good)
		}
	}
	if validPort("x") {
		t.Error("a word is a port")
	}
}

func TestAnEditOfAFileThatCannotBeReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "config.toml")
	noerr.Must(t, os.Mkdir(folder, 0o700))
	if err := AddProfile(t.Context(), folder, model.Profile{Name: "a", BaseURL: "https://a.example"}); err == nil || !strings.Contains(err.Error(), "adding profile") {
		t.Errorf("a folder: %v", err)
	}
	file := filepath.Join(dir, "file")
	noerr.Must(t, os.WriteFile(file, nil, 0o600))
	if err := AddProfile(t.Context(), filepath.Join(file, "config.toml"), model.Profile{Name: "a", BaseURL: "https://a.example"}); err == nil {
		t.Error("a file below a file was edited")
	}
}

func TestAVersionIsOneToFourDigits(t *testing.T) {
	for version, good := range map[string]bool{
		"v3": true, "v0": true, "v9999": true, "": false, "v": false, "v12345": false, "3": false, "V3": false, "v3a": false, "va3": false, "v3/": false, "v-3": false,
	} {
		if err := checkVersion(&model.Profile{APIVersion: version}); (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestAProfileIsTheCallersOwn(t *testing.T) {
	f, err := Parse("config.toml", []byte("[profiles.a]\nbase_url = \"https://a.test\"\n[[profiles.a.zones]]\nname = \"dc1\"\n"))
	noerr.Must(t, err)
	p, err := f.Profile("a")
	if err != nil || len(p.Zones) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	p.Zones[0].Name = "other"
	if again, err := f.Profile("a"); err != nil || again.Zones[0].Name != "dc1" {
		t.Errorf("a caller's change went into the file: %+v, %v", again, err)
	}
}

// The older form of an account's identifier stands in a profile whose dialect knows it, and in its logins.
func TestAnOlderAccountIsAProfilesByItsDialect(t *testing.T) {
	p := model.Profile{
		Name: "acme", BaseURL: "https://api.example.com", ProxyHost: "proxy.example.com", ProxyPort: 1, UsernamePrefix: "brd",
		Account: "c_1234abcd", APIVersion: model.DefaultAPIVersion, Dialect: "brightdata", Verify: true,
	}
	noerr.Want(t, Validate(p))
	if login, err := (model.Credential{Prefix: p.UsernamePrefix, Account: p.Account, Zone: "z"}).Username(); err != nil || login != "brd-customer-c_1234abcd-zone-z" {
		t.Errorf("%q, %v", login, err)
	}
	p.Dialect = ""
	if err := Validate(p); !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), "it must start with hl_ (") {
		t.Errorf("by the contract: %v", err)
	}
}

// An empty list comes of an empty variable: it must not open every target.
func TestAnEmptyListOfTargetsIsAFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	for list, want := range map[string]string{"[]": "no line for every target", `[""]`: "is not a domain", `["a.example"]`: ""} {
		text := "[profiles.acme]\nbase_url = \"https://api.example.com\"\nallowed_domains = " + list + "\n"
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := Load(path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", list, err)
		}
	}
}
