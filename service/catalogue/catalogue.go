package catalogue

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// fresh is how long a list of the service is used without another question.
const fresh = 24 * time.Hour

// Place is the service that a catalogue belongs to.
type Place struct {
	// Name tells services apart: the cache has a file for each.
	Name string
	// HasList reports whether it is known where the service lists its data sets.
	HasList bool
	// Products are those whose jobs can be started and that are no data sets. The service lists
	// none of them.
	Products []model.Dataset
}

// Config is what a Catalogue needs. All fields must be set.
type Config struct {
	// Dir takes the cache.
	Dir     string
	Service Service
	Now     func() time.Time
}

// Service is the service in use.
type Service interface {
	Place(ctx context.Context) (Place, error)
	// Datasets asks by a key of the inventory, "" for the profile's: for one data set by its identifier, or for all.
	// A list beside an error lacks the counts of records.
	Datasets(ctx context.Context, key, dataset string) (list []model.Dataset, skipped int, err error)
}

// Catalogue lists data sets. Use New.
type Catalogue struct{ cfg Config }

// New makes a Catalogue. It does no I/O.
func New(c Config) *Catalogue { return &Catalogue{c} }

// Listing is a list of data sets and where it is from.
type Listing struct {
	Datasets []model.Dataset
	// Read is when the service gave the list; zero for the one in the program.
	Read time.Time
	// Skipped are entries of the service without an identifier that could be used.
	Skipped int
	// Problem says why the service was not asked, or did not answer as it should; "" without
	// one.
	Problem string
	// Unlisted says that the service's list, as it is now, does not have what was looked for.
	Unlisted bool
	// Err is what the service's answer or its absence came to, nil where it was not asked or did answer.
	Err error
}

// unanswered is the list with why the service gave none.
func (l Listing) unanswered(err error) Listing {
	l.Problem, l.Err = model.Line(err.Error(), 300), err
	return l
}

// Builtin reports whether the list is the one in the program, or none.
func (l Listing) Builtin() bool { return l.Read.IsZero() }

// None reports whether no list has what was looked for.
func (l Listing) None() bool { return len(l.Datasets) == 0 }

// Origin says where the list is from and how old it is.
func (l Listing) Origin(now time.Time) string {
	switch {
	case l.Builtin() && l.None():
		return "no list that is known here"
	case l.Builtin():
		return "the list in this program, from public sources"
	}
	age := now.Sub(l.Read)
	switch {
	case age < time.Minute:
		return "the service's list, read now"
	case age < 2*time.Hour:
		return fmt.Sprintf("the service's list, read %d min ago", int(age.Minutes()))
	default:
		return fmt.Sprintf("the service's list, read %d h ago", int(age.Hours()))
	}
}

// Lacks reports whether a text is an identifier that the list does not have.
func (l Listing) Lacks(id string) bool {
	return strings.HasPrefix(id, idPrefix) && !slices.ContainsFunc(l.Datasets, func(c model.Dataset) bool { return c.Known(id) })
}

// Search are the data sets that have every word of a text in their names, kind, domain or
// description, in the order of the list.
func (l Listing) Search(text string) []model.Dataset {
	words := strings.Fields(strings.ToLower(text))
	return slices.DeleteFunc(slices.Clone(l.Datasets), func(c model.Dataset) bool { return !c.Matches(words) })
}

// Datasets lists the data sets, by a key of the inventory or, for "", the profile's: as the service
// listed them within a day, else as it lists them now; with anew it is asked in any case. When
// it cannot be asked, the list is what it said last, or the one in the program, with a Problem.
// The error is ctx's, or that of Place.
func (c *Catalogue) Datasets(ctx context.Context, key string, anew bool) (Listing, error) {
	place, err := c.cfg.Service.Place(ctx)
	if err != nil {
		return Listing{}, err
	}
	l, err := c.list(ctx, place, key, anew)
	l.Datasets = slices.Concat(place.Products, l.Datasets)
	return l, err
}

// Cached are the data sets of a service as it listed them last, however long ago, or else its own where they are known
// here, or those in the program. The service is not asked.
func (c *Catalogue) Cached(place Place, own ...model.Dataset) []model.Dataset {
	if kept, err := c.load(place); err == nil {
		own = kept.Datasets
	} else if own == nil {
		own = builtin()
	}
	return slices.Concat(place.Products, own)
}

// list is List without the products.
func (c *Catalogue) list(ctx context.Context, place Place, key string, anew bool) (Listing, error) {
	if !place.HasList {
		return Listing{Datasets: builtin(), Problem: notShown}, nil
	}
	kept, keptErr := c.load(place)
	if keptErr == nil && !anew && c.fresh(kept) {
		return kept, nil
	}
	list, skipped, err := c.cfg.Service.Datasets(ctx, key, "")
	switch {
	case err == nil:
		l := Listing{Datasets: list, Read: c.cfg.Now(), Skipped: skipped}
		if err := c.keep(place, l); err != nil {
			l.Problem = "it could not be kept: " + model.Line(err.Error(), 300)
		}
		return l, nil
	case ctx.Err() != nil:
		return Listing{}, context.Cause(ctx)
	case len(list) > 0:
		return Listing{Datasets: list, Read: c.cfg.Now(), Skipped: skipped}.unanswered(err), nil
	}
	if keptErr != nil {
		kept = Listing{Datasets: builtin()}
	}
	return kept.unanswered(err), nil
}

const notShown = "the contract does not show where the service lists its data sets"

// Fresh reports whether a kept list is young enough. One from the future is not: the clock was
// moved.
func (c *Catalogue) fresh(l Listing) bool {
	age := c.cfg.Now().Sub(l.Read)
	return age >= 0 && age < fresh
}

