package cli

import (
	"zonedeck/service/view"
)

// printProfile prints a profile and what was checked.
func (t *task) printProfile(f profileFlags, out view.Profile) error {
	if f.json {
		return t.app.printJSON(out)
	}
	rows := [][]string{{"profile", out.Profile}, {"base URL", out.BaseURL}, {"proxy", out.Proxy}, {"account", out.Account}, {"dialect", out.Dialect}, {"CA", out.CA}}
	rows = append(rows, []string{"key", out.Key.Name + ", " + out.Key.Level + ", " + out.Key.Reference})
	for _, z := range out.Zones {
		rows = append(rows, []string{"zone", z.Name + ", " + z.Product + ", " + z.Reference})
	}
	for _, c := range out.Checks {
		rows = append(rows, []string{c.State, c.Subject + ": " + c.Text})
	}
	for i := range rows {
		for j := range rows[i] {
			rows[i][j] = sanitizeLine(rows[i][j])
		}
	}
	if err := printColumns(t.app.Stdout, rows); err != nil {
		return err
	}
	if out.Saved {
		t.app.say("zonedeck: profile %s is saved", out.Profile)
	} else {
		t.app.say("zonedeck: profile %s is not saved", out.Profile)
	}
	return nil
}
