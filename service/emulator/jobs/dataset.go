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

// Types of a [Field].
const (
	TypeURL     = "url"
	TypeText    = "text"
	TypeNumber  = "number"
	TypeBoolean = "boolean"
	TypePattern = "pattern" // a regular expression, RE2
	TypeObject  = "object"
)

// Field is a field of an input or of a record.
type Field struct {
	Name, Type, Description string
	Required                bool
	// Min and Max bound a number of an input.
	Min, Max int
	// Fields are those of an object.
	Fields []Field
}

// Dataset is a ready-made extraction. The ids are the emulator's own, but the crawl's.
type Dataset struct {
	ID, Name, Domain, Description string
	// Fields are the columns of its records, in order.
	Fields []Field
	// Inputs are the fields of an input to collect; none means that records of this
	// dataset can only be discovered.
	Inputs []Field
	// Discoveries are the ways to find records (discover_by).
	Discoveries []Discovery
}

// Discovery is one way to find records, with the fields of its inputs.
type Discovery struct {
	By     string
	Inputs []Field
}

// Columns are the fields of a record, discovered by (empty: collected): what was
// discovered says by which input.
func (d Dataset) Columns(by string) []Field {
	for _, how := range d.Discoveries {
		if how.By == by {
			return append(slices.Clone(d.Fields), Field{
				Name: discoveryField, Type: TypeObject, Description: "the input that found it", Fields: how.Inputs,
			})
		}
	}
	return d.Fields
}

// HasPath reports whether a record has this field; dots lead into objects.
func (d Dataset) HasPath(by, path string) bool { return hasPath(d.Columns(by), path) }

const discoveryField = "discovery_input"

type dataset struct {
	Dataset
	collect func(ctx context.Context, v *visit) error
	// discover is by Discovery.By.
	discover map[string]func(ctx context.Context, v *visit) error
}

// Datasets lists what a job can be started for.
func Datasets() []Dataset {
	all := datasets()
	out := make([]Dataset, len(all))
	for i, d := range all {
		out[i] = d.Dataset
	}
	return out
}

// Find is one dataset; the error is [ErrNoDataset].
func Find(id string) (Dataset, error) {
	d, ok := datasetOf(id)
	if !ok {
		return Dataset{}, ErrNoDataset
	}
	return d.Dataset, nil
}

func datasets() []dataset {
	address := Field{Name: "url", Type: TypeURL, Description: "the page to collect", Required: true}
	return []dataset{productsDataset(address), reviewsDataset(address), pagesDataset(address), searchDataset(), crawlDataset()}
}

func datasetOf(id string) (dataset, bool) {
	all := datasets()
	i := slices.IndexFunc(all, func(d dataset) bool { return d.ID == id })
	if i < 0 {
		return dataset{}, false
	}
	return all[i], true
}

// InputFields are the fields of an input, discovered by (empty: collected). Errors: [ErrNoDataset], [ErrNoCollection],
// [ErrNoDiscovery].
func InputFields(id, by string) ([]Field, error) {
	d, ok := datasetOf(id)
	if !ok {
		return nil, ErrNoDataset
	}
	if by == "" {
		if len(d.Inputs) == 0 {
			return nil, ErrNoCollection
		}
		return d.Inputs, nil
	}
	for _, how := range d.Discoveries {
		if how.By == by {
			return how.Inputs, nil
		}
	}
	return nil, ErrNoDiscovery
}

// Fault is what an input got wrong.
type Fault struct{ Field, Reason string }

const (
	maxURLBytes     = 8192
	maxTextBytes    = 1024
	maxPatternBytes = 256
	maxUnknown      = 20 // fields that are named in one refusal
)

// CheckInput tells what is wrong with an input that should have these fields; loose lets
// unknown ones pass.
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

// fieldsIn is false for what is no object.
func fieldsIn(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var in map[string]json.RawMessage
	return in, json.Unmarshal(raw, &in) == nil && in != nil
}

// wrong tells why a value does not fit, or "".
func (f Field) wrong(raw json.RawMessage) string {
	switch f.Type {
	case TypeNumber:
		// A CSV upload has numbers as texts.
		n, err := strconv.Atoi(unquoted(raw))
		if err != nil || n < f.Min || n > f.Max {
			return fmt.Sprintf("Must be a number from %d to %d", f.Min, f.Max)
		}
		return ""
	case TypeBoolean:
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
	case TypeURL:
		u, err := url.Parse(s)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || len(s) > maxURLBytes {
			return "Must be an absolute http or https address"
		}
	case TypePattern:
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
