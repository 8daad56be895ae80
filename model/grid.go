package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Comparison says what varies between the cells of a Grid, and what its verdict is about.
type Comparison string

// The comparisons.
const (
	CompareZones   Comparison = ""        // zones and access methods: which to use
	CompareLogins  Comparison = "logins"  // the proxy logins of zones: which work
	CompareExits   Comparison = "exits"   // one proxy login, call after call: whether its exit changes
	CompareList    Comparison = "list"    // zones and access methods, over a sample of a list: which to use for all of it
	CompareRefusal Comparison = "refusal" // a fetch that was refused, with one thing changed: what refuses
)

// Grid is one request sent in several ways, so that they can be compared.
type Grid struct {
	ID      string
	Profile string
	Started time.Time
	Kind    Comparison `json:",omitempty"`
	// Base is what the cells have in common; see Grid.Request.
	Base FetchRequest `json:"Request"`
	// Params are those of the username, besides the session, where cells are calls through the proxy.
	Params []Param `json:",omitempty"`
	// Repeat is how many runs each cell makes, as many at a time as the cell says.
	Repeat int
	Cells  []Cell
	// List is what zones are compared over where they are compared over a list: a run is then one of its sample's rows.
	List List `json:"-"`
	// KeepGoing sends the other cells of zones when one has failed, whatever the error.
	KeepGoing bool `json:"-"`
}

// The bounds of the runs of one cell: each is billed.
const (
	MaxRuns       = 100 // of zones
	MaxLoginCalls = 20  // of logins
	MaxExitCalls  = 500 // of exits
)

// Vary is what a cell is sent with: its zone and access method, and what it has in place of the
// base's key and URL. Session is that of a call through the proxy.
type Vary struct {
	Zone    Zone
	Via     Via
	Key     string `json:",omitempty"`
	URL     string `json:",omitempty"`
	Session string `json:",omitempty"`
}

// Cell is one way to send the request.
type Cell struct {
	Vary
	// Label says what a cell is for where a refusal is looked into.
	Label Label `json:",omitempty"`
	// Problem says why nothing (more) was sent for this cell, or is empty; Cause is the error that it was made from.
	Problem string
	Cause   error `json:"-"`
	AtOnce  int   // how many runs are in flight at a time; 0 is one
	Runs    []Run // that ended
	// Active says that runs are being made.
	Active bool `json:"-"`
	// CutOff is how many runs were sent and then broken off, by a cancel or the end of the program:
	// they may be billed, and nothing of them is known.
	CutOff int `json:",omitempty"`
	// Ended says why calls through the proxy were not repeated further, or is empty.
	Ended string `json:",omitempty"`
}

// Run is one fetch of a cell, or one call through the proxy.
type Run struct {
	FetchID   string `json:"Fetch"` // the fetch's identifier in the history
	Page      string `json:"-"`     // the address of a row of a list
	Class     Class
	Cause     Cause
	Status    int           // the target's, 0 when unknown
	Bytes     int64         // of the body
	FirstByte time.Duration // of the last attempt
	Before    time.Duration // what the attempts before the last took, with the pauses after them
	Total     time.Duration // of all attempts, with the pauses between them; negative when not measured
	Found     int           // how many of the required fields
	// Attempts is how many there were, 0 in histories from before they were counted.
	// Requests is how many of them the target has answered, Traffic the bytes of their bodies.
	Attempts, Requests int
	Traffic            int64
	// Sent is when the last attempt was sent, in microseconds since 1970; 0 when unknown.
	Sent int64
	// Login is what a call through the proxy showed of the login, nil for a fetch.
	Login *LoginCall `json:",omitempty"`
	// Summary and Evidence are the diagnosis's; a fetch of the history has them itself.
	Summary  string     `json:"-"`
	Evidence []Evidence `json:"-"`
}

