package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/service/exchange"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

// catalogueFlags say with which key the service is asked, and whether it must be.
type catalogueFlags struct {
	askFlag
	Refresh bool `flag:"refresh" help:"ask the service, even if its list was read within the last day"`
}

func (a *app) datasetsListCommand() *cobra.Command {
	return command(a, spec[catalogueFlags]{
		use:   "list [WORD…]",
		short: "List the data sets, or those that match all the words",
		long: `Lists the data sets that jobs can be started for, and the products whose jobs have
none. It is the service's list, kept for a day, if the profile's dialect knows how
to ask for it; otherwise a list in the program, from public sources. Standard
error says which one it is and how old. RECORDS is how many a data set holds, where
the service shows that.

A word is looked for in names, identifiers, sites and descriptions. kind:search
lists one kind (scraper, crawl, search, discover, deep_lookup).`,
		run: listDatasets,
	})
}

func (a *app) datasetsShowCommand() *cobra.Command {
	return command(a, spec[askFlag]{
		use:   "show DATASET",
		short: "Show the inputs of a data set",
		run:   showDataset,
	})
}

// unknownWords says that no data set has this name, and where the names are listed.
func unknownWords(err *catalogue.UnknownError) string {
	words := err.Error()
	if len(err.Candidates) == 0 {
		words += "; 'zonedeck datasets list' lists them"
	}
	return words
}

// permitKey refuses a named key that may not be used, even if the kept list suffices and the service
// is not asked.
func (t *task) permitKey(ctx context.Context, key string) error {
	if key == "" {
		return nil
	}
	if _, err := t.Profile(ctx); err != nil { // the emulator must run before it knows its keys
		return fail(exitState, "%w", err)
	}
	if _, err := t.Keys.May(ctx, key); err != nil {
		return fetchError(ctx, err)
	}
	return nil
}

// sayOrigin says where a list is from, and why there is no newer one.
func (t *task) sayOrigin(l catalogue.Listing) {
	t.app.say("zonedeck: %s", l.Origin(t.Now()))
	if l.Problem != "" {
		t.app.say("zonedeck: the service's list: %s", l.Problem)
	}
	if call := (*exchange.CallError)(nil); errors.As(l.Err, &call) {
		t.sayFault(model.JobFault{Diagnosis: call.Diagnosis, At: t.Now()}, t.keyName())
	}
}

func listDatasets(ctx context.Context, t *task, f catalogueFlags, words []string) (printed, error) {
	if err := t.permitKey(ctx, f.Key); err != nil {
		return printed{}, err
	}
	l, err := t.Jobs.Datasets(ctx, f.Key, f.Refresh)
	if err != nil {
		return printed{}, jobError(ctx, err)
	}
	t.sayOrigin(l)
	if l.Skipped > 0 {
		t.app.say("zonedeck: left out for lack of a usable identifier: %s", text.Counted(l.Skipped, "data set"))
	}
	wanted := strings.Join(words, " ")
	found := l.Search(wanted)
	if len(found) == 0 && !f.JSON {
		return printed{}, fail(exitChecksFailed, "none of %d data sets has the words %q", len(l.Datasets), wanted)
	}
	rows := [][]string{{"DATASET", "KIND", "RECORDS", "NAME", "INPUTS"}}
	for _, c := range found {
		rows = append(rows, []string{c.ID, string(c.Kind), recordsHeld(c), c.Title(), methodWords(c)})
	}
	return printed{object: view.NewCatalogue(l, found, t.Now()), rows: rows}, nil
}

// recordsHeld is how many records a data set holds.
func recordsHeld(c model.Dataset) string {
	if c.Records == nil {
		return "-"
	}
	return fmt.Sprint(*c.Records)
}

// methodWords lists the ways to collect, in a word or two each.
func methodWords(c model.Dataset) string {
	if len(c.Methods) == 0 {
		return "not shown"
	}
	out := make([]string, 0, len(c.Methods))
	for _, m := range c.Methods {
		switch {
		case m.Discover != "":
			out = append(out, m.Label())
		case m.FieldsKnown():
			out = append(out, cmp.Or(strings.Join(m.Required(), "+"), "none required"))
		default:
			out = append(out, m.Label())
		}
	}
	return strings.Join(out, ", ")
}

func showDataset(ctx context.Context, t *task, f askFlag, args []string) (printed, error) {
	if err := t.permitKey(ctx, f.Key); err != nil {
		return printed{}, err
	}
	c, l, err := t.Jobs.Dataset(ctx, f.Key, args[0])
	if unknown := (*catalogue.UnknownError)(nil); errors.As(err, &unknown) {
		return printed{}, usage("%s", unknownWords(unknown))
	}
	if err != nil {
		return printed{}, jobError(ctx, err)
	}
	t.sayOrigin(l)
	rows := [][]string{{"DATASET", c.ID}, {"NAME", c.Title()}, {"KIND", c.Kind.Label()}}
	for _, row := range [][]string{{"ALSO", strings.Join(c.Names, ", ")}, {"DOMAIN", c.Domain}, {"ABOUT", c.Description}} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	if len(c.Methods) == 0 {
		rows = append(rows, []string{}, []string{"its inputs are not shown"})
	} else {
		for _, m := range c.CollectMethods() {
			rows = append(rows, methodRows(m)...)
		}
	}
	return printed{object: view.NewCatalogueDataset(l, c, t.Now()), rows: rows}, nil
}

// methodRows are a way to collect, with the fields of an input.
func methodRows(m model.CollectMethod) [][]string {
	head := [][]string{{}, {m.Label()}}
	if cost := m.Cost(); cost != "" {
		head = append(head, []string{"  costs: " + cost})
	}
	if !m.FieldsKnown() {
		return append(head, []string{"  its fields are not shown"})
	}
	rows := [][]string{{"  FIELD", "TYPE", "", "DEFAULT", "EXAMPLE", ""}}
	for _, f := range m.Fields {
		need := "optional"
		if f.Required {
			need = "required"
		}
		rows = append(rows, []string{"  " + f.Name, f.Type, need, f.Default, f.Example, f.Description})
	}
	return append(head, filledColumns(rows)...)
}
