package cli

import (
	"testing"

	"zonedeck/service/rules"
)

func TestTheRulesOfThePageLoad(t *testing.T) {
	all, err := rules.Parse("rules.toml", []byte(block(t, "docs/diagnosis.md", "toml", "[[rules]]")))
	if err != nil || len(all) != 1 || all[0].Match.Body == nil {
		t.Errorf("%+v, %v", all, err)
	}
}
