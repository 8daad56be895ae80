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
	return f.server.get(ctx, f, func() (*database.Server, string, error) {
		address, err := f.place.Database(ctx)
		if err != nil {
			return nil, "", err
		}
		s, err := database.OpenServer(ctx, address)
		return s, "", err
	})
}

// identified opens the server. folder is for what goes with the database and stays on this machine; machine is the name by
// which the others know this one.
func (f *Files) identified(ctx context.Context) (s *database.Server, folder, machine string, err error) {
	var id string
	if s, err = f.Server(ctx); err == nil {
		id, err = s.ID(ctx)
		folder = fmt.Sprintf("%.8x", sha256.Sum256([]byte(id))) // whatever the server says is no path
	}
	if err == nil {
		machine, err = f.machine(ctx)
	}
	return s, folder, machine, err
}

// serverLedger opens the ledger on the server. Its log and its signs of life stay on this machine.
func (f *Files) serverLedger(ctx context.Context) (*ledger.Ledger, string, error) {
	s, folder, machine, err := f.identified(ctx)
	if err != nil {
		return nil, "", err
	}
	return ledger.OpenServer(ctx, s, filepath.Join(f.paths.DatabasesDir(), folder, "ledger"), machine, f.clock.Now)
}

// onServer puts the inbox on the server, if a database is named. The bodies stay on this machine.
func (f *Files) onServer(ctx context.Context, o *webhook.Options) (err error) {
	if !f.place.OnServer() {
		return nil
	}
	var folder string
	o.Server, folder, o.Machine, err = f.identified(ctx)
	o.Dir = filepath.Join(o.Dir, folder)
	return err
}

// serverBatches opens the store of batches on the server. Among its workers this process is named by its machine.
func (f *Files) serverBatches(ctx context.Context) (*store.Store, string, error) {
	s, _, machine, err := f.identified(ctx)
	if err != nil {
		return nil, "", err
	}
	b, err := store.OpenServer(ctx, s, "w-"+machine+"-"+strings.ToLower(rand.Text()[:6]), f.log)
	return b, "", err
}

// machine names this machine, or rather its folder of data, among those that share a database. A host's name may change
// and need not be unique, so that the name is made up once, and kept. A folder that was copied to another host, as with an
// image of a disk, gets another name there: what of the first is alive cannot be seen from the second.
func (f *Files) machine(ctx context.Context) (string, error) {
	path := filepath.Join(f.paths.DatabasesDir(), "machine")
	unlock, err := textfile.Lock(ctx, path)
	if err != nil {
		return "", err
	}
	defer unlock()
	text, err := textfile.ReadBounded(path, 200)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	host, _ := os.Hostname()                                      // without one, the rest tells it apart
	id, _ := textfile.ReadBounded("/etc/machine-id", 100)         // not every system has one
	on := fmt.Sprintf("%.8x", sha256.Sum256(append(id, host...))) // an identifier of a host is its own affair
	if name, of, _ := strings.Cut(string(text), "\n"); strings.TrimSpace(of) == on {
		return name, nil
	}
	host = strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, host)
	made := host[:min(len(host), 40)] + "-" + strings.ToLower(rand.Text()[:6])
	return made, textfile.Write(path, []byte(made+"\n"+on+"\n"))
}
