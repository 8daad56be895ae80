package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zonedeck/service/view"
)

// spec is a command. Its flags are the fields of F: `flag:"name" short:"n" default:"100" help:"what it is for"`. With
// `list:"comma"` a value is a list; `without:"json"` names a flag that excludes this one; `alias:"n"` is a name that is
// not shown, for scripts; `takes:"zone"` is the kind of its value, one of kinds or words as in "json|csv", by which a shell
// completes it. A field with `flag:"*"` adds its flags itself, like a field of type givenFlags.
type spec[F any] struct {
	use, short, long string
	aliases          []string
	hidden           bool
	defaults         F                               // defaults that differ between commands or are made at run time
	help             map[string]string               // help of flags, by name, that is made at run time
	unless           string                          // flags that make up for an argument
	check            func(f *F, args []string) error // runs before the service is opened; may set fields that are not flags
	needs            func(F) needs                   // nil means F's own; if F has none, the task has no opened service
	run              func(ctx context.Context, t *task, f F, args []string) (printed, error)
}

// printed is a command's output: an object with --json, else a table, a text or what was done.
type printed struct {
	object  any        // for --json
	rows    [][]string // the table
	text    string     // follows the table
	done    string     // what the command did, if it prints nothing else: on stderr, or as the text of an object
	note    string     // follows on stderr, not with --json
	verdict string     // comes last, on stderr, also with --json; with --quiet only if code says that it failed
	code    int
	partial bool // it is printed beside an error; see withError
}

// withError is the result of a command that failed after something was done, found or billed. Without it, a command that fails
// prints its error alone.
func (p printed) withError(err error) (printed, error) {
	p.partial = true
	return p, err
}

// printedText is a text as output, plain or in an object.
func printedText(text string) printed { return printed{object: view.Text{Text: text}, text: text} }

// jsonFlag is the flag of a command that can print a JSON object.
type jsonFlag struct {
	JSON bool `flag:"json" help:"print one JSON object"`
}

// reasonFlag permits an ADMIN key.
type reasonFlag struct {
	Reason string `flag:"admin-reason" help:"why this command has to use an ADMIN key, which is otherwise refused (exit 42); shown in History"`
}

// askFlag says with which key the service is asked.
type askFlag struct {
	Key string `flag:"key" takes:"key" help:"key of the inventory to ask with (default: the profile's)"`
	reasonFlag
	jsonFlag
}

func (f askFlag) needs() needs { return needs{key: f.Key, journal: true, reason: f.Reason} }

// jobFlags are the flags of a command about jobs that asks the service.
type jobFlags struct {
	reasonFlag
	jsonFlag
}

func (f jobFlags) needs() needs { return needs{ledger: true, reason: f.Reason} }

// noProfile is the needs of a command that works without a profile.
func noProfile[F any](F) needs { return needs{none: true} }

// definition is a spec whatever its F, so that what makes a command of it is compiled once.
type definition interface {
	plain() (cmd *cobra.Command, flags reflect.Value, help map[string]string)
	required() needs
	prepare(args []string) error
	act(ctx context.Context, t *task, args []string) (printed, error)
}

func (s *spec[F]) plain() (*cobra.Command, reflect.Value, map[string]string) {
	cmd := &cobra.Command{Use: s.use, Short: s.short, Long: s.long, Aliases: s.aliases, Hidden: s.hidden, Args: usageArgs(s.use, s.unless)}
	return cmd, reflect.ValueOf(&s.defaults).Elem(), s.help
}

func (s *spec[F]) required() needs {
	if s.needs != nil {
		return s.needs(s.defaults)
	}
	if own, has := any(s.defaults).(interface{ needs() needs }); has {
		return own.needs()
	}
	return needs{closed: true}
}

func (s *spec[F]) prepare(args []string) error {
	if s.check == nil {
		return nil
	}
	return s.check(&s.defaults, args)
}

func (s *spec[F]) act(ctx context.Context, t *task, args []string) (printed, error) {
	return s.run(ctx, t, s.defaults, args)
}

// command makes the command of a spec, whose defaults become what the flags say.
func command[F any](a *app, s spec[F]) *cobra.Command { return a.command(&s) }

