package dialect

import (
	"fmt"
	"strings"

	"zonedeck/model"
)

// The names of the dialects, as a profile writes them.
const (
	Documented = "documented"
	BrightData = "brightdata"
)

// Dialect is one way to fill what the contract does not show. The zero value is
// Documented.
type Dialect struct{ brightdata bool }

// Find gives a dialect by name; the empty name is Documented.
func Find(name string) (Dialect, error) {
	switch name {
	case "", Documented:
		return Dialect{}, nil
	case BrightData:
		return Dialect{brightdata: true}, nil
	default:
		return Dialect{}, fmt.Errorf("dialect %q is not known: write %s or %s", name, Documented, BrightData)
	}
}

// Known reports whether Find knows the name.
func Known(name string) bool {
	_, err := Find(name)
	return err == nil
}

// Names lists the dialects.
func Names() []string { return []string{Documented, BrightData} }

// Name is the dialect's name.
func (d Dialect) Name() string {
	if d.brightdata {
		return BrightData
	}
	return Documented
}

// maxText bounds a text that the service wrote, in bytes.
const maxText = 500

// clean makes a remote text one bounded line.
func clean(s string) string { return model.Line(s, maxText) }

// word is a remote text that must be a plain token: letters, digits and "_-.",
// at most 80 of them and not dots alone, which would lead a path elsewhere;
// anything else is not one.
func word(s string) (string, bool) {
	if len(s) > 80 || strings.Trim(s, ".") == "" {
		return "", false
	}
	for i := range len(s) {
		b := s[i]
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '.' {
			continue
		}
		return "", false
	}
	return s, true
}
