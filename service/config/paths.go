package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"zonedeck/keystore/textfile"
)

const program = "zonedeck"

// Paths are the console's own folders (XDG base directories).
type Paths struct {
	Config, Data, State, Cache string
}

// FindPaths reads the environment as it is now: the XDG variables where they
// hold absolute paths, else the customary places under the home folder, on
// Windows those under %APPDATA% and %LOCALAPPDATA%. It does not touch the disk.
// Where no home folder is known, it is a place where nothing can be; HomeKnown
// refuses it.
//
// (adrg/xdg reads the process's environment once, before main; a test or a
// caller with another environment could not be served by it.)
func FindPaths(getenv func(string) string) Paths {
	return findPaths(getenv, Home(getenv, os.Geteuid()), runtime.GOOS == "windows")
}

// Home is the user's home folder: what the environment says, else the password
// database, else a place where nothing can be. Anybody could make a folder of a
// name that everybody knows.
func Home(getenv func(string) string, uid int) string {
	variable, account := "HOME", strconv.Itoa(uid)
	if runtime.GOOS == "windows" {
		variable = "USERPROFILE"
	}
	if home := getenv(variable); home != "" {
		return home
	}
	u, err := user.LookupId(account)
	if runtime.GOOS == "windows" {
		u, err = user.Current()
	}
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return os.DevNull
	}
	return u.HomeDir
}

// HomeKnown refuses paths that no home folder is known for.
func (p Paths) HomeKnown() error {
	for _, dir := range []string{p.Config, p.Data, p.State, p.Cache} {
		if strings.HasPrefix(dir, os.DevNull+string(filepath.Separator)) {
			return Mistake("no home folder is known: HOME is not set, and the password database has none for this user; set HOME, or XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME and XDG_CACHE_HOME")
		}
	}
	return nil
}

// Trusted refuses paths without a home folder, and any of the program's own files
// and folders that others may have written, with a *textfile.UntrustedError. Load judges
// the configuration, and whoever reads a secret, a saved request or a webhook's body that:
// there may be too many to look at each at every start.
func (p Paths) Trusted() error {
	if err := p.HomeKnown(); err != nil {
		return err
	}
	places := []string{
		p.RulesFile(), p.ContractsDir(), p.KeysFile(), p.RotationsDir(), p.SecretsDir(), p.MigrationFile(), p.RequestsDir(), p.ListsDir(),
		p.InboxDir(), filepath.Join(p.InboxDir(), "receiving.json"), filepath.Join(p.InboxDir(), "refused.json"), p.DownloadsDir(), p.BatchesDir(),
		p.LedgerFile() + ".log", p.LedgerFile() + ".verified", p.LedgerFile() + ".answers", p.DatabasesDir(), p.EmulatorDir(), p.EmulatorFile(), p.EmulatorLog(), p.FiltersFile(), p.LogFile(), p.PaceDir(),
	}
	for _, database := range []string{p.JournalFile(), p.LedgerFile(), p.WorkFile(), p.InboxFile(), p.BatchesFile(), p.DriftFile()} {
		places = append(places, database, database+"-wal")
	}
	for _, folder := range []string{p.ContractsDir(), p.RotationsDir(), p.ListsDir(), p.EmulatorDir()} {
		files, _ := os.ReadDir(folder) // whoever needs the folder reports that
		for _, f := range files {
			places = append(places, filepath.Join(folder, f.Name()))
		}
	}
	for _, place := range places {
		if err := textfile.Trusted(place); err != nil {
			return err
		}
	}
	return nil
}

func findPaths(getenv func(string) string, home string, windows bool) Paths {
	roaming, local := getenv("APPDATA"), getenv("LOCALAPPDATA")
	if roaming == "" {
		roaming = filepath.Join(home, "AppData", "Roaming")
	}
	if local == "" {
		local = filepath.Join(home, "AppData", "Local")
	}
	place := func(variable, unix, win string) string {
		// The specification says to ignore relative paths.
		if dir := getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, program)
		}
		if windows {
			return win
		}
		return filepath.Join(home, filepath.FromSlash(unix), program)
	}
	return Paths{
		Config: place("XDG_CONFIG_HOME", ".config", filepath.Join(roaming, program)),
		Data:   place("XDG_DATA_HOME", ".local/share", filepath.Join(local, program, "data")),
		State:  place("XDG_STATE_HOME", ".local/state", filepath.Join(local, program, "state")),
		Cache:  place("XDG_CACHE_HOME", ".cache", filepath.Join(local, program, "cache")),
	}
}

// ConfigFile is the configuration with the profiles.
func (p Paths) ConfigFile() string { return filepath.Join(p.Config, "config.toml") }

// RulesFile is what the operator adds to the diagnosis.
func (p Paths) RulesFile() string { return filepath.Join(p.Config, "rules.toml") }

// ContractsDir holds what the operator asks of the fields of collectors.
func (p Paths) ContractsDir() string { return filepath.Join(p.Config, "contracts") }

