package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/keys"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

// The forms of --as and --from.
const (
	formCSV        = "csv"
	formJSON       = "json"
	formEnv        = "env"
	formPrometheus = "prometheus"
	formMarkdown   = "markdown"
)

type exportKeysFlags struct {
	keysFlags
	withinFlag
	As     string `flag:"as" takes:"csv|json|prometheus" default:"csv" help:"csv, json or prometheus"`
	JSON   bool   `flag:"json" without:"as" help:"the same as --as json"`
	Output string `flag:"output" takes:"output" short:"o" default:"-" help:"write to this file; - is standard output"`
}

func (a *app) keysExportCommand() *cobra.Command {
	return command(a, spec[exportKeysFlags]{
		use: "export", short: "Write the keys as CSV, JSON or metrics for Prometheus",
		long: `Writes the keys: their dates, levels, duties, references and fingerprints, never
a value.

CSV is what the inventory records. JSON also has when a key was first seen and
last used from here. The metrics are gauges for node_exporter's textfile
collector, with the moments of expiry and rotation, so that an alert needs no
zonedeck.

The reference of a command is left out, because its arguments may carry a token.
A CSV cell that a spreadsheet would take for a formula begins with an
apostrophe. The file of -o is replaced whole or not at all. Without a key,
nothing is written: exit 1.`,
		defaults: exportKeysFlags{withinFlag: soon()},
		needs:    func(exportKeysFlags) needs { return needs{jobs: true} },
		run: func(ctx context.Context, t *task, f exportKeysFlags, _ []string) (printed, error) {
			if f.JSON {
				f.As = formJSON
			}
			return printed{}, t.exportKeys(ctx, f)
		},
	})
}

func (t *task) exportKeys(ctx context.Context, f exportKeysFlags) error {
	var write func(w io.Writer, audit keys.Audit) error
	switch f.As {
	case formCSV:
		write = func(w io.Writer, audit keys.Audit) error { return keystore.WriteCSV(w, audit.Keys) }
	case formJSON:
		write = func(w io.Writer, audit keys.Audit) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(view.NewKeys(audit, f.Within.d))
		}
	case formPrometheus:
		write = func(w io.Writer, audit keys.Audit) error {
			return keystore.WriteMetrics(w, audit.Keys, audit.Now, audit.Origin, f.Within.d)
		}
	default:
		return usageKind("--as", f.As, "csv, json or prometheus")
	}
	dest, err := t.app.destination(f.Output)
	if err != nil {
		return err
	}
	audit, err := t.audit(ctx, f.keysFlags, f.Within.d, f.Scan)
	if err != nil {
		return err
	}
	audit.Keys = audit.Recorded()
	if none := t.noKeys(audit); none != "" {
		return fail(exitChecksFailed, "%s; nothing was written", none)
	}
	err = dest.writeBy(ctx, "the keys", func(w io.Writer) error {
		if file, is := w.(*textfile.Temp); is && f.As == formPrometheus {
			if err := file.Chmod(0o644); err != nil { // the collector runs as another user, and the file holds no secret
				return err
			}
		}
		return write(w, audit)
	})
	if err == nil && dest.stream == nil {
		t.app.say("zonedeck: %s written to %s", text.Counted(len(audit.Keys), "key"), f.Output)
	}
	return err
}

type importFlags struct {
	From    string   `flag:"from" takes:"csv|json|env" help:"csv, json or env (default: what the file's name says, env for a folder)"`
	Update  bool     `flag:"update" help:"add what the source knows to keys that are already recorded"`
	Endings []string `flag:"ending" help:"ending of the names of variables that hold a key (repeatable)"`
	jsonFlag
}

func (a *app) keysImportCommand() *cobra.Command {
	return command(a, spec[importFlags]{
		use: "import FILE|FOLDER|-", short: "Record keys from CSV, JSON, or the .env files of a folder",
		long: `Records keys in the inventory, in one change. They come from CSV or JSON as
'keys export' writes it, or from the .env files of a folder. The variables of
.env files become references; their values are fingerprinted and dropped, and a
variable whose value is not a key is named on stderr.

What the source does not say stays unknown. When a key was first seen and last
used comes from this console's own history, which no import changes.

A key that is already recorded is left as it is; --update adds what the source
knows about it. A reference that differs from the recorded one is refused. So is
a command as a reference, because the console would run it.

The service has no endpoint that lists keys (contract 4), so there is nothing to
import from it. The keys of the emulator come with its profile.`,
		defaults: importFlags{Endings: []string{"_API_KEY", "_KEY", "_TOKEN"}},
		needs:    func(importFlags) needs { return needs{journal: true} },
		run:      importKeys,
	})
}

func importKeys(ctx context.Context, t *task, f importFlags, args []string) (printed, error) {
	source := args[0]
	keys, err := t.readKeys(ctx, source, f)
	if err != nil {
		return printed{}, err
	}
	done, err := t.Keys.Inventory().Import(ctx, keys, f.Update)
	switch {
	case errors.Is(err, keystore.ErrKeyFields):
		return printed{}, usage("import keys from %s: %w", source, err)
	case err != nil:
		return printed{}, fail(exitState, "%w", err)
	}
	lines := ""
	for _, part := range []struct {
		word  string
		names []string
	}{{"added", done.Added}, {"changed", done.Changed}, {"left", done.Skipped}} {
		for _, name := range part.names {
			lines += sanitizeLine(part.word+"  "+name) + "\n"
		}
	}
	return printed{
		object: view.KeysImport{Added: append([]string{}, done.Added...), Changed: append([]string{}, done.Changed...), Skipped: append([]string{}, done.Skipped...)},
		text:   lines, note: fmt.Sprintf("%s added, %d changed, %d left as they are", text.Counted(len(done.Added), "key"), len(done.Changed), len(done.Skipped)),
	}, nil
}

// readKeys reads the source of an import.
func (t *task) readKeys(ctx context.Context, source string, f importFlags) ([]model.Key, error) {
	as := f.From
	info, err := os.Stat(source)
	switch {
	case source == "-":
	case err != nil:
		return nil, fail(exitState, "import keys: %w", err)
	case as == "" && info.IsDir():
		as = formEnv
	case as == "":
		as = strings.TrimPrefix(strings.ToLower(filepath.Ext(source)), ".")
	}
	switch as {
	case formEnv:
		if source == "-" || !info.IsDir() { // reading a pipe would block
			return nil, usage("import keys from %s: --from env reads the .env files of a folder", source)
		}
		keys, notes, err := keystore.ReadEnv(ctx, source, f.Endings)
		if err != nil {
			return nil, fail(exitState, "import keys: %w", err)
		}
		for _, note := range notes {
			t.app.say("zonedeck: %s", note)
		}
		return keys, nil
	case formCSV, formJSON:
	default:
		if f.From == "" {
			return nil, usage("import keys from %s: its ending does not say what it is: --from csv or --from json does", source)
		}
		return nil, usageKind("--from", as, "csv, json or env")
	}
	in, err := t.app.open(ctx, source)
	if err != nil {
		return nil, fail(exitState, "import keys: %w", err)
	}
	defer in.Close()
	read := keystore.ReadCSV
	if as == formJSON {
		read = keystore.ReadJSON
	}
	keys, err := read(in)
	if ctx.Err() != nil {
		return nil, fail(ExitInterrupted, "interrupted; no key was imported")
	}
	if errors.Is(err, keystore.ErrTransfer) {
		return nil, usage("import keys from %s: %v", source, err)
	}
	return keys, err
}
