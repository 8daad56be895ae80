package view

// DatasetsArgs are the arguments of datasets.
type DatasetsArgs struct {
	AgentProfile

	Search string `json:"search,omitempty" jsonschema:"only data sets with this word in their identifier, name or kind"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many; 50 when left out, at most 500"`
}

// DiagnoseArgs are the arguments of diagnose.
type DiagnoseArgs struct {
	AgentProfile

	Answer  string   `json:"answer" jsonschema:"a saved answer: status line, headers, an empty line, the body, as curl -i prints it"`
	Via     string   `json:"via,omitempty" jsonschema:"how the answer came: native (when left out: the target's own or the proxy's) or api (the service's)"`
	Dialect string   `json:"dialect,omitempty" jsonschema:"dialect of the service's headers; whichever knows them when left out"`
	URL     string   `json:"url,omitempty" jsonschema:"what was asked for"`
	Require []string `json:"require,omitempty" jsonschema:"fields that must be present: CSS selectors, or paths into JSON"`
}

// FetchAsk is what is asked of a target.
type FetchAsk struct {
	URL       string            `json:"url,omitempty" jsonschema:"absolute http or https address to fetch"`
	Query     string            `json:"query,omitempty" jsonschema:"what to search for, in place of url, through a SERP zone"`
	Method    string            `json:"method,omitempty" jsonschema:"method of the request to the target; GET when left out"`
	Headers   map[string]string `json:"headers,omitempty" jsonschema:"headers for the target"`
	Body      string            `json:"body,omitempty" jsonschema:"body for the target"`
	Country   string            `json:"country,omitempty" jsonschema:"two-letter country code of the exit"`
	Require   []string          `json:"require,omitempty" jsonschema:"fields that must be present: CSS selectors, or paths into JSON"`
	Retries   int               `json:"retries,omitempty" jsonschema:"how many retries to make if the failure class allows it, at most 3"`
	TimeoutMS int               `json:"timeout_ms,omitempty" jsonschema:"longest time for one attempt; the product's own when left out"`
	MaxBytes  int64             `json:"max_bytes,omitempty" jsonschema:"where the body is cut; 5000000 when left out, at most 50000000"`
}

// FetchArgs are the arguments of fetch.
type FetchArgs struct {
	AgentProfile
	FetchAsk

	Zone     string `json:"zone" jsonschema:"zone to fetch through, as zones lists it"`
	Via      string `json:"via,omitempty" jsonschema:"api (when left out), native or browser"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"how much of the body the result holds; 20000 when left out, at most 100000"`
	Markdown bool   `json:"markdown,omitempty" jsonschema:"give a page as Markdown"`
}

// BatchStartArgs are the arguments of batch_start.
type BatchStartArgs struct {
	AgentProfile
	FetchAsk

	URLs    []string            `json:"urls,omitempty" jsonschema:"absolute http or https addresses, one for each item"`
	Rows    []map[string]string `json:"rows,omitempty" jsonschema:"in place of urls: an object for each item, whose values stand in url, headers and body as {{name}}"`
	Zone    string              `json:"zone" jsonschema:"zone to fetch through, as zones lists it"`
	Via     string              `json:"via,omitempty" jsonschema:"api (when left out) or native"`
	AtOnce  int                 `json:"at_once,omitempty" jsonschema:"fetches in flight at once; as many as the product allows when left out"`
	Rate    float64             `json:"rate,omitempty" jsonschema:"items begun in a second; no bound when left out"`
	MaxCost float64             `json:"max_cost,omitempty" jsonschema:"dollars that the batch never passes; needed where the operator's rules have a cap, and taken from that as a whole"`
	Once    string              `json:"once,omitempty" jsonschema:"a name for this batch: under it the profile begins one; a second call begins nothing and shows the first"`
}

// BatchShowArgs are the arguments of batch_show.
type BatchShowArgs struct {
	AgentProfile

	ID      string `json:"id" jsonschema:"the batch, as batch_start names it"`
	Results int    `json:"results,omitempty" jsonschema:"how many of its newest results to give; none when left out, at most 100"`
	Failed  bool   `json:"failed,omitempty" jsonschema:"only results that are not ok"`
}