// DriftFile holds what the fields of runs show.
func (p Paths) DriftFile() string { return filepath.Join(p.State, "drift.db") }

// KeysFile is the key inventory.
func (p Paths) KeysFile() string { return filepath.Join(p.Data, "keys.toml") }

// RotationsDir holds the records of rotations.
func (p Paths) RotationsDir() string { return filepath.Join(p.Data, "rotations") }

// SecretsDir holds the encrypted files of file: references.
func (p Paths) SecretsDir() string { return filepath.Join(p.Data, "secrets") }

// JournalFile is the database of the history.
func (p Paths) JournalFile() string { return filepath.Join(p.Data, "journal.db") }

// MigrationFile says how far a migration of secrets is.
func (p Paths) MigrationFile() string { return filepath.Join(p.Data, "migration.json") }

// LedgerFile is the database of jobs; its log lies beside it.
func (p Paths) LedgerFile() string { return filepath.Join(p.Data, "ledger.db") }

// DatabasesDir holds what goes with databases on servers and stays on this machine: its name, and logs of jobs.
func (p Paths) DatabasesDir() string { return filepath.Join(p.Data, "databases") }

// CatalogueDir holds what services list of their data sets; it may be deleted at any time.
func (p Paths) CatalogueDir() string { return filepath.Join(p.Cache, "catalogue") }

// WorkFile is the database of durable work: which job is asked for when, and by whom.
func (p Paths) WorkFile() string { return filepath.Join(p.Data, "work.db") }

// BatchesDir is where batches keep their items and results, BatchesFile the store of what is known of them.
func (p Paths) BatchesDir() string { return filepath.Join(p.Data, "batches") }

// BatchesFile is beside BatchesDir.
func (p Paths) BatchesFile() string { return filepath.Join(p.Data, "batches.db") }

// InboxFile is the database of received webhooks.
func (p Paths) InboxFile() string { return filepath.Join(p.Data, "webhooks.db") }

// InboxDir holds the bodies of received webhooks.
func (p Paths) InboxDir() string { return filepath.Join(p.Data, "webhooks") }

// BodiesDir holds large bodies of answers; it may be deleted at any time.
func (p Paths) BodiesDir() string { return filepath.Join(p.Cache, "bodies") }

// DownloadsDir holds downloaded results of jobs, and bodies of fetches that were kept.
func (p Paths) DownloadsDir() string { return filepath.Join(p.Data, "downloads") }

// RowsDir holds what looking at a result needs while it is looked at; it may be deleted at any time.
func (p Paths) RowsDir() string { return filepath.Join(p.Cache, "rows") }

// ListsDir holds saved lists of inputs.
func (p Paths) ListsDir() string { return filepath.Join(p.Data, "lists") }

var errListName = errors.New("use letters, digits, dots, - and _")

// ListFile is the file of a saved list; its name has letters, digits and "_-." alone, and does
// not begin with a dot.
func (p Paths) ListFile(name string) (string, error) {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r)
	}
	if name == "" || len(name) > 80 || name[0] == '.' || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return "", fmt.Errorf("%q cannot name a saved list: %w", name, errListName)
	}
	return filepath.Join(p.ListsDir(), name+".ndjson"), nil
}

// RequestsDir holds saved requests.
func (p Paths) RequestsDir() string { return filepath.Join(p.Data, "requests") }

// EmulatorDir is the embedded emulator's state.
func (p Paths) EmulatorDir() string { return filepath.Join(p.Data, "emulator") }

// EmulatorFile says where the running embedded emulator listens.
func (p Paths) EmulatorFile() string { return filepath.Join(p.State, "emulator.json") }

// EmulatorLog has what went wrong in the running embedded emulator.
func (p Paths) EmulatorLog() string { return filepath.Join(p.State, "emulator.log") }

// FiltersFile holds the filters that were kept.
func (p Paths) FiltersFile() string { return filepath.Join(p.State, "filters.json") }

// PaceDir has what is remembered of zones that were refused.
func (p Paths) PaceDir() string { return filepath.Join(p.State, "pace") }

// LogFile is the log.
func (p Paths) LogFile() string { return filepath.Join(p.State, "zonedeck.log") }

// Ensure makes the four folders, private to the user (0700); what exists stays
// as it is. It tries all of them and joins the errors, each naming its folder:
// a console without a cache can still be used.
func (p Paths) Ensure() error {
	var errs []error
	for _, f := range []struct{ dir, variable string }{
		{p.Config, "XDG_CONFIG_HOME"},
		{p.Data, "XDG_DATA_HOME"},
		{p.State, "XDG_STATE_HOME"},
		{p.Cache, "XDG_CACHE_HOME"},
	} {
		if err := os.MkdirAll(f.dir, 0o700); err != nil {
			if pe, ok := errors.AsType[*fs.PathError](err); ok {
				err = pe.Err
			}
			errs = append(errs, fmt.Errorf("making the folder %s: %w; make it writable, or set %s to another place", f.dir, err, f.variable))
		}
	}
	return errors.Join(errs...)
}
