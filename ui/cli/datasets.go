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

func (a *app) datasetsCommand() *cobra.Command {
	return group("datasets", "List the data sets that jobs can be started for, and show their inputs", a.datasetsListCommand(), a.datasetsShowCommand())
}

// catalogueFlags say by which key the service is asked, and whether it is.
type catalogueFlags struct {
	key, reason   string
	refresh, json bool
}

func (f *catalogueFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.key, "key", "", "key of the inventory to ask with (default: the profile's)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	adminFlag(cmd, &f.reason)
}

func (f *catalogueFlags) needs() needs {
	return needs{key: f.key, journal: true, reason: f.reason}
}

func (a *app) datasetsListCommand() *cobra.Command {
	var f catalogueFlags
	cmd := &cobra.Command{
		Use:   "list [WORD...]",
		Short: "List the data sets, or those that match all the words",
		Long: `Lists the data sets that jobs can be started for. It is the service's list, kept
for a day, if the profile's dialect knows how to ask for it; otherwise a list in
the program, from public sources. Standard error says which one it is and how
old.

A word is looked for in names, identifiers, sites and descriptions. kind:search
lists one kind (scraper, crawl, search, discover, deep_lookup).`,
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.withSession(cmd.Context(), f.needs(), func(t *task) error {
				if err := t.permitKey(cmd.Context(), f.key); err != nil {
					return err
				}
				return t.listCollectors(cmd.Context(), f, strings.Join(words, " "))
			})
		},
	}
	cmd.Flags().BoolVar(&f.refresh, "refresh", false, "ask the service, even if its list was read within the last day")
	f.add(cmd)
	return cmd
}

func (a *app) datasetsShowCommand() *cobra.Command {
	var f catalogueFlags
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the inputs of a data set",
		Args:  oneArg("the data set, by its identifier or its name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), f.needs(), func(t *task) error {
				if err := t.permitKey(cmd.Context(), f.key); err != nil {
					return err
				}
				return t.showCollector(cmd.Context(), f, args[0])
			})
		},
	}
	f.add(cmd)
	return cmd
}

// unknownWords say that no data set goes by a name, and where their names are.
func unknownWords(err *catalogue.UnknownError) string {
	words := sanitizeLine(err.Error())
	if len(err.Candidates) == 0 {
		words += "; 'zonedeck datasets list' has those there are"
	}
	return words
}

// permitKey refuses a key that was named and would be refused if the service were asked, also where
// what is kept of its list is enough.
func (t *task) permitKey(ctx context.Context, key string) error {
	if key == "" {
		return nil
	}
	if _, err := t.Profile(ctx); err != nil { // the emulator knows its keys once it runs
		return fail(exitState, "%w", err)
	}
	if err := t.PermitLaunch(ctx, key); err != nil {
		return fetchError(ctx, err)
	}
	return nil
}

// sayOrigin says where a list is from, and why it is not newer.
func (t *task) sayOrigin(l catalogue.Listing) {
	t.app.say("zonedeck: %s", l.Origin(t.Now()))
	if l.Problem != "" {
		t.app.say("zonedeck: the service's list: %s", sanitizeLine(l.Problem))
	}
	if call := (*exchange.CallError)(nil); errors.As(l.Err, &call) {
		t.sayFault(model.JobFault{Diagnosis: call.Diagnosis, At: t.Now()}, t.keyName())
	}
}

func (t *task) listCollectors(ctx context.Context, f catalogueFlags, words string) error {
	l, err := t.Client.Collectors(ctx, f.key, f.refresh)
	if err != nil {
		return jobError(ctx, err)
	}
	t.sayOrigin(l)
	if l.Skipped > 0 {
		t.app.say("zonedeck: left out, because no identifier of it could be used: %s", text.Counted(l.Skipped, "data set"))
	}
	found := l.Search(words)
	if f.json {
		return t.app.printJSON(view.NewCatalogue(l, found, t.Now()))
	}
	if len(found) == 0 {
		return fail(exitChecksFailed, "none of %d data sets has the words %q", len(l.Collectors), words)
	}
	rows := [][]string{{"DATASET", "KIND", "NAME", "INPUTS"}}
	for _, c := range found {
		rows = append(rows, []string{c.ID, string(c.Kind), c.Title(), methodWords(c)})
	}
	return printColumns(t.app.Stdout, rows)
}

// methodWords are the ways to collect in a word each.
func methodWords(c model.Collector) string {
	if len(c.Methods) == 0 {
		return "not shown"
	}
	out := make([]string, 0, len(c.Methods))
	for _, m := range c.Methods {
		switch {
		case m.Discover != "":
			out = append(out, m.Label())
		case m.Shown():
			out = append(out, cmp.Or(strings.Join(m.Required(), "+"), "none required"))
		default:
			out = append(out, m.Label())
		}
	}
	return strings.Join(out, ", ")
}

func (t *task) showCollector(ctx context.Context, f catalogueFlags, name string) error {
	c, l, err := t.Client.Collector(ctx, f.key, name)
	if unknown := (*catalogue.UnknownError)(nil); errors.As(err, &unknown) {
		return usage("%s", unknownWords(unknown))
	}
	if err != nil {
		return jobError(ctx, err)
	}
	t.sayOrigin(l)
	if f.json {
		return t.app.printJSON(view.NewCatalogueDataset(l, c, t.Now()))
	}
	head := [][]string{{"DATASET", c.ID}, {"NAME", c.Title()}, {"KIND", c.Kind.Label()}}
	for _, row := range [][]string{{"ALSO", strings.Join(c.Names, ", ")}, {"DOMAIN", c.Domain}, {"ABOUT", c.Description}} {
		if row[1] != "" {
			head = append(head, row)
		}
	}
	if err := printColumns(t.app.Stdout, head); err != nil {
		return err
	}
	if len(c.Methods) == 0 {
		_, err := fmt.Fprintln(t.app.Stdout, "\nwhat its inputs are is not shown")
		return err
	}
	for _, m := range c.Ways() {
		if err := t.printMethod(m); err != nil {
			return err
		}
	}
	return nil
}

func (t *task) printMethod(m model.CollectMethod) error {
	head := "\n" + sanitizeLine(m.Label())
	if cost := m.Cost(); cost != "" {
		head += "\n  costs: " + cost
	}
	if _, err := fmt.Fprintln(t.app.Stdout, head); err != nil {
		return fail(exitState, "write the data set: %w", err)
	}
	if !m.Shown() {
		_, err := fmt.Fprintln(t.app.Stdout, "  its fields are not shown")
		return err
	}
	rows := [][]string{{"  FIELD", "TYPE", "", "DEFAULT", "EXAMPLE", ""}}
	for _, f := range m.Fields {
		need := "optional"
		if f.Required {
			need = "required"
		}
		rows = append(rows, []string{"  " + f.Name, f.Type, need, f.Default, f.Example, f.Description})
	}
	return printColumns(t.app.Stdout, filledColumns(rows))
}
