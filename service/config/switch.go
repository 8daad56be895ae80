package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"zonedeck/keystore/textfile"
)

// SwitchReferences puts other references in the place of some, in the zones and the variables of
// every profile of config.toml, and in [webhook]; to gives the new one by the old. Everything else stays, comments
// included. What cannot be changed so is an error, and the file is not touched then. A file that
// has none of them is not written; a missing one is fine.
func SwitchReferences(ctx context.Context, path string, to map[string]string) error {
	unlock, err := textfile.Lock(ctx, path)
	if err != nil {
		return fmt.Errorf("switching references: %w", err)
	}
	defer unlock()
	f, text, err := loadText(path)
	if err != nil {
		return err
	}
	changed := false
	want := maps.Clone(f.profiles)
	for _, name := range f.Names() {
		p := f.profiles[name]
		p.Zones, p.Variables = slices.Clone(p.Zones), maps.Clone(p.Variables)
		e := editor{path: path, name: name, text: text}
		for i, z := range p.Zones {
			if ref, ok := to[z.Password]; ok {
				changed = true
				p.Zones[i].Password = ref
				e.field(e.place("zones", i, "password"), "password", textfile.Quote(ref))
			}
		}
		for _, variable := range slices.Sorted(maps.Keys(p.Variables)) {
			if ref, ok := to[p.Variables[variable]]; ok {
				changed = true
				p.Variables[variable] = ref
				e.field(e.place("variables", variable), variable, textfile.Quote(ref))
			}
		}
		if e.err != nil {
			return fmt.Errorf("switching references of profile %q: %w", name, e.err)
		}
		text, want[name] = e.text, p
	}
	hooks := slices.Clone(f.webhook.Verify)
	e := editor{path: path, text: text}
	for i, v := range hooks {
		if ref, ok := to[v.Secret]; ok {
			changed = true
			hooks[i].Secret = ref
			e.field(textfile.At("webhook", "verify", i, "secret"), "secret", textfile.Quote(ref))
		}
	}
	if e.err != nil {
		return fmt.Errorf("switching references of [webhook]: %w", e.err)
	}
	if text = e.text; !changed {
		return nil
	}
	got, err := Parse(path, text)
	if err == nil && !reflect.DeepEqual(got.webhook.Verify, hooks) {
		err = errOtherForm
	}
	for name, p := range want {
		if err == nil && !equalProfiles(got.profiles[name], p) {
			err = errOtherForm
		}
	}
	if err != nil {
		return fmt.Errorf("switching references: %w", errors.Join(errOtherForm, err))
	}
	return textfile.Write(path, text)
}
