package radius_test

import (
	"slices"
	"strings"
	"testing"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/radius"
)

// TestTheValuesThatRotationsLeftAreLookedFor has files with the present value of a key, with one that a
// rotation left valid, and with one that a rotation ended.
func TestTheValuesThatRotationsLeftAreLookedFor(t *testing.T) {
	const endedValue = "brd-key-ended-7c1f0a9e4d3b2c5f"
	other, ended := keystore.NewSecret(otherValue), keystore.NewSecret(endedValue)
	dir := t.TempDir()
	write(t, dir, "a.env", "A="+oldValue+"\n")
	write(t, dir, "b.env", "B="+otherValue+"\n")
	write(t, dir, "c.env", "C="+endedValue+"\n")
	write(t, dir, "repo/d.sh", "run "+otherValue+"\nrun "+endedValue+"\n")
	git(t, dir+"/repo", "init", "-q")
	git(t, dir+"/repo", "add", ".")
	subject := radius.KeySubject(etl(), "")
	subject.Recorded = nil
	subject.PreviousValues = []keystore.PreviousValue{
		{Fingerprint: subject.Fingerprint, Last4: subject.Last4, Ended: now}, // the present one is what it is, whatever a record says
		{Fingerprint: other.Fingerprint(), Last4: other.Last4()},
		{Fingerprint: ended.Fingerprint(), Last4: ended.Last4(), Ended: now},
	}
	twin := model.Key{Name: "twin", Secret: "env:TWIN", Fingerprint: other.Fingerprint()}
	dead := model.Key{Name: "dead", Secret: "env:DEAD", Fingerprint: ended.Fingerprint()}
	file := loaded(t, "[profiles.twin]\nbase_url = \"https://api.example.com\"\nkey = \"twin\"\n[profiles.dead]\nbase_url = \"https://api.example.com\"\nkey = \"dead\"\n")
	from := radius.Sources{Current: model.Profile{Name: "none"}, Config: file, Inventory: []model.Key{etl(), twin, dead}, Folders: []string{dir}, Now: nil}
	lines, _ := found(t, from, subject)
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, dir+"/", "")
	}
	const why = " (the value there has ended on 2026-11-21T12:00:00Z, and is refused: give it the present one)"
	same(t, "uses", lines, []string{
		"profile: profile twin by env:TWIN", "recorded: key twin by env:TWIN", "env file: a.env:1 …f2a1", "env file: b.env:1 …a0b1",
		"env file: c.env:1 …2c5f" + why, "git-tracked file: repo/d.sh:1 …a0b1", "git-tracked file: repo/d.sh:2 …2c5f" + why,
	})

	uses := []radius.Use{
		{Kind: radius.EnvFile, Place: "a.env:1", Fingerprint: subject.Fingerprint},
		{Kind: radius.TrackedFile, Place: "d.sh:1", Fingerprint: "b", Previous: true},
		{Kind: radius.TrackedFile, Place: "d.sh:2", Ended: now},
		{Kind: radius.EnvFile, Place: "c.env:1", Ended: now},
	}
	seen := radius.KeyUsage(etl(), uses)
	if !slices.Equal(seen.Automated, []string{"a.env:1"}) || !slices.Equal(seen.Tracked, []string{"d.sh:1"}) || !slices.Equal(seen.Ended, []string{"d.sh:2", "c.env:1"}) {
		t.Errorf("the rules see %+v", seen)
	}
	if names := radius.Names(model.Key{}, uses); !slices.Equal(names, []string{"a.env:1", "d.sh:1"}) {
		t.Errorf("it is used by %q", names)
	}
}
