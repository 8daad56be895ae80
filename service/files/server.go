package files

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"zonedeck/keystore/textfile"
	"zonedeck/service/batch/store"
	"zonedeck/service/database"
	"zonedeck/service/ledger"
	"zonedeck/service/webhook"
)

// Server opens the server that batches, jobs and webhooks are on.
func (f *Files) Server(ctx context.Context) (*database.Server, error) {
	return f.server.get(f, func() (*database.Server, string, error) {
		address, err := f.place.Database(ctx)
		if err != nil {
			return nil, "", err
		}
		s, err := database.OpenServer(ctx, address)
		return s, "", err
	})
}

// folder is a folder's name for what goes with a server and stays on this machine.
func folder(s *database.Server) string { return fmt.Sprintf("%.8x", sha256.Sum256([]byte(s.String()))) }

// serverLedger opens the ledger on the server. Its log and its signs of life stay on this machine.
func (f *Files) serverLedger(ctx context.Context) (*ledger.Ledger, string, error) {
	s, err := f.Server(ctx)
	if err != nil {
		return nil, "", err
	}
	name, err := f.machine(ctx)
	if err != nil {
		return nil, "", err
	}
	return ledger.OpenServer(ctx, s, filepath.Join(f.paths.DatabasesDir(), folder(s), "ledger"), name, f.clock.Now)
}

// onServer puts the inbox on the server, if a database is named. The bodies stay on this machine.
func (f *Files) onServer(ctx context.Context, o *webhook.Options) (err error) {
	if !f.place.OnServer() {
		return nil
	}
	if o.Server, err = f.Server(ctx); err != nil {
		return err
	}
	o.Dir = filepath.Join(o.Dir, folder(o.Server))
	o.Machine, err = f.machine(ctx)
	return err
}

// serverBatches opens the store of batches on the server. Among its workers this process is named by its machine.
func (f *Files) serverBatches(ctx context.Context) (*store.Store, string, error) {
	s, err := f.Server(ctx)
	if err != nil {
		return nil, "", err
	}
	name, err := f.machine(ctx)
	if err != nil {
		return nil, "", err
	}
	b, err := store.OpenServer(ctx, s, "w-"+name+"-"+strings.ToLower(rand.Text()[:6]), f.log)
	return b, "", err
}

// machine names this machine, or rather its folder of data, among those that share a database. A host's name may change
// and need not be unique, so that the name is made up once, and kept.
func (f *Files) machine(ctx context.Context) (string, error) {
	path := filepath.Join(f.paths.DatabasesDir(), "machine")
	unlock, err := textfile.Lock(ctx, path)
	if err != nil {
		return "", err
	}
	defer unlock()
	name, err := textfile.ReadBounded(path, 100)
	if !errors.Is(err, fs.ErrNotExist) {
		return strings.TrimSpace(string(name)), err
	}
	host, _ := os.Hostname() // without one, the rest tells it apart
	host = strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, host)
	made := host[:min(len(host), 40)] + "-" + strings.ToLower(rand.Text()[:6])
	return made, textfile.Write(path, []byte(made+"\n"))
}
