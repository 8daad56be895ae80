package export

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"zonedeck/model"
)

// Comparison is a comparison as a JSON object (docs/schema/compare.json).
type Comparison struct {
	SchemaVersion int               `json:"schema_version"`
	ID            string            `json:"id"`
	Profile       string            `json:"profile"`
	URL           string            `json:"url"`
	Required      []string          `json:"required"`
	Cells         []ComparisonCell  `json:"cells"`
	Winner        *ComparisonWinner `json:"winner" jsonschema:"null when no cell was ok in every run"`
}

// ComparisonCell is one zone by one method. Times are in milliseconds; what was not seen is
// null.
type ComparisonCell struct {
	Zone        string          `json:"zone"`
	Via         string          `json:"via" enum:"via"`
	Class       string          `json:"class" enum:"|ok|access_restricted|too_fast|captcha|timeout|parsing_drift|outside" jsonschema:"the most frequent one, on a tie the one that stands later in the list; empty without a run"`
	Cause       string          `json:"cause"`
	Status      int             `json:"status" minimum:"0" jsonschema:"the target's, of a run of that class; 0 when unknown"`
	Runs        int             `json:"runs" minimum:"0"`
	OK          int             `json:"ok" minimum:"0" jsonschema:"runs that were ok, required fields included"`
	MedianMS    *float64        `json:"median_ms" minimum:"0"`
	FastestMS   *float64        `json:"fastest_ms" minimum:"0"`
	SlowestMS   *float64        `json:"slowest_ms" minimum:"0"`
	FirstByteMS *float64        `json:"first_byte_ms" minimum:"0" jsonschema:"the median"`
	Bytes       int64           `json:"bytes" minimum:"0" jsonschema:"the median size of a body"`
	CostPer1000 *float64        `json:"cost_per_1000" minimum:"0" jsonschema:"dollars for 1,000 runs like these, by the zone's rate, with every attempt that the target answered; null when unpriced"`
	FieldsFound int             `json:"fields_found" minimum:"0" jsonschema:"of the required fields, in the run that found the fewest"`
	Problem     string          `json:"problem,omitempty" jsonschema:"why nothing was sent"`
	Fetches     []ComparisonRun `json:"fetches"`
}

// ComparisonRun is one run, by its identifier in the history.
type ComparisonRun struct {
	ID          string   `json:"id"`
	Class       string   `json:"class" enum:"class"`
	Cause       string   `json:"cause"`
	Status      int      `json:"status" minimum:"0"`
	TotalMS     *float64 `json:"total_ms" minimum:"0"`
	FirstByteMS *float64 `json:"first_byte_ms" minimum:"0"`
	Bytes       int64    `json:"bytes" minimum:"0"`
	FieldsFound int      `json:"fields_found" minimum:"0"`
}

// ComparisonWinner is the cell to use, and why.
type ComparisonWinner struct {
	Zone   string `json:"zone"`
	Via    string `json:"via" enum:"via"`
	Reason string `json:"reason"`
}

// NewComparison is t as a JSON object.
func NewComparison(t model.Grid) Comparison {
	out := Comparison{
		SchemaVersion: 1, ID: t.ID, Profile: t.Profile, URL: t.Base.URL,
		Required: append([]string{}, t.Base.Required...), Cells: make([]ComparisonCell, len(t.Cells)),
	}
	for i, c := range t.Cells {
		out.Cells[i] = newComparisonCell(c)
	}
	if v := t.Verdict(); v.Winner >= 0 {
		c := t.Cells[v.Winner]
		out.Winner = &ComparisonWinner{Zone: string(c.Zone.Name), Via: string(c.Via), Reason: v.Reason}
	}
	return out
}

