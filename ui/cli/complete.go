package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"zonedeck/model"
	"zonedeck/service"
	"zonedeck/service/batch/store"
	"zonedeck/service/config"
	"zonedeck/service/database"
	"zonedeck/service/dialect"
	"zonedeck/service/drift"
	"zonedeck/service/export"
	"zonedeck/service/journal"
	"zonedeck/service/ledger"
	"zonedeck/service/profiles"
	"zonedeck/service/saved"
	"zonedeck/service/webhook"
)

// completePatience is how long a shell waits for names at most.
const completePatience = time.Second

// kinds are what flags and arguments can take, FILE beside others. Anything else is a list of words, as in "keyring|file".
const kinds = "FILE zone key profile job batch webhook dataset collector fetch request class program dialect color field file folder output data"

// completeArgs completes the arguments by the words of the usage line: "rows JOB|FILE", "check [COLLECTOR…]". Those in
// capitals are kinds, or, like NAME, free text.
func (a *app) completeArgs(cmd *cobra.Command) {
	places := arguments(cmd.Use)
	for i, place := range places {
		parts := strings.Split(strings.Trim(place, "[]"), "|")
		places[i] = strings.ReplaceAll(strings.ToLower(strings.Join(slices.DeleteFunc(parts, func(part string) bool {
			kind := strings.ToLower(strings.TrimSuffix(part, "…"))
			return (kind != part || kind == "-") && !slices.Contains(strings.Fields(kinds), kind)
		}), "|")), "file", "FILE")
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		at := len(args)
		if n := len(places); n > 0 && strings.HasSuffix(places[n-1], "…") {
			at = min(at, n-1)
		}
		if at >= len(places) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kind := strings.TrimSuffix(places[at], "…")
		if kind == "FILE" && at == 0 && slices.ContainsFunc(cmd.Commands(), func(c *cobra.Command) bool { return strings.HasPrefix(c.Name(), typed) }) {
			kind = "FILE|here"
		}
		return a.complete(cmd.Context(), kind, typed)
	}
}

// completeFlag says what a flag takes, and completes it by that.
func (a *app) completeFlag(cmd *cobra.Command, name, kind string) {
	if fl := cmd.Flag(name); fl != nil {
		fl.Annotations = map[string][]string{"takes": {kind}}
	}
	err := cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.complete(cmd.Context(), kind, typed)
	})
	if known := slices.Contains(strings.Fields(kinds), kind); err != nil || !known && kind != "" && !strings.Contains(kind, "|") {
		panic(fmt.Sprintf("flag %s takes %s: %v", name, kind, err)) // a mistake in the tag
	}
}

// complete offers what a kind, or several with "|" between them, can be, from the files of this machine alone. Whatever goes
// wrong, a shell is told nothing. Behind a comma the next one of a list is completed.
func (a *app) complete(ctx context.Context, kind, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	ctx, cancel := context.WithTimeout(ctx, completePatience)
	defer cancel()
	var out []cobra.Completion
	if slices.Contains([]string{"file", "folder", "output", "data"}, kind) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for kind := range strings.SplitSeq(kind, "|") {
		if kind == "FILE" {
			directive = cobra.ShellCompDirectiveDefault
			continue
		}
		for _, name := range a.names(ctx, kind) {
			value := before + name[0]
			if plainName().MatchString(name[0]) && strings.HasPrefix(value, typed) && !strings.Contains(","+before, ","+name[0]+",") {
				out = append(out, cobra.CompletionWithDesc(value, model.Cut(printable(name[1]), 60)))
			}
		}
	}
	return out, directive
}

// plainName is a name that no shell expands and the program takes for no flag: a part that several names share goes into
// the line as it is.
var plainName = model.Pattern(`^[\pL\pN_][\pL\pN._:/@%+=-]*$`)

// printable drops what a terminal would obey or hide.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}

// names are the names of a kind, each with what it stands for. Anything else is itself a word of a list, as in "json|csv".
func (a *app) names(ctx context.Context, kind string) (names [][2]string) {
	paths := config.FindPaths(a.Getenv)
	words := func(words ...string) (names [][2]string) {
		for _, word := range words {
			names = append(names, [2]string{word})
		}
		return names
	}
	stored := func(path, query string) [][2]string {
		if s := a.look(ctx, false); s == nil || s.OnServer() {
			return nil // a server is not asked
		}
		names, _ := database.Names(ctx, path, query)
		return names
	}
	switch kind {
	case "job":
		return stored(paths.LedgerFile(), ledger.Named)
	case "batch":
		return stored(paths.BatchesFile(), store.Named)
	case "webhook":
		return stored(paths.InboxFile(), webhook.Named)
	case "fetch":
		names, _ = database.Names(ctx, paths.JournalFile(), journal.Named)
	case "collector":
		names, _ = database.Names(ctx, paths.DriftFile(), drift.Named)
	case "request":
		all, _ := saved.New(paths.RequestsDir()).List(ctx)
		for _, e := range all {
			names = append(names, [2]string{e.Name, string(e.Request.Zone.Name)})
		}
	case "zone", "key", "dataset", "profile":
		if s := a.look(ctx, kind == "profile"); s != nil {
			return namesOf(s, kind)
		}
	case "class":
		for _, c := range model.Classes() {
			names = append(names, [2]string{string(c), c.Label()})
		}
	case "here": // of a command with subcommands: where one is offered, the shell adds no files by itself
		found, _ := filepath.Glob("[^.]*")
		return words(found...)
	case "program":
		return words(export.Names()...)
	case "dialect":
		return words(dialect.Names()...)
	case "color":
		return words(model.Colors()...)
	case "field":
		return words(strings.Split(profiles.Clearable, ", ")...)
	default:
		return words(kind)
	}
	return names
}

// look opens the service to look names up; nil if it cannot be opened, or its configuration comes through a pipe.
func (a *app) look(ctx context.Context, none bool) *service.Service {
	if name := a.config(); name != "" {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return nil
		}
	}
	o := a.options(needs{none: none})
	o.Look, o.Ask, o.Say = true, nil, func(string, ...any) {}
	s, err := service.Open(ctx, o)
	if err != nil {
		return nil
	}
	_ = s.Close(ctx) // it has opened no file to write to
	return s
}

// namesOf are the names of a kind that configuration and inventory have.
func namesOf(s *service.Service, kind string) (names [][2]string) {
	zones, keys := s.Base.Zones, s.Keys.Inventory().All()
	if s.Local != nil {
		var demo []model.Key
		zones, demo = s.Local.Announced()
		keys = append(demo, keys...)
	}
	switch kind {
	case "profile":
		for _, name := range s.Configuration().InOrder() {
			p, _ := s.Configuration().Profile(name)
			names = append(names, [2]string{name, p.BaseURL})
		}
		names = append(names, [2]string{model.LocalName, "the embedded emulator"})
	case "zone":
		for _, z := range zones {
			names = append(names, [2]string{string(z.Name), z.Product.String()})
		}
	case "key":
		for _, k := range keys {
			names = append(names, [2]string{k.Name, k.Level.String()})
		}
	case "dataset":
		for _, d := range s.KnownDatasets() {
			names = append(names, [2]string{cmp.Or(d.ID, d.Name), d.Title()})
		}
	}
	return names
}
