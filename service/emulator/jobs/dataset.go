package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
)

// CrawlDataset is the crawl product as a dataset (public documentation).
const CrawlDataset = "gd_m6gjtfmeh43we6cqc"

// DefaultDataset is the account's data set for a trigger that names none (service.md 4.2).
const DefaultDataset = "gd_pages"

// Types of a [Field].
const (
	typeURL     = "url"
	typeText    = "text"
	typeNumber  = "number"
	typeBoolean = "boolean"
	typePattern = "pattern" // a regular expression, RE2
	typeObject  = "object"
)

// Field is a field of an input or of a record.
type Field struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Required    bool   `json:"required"`
	Description string `json:"description,omitempty"`
	// Example is a value of an input, or nil.
	Example any `json:"example,omitempty"`
	// Min and Max bound a number of an input.
	Min int `json:"-"`
	Max int `json:"-"`
	// Fields are those of an object.
	Fields []Field `json:"-"`
}

// Dataset is a ready-made extraction. The emulator chose the ids, except the crawl's.
type Dataset struct {
	ID, Name, Domain, Category, Description string
	// Fields are the columns of its records, in order.
	Fields []Field
	// Inputs are the fields of an input to collect. A dataset without them can only
	// discover records.
	Inputs []Field
	// Discoveries are the ways to find records (discover_by).
	Discoveries []Discovery

	collect collector
}

// Discovery is one way to find records, with the fields of its inputs.
type Discovery struct {
	By     string
	Inputs []Field

	collect collector
}

// collector adds the records of one input to its visit.
type collector func(ctx context.Context, v *visit) error

// discovery is the way to find records that has this name. The error is [ErrNoDiscovery].
func (d Dataset) discovery(by string) (Discovery, error) {
	for _, how := range d.Discoveries {
		if how.By == by {
			return how, nil
		}
	}
	return Discovery{}, ErrNoDiscovery
}

// Columns are the fields of a record. by is how it was discovered, empty when it was
// collected; a discovered record names the input that found it.
func (d Dataset) Columns(by string) []Field {
	how, err := d.discovery(by)
	if err != nil {
		return d.Fields
	}
	return append(slices.Clone(d.Fields), Field{
		Name: discoveryField, Type: typeObject, Description: "the input that found it", Fields: how.Inputs,
	})
}

// HasPath reports whether a record has this field; dots lead into objects.
func (d Dataset) HasPath(by, path string) bool { return hasPath(d.Columns(by), path) }

const discoveryField = "discovery_input"

// Datasets lists what a job can be started for.
func Datasets() []Dataset {
	address := Field{Name: "url", Type: typeURL, Description: "the page to collect", Required: true, Example: "http://lab.test/product/1"}
	return []Dataset{productsDataset(address), reviewsDataset(address), pagesDataset(address), searchDataset(), crawlDataset()}
}

// Find is one dataset; the error is [errNoDataset].
func Find(id string) (Dataset, error) {
	all := Datasets()
	i := slices.IndexFunc(all, func(d Dataset) bool { return d.ID == id })
	if i < 0 {
		return Dataset{}, errNoDataset
	}
	return all[i], nil
}

// InputFields are the fields of an input. by is the discovery, empty to collect. Errors:
// [errNoDataset], [ErrNoCollection], [ErrNoDiscovery].
func InputFields(id, by string) ([]Field, error) {
	d, err := Find(id)
	if err != nil {
		return nil, err
	}
	if by == "" {
		if len(d.Inputs) == 0 {
			return nil, ErrNoCollection
		}
		return d.Inputs, nil
	}
	how, err := d.discovery(by)
	return how.Inputs, err
}

// Fault is what an input got wrong.
type Fault struct{ Field, Reason string }

const (
	maxURLBytes     = 8192
	maxTextBytes    = 1024
	maxPatternBytes = 256
	maxUnknown      = 20 // fields named in one refusal
)

// CheckInput lists what is wrong with an input that should have these fields. loose accepts
// unknown ones.
func CheckInput(fields []Field, raw json.RawMessage, loose bool) []Fault {
	in, ok := fieldsIn(raw)
	if !ok {
		return []Fault{{"input", "Must be an object"}}
	}
	var faults []Fault
	if !loose {
		for _, name := range unknownIn(fields, in) {
			faults = append(faults, Fault{name, "Unknown field"})
		}
	}
	for _, f := range fields {
		v, given := in[f.Name]
		if !given || string(v) == "null" {
			if f.Required {
				faults = append(faults, Fault{f.Name, "Required field"})
			}
			continue
		}
		if reason := f.wrong(v); reason != "" {
			faults = append(faults, Fault{f.Name, reason})
		}
	}
	return faults
}

// UnknownFields are the names in an input that are not among the fields, at most twenty.
func UnknownFields(fields []Field, raw json.RawMessage) []string {
	in, _ := fieldsIn(raw)
	return unknownIn(fields, in)
}

func unknownIn(fields []Field, in map[string]json.RawMessage) []string {
	var unknown []string
	for name := range in {
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown[:min(len(unknown), maxUnknown)]
}

// fieldsIn reads an object; false is anything else.
func fieldsIn(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var in map[string]json.RawMessage
	return in, json.Unmarshal(raw, &in) == nil && in != nil
}

// wrong says why a value does not fit, or "".
func (f Field) wrong(raw json.RawMessage) string {
	switch f.Type {
	case typeNumber:
		// A CSV upload has numbers as texts.
		n, err := strconv.Atoi(unquoted(raw))
		if err != nil || n < f.Min || n > f.Max {
			return fmt.Sprintf("Must be a number from %d to %d", f.Min, f.Max)
		}
		return ""
	case typeBoolean:
		if v := unquoted(raw); v != "true" && v != "false" {
			return "Must be true or false"
		}
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "Must be a string"
	}
	switch f.Type {
	case typeURL:
		u, err := url.Parse(s)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || len(s) > maxURLBytes {
			return "Must be an absolute http or https address"
		}
	case typePattern:
		if _, err := regexp.Compile(s); err != nil || len(s) > maxPatternBytes {
			return fmt.Sprintf("Must be a regular expression of at most %d bytes", maxPatternBytes)
		}
	default:
		if len(s) > maxTextBytes || f.Required && s == "" {
			return fmt.Sprintf("Must be a text of 1 to %d bytes", maxTextBytes)
		}
	}
	return ""
}

func unquoted(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