// UnknownError says that no data set goes by a name, or several do.
type UnknownError struct {
	Name string
	// Candidates are those that do, or those that come near.
	Candidates []model.Dataset
	Several    bool
}

func (e *UnknownError) Error() string {
	var ids []string
	for _, c := range e.Candidates {
		ids = append(ids, c.ID+" ("+c.Title()+")")
	}
	switch {
	case e.Several:
		return fmt.Sprintf("%q names several data sets: %s", model.Cut(e.Name, 60), strings.Join(ids, ", "))
	case len(ids) > 0:
		return fmt.Sprintf("no data set is called %q; near are %s", model.Cut(e.Name, 60), strings.Join(ids, ", "))
	default:
		return fmt.Sprintf("no data set is called %q; give its identifier, like gd_products", model.Cut(e.Name, 60))
	}
}

// Dataset is one data set by its identifier or a name, with the Listing that it is from. An
// identifier that nobody lists is a data set without methods, and its Listing is None: not every
// one that works is listed. A Problem says that the service does not list it. Only what is needed is asked for: nothing for what a kept list has, one data set for
// an identifier, all for a name. Errors: an *UnknownError, and those of List.
func (c *Catalogue) Dataset(ctx context.Context, key, name string) (model.Dataset, Listing, error) {
	place, err := c.cfg.Service.Place(ctx)
	if err != nil {
		return model.Dataset{}, Listing{}, err
	}
	if found, err := pick(place.Products, name); err == nil {
		return found, Listing{Datasets: place.Products}, nil
	}
	kept, keptErr := c.load(place)
	if keptErr == nil && place.HasList && c.fresh(kept) {
		if found, err := pick(kept.Datasets, name); err == nil {
			return found, kept, nil
		}
	}
	l := Listing{Datasets: builtin(), Problem: notShown}
	known, knownErr := pick(l.Datasets, name)
	id := known.ID
	if id == "" && strings.HasPrefix(name, idPrefix) {
		id = name
	}
	unlisted := known
	if unlisted.ID == "" {
		unlisted, l.Datasets = model.Dataset{ID: id, Kind: model.CollectScraper}, nil
	}
	switch {
	case id == "" && !place.HasList:
		return model.Dataset{}, l, knownErr
	case !place.HasList:
		return unlisted, l, nil
	case id == "":
		if l, err = c.list(ctx, place, key, true); err != nil {
			return model.Dataset{}, l, err
		}
		found, err := pick(l.Datasets, name)
		return found, l, err
	}
	found, listed, err := c.dataset(ctx, key, id)
	if err != nil || found.ID != "" {
		return found, listed, err
	}
	if l.Problem, l.Err = listed.Problem, listed.Err; l.Problem == "" {
		l.Problem, l.Unlisted = "it does not have "+model.Line(id, 60), true
		return unlisted, l, nil
	}
	if keptErr == nil { // the service did not answer
		if found, err := pick(kept.Datasets, id); err == nil {
			kept.Problem, kept.Err = l.Problem, l.Err
			return found, kept, nil
		}
	}
	return unlisted, l, nil
}

// idPrefix begins the identifiers of data sets.
const idPrefix = "gd_"

// dataset asks for one data set. It is not found where the service does not list it or, with a
// Problem, did not answer as it should.
func (c *Catalogue) dataset(ctx context.Context, key, id string) (model.Dataset, Listing, error) {
	list, _, err := c.cfg.Service.Datasets(ctx, key, id)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return model.Dataset{}, Listing{}, context.Cause(ctx)
	default:
		return model.Dataset{}, Listing{}.unanswered(err), nil
	}
	l := Listing{Datasets: list, Read: c.cfg.Now()}
	i := slices.IndexFunc(list, func(c model.Dataset) bool { return c.ID == id })
	if i < 0 {
		return model.Dataset{}, l, nil
	}
	return list[i], l, nil
}

// pick is the data set of a list that goes by a name: by its identifier, else by a name that
// is its alone.
func pick(list []model.Dataset, name string) (model.Dataset, error) {
	if i := slices.IndexFunc(list, func(c model.Dataset) bool { return c.ID == name }); i >= 0 {
		return list[i], nil
	}
	var found []model.Dataset
	for _, c := range list {
		if c.Known(name) {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		near := Listing{Datasets: list}.Search(strings.NewReplacer("_", " ", "-", " ").Replace(name))
		return model.Dataset{}, &UnknownError{Name: name, Candidates: near[:min(len(near), 5)]}
	default:
		return model.Dataset{}, &UnknownError{Name: name, Candidates: found, Several: true}
	}
}

// errNone says that nothing is kept.
var errNone = errors.New("no list is kept")

// cacheFile is the cache's file. Another version is not read.
type cacheFile struct {
	Version  int             `json:"version"`
	Place    string          `json:"place"`
	Read     time.Time       `json:"read"`
	Skipped  int             `json:"skipped"`
	Datasets []model.Dataset `json:"collectors"`
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
	return Listing{Datasets: k.Datasets, Read: k.Read, Skipped: k.Skipped}, nil
}

func (c *Catalogue) keep(p Place, l Listing) error {
	b, err := json.Marshal(cacheFile{keptVersion, p.Name, l.Read, l.Skipped, l.Datasets})
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
var builtin = sync.OnceValue(func() []model.Dataset {
	var out []model.Dataset
	for line := range bytes.Lines(builtinText) {
		var c model.Dataset
		if err := json.Unmarshal(line, &c); err != nil {
			panic("the list of data sets in the program: " + err.Error()) // a test reads it
		}
		out = append(out, c)
	}
	return out
})
