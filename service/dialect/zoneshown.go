package dialect

import (
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/model"
)

// usePaths are where an account shows the state and the use of its zones. The zero value is what the
// contract shows: nothing.
type usePaths struct {
	state, traffic, callers, networks string
}

var brightDataUse = usePaths{state: "/zone/status", traffic: "/zone/bw", callers: "/zone/recent_ips", networks: "/network_status/all"}

// ShowsUse reports whether the dialect knows where an account shows the state and the use of its zones.
func (d Dialect) ShowsUse() bool { return d.use.state != "" }

// WithUse names the dialects that know where an account shows the use of its zones, quoted.
func WithUse() string { return quoted(Dialect.ShowsUse) }

// ZoneState is where an account shows the state of one zone. The answer is for ReadZoneState.
func (d Dialect) ZoneState(zone model.ZoneName) (path string, query url.Values) {
	return d.use.state, url.Values{"zone": {string(zone)}}
}

// ZoneTraffic is where an account shows what went through one zone from a day to the day before
// another. The answer is for ReadTraffic.
func (d Dialect) ZoneTraffic(zone model.ZoneName, from, to time.Time) (path string, query url.Values) {
	return d.use.traffic, url.Values{"zone": {string(zone)}, "from": {from.Format(time.DateOnly)}, "to": {to.Format(time.DateOnly)}}
}

// ZoneCallers is where an account shows which addresses lately tried to use one zone. The answer is
// for ReadCallers. The service takes a missing name and "*" for every zone: it is always one name.
func (d Dialect) ZoneCallers(zone model.ZoneName) (path string, query url.Values) {
	return d.use.callers, url.Values{"zones": {string(zone)}}
}

// Networks is where the service shows whether its networks are up. The answer is for ReadNetworks.
func (d Dialect) Networks() (path string) { return d.use.networks }

// ReadZoneState reads an answer to ZoneState: the service's own word, one line.
func (d Dialect) ReadZoneState(body []byte) (word string, err error) {
	var a struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal(body, &a); err != nil || clean(a.Status) == "" {
		return "", errors.New("the answer does not show the state of a zone")
	}
	return clean(a.Status), nil
}

