package rotate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"zonedeck/keystore"
)

// Report is a rotation as Markdown: what was done, when, and how that is known. It holds no value.
func Report(p keystore.RotationPlan) string {
	var b strings.Builder
	by := string(p.Method)
	if p.ByHand() {
		by = "regeneration in the access details of the zone"
	} else if p.Zone != "" {
		by = "an " + by + ", through key " + cell(p.ChangedBy)
	}
	fmt.Fprintf(&b, "# Rotation of %s\n\n", cell(p.Named()))
	fmt.Fprintf(&b, "By %s, begun %s", by, stamp(p.Started))
	measured, vouched := p.Count()
	open := len(p.Steps) - measured - vouched
	switch {
	case p.Abandoned:
		fmt.Fprintf(&b, ", abandoned %s", stamp(p.Ended))
	case p.Over():
		fmt.Fprintf(&b, ", ended %s", stamp(p.Ended))
	}
	fmt.Fprintf(&b, ". Steps measured: %d, vouched for: %d, open: %d.\n\n", measured, vouched, open)
	if p.Method == keystore.RotateByRefresh && (!p.LastOld.IsZero() || p.NewFingerprint != "") {
		fmt.Fprintf(&b, "The outage: %s.\n\n", outage(p))
		firstCalls(&b, p)
	}
	values(&b, p)
	b.WriteString("| word | step | known | at | proof |\n| --- | --- | --- | --- | --- |\n")
	for _, s := range p.Steps {
		known, at := "open", ""
		if s.Done {
			known, at = s.By.Label(), stamp(s.At)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.Kind.Word(), cell(s.Name()), known, at, cell(s.Proof()))
	}
	return b.String()
}

// values writes a table of the old value and the new one. A password has no name at the service. The name of a key
// is not known if a person works the account settings.
func values(b *strings.Builder, p keystore.RotationPlan) {
	if p.Zone != "" {
		b.WriteString("| | fingerprint | ends in |\n| --- | --- | --- |\n")
		fmt.Fprintf(b, "| old password | %s | %s |\n", cell(p.OldFingerprint), cell(p.OldLast4))
		fmt.Fprintf(b, "| new password | %s | %s |\n\n", cell(p.NewFingerprint), cell(p.NewLast4))
		return
	}
	b.WriteString("| | name at the service | fingerprint | ends in |\n| --- | --- | --- | --- |\n")
	made := p.NewName
	if p.NewFingerprint != "" {
		made = cmp.Or(made, "not known")
	}
	fmt.Fprintf(b, "| old key | %s | %s | %s |\n", cell(cmp.Or(p.OldName, "not known")), cell(p.OldFingerprint), cell(p.OldLast4))
	fmt.Fprintf(b, "| new key | %s | %s | %s |\n\n", cell(made), cell(p.NewFingerprint), cell(p.NewLast4))
}

// firstCalls writes how the outage of a refresh is measured, and when each use was first seen to work after
// it.
func firstCalls(b *strings.Builder, p keystore.RotationPlan) {
	b.WriteString("It is measured by references: what reads its reference before each call was down no longer than that. A process that keeps\n" +
		"the value that it has read does not work until it reads it again, which nothing here sees.\n\n" +
		"| use | first accepted call with the new value |\n| --- | --- |\n")
	for _, s := range p.Steps {
		if s.Kind != keystore.StepTest {
			continue
		}
		first := "none yet"
		switch {
		case s.Done && s.By == keystore.Measured:
			first = stamp(s.At) + ", made by the console as it does"
		case s.Done:
			first = "not measured: vouched for " + stamp(s.At)
		}
		fmt.Fprintf(b, "| %s | %s |\n", cell(s.Subject), cell(first))
	}
	b.WriteByte('\n')
}

// Leftovers says what a rotation leaves behind when it is given up. For a key that is where the new value is, if
// one was made.
func Leftovers(p keystore.RotationPlan) string {
	if p.Zone == "" {
		return leftOfKey(p)
	}
	removed, _ := p.Step(keystore.StepDelete, "")
	set := slices.ContainsFunc(p.Steps, func(s keystore.RotationStep) bool { return s.Kind == keystore.StepSet && s.Done })
	switch {
	case p.ByHand():
		return "what was regenerated at the service stays, and references keep what they give now"
	case p.Undone:
		return "the new password was taken back, and the old one stays"
	case removed.Done:
		return "the old password is removed, the new one stays valid, and references keep what they give now"
	case p.DeletedSeq != 0:
		return "the old password may be removed already, the new one stays valid, and references keep what they give now"
	case !set:
		return "the new password could not be taken back, because what was held of it is lost: it may be valid beside the old one"
	}
	return "both passwords stay valid, and references keep what they give now"
}

func leftOfKey(p keystore.RotationPlan) string {
	_, held := p.References()
	created, _ := p.Step(keystore.StepCreate, "")
	refreshed, _ := p.Step(keystore.StepRefresh, "")
	switch {
	case created.Done:
		return "the new value stays behind " + held + ", and is valid until its key is deleted in the account settings"
	case refreshed.Done:
		return "the new value stays behind " + held + ": it is the only valid one of the key"
	}
	return "the new value stays behind " + held + "; the service was not seen to accept it"
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// cell escapes a text for a cell of a table. File names may contain anything: unprintable characters are shown
// by number, and nothing becomes Markdown.
func cell(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "-"
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, "U+%04X", r)
		case r == '<':
			b.WriteString("&lt;")
		case r == '`':
			b.WriteByte('\'')
		case strings.ContainsRune(`\|[]!*`, r):
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
