package view

import (
	"cmp"
	"encoding/json"
	"errors"
	"time"

	"zonedeck/model"
	"zonedeck/service/catalogue"
	"zonedeck/service/exchange"
)

// Origin says where a list is from: "service", "builtin" or, for a data set that is on neither, "none".
type Origin struct {
	Source    string     `json:"source" enum:"builtin|none|service"`
	Read      *time.Time `json:"read" jsonschema:"when the service gave the list"`
	Age       *int64     `json:"age_seconds"`
	Problem   string     `json:"problem" jsonschema:"why the service was not asked, or did not answer as it should"`
	Diagnosis *Fault     `json:"diagnosis" jsonschema:"the verdict on the call for the service's list; null where it was not asked, or answered"`
}

func newOrigin(l catalogue.Listing, now time.Time) Origin {
	out := Origin{Source: "builtin", Problem: l.Problem}
	switch {
	case !l.Builtin():
		read, age := l.Read.UTC(), int64(now.Sub(l.Read).Seconds())
		out.Source, out.Read, out.Age = "service", &read, &age
	case l.None():
		out.Source = "none"
	}
	if call := (*exchange.CallError)(nil); errors.As(l.Err, &call) {
		verdict := NewFault(model.JobFault{Diagnosis: call.Diagnosis, At: now})
		out.Diagnosis = &verdict
	}
	return out
}

// Dataset is a data set (docs/schema/datasets.json).
type Dataset struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Names       []string `json:"names" jsonschema:"further names that public clients use"`
	Kind        string   `json:"kind" enum:"crawl|deep_lookup|discover|scraper|search"`
	Domain      string   `json:"domain"`
	Description string   `json:"description"`
	Records     *int64   `json:"records" jsonschema:"that it holds; null where it is not shown"`
	Methods     []Method `json:"methods" jsonschema:"empty where they are not shown"`
}

// Method is a way to collect; fields is null where they are not shown.
type Method struct {
	Discover string       `json:"discover" jsonschema:"discover_by; \"\" collects what the inputs name"`
	Bound    string       `json:"bound" jsonschema:"the field that bounds how many records are found, or \"\""`
	CostRisk string       `json:"cost_risk" jsonschema:"how it may cost more than its inputs suggest, or \"\""`
	Fields   []InputField `json:"fields" nullable:"true" jsonschema:"of an input; null where they are not shown"`
}

// InputField is a field of an input; example and default are null where they are not shown.
type InputField struct {
	Name        string          `json:"name"`
	Type        string          `json:"type" jsonschema:"the service's word; \"\" where it is not shown"`
	Required    bool            `json:"required"`
	Description string          `json:"description"`
	Example     json.RawMessage `json:"example" jsonschema:"null where it is not shown"`
	Default     json.RawMessage `json:"default" jsonschema:"null where it is not shown"`
}

func newDataset(c model.Dataset) Dataset {
	return Dataset{
		ID: c.ID, Name: c.Name, Names: list(c.Names), Kind: string(c.Kind), Domain: c.Domain, Description: c.Description,
		Records: c.Records, Methods: each(c.CollectMethods(), newMethod),
	}
}

func newMethod(m model.CollectMethod) Method {
	method := Method{Discover: m.Discover, Bound: m.Bound, CostRisk: m.Cost()}
	if m.FieldsKnown() {
		method.Fields = each(m.Fields, func(f model.InputField) InputField {
			return InputField{f.Name, f.Type, f.Required, f.Description, json.RawMessage(cmp.Or(f.Example, "null")), json.RawMessage(cmp.Or(f.Default, "null"))}
		})
	}
	return method
}

// Catalogue are data sets and where they are from (docs/schema/datasets.json).
type Catalogue struct {
	SchemaVersion Version `json:"schema_version"`
	Origin
	Datasets []Dataset `json:"datasets"`
}

// CatalogueDataset is one data set and where it is from (docs/schema/dataset.json).
type CatalogueDataset struct {
	SchemaVersion Version `json:"schema_version"`
	Origin
	Dataset Dataset `json:"dataset"`
}

// NewCatalogue are the data sets of a list that were found.
func NewCatalogue(l catalogue.Listing, found []model.Dataset, now time.Time) Catalogue {
	return Catalogue{Origin: newOrigin(l, now), Datasets: each(found, newDataset)}
}

// NewCatalogueDataset is a data set of a list.
func NewCatalogueDataset(l catalogue.Listing, c model.Dataset, now time.Time) CatalogueDataset {
	return CatalogueDataset{Origin: newOrigin(l, now), Dataset: newDataset(c)}
}