// Request is what a cell of the comparison fetches. A page in place of the base's is asked for
// plainly: with no body, header or secret that was meant for the other.
func (g Grid) Request(c Cell) FetchRequest {
	r := g.Base
	r.Zone, r.Via = c.Zone, c.Via
	if c.Key != "" {
		r.Key = c.Key
	}
	if c.URL != "" {
		r.URL, r.Method, r.Body, r.Header, r.Secrets = c.URL, "", "", nil, nil
	}
	return r
}

// OfZones reports whether its cells are zones by access methods, whose runs are fetches.
func (g Grid) OfZones() bool { return g.Kind == CompareZones || g.Kind == CompareList }

// Next is the cell to fill next where cells are filled one after the other; false where none is left
// that can still change the verdict.
func (g Grid) Next() (cell int, ok bool) {
	for i, c := range g.Cells {
		if len(c.Runs) == 0 && c.Problem == "" && g.needs(c.Label) {
			return i, true
		}
	}
	return -1, false
}

// Verdict is what a comparison has shown.
type Verdict struct {
	// Winner is the cell to use, or -1, and Reason why it is that, or why there is none.
	Winner int
	Reason string
	// Culprit is what refuses.
	Culprit Culprit
	// Class is the worst that a cell's last call showed, or ok; empty where none was called.
	Class Class
	// Text is the verdict in one line.
	Text string
}

// Verdict says what the comparison has shown so far, and nothing that it has not.
func (g Grid) Verdict() Verdict {
	v := Verdict{Winner: -1}
	switch g.Kind {
	case CompareLogins:
		v.Class, v.Text = g.Baseline().verdict()
	case CompareExits:
		v.Text = g.Cells[0].exitVerdict()
	case CompareRefusal:
		v.Culprit, v.Text = g.culprit()
	default:
		choose := g.winner
		if g.Kind == CompareList {
			choose = g.cheapest
		}
		if v.Winner, v.Reason = choose(); v.Winner < 0 {
			v.Text = "no winner: " + v.Reason
			return v
		}
		v.Text = fmt.Sprintf("winner: %s, %s", g.Cells[v.Winner].Place(), v.Reason)
	}
	return v
}

// Spend is what the calls through the proxy cost.
func (g Grid) Spend() (sum Spend) {
	for _, c := range g.Cells {
		sum = sum.Plus(c.Spend())
	}
	return sum
}

// NewRun is what a Grid keeps of a fetch.
func NewRun(r FetchResult) Run {
	run := Run{
		FetchID: r.ID, Summary: r.Diagnosis.Summary, Evidence: r.Diagnosis.Evidence, Class: r.Diagnosis.Class, Cause: r.Diagnosis.Cause, Status: r.Status, Bytes: r.Body.Size,
		FirstByte: r.Timing.FirstByte, Total: r.Timing.Total, Attempts: len(r.Attempts),
	}
	run.Requests, run.Traffic = r.billed()
	for i, a := range r.Attempts {
		run.Before += a.Wait
		if i < len(r.Attempts)-1 {
			run.Before += a.Total
		}
	}
	run.Total += run.Before
	if n := len(r.Attempts); n > 0 {
		run.Sent = r.Attempts[n-1].Sent
	}
	for _, f := range r.Fields {
		if f.Found {
			run.Found++
		}
	}
	return run
}

// billed is what the run counts as: of one whose attempts were not counted, one request with
// the last body, if the target has answered.
func (r Run) billed() (requests int, bytes int64) {
	switch last := (Attempt{Class: r.Class, Status: r.Status}); {
	case r.Attempts > 0:
		return r.Requests, r.Traffic
	case last.answered():
		return 1, r.Bytes
	default:
		return 0, 0
	}
}

