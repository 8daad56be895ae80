package profiles

import (
	"fmt"
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/ui/kit/widget"
)

// password is a zone's password that goes behind ref when the account is saved: the one that was
// typed, or that the account showed.
type password struct {
	ref   string
	value keystore.Secret
	typed bool
}

// reference reports whether text is meant as a reference to a secret, and not as the secret itself.
func reference(text string) bool {
	scheme, _, ok := strings.Cut(text, ":")
	return ok && slices.Contains(keystore.Schemes(), scheme)
}

// masked is the text of the zones without the passwords in it, rune for rune: what follows a zone's
// name and is neither a product nor a reference, nor the beginning of one, is drawn as dots.
func masked(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = maskedLine(line)
	}
	return strings.Join(lines, "\n")
}

func maskedLine(line string) string {
	rest := strings.TrimLeft(line, " \t")
	at := strings.IndexAny(rest, " \t") // behind the name
	if strings.TrimSpace(rest[max(at, 0):]) == "" {
		at = -1
	}
	if at < 0 && model.MayBeToken(rest) {
		return line[:len(line)-len(rest)] + dots(rest)
	}
	if at < 0 {
		return line
	}
	head, rest := line[:len(line)-len(rest)+at], rest[at:]
	product := strings.TrimLeft(rest, " \t")
	head, rest = head+rest[:len(rest)-len(product)], product
	if end := strings.IndexAny(rest+" ", " \t"); begins(rest[:end], products()) {
		word := strings.TrimLeft(rest[end:], " \t")
		head, rest = head+rest[:len(rest)-len(word)], word
	}
	if reference(rest) || begins(rest, keystore.Schemes()) {
		return head + rest
	}
	return head + dots(rest)
}

// begins reports whether text is the beginning of one of words.
func begins(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, text) })
}

func products() []string {
	out := []string{model.ProductUnknown.String()}
	for _, p := range model.Products() {
		out = append(out, p.String())
	}
	return out
}

// dots stands for a secret; blanks stay.
func dots(secret string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' {
			return r
		}
		return '•'
	}, secret)
}

// readZones reads lines of a name, a product and the password or a reference to it; the last two may
// be left out. typed are the passwords, by their zones.
func readZones(text string) (zones []model.Zone, typed map[model.ZoneName]keystore.Secret, err error) {
	typed = map[model.ZoneName]keystore.Secret{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		name, err := model.ParseZoneName(words[0])
		if err != nil {
			return nil, nil, err
		}
		z := model.Zone{Name: name}
		if len(words) > 1 && words[1] != model.ProductUnknown.String() {
			if z.Product, err = model.ParseProduct(words[1]); err != nil { // it may be a password, which is not repeated
				return nil, nil, fmt.Errorf("zone %s: its second word is not one of %s", name, strings.Join(products(), ", "))
			}
		}
		switch {
		case len(words) < 3:
		case reference(words[2]):
			z.Password = strings.Join(words[2:], " ")
			if _, err := keystore.ParseRef(z.Password); err != nil {
				return nil, nil, fmt.Errorf("zone %s: %w", name, err)
			}
		case len(words) > 3:
			return nil, nil, fmt.Errorf("zone %s: a password has no blanks in it", name)
		default:
			typed[name] = keystore.NewSecret(words[2])
		}
		zones = append(zones, z)
	}
	return zones, typed, nil
}

// takePasswords takes typed passwords out of the lines of the zones, which name the references that
// they are stored behind instead. References follow the name of the profile and the store.
func (f *form) takePasswords(values *widget.Form) {
	if values.Focused() == fieldZones && values.CapturingText() {
		return
	}
	zones, typed, err := readZones(values.Value(fieldZones))
	if err != nil {
		return
	}
	for name, value := range typed {
		f.passwords[name] = password{value: value, typed: true}
	}
	changed := false
	for i, z := range zones {
		held, ok := f.passwords[z.Name]
		if !ok || z.Password != held.ref || held.ref == f.refOf(z.Name) {
			continue
		}
		held.ref, changed = f.refOf(z.Name), true
		zones[i].Password, f.passwords[z.Name] = held.ref, held
	}
	if changed {
		c, filled := f.filled[fieldZones]
		filled = filled && values.Value(fieldZones) == c.now
		values.SetValue(fieldZones, zoneLines(zones))
		if filled {
			f.filled[fieldZones] = change{c.before, values.Value(fieldZones)}
		}
	}
	if len(typed) > 0 {
		values.SetNote(fieldZones, f.zonesNote())
	}
}

// typed is how many of the zones have a password that was typed here.
func (f *form) typed(zones []model.Zone) (n int) {
	for _, z := range zones {
		if held := f.passwords[z.Name]; held.typed && held.ref == z.Password {
			n++
		}
	}
	return n
}

// zoneLines are zones as the form writes them.
func zoneLines(zones []model.Zone) string {
	lines := make([]string, len(zones))
	for i, z := range zones {
		lines[i] = zoneLine(z)
	}
	return strings.Join(lines, "\n")
}

// counted is a number of things in words.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
