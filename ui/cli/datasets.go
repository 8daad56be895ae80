package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/service/exchange"
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

// originJSON says where a list is from: "service", "builtin" or, for a data set that is on neither, "none".
type originJSON struct {
	Source  string     `json:"source"`
	Read    *time.Time `json:"read"`
	Age     *int64     `json:"age_seconds"`
	Problem string     `json:"problem"`
	// Diagnosis is null where the service was not asked, or answered.
	Diagnosis *faultJSON `json:"diagnosis"`
}

func newOriginJSON(l catalogue.Listing, now time.Time) originJSON {
	out := originJSON{Source: "builtin", Problem: l.Problem}
	switch {
	case !l.Builtin():
		read, age := l.Read.UTC(), int64(now.Sub(l.Read).Seconds())
		out.Source, out.Read, out.Age = "service", &read, &age
	case l.None():
		out.Source = "none"
	}
	if call := (*exchange.CallError)(nil); errors.As(l.Err, &call) {
		verdict := newFaultJSON(model.JobFault{Diagnosis: call.Diagnosis, At: now})
		out.Diagnosis = &verdict
	}
	return out
}

// collectorJSON is a data set (docs/schema/catalogue.json).
type collectorJSON struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Names       []string     `json:"names"`
	Kind        string       `json:"kind"`
	Domain      string       `json:"domain"`
	Description string       `json:"description"`
	Methods     []methodJSON `json:"methods"`
}

// methodJSON is a way to collect; fields is null where they are not shown.
type methodJSON struct {
	Discover string           `json:"discover"`
	Bound    string           `json:"bound"`
	Cost     string           `json:"cost"`
	Fields   []inputFieldJSON `json:"fields"`
}

// inputFieldJSON is a field of an input; example and default are null where they are not shown.
type inputFieldJSON struct {
	Name        string          `json:"name"`
	Type        string          `json:"type"`
	Required    bool            `json:"required"`
	Description string          `json:"description"`
	Example     json.RawMessage `json:"example"`
	Default     json.RawMessage `json:"default"`
}

func newCollectorJSON(c model.Collector) collectorJSON {
	out := collectorJSON{
		ID: c.ID, Name: c.Name, Names: append([]string{}, c.Names...), Kind: string(c.Kind), Domain: c.Domain, Description: c.Description, Methods: []methodJSON{},
	}
	for _, m := range c.Ways() {
		method := methodJSON{Discover: m.Discover, Bound: m.Bound, Cost: m.Cost()}
		if m.Shown() {
			method.Fields = []inputFieldJSON{}
		}
		for _, f := range m.Fields {
			method.Fields = append(method.Fields, inputFieldJSON{
				f.Name, f.Type, f.Required, f.Description, json.RawMessage(cmp.Or(f.Example, "null")), json.RawMessage(cmp.Or(f.Default, "null")),
			})
		}
		out.Methods = append(out.Methods, method)
	}
	return out
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
		out := make([]collectorJSON, 0, len(found))
		for _, c := range found {
			out = append(out, newCollectorJSON(c))
		}
		return t.app.printJSON(struct {
			SchemaVersion int `json:"schema_version"`
			originJSON
			Datasets []collectorJSON `json:"datasets"`
		}{schemaVersion, newOriginJSON(l, t.Now()), out})
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
		return t.app.printJSON(struct {
			SchemaVersion int `json:"schema_version"`
			originJSON
			Dataset collectorJSON `json:"dataset"`
		}{schemaVersion, newOriginJSON(l, t.Now()), newCollectorJSON(c)})
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
