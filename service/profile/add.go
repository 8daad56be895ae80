package profile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// ErrProfileExists says that the configuration has a profile of that name.
var ErrProfileExists = errors.New("the configuration has a profile of that name")

// AddProfile appends a profile to config.toml, which is made when it is missing.
// What stands there stays, comments included; the first profile also becomes the
// default. The profile is checked, and so is the text before it replaces the
// old; a file with a fault is not touched. Errors wrap ErrProfileExists,
// ErrProfile or a *ConfigError where they apply.
func AddProfile(ctx context.Context, path string, p Profile) error {
	p, err := p.checked()
	if err == nil {
		err = addProfile(ctx, path, p)
	}
	if err != nil {
		return fmt.Errorf("adding profile %q: %w", p.Name, err)
	}
	return nil
}

func addProfile(ctx context.Context, path string, p Profile) error {
	unlock, err := textfile.Lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	f, text, err := loadText(path)
	if err != nil {
		return err
	}
	if _, ok := f.profiles[p.Name]; ok {
		return ErrProfileExists
	}
	text = bytes.Clone(text)
	if f.fallback == "" && len(f.profiles) == 0 { // at the top, where no table can be open yet
		text = append([]byte("default_profile = "+textfile.Quote(p.Name)+"\n"), text...)
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	text = append(text, render(p)...)
	if _, err := parse(path, text); err != nil {
		// The file says the same in another form, such as profiles = {…}.
		return fmt.Errorf("the result would not be valid, add it by hand: %w", err)
	}
	return textfile.Write(path, text)
}

func render(p Profile) []byte {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s = %s\n", name, textfile.Quote(value))
		}
	}
	fmt.Fprintf(&b, "\n[profiles.%s]\n", p.Name)
	field("base_url", p.BaseURL)
	if p.ProxyHost != "" {
		field("proxy_host", p.ProxyHost)
		fmt.Fprintf(&b, "proxy_port = %d\n", p.ProxyPort)
	}
	field("agent_url", p.AgentURL)
	field("browser_url", p.BrowserURL)
	field("username_prefix", p.UsernamePrefix)
	field("account", string(p.Account))
	field("dialect", p.Dialect)
	field("key", p.Key)
	field("api_version", p.APIVersion)
	field("ca", p.CA)
	if !p.Verify {
		b.WriteString("verify = false\n")
	}
	if p.ReadOnly {
		b.WriteString("read_only = true\n")
	}
	field("color", p.Color)
	for _, z := range p.Zones {
		fmt.Fprintf(&b, "\n[[profiles.%s.zones]]\n", p.Name)
		field("name", string(z.Name))
		if z.Product != model.ProductUnknown {
			field("product", string(z.Product))
		}
		if z.IdentityVerified {
			b.WriteString("identity_verified = true\n")
		}
		field("password", z.Password)
		writeRate(&b, z.Rate)
	}
	if len(p.Variables) > 0 {
		fmt.Fprintf(&b, "\n[profiles.%s.variables]\n", p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		fmt.Fprintf(&b, "%s = %s\n", name, textfile.Quote(p.Variables[name]))
	}
	return []byte(b.String())
}
