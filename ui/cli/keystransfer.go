package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zonedeck/keystore"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/keys"
	"zonedeck/service/view"
	"zonedeck/ui/kit/text"
)

// The forms of 'keys import' and 'keys export'.
const (
	formCSV        = "csv"
	formJSON       = "json"
	formEnv        = "env"
	formPrometheus = "prometheus"
)

func (a *app) keysExportCommand() *cobra.Command {
	var f keysFlags
	var as, output string
	asJSON := false
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the keys as CSV, JSON or metrics for Prometheus",
		Long: `Writes the keys: their dates, levels, duties, references and fingerprints, never
a value.

CSV is what the inventory records. JSON also has when a key was first seen and
last used from here. The metrics are gauges for node_exporter's textfile
collector, with the moments of expiry and rotation, so that an alert needs no
zonedeck.

The reference of a command is left out, because its arguments may carry a token.
A CSV cell that a spreadsheet would take for a formula begins with an
apostrophe. The file of -o is replaced whole or not at all.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				as = formJSON
			}
			return a.withSession(cmd.Context(), needs{jobs: true}, func(t *task) error {
				return t.exportKeys(cmd.Context(), f, as, output)
			})
		},
	}
	f.within.d = model.SoonDays * 24 * time.Hour
	cmd.Flags().Var(&f.within, "within", "how long before its expiry or rotation a key counts as due soon, for example 14d or 2w")
	cmd.Flags().StringVar(&as, "as", formCSV, "csv, json or prometheus")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --as json")
	cmd.MarkFlagsMutuallyExclusive("as", "json")
	cmd.Flags().StringVarP(&output, "output", "o", "-", "write to this file; - is standard output")
	f.registerSource(cmd)
	return cmd
}

func (t *task) exportKeys(ctx context.Context, f keysFlags, as, output string) error {
	var write func(w io.Writer, audit keys.Audit) error
	switch as {
	case formCSV:
		write = func(w io.Writer, audit keys.Audit) error { return keystore.WriteCSV(w, audit.Keys) }
	case formJSON:
		write = func(w io.Writer, audit keys.Audit) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(newKeysJSON(audit, f.within.d))
		}
	case formPrometheus:
		write = func(w io.Writer, audit keys.Audit) error {
			return keystore.WriteMetrics(w, audit.Keys, audit.Now, audit.Origin, f.within.d)
		}
	default:
		return usageKind("--as", as, "csv, json or prometheus")
	}
	path, err := outputPath(output)
	if err != nil {
		return err
	}
	audit, err := t.audit(ctx, f, f.scan)
	if err != nil {
		return err
	}
	for i, k := range audit.Keys { // what was found to use a key is not part of its record
		audit.Keys[i].UsedBy = t.recordedUsers(k)
	}
	var b bytes.Buffer
	if err := write(&b, audit); err != nil {
		return fail(exitState, "write the keys: %w", err)
	}
	if output == "-" {
		if _, err := t.app.Stdout.Write(b.Bytes()); err != nil {
			return fail(exitState, "write the keys: %w", err)
		}
		return nil
	}
	err = textfile.Write(path, b.Bytes())
	if err == nil && as == formPrometheus {
		err = os.Chmod(path, 0o644) // the collector is another user, and nothing in it is secret
	}
	if err != nil {
		return fail(exitState, "write the keys: %w", err)
	}
	t.app.say("zonedeck: %s written to %s", text.Counted(len(audit.Keys), "key"), sanitizeLine(output))
	return nil
}

// outputPath is the absolute name of -o's file, whose folder has to be there; "-" stays.
func outputPath(output string) (string, error) {
	if output == "-" {
		return output, nil
	}
	path, err := filepath.Abs(output)
	if err != nil {
		return "", fail(exitState, "-o: %w", err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return "", fail(exitState, "-o %s: %s is not a folder: make it first; nothing was written", sanitizeLine(output), sanitizeLine(filepath.Dir(output)))
	}
	return path, nil
}

// recordedUsers are the users that a key's record names.
func (t *task) recordedUsers(k model.Key) []string {
	for _, r := range t.Keys.Inventory().All() {
		if r.Name == k.Name && r.Secret == k.Secret && r.Fingerprint == k.Fingerprint {
			return r.UsedBy
		}
	}
	return nil
}

type importFlags struct {
	as           string
	update, json bool
	endings      []string
}

func (a *app) keysImportCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE|FOLDER|-",
		Short: "Record keys from CSV, JSON, or the .env files of a folder",
		Long: `Records keys in the inventory, in one change. They come from CSV or JSON as
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
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSession(cmd.Context(), needs{journal: true}, func(t *task) error {
				return t.importKeys(cmd.Context(), args[0], f)
			})
		},
	}
	cmd.Flags().StringVar(&f.as, "as", "", "csv, json or env (default: what the file's name says, env for a folder)")
	cmd.Flags().BoolVar(&f.update, "update", false, "add what the source knows to keys that are already recorded")
	cmd.Flags().StringArrayVar(&f.endings, "ending", []string{"_API_KEY", "_KEY", "_TOKEN"}, "ending of the names of variables that hold a key (repeatable)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

func (t *task) importKeys(ctx context.Context, source string, f importFlags) error {
	keys, err := t.readKeys(ctx, source, f)
	if err != nil {
		return err
	}
	done, err := t.Keys.Inventory().Import(ctx, keys, f.update)
	switch {
	case errors.Is(err, keystore.ErrKeyFields):
		return usage("import keys from %s: %w", source, err)
	case err != nil:
		return fail(exitState, "%w", err)
	}
	if f.json {
		return t.app.printJSON(view.KeysImport{Added: append([]string{}, done.Added...), Changed: append([]string{}, done.Changed...), Skipped: append([]string{}, done.Skipped...)})
	}
	for _, part := range []struct {
		word  string
		names []string
	}{{"added", done.Added}, {"changed", done.Changed}, {"left", done.Skipped}} {
		for _, name := range part.names {
			fmt.Fprintln(t.app.Stdout, sanitizeLine(part.word+"  "+name))
		}
	}
	t.app.say("zonedeck: %s added, %d changed, %d left as they are", text.Counted(len(done.Added), "key"), len(done.Changed), len(done.Skipped))
	return nil
}

// readKeys reads the source of an import.
func (t *task) readKeys(ctx context.Context, source string, f importFlags) ([]model.Key, error) {
	as := f.as
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
		if source == "-" || !info.IsDir() { // a pipe would be waited for
			return nil, usage("import keys from %s: --as env reads the .env files of a folder", source)
		}
		found, left, err := keystore.ReadEnv(ctx, source, f.endings)
		if err != nil {
			return nil, fail(exitState, "import keys: %w", err)
		}
		for _, v := range left {
			t.app.say("zonedeck: %s", sanitizeLine(fmt.Sprintf("%s of %s is left out: %s", v.Name, v.Place, v.Reason)))
		}
		keys := make([]model.Key, len(found))
		for i := range found {
			keys[i] = found[i].Key
		}
		return keys, nil
	case formCSV, formJSON:
	default:
		return nil, usageKind("--as", as, "csv, json or env")
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
		return nil, fail(exitInterrupted, "interrupted; no key was imported")
	}
	if errors.Is(err, keystore.ErrTransfer) {
		return nil, usage("import keys from %s: %v", source, err)
	}
	return keys, err
}
