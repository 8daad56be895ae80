package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"path"
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

// zonePaths is below which an account's zones are changed and shown. A call there that names
// no zone can concern every zone of the account: DELETE /zone, the allow and deny lists, the
// hosts, the passwords.
const zonePaths = "/zone"

// zoneless are the paths below zonePaths that are about no zone in particular and only read.
var zoneless = []string{"/zone/get_active_zones", "/zone/get_all_zones", "/zone/static/cities", "/zone/count_available_ips"}

// NamesZone refuses a call that could concern every zone because it names none: below /zone it
// has to name exactly one where the service looks for it, which is the query of a call that reads and
// the body of one that changes something. Every call of the API passes here before it is sent, whoever
// made it. The error is a *model.RequestError.
func NamesZone(method, to string, query url.Values, body []byte) error {
	at := tidyPath(to)
	reads := method == "" || method == http.MethodGet || method == http.MethodHead
	if at != zonePaths && !strings.HasPrefix(at, zonePaths+"/") || reads && slices.Contains(zoneless, at) {
		return nil
	}
	names := slices.Concat(query["zone"], query["zones"])
	switch {
	case reads && len(body) > 0: // whatever it says, it may be what counts
		return unnamed(to)
	case !reads:
		// Another name in the query, or a list of them, is refused below: it may be what counts.
		name, ok := zoneOf(body, method == http.MethodPost && at == zonePaths)
		if !ok {
			return unnamed(to)
		}
		names = append(names, name)
	}
	// A list or a pattern is not one zone.
	if len(names) != 1 || strings.ContainsAny(names[0], "*,;|") {
		return unnamed(to)
	}
	if _, err := model.ParseZoneName(names[0]); err != nil {
		return unnamed(to)
	}
	return nil
}

// tidyPath is a path as the most lenient server may read it: unescaped, without dots, in lower case.
func tidyPath(p string) string {
	if plain, err := url.PathUnescape(p); err == nil {
		p = plain
	}
	p, _, _ = strings.Cut(p, "?")
	p, _, _ = strings.Cut(p, ";")
	return path.Clean("/" + strings.ToLower(strings.ReplaceAll(p, "\\", "/")))
}

// zoneOf is the zone that a body names, spelled exactly and once: encoding/json would also take "Zone"
// for it, which the service does not know, and the last of two. With makes it may be the object of a
// zone that is made.
func zoneOf(body []byte, makes bool) (name string, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", false
		}
		if !strings.EqualFold(key.(string), "zone") { //nolint:forcetypeassert // a key of an object
			continue
		}
		if ok || key != "zone" {
			return "", false
		}
		ok = true
		if json.Unmarshal(value, &name) == nil {
			continue
		}
		if !makes {
			return "", false
		}
		if name, ok = nameOf(value); !ok {
			return "", false
		}
	}
	if _, err := d.Token(); err != nil {
		return "", false
	}
	_, err := d.Token()
	return name, ok && errors.Is(err, io.EOF)
}

// nameOf is the name of a zone that is made.
func nameOf(zone []byte) (name string, ok bool) {
	var made map[string]json.RawMessage
	if json.Unmarshal(zone, &made) != nil {
		return "", false
	}
	return name, json.Unmarshal(made["name"], &name) == nil
}

func unnamed(path string) error {
	return &model.RequestError{Problems: []model.FieldProblem{{
		Field: "zone", Err: fmt.Errorf("%s without the name of one zone could concern every zone of the account: nothing was sent", clean(path)),
	}}}
}

// AsksAccount reports whether a call is about the account itself, which a service of this kind
// answers less often than fetches and jobs.
func AsksAccount(path string) bool {
	path = tidyPath(path)
	return slices.ContainsFunc([]string{zonePaths, "/status", "/customer", "/costs", "/domains", "/network_status"}, func(p string) bool {
		return path == p || strings.HasPrefix(path, p+"/")
	})
}