func (a *app) command(d definition) *cobra.Command {
	cmd, flags, helps := d.plain()
	excluding := a.addFlags(cmd, flags)
	a.completeArgs(cmd)
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if n := d.required(); !n.closed {
			if err := a.options(n).AccountNamed(); err != nil {
				return err
			}
		}
		for _, pair := range excluding {
			if cmd.Flags().Changed(pair[0]) && cmd.Flags().Changed(pair[1]) {
				return usage("--%s and --%s exclude each other: leave one out", pair[0], pair[1])
			}
		}
		return check(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.readData(cmd, args); err != nil {
			return err
		}
		if err := d.prepare(args); err != nil {
			return err
		}
		return a.withSession(cmd.Context(), d.required(), func(t *task) error {
			p, err := d.act(cmd.Context(), t, args)
			return a.conclude(p, err)
		})
	}
	for name, help := range helps {
		cmd.Flags().Lookup(name).Usage = help
	}
	return cmd
}

// readData replaces --data @FILE by the text of the file, and refuses two readers of standard input.
func (a *app) readData(cmd *cobra.Command, args []string) (err error) {
	var onInput []string
	if slices.Contains(args, "-") {
		onInput = append(onInput, "the argument")
	}
	cmd.Flags().VisitAll(func(fl *pflag.Flag) {
		value := fl.Value.String()
		kind := strings.Join(fl.Annotations["takes"], "")
		data := kind == "data"
		if value == "-" && (data || kind == "file" || strings.HasSuffix(kind, "|FILE")) || data && value == "@-" {
			onInput = append(onInput, "--"+fl.Name)
		}
	})
	if len(onInput) > 1 {
		return usage("%s both want standard input: name a file for one of them", strings.Join(onInput, " and "))
	}
	if fl := cmd.Flags().Lookup("data"); fl != nil && fl.Changed {
		var text string
		if text, err = a.dataOf(cmd.Context(), fl.Value.String()); err == nil {
			err = fl.Value.Set(text)
		}
	}
	return err
}

// arguments are the words of a usage line for what stands behind the command's name: "[FETCH…]".
func arguments(use string) []string {
	use, _, _ = strings.Cut(use, " -")
	return strings.Fields(use)[1:]
}

// argument says what the words of usage lines stand for.
var argument = map[string]string{
	"BATCH": "a batch, as 'zonedeck batch list' names it", "COLLECTOR": "a collector, as 'zonedeck drift list' names it",
	"DATASET": "a data set, as 'zonedeck datasets list' names it", "JOB": "a job, as 'zonedeck jobs list' names it",
	"KEY": "a key, as 'zonedeck keys list' names it", "PROFILE": "a profile, as 'zonedeck profiles list' names it",
	"REQUEST": "a saved request, as 'zonedeck saved list' names it", "WEBHOOK": "a webhook, as 'zonedeck webhook list' names it",
	"ZONE": "a zone, as 'zonedeck zones list' names it", "URL": "the URL to fetch", "NAME": "a name", "NEW": "the new name",
	"FILE": "a file", "FOLDER": "a folder", "-": "- for standard input",
	"REFERENCE": "a reference, as file:NAME or keyring:service/name", "SNAPSHOT": "the service's identifier of a job",
}

// usageArgs are the arguments of a usage line: those in brackets may be missing, unless names flags that make up for the
// first, and … repeats the last.
func usageArgs(use, unless string) cobra.PositionalArgs {
	words := arguments(use)
	least := len(slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word[0] == '[' }))
	return func(cmd *cobra.Command, args []string) error {
		switch needed := unless != "" && len(args) == 0 && !slices.ContainsFunc(strings.Fields(unless), cmd.Flags().Changed); {
		case len(words) == 0 && len(args) > 0:
			return misspelt(cmd, cobra.NoArgs(cmd, args))
		case needed, len(args) < least:
			word := strings.Trim(words[len(args)], "[]")
			parts := strings.Split(word, "|")
			for i, part := range parts {
				parts[i] = cmp.Or(argument[strings.TrimSuffix(part, "…")], part)
			}
			return misspelt(cmd, fmt.Errorf("%s needs %s", cmd.CommandPath(), strings.Join(parts, ", or ")))
		case len(args) > len(words) && !strings.Contains(use, "…"):
			return misspelt(cmd, fmt.Errorf("%s takes only %s: unexpected %q", cmd.CommandPath(), strings.Join(words, " "), args[len(words)]))
		}
		return nil
	}
}

