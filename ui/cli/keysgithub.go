package cli

import (
	"cmp"
	"fmt"
	"strings"

	"zonedeck/keystore"
	"zonedeck/service/keys"
)

// asGitHub are the findings of a check as annotations of a workflow of GitHub Actions: errors for what decides the exit code.
func asGitHub(audit keys.Audit) (lines string) {
	for _, f := range audit.Findings {
		kind := map[string]string{keystore.SeverityError: "error", keystore.SeverityWarn: "warning"}[f.Severity]
		if f.Due() {
			kind = "error"
		}
		lines += annotation(cmp.Or(kind, "notice"), strings.TrimSpace(f.Key+" "+f.Rule), f.Text+"; seen: "+f.Evidence+strings.TrimSuffix("; fix: "+f.Fix, "; fix: "))
	}
	if len(audit.Keys) == 0 {
		lines += annotation("error", "no key", "No key was checked: the inventory has none")
	}
	return lines
}

// annotation is a line that a workflow of GitHub Actions shows at the run.
func annotation(kind, title, text string) string {
	line := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s title=%s::%s\n", kind, property.Replace(sanitizeLine(title)), line.Replace(sanitizeLine(text)))
}