// ZoneCells are the cells of a comparison: every zone by every way, zone by zone. By agent
// access the service chooses the zone: it is one cell, the last.
func ZoneCells(zones []Zone, ways []Via) []Cell {
	var cells []Cell
	for _, z := range zones {
		for _, via := range ways {
			if via != ViaAgent {
				cells = append(cells, Cell{Vary: Vary{Zone: z, Via: via}})
			}
		}
	}
	if slices.Contains(ways, ViaAgent) {
		cells = append(cells, Cell{Vary: Vary{Zone: AgentZone(), Via: ViaAgent}})
	}
	return cells
}

// Misplaced reports whether a cell is one of those that filled the grid in comparisons kept
// when agent access had a column; nothing was sent for it.
func (c Cell) Misplaced() bool {
	return (c.Via == ViaAgent) != (c.Zone.Name == "" && c.Zone.Product == ProductAgent)
}

// ZoneWord is the cell's zone in a table; "-" by agent access, where the service chooses.
func (c Cell) ZoneWord() string { return cmp.Or(string(c.Zone.Name), "-") }

// Place is the cell in words: its zone and its way.
func (c Cell) Place() string {
	if c.Via == ViaAgent {
		return "agent access"
	}
	return fmt.Sprintf("%s by %s", c.Zone.Name, c.Via)
}

// OK is how many runs were ok, required fields included.
func (c Cell) OK() int {
	n := 0
	for _, r := range c.Runs {
		if r.Class == ClassOK {
			n++
		}
	}
	return n
}

// Typical is the run whose class is the most frequent, of equally frequent ones the
// later in Classes; false without a run.
func (c Cell) Typical() (Run, bool) {
	count := map[Class]int{}
	for _, r := range c.Runs {
		count[r.Class]++
	}
	var typical Run
	most := 0
	for _, class := range Classes() {
		if count[class] > 0 && count[class] >= most {
			most = count[class]
			typical = c.Runs[slices.IndexFunc(c.Runs, func(r Run) bool { return r.Class == class })]
		}
	}
	return typical, most > 0
}

// Median is the median of what value gives for each run, the mean of the middle two of an
// even number; false without a run.
func (c Cell) Median(value func(Run) int64) (int64, bool) {
	all := c.values(value)
	if len(all) == 0 {
		return 0, false
	}
	middle := len(all) / 2
	if len(all)%2 == 0 {
		return all[middle-1] + (all[middle]-all[middle-1])/2, true
	}
	return all[middle], true
}

// Spread is the time of the fastest and of the slowest run; false without a run.
func (c Cell) Spread() (fastest, slowest time.Duration, ok bool) {
	all := c.values(runTotal)
	if len(all) == 0 {
		return 0, 0, false
	}
	return time.Duration(all[0]), time.Duration(all[len(all)-1]), true
}

func (c Cell) values(value func(Run) int64) []int64 {
	all := make([]int64, len(c.Runs))
	for i, r := range c.Runs {
		all[i] = value(r)
	}
	slices.Sort(all)
	return all
}

func runTotal(r Run) int64     { return int64(r.Total) }
func runFirstByte(r Run) int64 { return int64(r.FirstByte) }
func runBytes(r Run) int64     { return r.Bytes }

// Total is the median time of a run; false without one.
func (c Cell) Total() (time.Duration, bool) {
	d, ok := c.Median(runTotal)
	return time.Duration(d), ok
}

// FirstByte is the median time until the answer began, of the runs in which that was seen;
// -1 when it was seen in none, false without a run.
func (c Cell) FirstByte() (time.Duration, bool) {
	answered := Cell{Runs: slices.DeleteFunc(slices.Clone(c.Runs), func(r Run) bool { return r.FirstByte < 0 })}
	d, ok := answered.Median(runFirstByte)
	if !ok && len(c.Runs) > 0 {
		return -1, true
	}
	return time.Duration(d), ok
}

