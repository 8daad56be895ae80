package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// DatasetKind is what kind of product a data set belongs to.
type DatasetKind string

// The kinds that are started as a job. The last two are products of their own, not data sets.
const (
	CollectScraper    DatasetKind = "scraper"     // ready-made scrapers and data feeds
	CollectCrawl      DatasetKind = "crawl"       // follows a site's links
	CollectSearch     DatasetKind = "search"      // results of a search
	CollectDiscover   DatasetKind = "discover"    // pages that answer a query
	CollectDeepLookup DatasetKind = "deep_lookup" // a table that answers a question
)

// Label is the kind in words.
func (k DatasetKind) Label() string {
	switch k {
	case CollectScraper:
		return "scraper or feed"
	case CollectDeepLookup:
		return "deep lookup"
	default:
		return string(k)
	}
}

// Dataset is a data set that jobs can be started for. What a source does not show stays
// empty. Texts from a service are remote.
type Dataset struct {
	ID   string      `json:"id"`
	Name string      `json:"name"`
	Kind DatasetKind `json:"kind"`
	// Names are further names that public clients use.
	Names       []string `json:"names,omitempty"`
	Domain      string   `json:"domain,omitempty"`
	Description string   `json:"description,omitempty"`
	// Records is how many it holds, and nil where that is not shown.
	Records *int64 `json:"records,omitempty"`
	// Methods are the ways to collect; none where they are not shown.
	Methods []CollectMethod `json:"methods,omitempty"`
}

// CollectMethod is one way to collect: by the addresses of the records, or by a discovery.
type CollectMethod struct {
	// Discover is the service's discover_by; "" collects what the inputs name.
	Discover string `json:"discover,omitempty"`
	// Fields are those of an input; nil where they are not shown.
	Fields []InputField `json:"fields"`
	// Bound is the field that bounds how many records are found; "" where none does.
	Bound string `json:"bound,omitempty"`
	// OpenEnded says that an input may give any number of records although nothing is discovered: that of a
	// search or a crawl. Dataset.Method and Ways tell.
	OpenEnded bool `json:"-"`
}

// InputField is a field of an input.
type InputField struct {
	Name string `json:"name"`
	// Type is the source's word: text, url, number, boolean, array and others; "" where it
	// is not shown.
	Type        string `json:"type,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Description string `json:"description,omitempty"`
	// Example and Default are JSON texts, "" where they are not shown.
	Example string `json:"example,omitempty"`
	Default string `json:"default,omitempty"`
}

// Label is the method in words.
func (m CollectMethod) Label() string {
	switch {
	case m.Bound != "":
		return "find"
	case m.Discover == "":
		return "collect"
	default:
		return "discover by " + m.Discover
	}
}

// FieldsKnown reports whether the fields of an input are known.
func (m CollectMethod) FieldsKnown() bool { return m.Fields != nil }

// Field is a field by its name.
func (m CollectMethod) Field(name string) (InputField, bool) {
	i := slices.IndexFunc(m.Fields, func(f InputField) bool { return f.Name == name })
	if i < 0 {
		return InputField{}, false
	}
	return m.Fields[i], true
}

// Required are the names of the fields that an input must have.
func (m CollectMethod) Required() []string {
	var out []string
	for _, f := range m.Fields {
		if f.Required {
			out = append(out, f.Name)
		}
	}
	return out
}

// Cost says how the method may cost more than its inputs suggest, or "".
func (m CollectMethod) Cost() string {
	switch {
	case m.Bound != "":
		return "it may find any number of records, and each may be billed, unless " + m.Bound + " or a limit is set"
	case m.Discover == "" && !m.OpenEnded:
		return ""
	case m.Discover != "" && m.FieldsKnown() && len(m.Required()) == 0:
		return "no field is required: even an empty input can start a billed job; each input may find any number of records unless a limit is set"
	default:
		return "each input may find any number of records, which are billed, unless a limit is set"
	}
}

// openEnded reports whether an input may give any number of records.
func (c Dataset) openEnded() bool { return c.Kind == CollectSearch || c.Kind == CollectCrawl }

// CollectMethods are the methods, which tell whether an input of them may give any number of records.
func (c Dataset) CollectMethods() []CollectMethod {
	out := slices.Clone(c.Methods)
	for i := range out {
		out[i].OpenEnded = c.openEnded()
	}
	return out
}

// Method is the method of a discovery, or of collecting for "". A method of a data set whose
// methods are not shown has no fields that are shown. The error names what there is.
func (c Dataset) Method(discover string) (CollectMethod, error) {
	for _, m := range c.CollectMethods() {
		if m.Discover == discover {
			return m, nil
		}
	}
	if len(c.Methods) == 0 {
		return CollectMethod{Discover: discover, OpenEnded: c.openEnded()}, nil
	}
	names := make([]string, 0, len(c.Methods))
	for _, m := range c.Methods {
		if m.Discover != "" {
			names = append(names, m.Discover)
		}
	}
	switch {
	case discover == "":
		return CollectMethod{}, fmt.Errorf("it only discovers records: choose %s", strings.Join(names, " or "))
	case len(names) == 0:
		return CollectMethod{}, errors.New("it has no discovery: its inputs name what is collected")
	default:
		return CollectMethod{}, fmt.Errorf("it does not discover by %q, but by %s", Cut(discover, 60), strings.Join(names, ", "))
	}
}

// Known reports whether a data set goes by this name: its identifier, or a name in any case.
func (c Dataset) Known(name string) bool {
	return c.ID == name || strings.EqualFold(c.Name, name) || slices.ContainsFunc(c.Names, func(n string) bool { return strings.EqualFold(n, name) })
}

// Matches reports whether each of the words, in lower case, stands in one of the data set's
// texts.
func (c Dataset) Matches(words []string) bool {
	all := strings.ToLower(strings.Join([]string{c.ID, c.Name, c.Domain, c.SearchText()}, "\n"))
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) })
}

// SearchText are what else a search looks at: the kind, by itself as kind:search, the names that public clients
// use, and the description.
func (c Dataset) SearchText() string {
	return strings.Join(append([]string{"kind:" + string(c.Kind), c.Kind.Label(), c.Description}, c.Names...), "\n")
}

// Title is the name, or the identifier without one.
func (c Dataset) Title() string { return cmp.Or(c.Name, c.ID) }

// AuthUse is the reference to the secret with which the addresses of a job are called (JobSettings.Auth). Launching
// the job again needs it.
type AuthUse struct {
	Ref   string
	Job   string
	State JobState
}

// JobSettings are what a trigger asks for besides its inputs. The contract shows none of
// them. The zero value asks for nothing.
type JobSettings struct {
	// Discover is the discovery that finds the records (discover_by); "" collects.
	Discover string `json:"discover,omitempty"`
	// LimitPerInput and LimitTotal bound the records; 0 is no bound.
	LimitPerInput int `json:"limit_per_input,omitempty"`
	LimitTotal    int `json:"limit_total,omitempty"`
	// Notify is called when the job has ended, Endpoint gets the records. Addresses, or "".
	Notify   string `json:"notify,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Auth is the reference of the secret that is sent along to both addresses, as the whole value of
	// their Authorization header; "" for none.
	Auth string `json:"auth,omitempty"`
	// Format is that of the records for Endpoint, "" for the service's own choice; Plain
	// sends them uncompressed.
	Format string `json:"format,omitempty"`
	Plain  bool   `json:"plain,omitempty"`
}

