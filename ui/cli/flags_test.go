package cli

import (
	"maps"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagMeanings says what each flag means whose help is not the same in all commands, and how many helps that makes. A flag
// has one meaning: count another help here only if it says the same of another command, and else give the flag another
// name. refresh alone has two: of keys rotate it is the service's own word for what it does to a key.
var flagMeanings = map[string]struct {
	means string
	helps int
}{
	"abandon":      {"end the rotation", 2},
	"admin-reason": {"why an ADMIN key is used", 2},
	"again":        {"do it once more although it was done", 4},
	"allow-domain": {"host that may be fetched", 2},
	"allow-remote": {"listen for other machines", 2},
	"as":           {"form of what is written", 9},
	"at-once":      {"fetches in flight at once", 3},
	"class":        {"class of a result", 2},
	"column":       {"column that holds the URLs", 2},
	"country":      {"country of the exit", 2},
	"dataset":      {"data set that jobs are of", 2},
	"deadline":     {"how long to wait for the job's end", 2},
	"dialect":      {"what is known of the service beyond the contract", 2},
	"dry-run":      {"check everything and send nothing", 2},
	"filter":       {"only what matches", 3},
	"force":        {"replace what is there", 4},
	"format":       {"the service's own field of this name", 2},
	"from":         {"form of what is read", 3},
	"input":        {"file that is read", 3},
	"json":         {"print JSON", 6},
	"key":          {"key of the inventory", 7},
	"limit":        {"how many of the newest are listed", 3},
	"max-cost":     {"dollars that are not passed", 6},
	"once":         {"name that is used once", 2},
	"output":       {"where it is written", 8},
	"pipe":         {"command that takes the new value", 2},
	"rate":         {"items begun in a second", 2},
	"refresh":      {"ask the service now; of a key: give it a new value", 2},
	"repeat":       {"how often something is run", 2},
	"report":       {"print the record alone", 2},
	"reveal":       {"show a secret in what is written", 2},
	"sample":       {"how many rows of the input are used", 2},
	"scan":         {"folder to search too", 3},
	"skip-bad":     {"go on without the rows that cannot be used", 2},
	"store":        {"where secrets are stored", 2},
	"url":          {"address that is fetched", 3},
	"value":        {"reference to the new value", 2},
	"via":          {"access method", 5},
	"vouch":        {"vouch for a step", 2},
	"yes":          {"yes to what is asked otherwise", 6},
	"zone":         {"the zone that is used, or listed", 4},
	"zones":        {"the zones that are used", 3},
}

func TestAFlagMeansOneThing(t *testing.T) {
	helps, types := map[string]map[string][]string{}, map[string]map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			if helps[f.Name] == nil {
				helps[f.Name], types[f.Name] = map[string][]string{}, map[string]bool{}
			}
			helps[f.Name][f.Usage] = append(helps[f.Name][f.Usage], cmd.CommandPath())
			types[f.Name][f.Value.Type()] = true
		})
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	p, _, _ := process(t, nil)
	walk((&app{Process: p}).rootCommand())
	for name, of := range helps {
		if want := max(flagMeanings[name].helps, 1); len(of) != want {
			t.Errorf("--%s: %s: %d helps, want %d: %v", name, flagMeanings[name].means, len(of), want, of)
		}
		// One value or several is the only other difference that a command may make.
		if kinds := slices.Sorted(maps.Keys(types[name])); len(kinds) > 1 && !slices.Equal(kinds, []string{"string", "stringSlice"}) {
			t.Errorf("--%s has the types %v", name, kinds)
		}
	}
	for name := range flagMeanings {
		if helps[name] == nil {
			t.Errorf("no command has --%s", name)
		}
	}
}
