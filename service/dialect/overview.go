package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"zonedeck/model"
)

// overviewPaths are where an account shows its money, its data sets and its jobs. The zero
// value is what the contract shows: nothing.
type overviewPaths struct {
	balance, spend, datasets string
	scrapers                 bool // data sets are listed with their inputs beside the jobs' paths
}

// ShowsBalance reports whether the dialect knows where an account shows its balance.
func (d Dialect) ShowsBalance() bool { return d.overview.balance != "" }

// ListsDatasets reports whether the dialect knows where data sets and jobs are listed.
func (d Dialect) ListsDatasets() bool { return d.overview.datasets != "" }

// WithOverview names the dialects that know where an account shows itself, quoted.
func WithOverview() string { return quoted(Dialect.ListsDatasets) }

// Balance is where an account shows its balance. The answer is for ReadBalance.
func (d Dialect) Balance() (path string) { return d.overview.balance }

// ReadBalance reads an answer to Balance, in dollars. What is pending has two names: one is
// published, another was seen in answers.
func (d Dialect) ReadBalance(body []byte) (model.Balance, error) {
	var a struct {
		Balance    *float64 `json:"balance"`
		Credit     float64  `json:"credit"`
		Prepayment float64  `json:"prepayment"`
		Costs      *float64 `json:"pending_costs"`
		Published  *float64 `json:"pending_balance"`
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Balance == nil {
		return model.Balance{}, errors.New("the answer does not show a balance")
	}
	out := model.Balance{Dollars: *a.Balance, Credit: a.Credit, Prepayment: a.Prepayment, Pending: a.Costs}
	if out.Pending == nil {
		out.Pending = a.Published
	}
	return out, nil
}

// Spend is the call that shows what an account spent on each day, from one to the day before another;
// the path is empty where that is not known. The answer is for ReadSpend.
func (d Dialect) Spend(from, to time.Time) (path string, body []byte) {
	body, _ = json.Marshal(map[string]string{"dimension": "zones", "from": from.Format(time.DateOnly), "to": to.Format(time.DateOnly)}) // texts always encode
	return d.overview.spend, body
}

// ReadSpend reads an answer to Spend: dollars by day, of all zones. Its sums of all days
// are left out.
func (d Dialect) ReadSpend(body []byte) (days map[time.Time]float64, err error) {
	var a map[string]map[string]float64
	if err := json.Unmarshal(body, &a); err != nil || a == nil {
		return nil, errors.New("the answer does not show what was spent by day")
	}
	days = map[time.Time]float64{}
	delete(a, "total")
	for name, zones := range a {
		day, err := time.Parse(time.DateOnly, name)
		if err != nil {
			return nil, errors.New("the answer names a day that is none")
		}
		for _, dollars := range zones {
			if !(dollars >= 0 && dollars < math.MaxInt64) {
				return nil, errors.New("a figure of the answer cannot be")
			}
			days[day] += dollars
		}
	}
	return days, nil
}

// Datasets is where data sets are listed. The answer is for ReadDatasets.
func (d Dialect) Datasets() (path string) { return d.overview.datasets }

// maxListed bounds a list that is read.
const maxListed = 20_000

// ReadDatasets reads an answer to Datasets: how many records each holds, by its identifier.
func (d Dialect) ReadDatasets(body []byte) (records map[string]int64, err error) {
	var list []struct {
		ID   string `json:"id"`
		Size *int64 `json:"size"`
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list) > maxListed {
		return nil, errors.New("the answer is not a list of data sets")
	}
	records = map[string]int64{}
	for _, s := range list {
		if s.Size != nil && *s.Size >= 0 {
			records[s.ID] = *s.Size
		}
	}
	return records, nil
}

// Snapshots is where the jobs of a data set are listed, the newest at most. The answer is for
// ReadSnapshots. Published descriptions disagree about whether the data set may be left out:
// it is always named.
func (d Dialect) Snapshots(version, dataset string, most int) (path string, query url.Values) {
	return datasets(version) + "/snapshots", url.Values{"dataset_id": {dataset}, "limit": {strconv.Itoa(min(most, maxSnapshots))}}
}

// maxSnapshots is the longest list that may be asked for.
const maxSnapshots = 5000

// ReadSnapshots reads an answer to Snapshots. skipped counts entries without an identifier.
func (d Dialect) ReadSnapshots(body []byte) (jobs []model.RemoteJob, skipped int, err error) {
	var list []struct {
		ID      string `json:"id"`
		Created string `json:"created"`
		Status  string `json:"status"`
		Dataset string `json:"dataset_id"`
		Size    *int64 `json:"dataset_size"`
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list) > maxListed {
		return nil, 0, errors.New("the answer is not a list of jobs")
	}
	for _, s := range list {
		id, ok := word(s.ID)
		if !ok {
			skipped++
			continue
		}
		state, _ := jobState(clean(s.Status))
		one := model.RemoteJob{Snapshot: id, Dataset: clean(s.Dataset), Wire: clean(s.Status), State: state, Records: -1}
		if s.Size != nil && *s.Size >= 0 {
			one.Records = *s.Size
		}
		one.Created, _ = time.Parse(time.RFC3339, s.Created) // unknown stays unknown
		jobs = append(jobs, one)
	}
	return jobs, skipped, nil
}

// Bounds on what is taken of one data set.
const (
	maxMethods = 50
	maxFields  = 200
	maxSample  = 1000 // bytes of an example
)

// ListsScrapers reports whether the dialect knows where the data sets that jobs can be
// started for are listed with their inputs.
func (d Dialect) ListsScrapers() bool { return d.overview.scrapers }

// Scrapers is where the data sets are listed with their inputs: one, or all for "". The
// answer is for ReadScrapers; the whole list of a real service was seen with 4.9 MB.
func (Dialect) Scrapers(version, dataset string) (path string, query url.Values) {
	if dataset != "" {
		query = url.Values{"dataset_id": {dataset}}
	}
	return datasets(version) + "/scrapers", query
}

// ReadScrapers reads an answer to Scrapers. skipped counts entries without an identifier.
// Data sets of which no method is listed are taken without methods.
func (Dialect) ReadScrapers(body []byte) (out []model.Dataset, skipped int, err error) {
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
		c := model.Dataset{ID: id, Name: clean(s.Name), Kind: kindOf(id, s.Name, s.Category), Domain: clean(s.Domain), Description: clean(s.Description)}
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
func kindOf(id, name, category string) model.DatasetKind {
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
