package dialect

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"zonedeck/model"
)

// Dialect is one way to fill what the contract does not show: what is sent beyond
// it, where jobs are asked for, and what answers say. Find, Default and Embedded
// give one.
type Dialect struct {
	name string
	// sends is what goes into a request.
	sends model.Sends
	// dataset is the query parameter that names a dataset, "" for none.
	dataset string
	// snapshots are the fields that a job's identifier is looked for in.
	snapshots []string
	// paths are where a job is asked for; nil when they are not known.
	paths func(base, id string) JobPaths
	// products are those whose work is a job, and that are no data sets.
	products []product
	// read reads the headers that the contract does not show, and knows reports
	// whether there are any; nil for none.
	read       func(r *Reading, h http.Header)
	recognises func(h http.Header) bool
	// refuses reports whether a 4xx to a trigger has the shape of the service's own
	// refusal; nil where no shape is known.
	refuses func(status int, body []byte) bool
	// engines are the search engines that a query can be sent to, by name; nil for none.
	engines map[string]engine
	// token is the parameter of the agent access's address that a key goes in; "" sends it
	// as Bearer (service.md 5.1).
	token string
	// rowCodes says that the codes of a result's error rows are known, and which rows are
	// billed.
	rowCodes bool
	// readsCodes says that the codes of codes.go are looked for in the text of a tool.
	readsCodes bool
	// open says that the profile names no dialect: an answer is read by the one that
	// knows its headers.
	open bool
	// testPage answers a test of a proxy login, "" where none is known.
	testPage string
	// placePage tells the country of its caller, "" where none is known.
	placePage string
	// passwords are where a zone gets another password; empty where that is not known.
	passwords passwordPaths
	// costs is where an account shows what a zone cost, "" where that is not known.
	costs string
	// accounts begin the identifiers of accounts, besides the contract's.
	accounts []string
	// account is where an account shows itself; empty where that is not known.
	account accountFacts
	// overview is where an account shows its money, its data sets and its jobs.
	overview overviewPaths
	// use is where an account shows the state and the use of its zones.
	use usePaths
	// embedded marks the dialect of the embedded emulator.
	embedded bool
}

// dialects are made once, so that the abilities of two profiles with the same dialect are equal.
var dialects struct {
	sync.Once
	all []Dialect
}

// All lists the dialects, the default first.
func All() []Dialect {
	dialects.Do(func() { dialects.all = known() })
	return dialects.all
}

func known() []Dialect {
	return []Dialect{
		{
			name:      "documented",
			sends:     model.Sends{NotShown: notShown},
			snapshots: []string{"snapshot_id", "job_id", "snapshot", "id", "collection_id", "response_id"},
		},
		{
			name: "brightdata",
			sends: model.Sends{
				Target: true, Exit: true, Dataset: true, InputFields: true, JobSettings: true, NotShown: notShown,
				Option: brightDataOption, Browser: true, PageTool: "scrape_as_markdown",
			},
			engines: brightDataEngines, token: "token", readsCodes: true, rowCodes: true,
			dataset:   "dataset_id",
			snapshots: []string{"snapshot_id", "job_id"},
			paths: func(base, id string) JobPaths {
				return JobPaths{
					Progress: base + "/progress/" + id,
					Snapshot: base + "/snapshot/" + id,
					Cancel:   base + "/snapshot/" + id + "/cancel",
					Parts:    base + "/snapshot/" + id + "/parts",
				}
			},
			products:   brightDataProducts(),
			read:       readBrightData,
			recognises: fromBrightData,
			refuses:    brightDataRefuses,
			testPage:   "https://geo.brdtest.com/mygeo.json",
			placePage:  "https://geo.brdtest.com/mygeo.json",
			passwords:  passwordPaths{add: "/zone/add_password", remove: "/zone/remove_password"},
			costs:      "/zone/cost",
			overview:   overviewPaths{balance: "/customer/balance", spend: "/costs/export/json", datasets: "/datasets/list", scrapers: true},
			use:        brightDataUse,
			accounts:   []string{model.OlderAccount},
			account:    brightDataAccount,
			embedded:   true,
		},
	}
}

// Abilities are what the dialect of a name can do, nil for an unknown name.
func Abilities(name string) model.Abilities {
	i := slices.IndexFunc(All(), func(d Dialect) bool { return name == d.name || name == "" })
	if i < 0 {
		return nil
	}
	return &All()[i]
}

// Find gives a dialect by name; the empty name is the default.
func Find(name string) (Dialect, error) {
	if name == "" {
		return Default(), nil
	}
	for _, d := range All() {
		if d.name == name {
			return d, nil
		}
	}
	return Dialect{}, fmt.Errorf("dialect %q is not known: write %s", name, strings.Join(Names(), " or "))
}

// Default is the dialect of a profile that names none: it sends what the contract
// shows and nothing more, and reads what another dialect knows by that one.
func Default() Dialect {
	d := All()[0]
	d.open = true
	return d
}

// Embedded is the dialect that the embedded emulator speaks.
func Embedded() Dialect {
	return All()[slices.IndexFunc(All(), func(d Dialect) bool { return d.embedded })]
}

// Names lists the dialects, the default first.
func Names() []string { return names(func(Dialect) bool { return true }) }

// names lists the dialects that can do something.
func names(can func(Dialect) bool) []string {
	var out []string
	for _, d := range All() {
		if can(d) {
			out = append(out, d.name)
		}
	}
	return out
}

// Name is the dialect's name.
func (d Dialect) Name() string { return d.name }

// Sends is what the dialect sends of a request.
func (d Dialect) Sends() model.Sends { return d.sends }

// TokenParam is the parameter of the agent access's address that a key goes in, or "": the
// key then goes as Bearer (service.md 5.1).
func (d Dialect) TokenParam() string { return d.token }

// AsksForJobs reports whether the dialect knows how to ask for a job's state and
// results, and to cancel it.
func (d Dialect) AsksForJobs() bool { return d.paths != nil }

// WithJobs names the dialects that know how to ask for a job, quoted.
func WithJobs() string { return quoted(Dialect.AsksForJobs) }

// WithDatasets names the dialects that send a dataset's name, quoted.
func WithDatasets() string { return quoted(func(d Dialect) bool { return d.dataset != "" }) }

func quoted(can func(Dialect) bool) string { return `"` + strings.Join(names(can), `" or "`) + `"` }

// maxText bounds a text that the service wrote, in bytes.
const maxText = 500

// clean makes a remote text one bounded line.
func clean(s string) string { return model.Line(s, maxText) }

// word is a remote text that must be a plain token: letters, digits and "_-.",
// at most 80 of them and not dots alone, which would lead a path elsewhere;
// ok is false for anything else.
func word(s string) (string, bool) {
	if len(s) > 80 || strings.Trim(s, ".") == "" {
		return "", false
	}
	for i := range len(s) {
		b := s[i]
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '.' {
			continue
		}
		return "", false
	}
	return s, true
}