// BatchPauseArgs are the arguments of batch_pause.
type BatchPauseArgs struct {
	AgentProfile

	ID string `json:"id" jsonschema:"the batch, as batch_start names it"`
}

// HistoryArgs are the arguments of history.
type HistoryArgs struct {
	AgentProfile

	Search  string `json:"search,omitempty" jsonschema:"words that must all occur in a line"`
	Kind    string `json:"kind,omitempty" jsonschema:"fetch, comparison, probe, job, key, agent, webhook or batch"`
	Class   string `json:"class,omitempty" jsonschema:"class of failure, such as captcha"`
	Zone    string `json:"zone,omitempty"`
	Minutes int    `json:"minutes,omitempty" jsonschema:"only what happened in the last minutes"`
	Limit   int    `json:"limit,omitempty" jsonschema:"how many of the newest; 20 when left out, at most 200"`
}

// HistoryFetchArgs are the arguments of history_fetch.
type HistoryFetchArgs struct {
	AgentProfile

	ID       string `json:"id" jsonschema:"identifier of a fetch, as history and fetch give it"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"how much of the body the result holds; 20000 when left out, at most 100000"`
	Markdown bool   `json:"markdown,omitempty" jsonschema:"give a page as Markdown"`
}

// JobsListArgs are the arguments of jobs_list.
type JobsListArgs struct {
	AgentProfile

	Limit int `json:"limit,omitempty" jsonschema:"how many of the newest; 20 when left out, at most 200"`
}

// JobsWatchArgs are the arguments of jobs_watch.
type JobsWatchArgs struct {
	AgentProfile

	ID          string `json:"id" jsonschema:"the job, as jobs_list names it"`
	WaitSeconds int    `json:"wait_seconds,omitempty" jsonschema:"how long to wait for its end; 20 when left out, at most 300"`
}

// JobsDownloadArgs are the arguments of jobs_download.
type JobsDownloadArgs struct {
	AgentProfile

	ID       string `json:"id" jsonschema:"the job, as jobs_list names it"`
	Format   string `json:"format,omitempty" jsonschema:"json (when left out), ndjson or csv"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"how much of the results the answer holds; 20000 when left out, at most 100000; the file holds all"`
}

// JobsLaunchArgs are the arguments of jobs_launch.
type JobsLaunchArgs struct {
	AgentProfile

	Dataset string           `json:"dataset" jsonschema:"the data set to collect"`
	Inputs  []map[string]any `json:"inputs" jsonschema:"one object for each input, mostly with a url"`
	Once    string           `json:"once,omitempty" jsonschema:"a name for this launch: under it the profile launches one job, whatever the inputs; a second call launches nothing and names the first job"`
	Again   bool             `json:"again,omitempty" jsonschema:"launch it even if the same inputs were launched within the last hour, or may have been before: they are billed twice"`
}

// KeysCheckArgs are the arguments of keys_check.
type KeysCheckArgs struct {
	AgentProfile

	WithinDays int `json:"within_days,omitempty" jsonschema:"how long before a clock runs out a key counts as due soon; 14 when left out"`
}

// AgentProfile names the profile of a call.
type AgentProfile struct {
	Profile string `json:"profile,omitempty" jsonschema:"profile to use; the operator's usual one when left out"`
}

// UsedProfile is the profile that the call names, or "".
func (w AgentProfile) UsedProfile() string { return w.Profile }

// ZonesArgs are the arguments of zones.
type ZonesArgs struct{ AgentProfile }

// CompareArgs are the arguments of compare.
type CompareArgs struct {
	AgentProfile
	FetchAsk

	Zones  []string `json:"zones" jsonschema:"zones to compare, as zones lists them; at most 20"`
	Via    []string `json:"via,omitempty" jsonschema:"access methods to compare: api, native, browser; api and native when left out"`
	Repeat int      `json:"repeat,omitempty" jsonschema:"runs of each zone by each method; 1 when left out"`
}
