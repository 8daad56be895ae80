package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/keys"
	"zonedeck/ui/kit/widget"
)

// asGitHub is a check as annotations of a workflow of GitHub Actions: an error for what decides the exit code, a warning for what
// is unknown.
func asGitHub(audit keys.Audit, within time.Duration) string {
	var b strings.Builder
	say := func(kind, title, text string) {
		line := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
		property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
		fmt.Fprintf(&b, "::%s title=%s::%s\n", kind, property.Replace(sanitizeLine(title)), line.Replace(sanitizeLine(text)))
	}
	for _, k := range audit.Keys {
		now := audit.Now(k)
		kind, state := "error", k.State(now, within)
		switch {
		case state < model.KeyUnknown:
			continue
		case state == model.KeyUnknown:
			kind = "warning"
		}
		say(kind, k.Name+" "+k.StateWord(now, within), fmt.Sprintf("Key %s (%s): expires %s; rotation: %s", k.Name, k.Level, widget.ExpiryCell(k, now), widget.RotationCell(k, now)))
	}
	for _, f := range audit.Findings {
		if strings.HasPrefix(f.Rule, "expir") || strings.HasPrefix(f.Rule, "rotation") { // the key's own line says so
			continue
		}
		kind := map[string]string{keystore.SeverityError: "error", keystore.SeverityWarn: "warning"}[f.Severity]
		say(cmp.Or(kind, "notice"), strings.TrimSpace(f.Key+" "+f.Rule), f.Text+"; seen: "+f.Evidence+strings.TrimSuffix("; fix: "+f.Fix, "; fix: "))
	}
	if len(audit.Keys) == 0 {
		say("error", "no key", "No key was checked: the inventory has none")
	}
	return b.String()
}
