package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zonedeck/service/view"
)

// spec is a command. Its flags are the fields of F: `flag:"name" short:"n" default:"100" help:"what it is for"`. With
// `list:"comma"` a value holds several, `without:"json"` names a flag that excludes this one, and a field with `flag:"*"`
// adds its flags itself, as Given does, a field of givenFlags.
type spec[F any] struct {
	use, short, long string
	aliases          []string
	hidden           bool
	defaults         F                               // of flags whose defaults differ between commands, or are made at run time
	help             map[string]string               // of flags whose texts are
	args             cobra.PositionalArgs            // no argument is taken where it is nil
	check            func(f *F, args []string) error // before a session is opened; may set fields that are no flags
	needs            func(F) needs                   // F's own where it is nil; no session is opened where F has none: the task has none
	run              func(ctx context.Context, t *task, f F, args []string) (printed, error)
}

// printed is what a command came to: an object with --json, else a table or what was done.
type printed struct {
	object  any        // of --json
	rows    [][]string // the table
	text    string     // is written after the table
	done    string     // what the command did, where it prints nothing else: on stderr, or as the text of an object
	note    string     // is said after the table
	verdict string     // is said last, also with --json; with --quiet only where code says that it failed
	code    int
}

// printedText is a text, as it is or in an object.
func printedText(text string) printed { return printed{object: view.Text{Text: text}, text: text} }

// jsonFlag is the flag of a command that prints an object.
type jsonFlag struct {
	JSON bool `flag:"json" help:"print one JSON object"`
}

// reasonFlag permits an ADMIN key.
type reasonFlag struct {
	Reason string `flag:"admin-reason" help:"why this command has to use an ADMIN key, which is otherwise refused (exit 42); shown in History"`
}

// adminFlag adds the flag of reasonFlag.
func adminFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "admin-reason", "", reflect.TypeFor[reasonFlag]().Field(0).Tag.Get("help"))
}

// askFlag says by which key the service is asked about the account.
type askFlag struct {
	Key string `flag:"key" help:"key of the inventory to ask with (default: the profile's)"`
	reasonFlag
	jsonFlag
}

func (f askFlag) needs() needs { return needs{key: f.Key, journal: true, reason: f.Reason} }

// jobFlags are those of a command about jobs that asks the service.
type jobFlags struct {
	reasonFlag
	jsonFlag
}

func (f jobFlags) needs() needs { return needs{ledger: true, reason: f.Reason} }

// noProfile is the need of a command that works without a profile.
func noProfile[F any](F) needs { return needs{none: true} }

// command makes the command of a spec.
func command[F any](a *app, s spec[F]) *cobra.Command {
	f := s.defaults
	if s.args == nil {
		s.args = cobra.NoArgs
	}
	cmd := &cobra.Command{
		Use: s.use, Short: s.short, Long: s.long, Args: usageArgs(s.args), Aliases: s.aliases, Hidden: s.hidden,
		RunE: func(cmd *cobra.Command, args []string) error {
			act := func(t *task) error {
				p, err := s.run(cmd.Context(), t, f, args)
				return a.conclude(p, err)
			}
			if s.check != nil {
				if err := s.check(&f, args); err != nil {
					return err
				}
			}
			switch own, has := any(f).(interface{ needs() needs }); {
			case s.needs != nil:
				return a.withSession(cmd.Context(), s.needs(f), act)
			case has:
				return a.withSession(cmd.Context(), own.needs(), act)
			default:
				return act(&task{app: a})
			}
		},
	}
	excluding := addFlags(cmd.Flags(), reflect.ValueOf(&f).Elem())
	for name, help := range s.help {
		cmd.Flags().Lookup(name).Usage = help
	}
	for _, pair := range excluding {
		cmd.MarkFlagsMutuallyExclusive(pair...)
	}
	return cmd
}

// givenFlags knows which flags of a command were given.
type givenFlags struct{ all *pflag.FlagSet }

func (g *givenFlags) addTo(fl *pflag.FlagSet) { g.all = fl }

func (g givenFlags) has(name string) bool { return g.all.Changed(name) }

// conclude prints what a command came to, and ends it. What was measured before an error is printed.
func (a *app) conclude(p printed, err error) error {
	var failed error
	switch {
	case p.done != "" && a.json:
		failed = a.printJSON(view.Text{Text: p.done})
	case p.done != "":
		a.say("zonedeck: %s", p.done)
	case a.json && p.object != nil:
		failed = a.printJSON(p.object)
	case len(p.rows) > 0:
		failed = printColumns(a.Stdout, p.rows)
	}
	if failed == nil && p.text != "" && !a.json {
		failed = a.printText(false, p.text)
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

// addFlags adds the flags of a struct, and those of the structs in it. It returns the pairs that exclude each other.
func addFlags(fl *pflag.FlagSet, flags reflect.Value) (excluding [][]string) {
	for i := range flags.NumField() {
		f, at := flags.Type().Field(i), flags.Field(i)
		name, short, usual, help := f.Tag.Get("flag"), f.Tag.Get("short"), f.Tag.Get("default"), f.Tag.Get("help")
		if name == "" {
			if f.Anonymous {
				excluding = append(excluding, addFlags(fl, at)...)
			}
			continue
		}
		if other := f.Tag.Get("without"); other != "" {
			excluding = append(excluding, []string{name, other})
		}
		switch p := at.Addr().Interface().(type) {
		case interface{ addTo(*pflag.FlagSet) }:
			p.addTo(fl)
		case *string:
			fl.StringVarP(p, name, short, cmp.Or(usual, *p), help)
		case *bool:
			fl.BoolVarP(p, name, short, *p, help)
		case *int:
			if usual != "" {
				n, err := strconv.Atoi(usual)
				if err != nil {
					panic(err) // of a tag
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
			panic(fmt.Sprintf("flag %s: %s is no type of a flag", name, f.Type))
		}
	}
	return excluding
}
