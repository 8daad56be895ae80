package catalogue

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// cacheFile is the cache's file. Another version is not read.
type cacheFile struct {
	Version    int               `json:"version"`
	Place      string            `json:"place"`
	Read       time.Time         `json:"read"`
	Skipped    int               `json:"skipped"`
	Collectors []model.Collector `json:"collectors"`
}

const (
	keptVersion = 1
	maxKept     = 64 << 20 // bytes
)

func (c *Catalogue) file(p Place) string {
	sum := sha256.Sum256([]byte(p.Name))
	return filepath.Join(c.cfg.Dir, hex.EncodeToString(sum[:8])+".json")
}

// load reads the list that is kept of a service. A file that cannot be used is as good as none:
// the list is asked for again.
func (c *Catalogue) load(p Place) (Listing, error) {
	b, err := textfile.ReadBounded(c.file(p), maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return Listing{}, errNone
	}
	if err != nil {
		return Listing{}, err
	}
	var k cacheFile
	if err := json.Unmarshal(b, &k); err != nil || k.Version != keptVersion || k.Place != p.Name || k.Read.IsZero() {
		return Listing{}, fmt.Errorf("%s is not a list of data sets of this service", c.file(p))
	}
	return Listing{Collectors: k.Collectors, Read: k.Read, Skipped: k.Skipped}, nil
}

func (c *Catalogue) keep(p Place, l Listing) error {
	b, err := json.Marshal(cacheFile{keptVersion, p.Name, l.Read, l.Skipped, l.Collectors})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.cfg.Dir, 0o700); err != nil {
		return err
	}
	return textfile.Write(c.file(p), b)
}

//go:embed builtin.ndjson
var builtinText []byte

// builtin is the list in the program.
var builtin = sync.OnceValue(func() []model.Collector {
	var out []model.Collector
	for line := range bytes.Lines(builtinText) {
		var c model.Collector
		if err := json.Unmarshal(line, &c); err != nil {
			panic("the list of data sets in the program: " + err.Error()) // a test reads it
		}
		out = append(out, c)
	}
	return out
})
