package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"zonedeck/model"
)

// Bounds on what is taken of one collector.
const (
	maxMethods = 50
	maxFields  = 200
	maxSample  = 1000 // bytes of an example
)

// ListsCollectors reports whether the dialect knows where the data sets that jobs can be
// started for are listed with their inputs.
func (d Dialect) ListsCollectors() bool { return d.overview.collectors }

// Collectors is where the data sets are listed with their inputs: one, or all for "". The
// answer is for ReadCollectors; the whole list of a real service was seen with 4.9 MB.
func (Dialect) Collectors(version, dataset string) (path string, query url.Values) {
	if dataset != "" {
		query = url.Values{"dataset_id": {dataset}}
	}
	return datasets(version) + "/scrapers", query
}

// ReadCollectors reads an answer to Collectors. skipped counts entries without an identifier.
// Data sets of which no method is listed are taken without methods.
func (Dialect) ReadCollectors(body []byte) (out []model.Collector, skipped int, err error) {
	type field struct {
		Name        string          `json:"name"`
		Type        string          `json:"type"`
		Required    bool            `json:"required"`
		Description string          `json:"description"`
		Example     json.RawMessage `json:"example"`
	}
	var list []struct {
		ID, Name, Domain, Category, Description string
		Types                                   []string `json:"scraper_type"`
		Methods                                 map[string]struct {
			Inputs []field `json:"input_schema"`
		} `json:"scrapers"`
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list) > maxListed {
		return nil, 0, errors.New("the answer is not a list of scrapers")
	}
	for _, s := range list {
		id, ok := word(s.ID)
		if !ok {
			skipped++
			continue
		}
		c := model.Collector{ID: id, Name: clean(s.Name), Kind: kindOf(id, s.Name, s.Category), Domain: clean(s.Domain), Description: clean(s.Description)}
		names := s.Types
		for name := range s.Methods { // those that scraper_type leaves out follow in the order of their names
			if !slices.Contains(s.Types, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names[len(s.Types):])
		for _, name := range names[:min(len(names), maxMethods)] {
			discover, ok := discovery(name)
			if !ok || slices.ContainsFunc(c.Methods, func(m model.CollectMethod) bool { return m.Discover == discover }) {
				continue
			}
			m := model.CollectMethod{Discover: discover}
			if known, ok := s.Methods[name]; ok && known.Inputs != nil {
				m.Fields = []model.InputField{}
				for _, f := range known.Inputs[:min(len(known.Inputs), maxFields)] {
					if f.Name == "" || clean(f.Name) != f.Name {
						continue
					}
					m.Fields = append(m.Fields, model.InputField{
						Name: f.Name, Type: clean(f.Type), Required: f.Required, Description: clean(f.Description), Example: example(f.Example),
					})
				}
			}
			c.Methods = append(c.Methods, m)
		}
		out = append(out, c)
	}
	return out, skipped, nil
}

// discovery is the discover_by of a method's name; ok is false for a name of neither shape.
// collect_by_url collects, whatever the field of the address is called.
func discovery(name string) (discover string, ok bool) {
	if by, found := strings.CutPrefix(name, "discover_by_"); found {
		return word(by)
	}
	return "", strings.HasPrefix(name, "collect")
}

// crawlDataset is the crawl product as a data set (public documentation).
const crawlDataset = "gd_m6gjtfmeh43we6cqc"

// kindOf is the kind of a data set. A category other than that of a kind names a trade; the data sets of
// searches then tell themselves by their names, in every public list of them.
func kindOf(id, name, category string) model.CollectorKind {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	switch {
	case id == crawlDataset, category == string(model.CollectCrawl):
		return model.CollectCrawl
	case category == string(model.CollectSearch), slices.Contains(words, "search"):
		return model.CollectSearch
	default:
		return model.CollectScraper
	}
}

// example is a bounded JSON text, "" for none.
func example(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || len(raw) > maxSample || string(raw) == "null" || json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}