// ReadNetworks reads an answer to Networks.
func (d Dialect) ReadNetworks(body []byte) (up bool, err error) {
	var a struct {
		Status *bool `json:"status"`
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Status == nil {
		return false, errors.New("the answer does not show whether the networks are up")
	}
	return *a.Status, nil
}

// maxCallers bounds the addresses that are read.
const maxCallers = 1000

// ReadCallers reads an answer to ZoneCallers. skipped counts entries that are no addresses.
func (d Dialect) ReadCallers(zone model.ZoneName, body []byte) (callers []netip.Addr, skipped int, err error) {
	var a map[string][]string
	if err := json.Unmarshal(body, &a); err != nil || a[string(zone)] == nil || len(a) != 1 {
		return nil, 0, errors.New("the answer does not show the callers of this zone alone")
	}
	list := a[string(zone)]
	if len(list) > maxCallers {
		skipped, list = len(list)-maxCallers, list[:maxCallers]
	}
	for _, text := range list {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.Zone() != "" {
			skipped++
			continue
		}
		callers = append(callers, ip)
	}
	return callers, skipped, nil
}

// ReadTraffic reads an answer to ZoneTraffic: the sums of the days that were asked for. Without them
// in the answer it is an error: the arrays beside them say nothing of their days.
func (d Dialect) ReadTraffic(zone model.ZoneName, body []byte) (model.Traffic, error) {
	var accounts map[string]struct {
		Sums map[string]struct {
			Custom map[string]json.RawMessage `json:"custom"`
		} `json:"sums"`
	}
	unread := errors.New("the answer does not show the traffic of this zone")
	if err := json.Unmarshal(body, &accounts); err != nil || len(accounts) != 1 {
		return model.Traffic{}, unread
	}
	var out model.Traffic
	for _, a := range accounts {
		sums := a.Sums[string(zone)].Custom
		total, ok := figure(sums["bw_sum"])
		if !ok {
			return model.Traffic{}, unread
		}
		out.Bytes = total
		out.Down, _ = figure(sums["bw_dn"])
		out.Up, _ = figure(sums["bw_up"])
		for name, text := range sums {
			n, ok := figure(text)
			switch {
			case !ok:
			case strings.HasPrefix(name, "reqs_") && strings.HasSuffix(name, "_billable"):
				out.Billable += n
			case strings.HasPrefix(name, "http") && strings.HasSuffix(name, "_req"):
				out.Requests += n
			}
		}
	}
	return out, nil
}

// figure is a count of an answer: a number, or numbers for each interval.
func figure(text json.RawMessage) (n int64, ok bool) {
	var one float64
	if json.Unmarshal(text, &one) == nil && string(text) != "null" {
		return countOf(one)
	}
	var many []float64
	if json.Unmarshal(text, &many) != nil || many == nil {
		return 0, false
	}
	for _, v := range many {
		one += v
	}
	return countOf(one)
}

func countOf(v float64) (int64, bool) {
	if !(v >= 0 && v < 1<<62) {
		return 0, false
	}
	return int64(v), true
}

// ZonePlan is what an account shows of one zone's settings; what it does not show is empty.
type ZonePlan struct {
	Created time.Time
	// Type, Addresses, Country and Description are the service's own words, one line each.
	Type, Addresses, Country, Description string
	Disabled                              bool
	// Callers are who may use it, as the service says it: "any" is everybody.
	Callers []string
	// Limit is the use that it stops at, as "5 $ a month", or empty.
	Limit string
	// Compromised is how many of its passwords the service calls compromised.
	Compromised int
}

// Product is the product that the type stands for, as far as the dialect knows it.
func (p ZonePlan) Product() model.Product { return zoneProduct(p.Type) }

// maxWords bounds a list of words of an answer.
const maxWords = 100

// ReadZonePlan reads an answer to AccountZone, but for its passwords.
func (d Dialect) ReadZonePlan(body []byte) (ZonePlan, error) {
	var a struct {
		Created string `json:"created"`
		Plan    struct {
			Type, Product string
			IPsType       string          `json:"ips_type"`
			Country       string          `json:"default_country"`
			Disabled      json.RawMessage `json:"disabled"`
		} `json:"plan"`
		IPs         []string `json:"ips"`
		Description string   `json:"description"`
		Limit       *struct {
			Value *float64 `json:"value"`
			Unit  string   `json:"unit"`
			Cycle string   `json:"cycle"`
		} `json:"usage_limit"`
		Compromised []json.RawMessage `json:"compromised_password"`
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields["plan"] == nil || json.Unmarshal(body, &a) != nil {
		return ZonePlan{}, errors.New("the answer does not show a zone") // the error may repeat a password
	}
	out := ZonePlan{
		Type: clean(a.Plan.Type), Addresses: clean(a.Plan.IPsType), Country: clean(a.Plan.Country), Description: clean(a.Description),
		Disabled: charged(a.Plan.Disabled) && string(a.Plan.Disabled) != "false", Compromised: len(a.Compromised),
	}
	if out.Type == "" {
		out.Type = clean(a.Plan.Product)
	}
	out.Created, _ = time.Parse(time.RFC3339, a.Created) // unknown stays unknown
	for _, ip := range a.IPs[:min(len(a.IPs), maxWords)] {
		if ip = clean(ip); ip != "" && !slices.Contains(out.Callers, ip) {
			out.Callers = append(out.Callers, ip)
		}
	}
	if l := a.Limit; l != nil && l.Value != nil {
		out.Limit = strings.TrimSpace(strconv.FormatFloat(*l.Value, 'f', -1, 64) + " " + clean(l.Unit) + " " + cycle(l.Cycle))
	}
	return out, nil
}

// cycle is how often a limit begins anew, in words.
func cycle(word string) string {
	switch word {
	case "h":
		return "an hour"
	case "d":
		return "a day"
	case "w":
		return "a week"
	case "m":
		return "a month"
	}
	return clean(word)
}
