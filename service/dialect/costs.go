package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"time"

	"zonedeck/model"
)

// ShowsCosts reports whether the dialect knows where an account shows what a zone cost. The
// contract shows no such call.
func (d Dialect) ShowsCosts() bool { return d.costs != "" }

// WithCosts names the dialects that know where an account shows what a zone cost, quoted.
func WithCosts() string { return quoted(Dialect.ShowsCosts) }

// Costs is where an account shows what a zone cost. The answer is for ZoneCost.
func (d Dialect) Costs(zone model.ZoneName) (path string, query url.Values) {
	return d.costs, url.Values{"zone": {string(zone)}}
}

// costWindow is a span of days in the answer: the days overlap, so that they are never added up.
// The unit of bw is not shown: it is taken for bytes.
type costWindow struct {
	BW    float64 `json:"bw"`
	Cost  float64 `json:"cost"`
	Range struct {
		From string `json:"from"`
		To   string `json:"to"` // the first day after it
	} `json:"range"`
	SERP      float64         `json:"reqs_serp"`
	Unblocker float64         `json:"reqs_unblocker"`
	IPs       json.RawMessage `json:"ips"`
	VIPs      json.RawMessage `json:"vips"`
}

// ZoneCost reads an answer to Costs: the last whole month and, when nothing was charged in it,
// this one. An error says that the answer has another shape.
func (d Dialect) ZoneCost(z model.Zone, body []byte) (model.ZoneCost, error) {
	var accounts map[string]map[string]json.RawMessage
	if err := json.Unmarshal(body, &accounts); err != nil || len(accounts) != 1 {
		return model.ZoneCost{}, errors.New("the answer does not show the cost of one account")
	}
	var out model.ZoneCost
	for _, windows := range accounts {
		for _, name := range []string{"back_m1", "back_m0"} {
			var err error
			if out, err = windowCost(z, windows[name]); err != nil {
				return model.ZoneCost{}, fmt.Errorf("%s: %w", name, err)
			}
			if out.Dollars > 0 {
				return out, nil
			}
		}
	}
	return out, nil
}

func windowCost(z model.Zone, text json.RawMessage) (model.ZoneCost, error) {
	var w costWindow
	if err := json.Unmarshal(text, &w); err != nil {
		return model.ZoneCost{}, errors.New("the answer does not show a cost")
	}
	from, errFrom := time.Parse(time.DateOnly, w.Range.From)
	to, errTo := time.Parse(time.DateOnly, w.Range.To)
	if errFrom != nil || errTo != nil || !to.After(from) {
		return model.ZoneCost{}, errors.New("the answer does not show the days of a cost")
	}
	if min(w.Cost, w.BW, w.SERP, w.Unblocker) < 0 || max(w.Cost, w.BW, w.SERP, w.Unblocker) > math.MaxInt64 {
		return model.ZoneCost{}, errors.New("a figure of the answer cannot be")
	}
	c := model.ZoneCost{Zone: z, From: from, To: to, Dollars: w.Cost, Bytes: w.BW, Requests: max(w.SERP, w.Unblocker)}
	c.Measure(charged(w.IPs) || charged(w.VIPs))
	return c, nil
}

// charged reports whether a field that counts addresses counts any.
func charged(text json.RawMessage) bool {
	switch string(text) {
	case "", "0", "null", "[]", "{}", `""`:
		return false
	}
	return true
}