// givenFlags knows which flags of a command were given.
type givenFlags struct{ cmd *cobra.Command }

func (g *givenFlags) addTo(cmd *cobra.Command) { g.cmd = cmd }

func (g givenFlags) has(name string) bool { return g.cmd.Flags().Changed(name) }

// ignored names the given flags that a command in this mode would ignore: those of the other mode, which are the flags
// ofMode or, in that mode, all other flags except both.
func (g givenFlags) ignored(mode bool, ofMode, both []string) string {
	var names []string
	g.cmd.LocalNonPersistentFlags().VisitAll(func(fl *pflag.Flag) {
		if fl.Changed && !slices.Contains(both, fl.Name) && slices.Contains(ofMode, fl.Name) != mode {
			names = append(names, "--"+fl.Name)
		}
	})
	return strings.Join(names, ", ")
}

// conclude prints a command's output and ends it.
func (a *app) conclude(p printed, err error) error {
	var failed error
	switch {
	case err != nil && !p.partial:
		return err
	case p.done != "" && a.json:
		failed = a.printJSON(view.Text{Text: p.done})
	case p.done != "":
		a.say("zonedeck: %s", p.done)
	case a.json && p.object != nil:
		failed = a.printJSON(p.object)
	case len(p.rows) > 0:
		failed = a.printColumns(p.rows)
	}
	if failed == nil && p.text != "" && !a.json {
		failed = a.printText(p.text)
	}
	if failed != nil {
		return errors.Join(failed, err)
	}
	if p.note != "" && !a.json {
		a.say("zonedeck: %s", p.note)
	}
	if err != nil {
		return err
	}
	if p.verdict != "" {
		a.verdict(p.code, p.verdict)
	}
	return exit(p.code)
}

// addFlags adds the flags of a struct and of embedded structs. It returns the pairs that exclude each other.
func (a *app) addFlags(cmd *cobra.Command, flags reflect.Value) (excluding [][]string) {
	fl := cmd.Flags()
	for i := range flags.NumField() {
		f, at := flags.Type().Field(i), flags.Field(i)
		name, short, usual, help := f.Tag.Get("flag"), f.Tag.Get("short"), f.Tag.Get("default"), f.Tag.Get("help")
		if name == "" {
			if f.Anonymous {
				excluding = append(excluding, a.addFlags(cmd, at)...)
			}
			continue
		}
		if alias := f.Tag.Get("alias"); alias != "" {
			fl.SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
				if given == alias {
					given = name
				}
				return pflag.NormalizedName(given)
			})
		}
		if other := f.Tag.Get("without"); other != "" {
			excluding = append(excluding, []string{name, other})
		}
		switch p := at.Addr().Interface().(type) {
		case interface{ addTo(*cobra.Command) }:
			p.addTo(cmd)
		case *string:
			fl.StringVarP(p, name, short, cmp.Or(usual, *p), help)
		case *bool:
			fl.BoolVarP(p, name, short, *p, help)
		case *int:
			if usual != "" {
				n, err := strconv.Atoi(usual)
				if err != nil {
					panic(err) // a mistake in the tag
				}
				*p = n
			}
			fl.IntVarP(p, name, short, *p, help)
		case *float64:
			fl.Float64VarP(p, name, short, *p, help)
		case *[]string:
			if f.Tag.Get("list") == "comma" {
				fl.StringSliceVarP(p, name, short, *p, help)
			} else {
				fl.StringArrayVarP(p, name, short, *p, help)
			}
		case pflag.Value:
			fl.VarP(p, name, short, help)
		default:
			panic(fmt.Sprintf("flag %s: a flag cannot have the type %s", name, f.Type))
		}
		if name != "*" {
			a.completeFlag(cmd, name, f.Tag.Get("takes"))
		}
	}
	return excluding
}