func newComparisonCell(c model.Cell) ComparisonCell {
	out := ComparisonCell{
		Zone: string(c.Zone.Name), Via: string(c.Via), Runs: len(c.Runs), OK: c.OK(), FieldsFound: c.Found(), Problem: c.Problem,
		Fetches: make([]ComparisonRun, len(c.Runs)),
	}
	if typical, ok := c.Typical(); ok {
		total, _ := c.Total()
		first, _ := c.FirstByte()
		fastest, slowest, _ := c.Spread()
		out.Class, out.Cause, out.Status = string(typical.Class), string(typical.Cause), typical.Status
		out.MedianMS, out.FastestMS, out.SlowestMS, out.FirstByteMS = ms(total), ms(fastest), ms(slowest), ms(first)
		out.Bytes, _ = c.Bytes()
	}
	if cost, priced := c.Cost(); priced {
		cost = math.Round(cost*1e6) / 1e6
		out.CostPer1000 = &cost
	}
	for i, r := range c.Runs {
		out.Fetches[i] = ComparisonRun{
			ID: r.FetchID, Class: string(r.Class), Cause: string(r.Cause), Status: r.Status, TotalMS: ms(r.Total),
			FirstByteMS: ms(r.FirstByte), Bytes: r.Bytes, FieldsFound: r.Found,
		}
	}
	return out
}

// ms is a duration in milliseconds, to the microsecond; nil for a negative one, which was
// not seen.
func ms(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	n := float64(d.Microseconds()) / 1000
	return &n
}

// Compared is what a comparison of the history showed of a request's zone and access method, in a
// line; false where it has no run of them.
func Compared(t model.Grid, r model.FetchRequest) (string, bool) {
	shown, ok := t.ObservedUse(r.Zone.Name, r.Via)
	if !ok {
		return "", false
	}
	return "runs compared " + t.Started.Local().Format("2006-01-02 15:04") + ": " + shown, true
}

// ComparisonMarkdown is a comparison as a heading, a table and its verdict.
func ComparisonMarkdown(t model.Grid) string {
	var b strings.Builder
	row := func(cells ...string) {
		for _, c := range cells {
			b.WriteString("| " + markdown.Replace(c) + " ")
		}
		b.WriteString("|\n")
	}
	fmt.Fprintf(&b, "# %s\n\n", markdown.Replace(t.Base.URL))
	if len(t.Base.Required) > 0 {
		fmt.Fprintf(&b, "Required fields: %s\n\n", markdown.Replace(strings.Join(t.Base.Required, ", ")))
	}
	row("Zone", "Via", "Class", "OK", "Status", "Median ms", "Fastest ms", "Slowest ms", "First byte ms", "Bytes", "Fields", "Cost per 1000")
	b.WriteString(strings.Repeat("| --- ", 12) + "|\n")
	for _, c := range t.Cells {
		typical, ran := c.Typical()
		if !ran {
			words := "not sent: " + c.Problem
			if c.CutOff > 0 {
				words = c.Problem
			}
			row(c.ZoneWord(), c.Via.String(), words, "", "", "", "", "", "", "", "", "")
			continue
		}
		total, _ := c.Total()
		first, _ := c.FirstByte()
		bytes, _ := c.Bytes()
		fastest, slowest, _ := c.Spread()
		status, fields, cost := ComparisonWords(t, c)
		row(c.ZoneWord(), c.Via.String(), model.ClassWord(typical.Class, typical.Cause), fmt.Sprintf("%d of %d", c.OK(), len(c.Runs)),
			status, millis(total), millis(fastest), millis(slowest), millis(first), fmt.Sprint(bytes), fields, cost)
	}
	fmt.Fprintf(&b, "\n%s\n", markdown.Replace(t.Verdict().Text))
	return b.String()
}

// ComparisonWords are a cell's status, required fields and cost as a table shows them.
func ComparisonWords(t model.Grid, c model.Cell) (status, fields, cost string) {
	status, fields, cost = "unknown", "none", "unpriced"
	if typical, _ := c.Typical(); typical.Status > 0 {
		status = strconv.Itoa(typical.Status)
	}
	if n := len(t.Base.Required); n > 0 {
		fields = fmt.Sprintf("%d of %d", c.Found(), n)
	}
	if dollars, priced := c.Cost(); priced {
		cost = model.Dollars(dollars)
	}
	return status, fields, cost
}

// markdown keeps a text in its cell or line, and shows it as it is.
var markdown = strings.NewReplacer("\n", " ", "\r", " ", `\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "`", "\\`", "[", `\[`)

func millis(d time.Duration) string {
	if n := ms(d); n != nil {
		return fmt.Sprintf("%.1f", *n)
	}
	return "not seen"
}
