package config

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
// ErrProfile or a *FileError where they apply.
func AddProfile(ctx context.Context, path string, p model.Profile) error {
	p, err := checked(p)
	if err == nil {
		err = addProfile(ctx, path, p)
	}
	if err != nil {
		return fmt.Errorf("adding profile %q: %w", p.Name, err)
	}
	return nil
}

func addProfile(ctx context.Context, path string, p model.Profile) error {
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
	if _, err := Parse(path, text); err != nil {
		// The file says the same in another form, such as profiles = {…}.
		return fmt.Errorf("the result would not be valid, add it by hand: %w", err)
	}
	return textfile.Write(path, text)
}

func render(p model.Profile) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "\n[profiles.%s]\n", p.Name)
	writeFields(&b, fields(p))
	for _, z := range p.Zones {
		renderZone(&b, p.Name, z)
	}
	renderTimeouts(&b, p)
	if len(p.Variables) > 0 {
		fmt.Fprintf(&b, "\n[profiles.%s.variables]\n", p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		fmt.Fprintf(&b, "%s = %s\n", name, textfile.Quote(p.Variables[name]))
	}
	return []byte(b.String())
}

func renderZone(b *strings.Builder, profile string, z model.Zone) {
	fmt.Fprintf(b, "\n[[profiles.%s.zones]]\nname = %s\n", profile, textfile.Quote(string(z.Name)))
	writeFields(b, lines(zoneSettings(&z)))
}

func renderTimeouts(b *strings.Builder, p model.Profile) {
	if len(p.Timeouts) > 0 {
		fmt.Fprintf(b, "\n[profiles.%s.%s]\n", p.Name, timeouts)
		writeFields(b, timeoutLines(p.Timeouts))
	}
}

func writeFields(b *strings.Builder, fields []line) {
	for _, f := range fields {
		if f.value != "" {
			fmt.Fprintf(b, "%s = %s\n", f.name, f.value)
		}
	}
}
