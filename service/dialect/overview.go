package dialect

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"time"

	"zonedeck/model"
)

// overviewPaths are where an account shows its money, its data sets and its jobs. The zero
// value is what the contract shows: nothing.
type overviewPaths struct {
	balance, datasets string
	collectors        bool // data sets are listed with their inputs beside the jobs' paths
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

// Datasets is where data sets are listed. The answer is for ReadDatasets.
func (d Dialect) Datasets() (path string) { return d.overview.datasets }

// maxListed bounds a list that is read.
const maxListed = 20_000

// ReadDatasets reads an answer to Datasets. skipped counts entries without an identifier.
func (d Dialect) ReadDatasets(body []byte) (sets []model.Dataset, skipped int, err error) {
	var list []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Size *int64 `json:"size"`
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list) > maxListed {
		return nil, 0, errors.New("the answer is not a list of data sets")
	}
	for _, s := range list {
		id, ok := word(s.ID)
		if !ok {
			skipped++
			continue
		}
		one := model.Dataset{ID: id, Name: clean(s.Name), Kind: kindOf(id, s.Name, ""), Records: -1}
		if s.Size != nil {
			one.Records = max(*s.Size, -1)
		}
		sets = append(sets, one)
	}
	return sets, skipped, nil
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
