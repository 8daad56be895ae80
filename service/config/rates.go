package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// errByHand says that a file writes a zone in a form that SetRates does not change.
var errByHand = errors.New("the file writes the zone in another form: write rate_per_1000 or rate_per_gb there by hand")

// SetRates writes the rates of zones into a profile of config.toml, below the zone's name and
// in place of those that stand there. Everything else stays, comments included. The text is
// checked before it replaces the old one; when one rate cannot be written, none is.
func SetRates(ctx context.Context, path, name string, rates map[model.ZoneName]model.Rate) error {
	unlock, err := textfile.Lock(ctx, path)
	if err != nil {
		return fmt.Errorf("writing rates: %w", err)
	}
	defer unlock()
	f, text, err := loadText(path)
	if err != nil {
		return err
	}
	want, ok := f.profiles[name]
	if !ok {
		return fmt.Errorf("writing rates: %s has no profile %q", path, name)
	}
	want.Zones = slices.Clone(want.Zones)
	for i, z := range want.Zones {
		rate, ok := rates[z.Name]
		if !ok {
			continue
		}
		want.Zones[i].Rate = rate
		if text, err = setRate(path, text, name, i, rate); err != nil {
			return fmt.Errorf("writing the rate of zone %s: %w", z.Name, err)
		}
	}
	got, err := Parse(path, text)
	if err != nil || !reflect.DeepEqual(got.profiles[name], want) {
		return fmt.Errorf("writing rates: %w", errors.Join(errByHand, err))
	}
	return textfile.Write(path, text)
}

// setRate is the file with another rate of the zone at an index.
func setRate(path string, text []byte, name string, zone int, rate model.Rate) ([]byte, error) {
	var c configFile
	doc, err := textfile.Decode(path, text, &c)
	if err != nil {
		return nil, err
	}
	entry := c.Profiles[name].Zones[zone]
	line := func(field string) int {
		return doc.Fault(textfile.At("profiles", name, "zones", zone, field), "", "").Line - 1
	}
	lines := slices.Collect(bytes.Lines(text))
	at := -1
	for _, field := range []string{"name", "PROXY_NAME", "PRODUCT_NAME"} {
		if n := line(field); n >= 0 && n < len(lines) && strings.HasPrefix(strings.TrimSpace(string(lines[n])), field) {
			at = n
		}
	}
	if at < 0 {
		return nil, errByHand
	}
	lines = slices.Clone(lines)
	for field, has := range map[string]bool{"rate_per_1000": entry.RatePer1000 != nil, "rate_per_gb": entry.RatePerGB != nil} {
		if !has {
			continue
		}
		n := line(field)
		if n < 0 || n >= len(lines) || !strings.HasPrefix(strings.TrimSpace(string(lines[n])), field) {
			return nil, errByHand
		}
		lines[n] = nil
	}
	var added strings.Builder
	if !bytes.HasSuffix(lines[at], []byte("\n")) {
		added.WriteByte('\n')
	}
	writeRate(&added, rate)
	lines[at] = append(slices.Clone(lines[at]), added.String()...)
	return bytes.Join(lines, nil), nil
}

func writeRate(b *strings.Builder, r model.Rate) {
	if r.Per1000 > 0 {
		fmt.Fprintf(b, "rate_per_1000 = %v\n", r.Per1000)
	}
	if r.PerGB > 0 {
		fmt.Fprintf(b, "rate_per_gb = %v\n", r.PerGB)
	}
}