// Answered is the median time from the start of a run until its answer began, whatever the
// attempts before it took; of the runs in which that was seen, false without one.
func (c Cell) Answered() (time.Duration, bool) {
	answered := Cell{Runs: slices.DeleteFunc(slices.Clone(c.Runs), func(r Run) bool { return r.FirstByte < 0 })}
	d, ok := answered.Median(func(r Run) int64 { return int64(r.Before + r.FirstByte) })
	return time.Duration(d), ok
}

// Together is how many runs were in flight at the same moment, by the times of their last
// attempts; 1 where those are unknown.
func (c Cell) Together() int {
	most := 1
	for _, r := range c.Runs {
		n := 0
		for _, other := range c.Runs {
			if other.Sent <= r.Sent && r.Sent < other.Sent+(other.Total-other.Before).Microseconds() && r.Sent > 0 {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// Bytes is the median size of a body; false without a run.
func (c Cell) Bytes() (int64, bool) { return c.Median(runBytes) }

// Found is the smallest number of required fields that a run found.
func (c Cell) Found() int {
	if len(c.Runs) == 0 {
		return 0
	}
	return slices.MinFunc(c.Runs, func(a, b Run) int { return a.Found - b.Found }).Found
}

// Cost is what 1,000 runs like these cost, in dollars, with all their attempts that the
// target has answered; false when the zone is unpriced or nothing was fetched.
func (c Cell) Cost() (float64, bool) {
	if len(c.Runs) == 0 {
		return 0, false
	}
	var requests int
	var bytes int64
	for _, r := range c.Runs {
		n, size := r.billed()
		requests, bytes = requests+n, bytes+size
	}
	runs := float64(len(c.Runs))
	return c.Zone.Rate.Cost(float64(requests)/runs*1000, float64(bytes)/runs*1000)
}

// winner is the cell to use, and why: the cheapest of those that were ok in every run, of
// equally cheap ones the fastest. A zone without a rate counts as dearer than any with one.
// cell is -1 where no cell was ok in every run.
func (g Grid) winner() (cell int, reason string) {
	var fit []int
	for i, c := range g.Cells {
		if len(c.Runs) >= max(g.Repeat, 1) && c.OK() == len(c.Runs) {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return -1, "no cell was ok in every run"
	}
	cell = fit[0]
	for _, i := range fit {
		if g.before(i, cell) {
			cell = i
		}
	}
	c := g.Cells[cell]
	total, _ := c.Total()
	cost, priced := c.Cost()
	same, unpriced := 0, 0 // of those that fit: as cheap as the winner, without a rate
	for _, i := range fit {
		switch other, known := g.Cells[i].Cost(); {
		case !known:
			unpriced++
		case other == cost:
			same++
		}
	}
	price := "unpriced"
	if priced {
		price = Dollars(cost) + " per 1000"
	}
	figures := fmt.Sprintf("%d of %d ok, median %d ms", c.OK(), len(c.Runs), total.Milliseconds())
	switch {
	case len(fit) == 1:
		return cell, fmt.Sprintf("the only one that was ok in every run (%s, %s)", figures, price)
	case !priced:
		return cell, fmt.Sprintf("the fastest of %d that were ok in every run (%s; none has a rate)", len(fit), figures)
	case unpriced > 0:
		price += fmt.Sprintf("; %d unpriced", unpriced)
	}
	if same > 1 {
		return cell, fmt.Sprintf("the fastest of %d at the lowest price that were ok in every run (%s, %s)", same, figures, price)
	}
	return cell, fmt.Sprintf("the cheapest of %d that were ok in every run (%s, %s)", len(fit), figures, price)
}

// before reports whether cell a is the better choice than b.
func (g Grid) before(a, b int) bool {
	costA, pricedA := g.Cells[a].Cost()
	costB, pricedB := g.Cells[b].Cost()
	switch {
	case pricedA != pricedB:
		return pricedA
	case costA != costB:
		return costA < costB
	}
	totalA, _ := g.Cells[a].Total()
	totalB, _ := g.Cells[b].Total()
	return totalA < totalB
}