// CallsInboxAlone reports whether the inbox is asked for as an address, and no other address is.
func (s JobSettings) CallsInboxAlone() bool {
	return s.Notify+s.Endpoint != "" && (s.Notify == "" || s.Notify == InboxEndpoint) && (s.Endpoint == "" || s.Endpoint == InboxEndpoint)
}

// FirstGiven is the name of the first setting that is given, "" for none. The limit on all records does not count.
func (s JobSettings) FirstGiven() string {
	for _, setting := range []struct {
		name  string
		given bool
	}{
		{"discover", s.Discover != ""},
		{"limit_per_input", s.LimitPerInput != 0},
		{"notify", s.Notify != ""},
		{"endpoint", s.Endpoint != ""},
		{"auth_header", s.Auth != ""},
		{"format", s.Format != "" || s.Plain},
	} {
		if setting.given {
			return setting.name
		}
	}
	return ""
}

// DeliveryFormats are the formats of records that a service sends to an endpoint.
func DeliveryFormats() []string { return []string{"json", "ndjson", "jsonl", "csv"} }

// problems are what is wrong with the settings, by the name of the setting.
func (s JobSettings) problems(c Sends) (ps problems) {
	if s != (JobSettings{}) && !c.JobSettings {
		ps.add("settings", c.NotShown("a setting of a job: a discovery, a limit, a notification or a delivery"))
		return ps
	}
	if s.LimitPerInput < 0 {
		ps.add("limit_per_input", errors.New("give a number of records from 1"))
	}
	if s.LimitTotal < 0 {
		ps.add("limit_total", errors.New("give a number of records from 1"))
	}
	if strings.ContainsAny(s.Discover, " /?&#") || Line(s.Discover, 100) != s.Discover {
		ps.add("discover", fmt.Errorf("%q is not the name of a discovery", Cut(s.Discover, 60)))
	}
	for _, a := range []struct{ field, address string }{{"notify", s.Notify}, {"endpoint", s.Endpoint}} {
		if a.address == "" {
			continue
		}
		if _, err := ParseTarget(a.address); err != nil {
			ps.add(a.field, err)
		}
	}
	if s.Format != "" && !slices.Contains(DeliveryFormats(), s.Format) {
		ps.add("format", fmt.Errorf("%q is not one of %s", Cut(s.Format, 20), strings.Join(DeliveryFormats(), ", ")))
	}
	if s.Auth != "" && s.Notify == "" && s.Endpoint == "" {
		ps.add("auth_header", errors.New("it needs an address that it is sent to: a notification or an endpoint"))
	}
	if s.Endpoint == "" && (s.Format != "" || s.Plain) {
		ps.add("endpoint", errors.New("a format or no compression needs an endpoint that the records are sent to"))
	}
	return ps
}
