package accountapi

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/level"
	"zonedeck/service/emulator/meter"
)

func (a *API) mountMoney(handle func(string, level.Action, http.HandlerFunc)) {
	handle("GET /status", level.See, a.serveStatus)
	handle("PUT /status", level.Keys, a.serveSuspend)
	handle("GET /customer/balance", level.Billing, a.serveBalance)
	handle("GET /zone/cost", level.Billing, a.serveCost)
	handle("GET /zone/bw", level.Usage, a.serveZoneUse)
	handle("GET /customer/bw", level.Usage, a.serveAllUse)
	handle("GET /domains/{what}", level.Usage, a.serveDomains)
	handle("POST /costs/export/{format}", level.Billing, a.serveExport)
}

const (
	active    = "active"
	suspended = "suspend_manual"
)

// serveStatus tells whether the account can fetch by the zone that is named; where none
// is, the answer is the normal "zone_not_found" of the public service.
func (a *API) serveStatus(w http.ResponseWriter, r *http.Request) {
	q, ok := a.query(w, r, "zone")
	if !ok {
		return
	}
	ip, _, _ := net.SplitHostPort(r.RemoteAddr)
	out := map[string]any{
		"status": active, "customer": a.conf.Account.ID, "can_make_requests": false, "auth_fail_reason": "zone_not_found", "ip": ip,
	}
	z, err := a.conf.Account.Zone(q.Get("zone"))
	switch {
	case a.conf.Account.Suspended():
		out["status"], out["auth_fail_reason"] = suspended, "account_suspended"
	case err == nil && z.Status() == account.Active:
		out["can_make_requests"], out["auth_fail_reason"] = true, ""
	case err == nil:
		out["auth_fail_reason"] = "zone_disabled"
	}
	answer.JSON(w, http.StatusOK, basisDocs+"; reasons besides zone_not_found: assumption", out)
}

func (a *API) serveSuspend(w http.ResponseWriter, r *http.Request) {
	f, ok := a.body(w, r, "status")
	if !ok {
		return
	}
	bad := &answer.InvalidError{}
	status := f.text("status", bad)
	if status != active && status != suspended {
		bad.Add("status must be %s or %s", active, suspended)
	}
	if invalid(w, bad) {
		return
	}
	if err := a.conf.Account.Suspend(status == suspended); err != nil {
		a.refuse(w, err)
		return
	}
	answer.JSON(w, http.StatusOK, basisShape+"; administrators only: assumption", map[string]string{"status": status})
}

// dollars keeps a millionth of a dollar.
func dollars(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// serveBalance: what was fetched is taken off the balance at once; pending is what this
// month came to. Both spellings of it are sent.
func (a *API) serveBalance(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.query(w, r); !ok {
		return
	}
	now := a.conf.Now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	var sum meter.Sum
	a.conf.Meter.Each(month, month.AddDate(0, 1, 0), func(u meter.Use) { sum = sum.Plus(u.Sum) })
	pending := dollars(sum.Dollars())
	answer.JSON(w, http.StatusOK, basisMoney+"; pending is this month's: assumption", map[string]float64{
		"balance": dollars(a.conf.Account.Opening - float64(a.conf.Meter.Total())/1e9), "credit": 0, "prepayment": 0,
		"pending_costs": pending, "pending_balance": pending,
	})
}

// window is a span of days; to is exclusive.
type window struct {
	name     string
	from, to time.Time
}

// windows are those of a query: the one it asks for, or the last three days and months.
func (a *API) windows(w http.ResponseWriter, q url.Values) ([]window, bool) {
	if q.Get("from") != "" || q.Get("to") != "" {
		custom, ok := span(w, q.Get("from"), q.Get("to"))
		return []window{custom}, ok
	}
	now := a.conf.Now().UTC()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	month := day.AddDate(0, 0, 1-day.Day())
	var out []window
	for i := range 3 {
		out = append(out, window{fmt.Sprint("back_m", i), month.AddDate(0, -i, 0), month.AddDate(0, 1-i, 0)})
	}
	for i := range 3 {
		out = append(out, window{fmt.Sprint("back_d", i), day.AddDate(0, 0, -i), day.AddDate(0, 0, 1-i)})
	}
	return out, true
}

// maxSpan bounds what is added up day by day.
const maxSpan = 3 * 366 * 24 * time.Hour

// span reads the two dates of a window; anything else is answered with 500, as the
// public service does.
func span(w http.ResponseWriter, from, to string) (window, bool) {
	f, errF := parseDate(from)
	t, errT := parseDate(to)
	if errF != nil || errT != nil || t.Before(f) || t.Sub(f) > maxSpan {
		answer.Text(w, http.StatusInternalServerError, basisText, "Internal server error: from and to must be dates like 2027-01-31, to after from, at most three years apart")
		return window{}, false
	}
	return window{"custom", f, t}, true
}

// parseDate reads a day, or a moment of which the day counts (UTC).
func parseDate(v string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return t.UTC().Truncate(24 * time.Hour), nil
	}
	return time.Parse(time.DateOnly, v)
}

type dates struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// costAnswer is one window of GET /zone/cost. Requests are named by the product.
type costAnswer struct {
	BW        int64   `json:"bw"`
	Cost      float64 `json:"cost"`
	Range     dates   `json:"range"`
	SERP      int64   `json:"reqs_serp,omitempty"`
	Unblocker int64   `json:"reqs_unblocker,omitempty"`
}

func (a *API) serveCost(w http.ResponseWriter, r *http.Request) {
	q, ok := a.query(w, r, "zone", "from", "to")
	if !ok {
		return
	}
	z, ok := a.zone(w, q.Get("zone"))
	if !ok {
		return
	}
	windows, ok := a.windows(w, q)
	if !ok {
		return
	}
	out := map[string]costAnswer{}
	for _, win := range windows {
		s := a.conf.Meter.Zone(z.Name, win.from, win.to)
		c := costAnswer{BW: s.Bytes(), Cost: dollars(s.Dollars()), Range: dates{win.from.Format(time.DateOnly), win.to.Format(time.DateOnly)}}
		switch z.Product {
		case "serp":
			c.SERP = s.Billable
		case "unlocker":
			c.Unblocker = s.Billable
		}
		out[win.name] = c
	}
	answer.JSON(w, http.StatusOK, basisMoney, map[string]any{a.conf.Account.ID: out})
}

func (a *API) serveZoneUse(w http.ResponseWriter, r *http.Request) {
	q, ok := a.query(w, r, "zone", "from", "to")
	if !ok {
		return
	}
	if z, ok := a.zone(w, q.Get("zone")); ok {
		a.answerUse(w, q, []account.Zone{z})
	}
}

func (a *API) serveAllUse(w http.ResponseWriter, r *http.Request) {
	if q, ok := a.query(w, r, "from", "to"); ok {
		a.answerUse(w, q, a.conf.Account.AllZones())
	}
}

const (
	// daysShown is how many days the arrays have where no dates are asked for.
	daysShown = 30
	// maxShown bounds zones times days of one answer.
	maxShown = 100_000
)

// answerUse is bandwidth: sums by window, and arrays with an entry for each day.
func (a *API) answerUse(w http.ResponseWriter, q url.Values, zs []account.Zone) {
	windows, ok := a.windows(w, q)
	if !ok {
		return
	}
	today := a.conf.Now().UTC().Truncate(24 * time.Hour)
	shown := window{"", today.AddDate(0, 0, 1-daysShown), today.AddDate(0, 0, 1)}
	if windows[0].name == "custom" {
		shown = windows[0]
	}
	if days := int(shown.to.Sub(shown.from) / (24 * time.Hour)); days*len(zs) > maxShown {
		answer.WriteInvalid(w, &answer.InvalidError{Details: []string{"from and to are too far apart for as many zones: ask for fewer days, or zone by zone"}})
		return
	}
	data, sums := map[string]map[string][]int64{}, map[string]map[string]map[string]int64{}
	for _, z := range zs {
		sums[z.Name] = map[string]map[string]int64{}
		for _, win := range windows {
			sums[z.Name][win.name] = useOf(z.Product, a.conf.Meter.Zone(z.Name, win.from, win.to))
		}
		data[z.Name] = map[string][]int64{}
		for name := range useOf(z.Product, meter.Sum{}) {
			data[z.Name][name] = make([]int64, int(shown.to.Sub(shown.from)/(24*time.Hour)))
		}
	}
	a.conf.Meter.Each(shown.from, shown.to, func(u meter.Use) {
		day, err := time.Parse(time.DateOnly, u.Day)
		if err != nil || data[u.Zone] == nil {
			return // of another zone, or of jobs
		}
		for name, n := range useOf(u.Product, u.Sum) {
			if of := data[u.Zone][name]; of != nil {
				of[int(day.Sub(shown.from)/(24*time.Hour))] += n
			}
		}
	})
	answer.JSON(w, http.StatusOK, basisDocs+"; an entry for each day: assumption", map[string]any{
		a.conf.Account.ID: map[string]any{"data": data, "sums": sums},
	})
}

// useOf names a sum as the public service does: bytes, and requests by the kind of
// network. It has the same names whatever the sum.
func useOf(product string, s meter.Sum) map[string]int64 {
	out := map[string]int64{
		"bw_sum": s.Bytes(), "bw_dn": s.Down, "bw_up": s.Up, "bw_api": s.API,
		"bw_sum_dc": 0, "bw_sum_res": 0, "https_direct_req": 0, "http_direct_req": 0, "https_svc_req": 0, "http_svc_req": 0,
	}
	network := "svc"
	switch product {
	case "datacenter", "isp":
		out["bw_sum_dc"], network = s.Bytes(), "direct"
	case "residential", "mobile":
		out["bw_sum_res"], network = s.Bytes(), "direct"
	}
	out["https_"+network+"_req"], out["http_"+network+"_req"] = s.HTTPS, s.HTTP
	switch product {
	case "unlocker":
		out["reqs_unblocker_billable"] = s.Billable
	case "serp":
		out["reqs_serp_billable"] = s.Billable
	}
	return out
}

// serveDomains is what went to which target: bytes or requests, by zone, day and domain.
func (a *API) serveDomains(w http.ResponseWriter, r *http.Request) {
	what := r.PathValue("what")
	if what != "bw" && what != "req" {
		answer.Text(w, http.StatusNotFound, basisAssumed, "there is /domains/bw and /domains/req")
		return
	}
	q, ok := a.query(w, r, "from", "to", "zones", "zone")
	if !ok {
		return
	}
	win, ok := span(w, q.Get("from"), q.Get("to"))
	if !ok {
		return
	}
	zs, ok := a.zones(w, q)
	if !ok {
		return
	}
	out := map[string]map[string]map[string]int64{}
	for _, z := range zs {
		out[z.Name] = map[string]map[string]int64{}
	}
	a.conf.Meter.Each(win.from, win.to, func(u meter.Use) {
		if out[u.Zone] == nil {
			return
		}
		hosts := out[u.Zone][u.Day]
		if hosts == nil {
			hosts = map[string]int64{}
			out[u.Zone][u.Day] = hosts
		}
		for host, n := range u.Hosts() {
			if what == "bw" {
				hosts[host] += n.Bytes
			} else {
				hosts[host] += n.Requests
			}
		}
	})
	answer.JSON(w, http.StatusOK, basisDocs, out)
}

// jobsZone is where the cost of jobs is shown, which name no zone.
const jobsZone = "-"

// exportKey says what a day's use is listed under.
func exportKey(dimension string, u meter.Use, zoneType func(string) string) string {
	switch dimension {
	case "zones":
		if u.Zone == "" {
			return jobsZone
		}
		return u.Zone
	case "products":
		return u.Product
	default:
		return zoneType(u.Product)
	}
}

// serveExport is cost by day and key, as JSON or CSV.
func (a *API) serveExport(w http.ResponseWriter, r *http.Request) {
	format := r.PathValue("format")
	if format != "json" && format != "csv" {
		answer.Text(w, http.StatusNotFound, basisAssumed, "there is /costs/export/json and /costs/export/csv")
		return
	}
	f, ok := a.body(w, r, "dimension", "from", "to", "filters")
	if !ok {
		return
	}
	bad := &answer.InvalidError{}
	dimension, from, to := f.text("dimension", bad), f.text("from", bad), f.text("to", bad)
	switch dimension {
	case "zones", "products", "types":
	case "datasets", "web_apis", "collectors", "dca_jobs", "snapshots", "ws_api_snaps", "domains":
		bad.Add("dimension %s is not metered in money by this emulator: zones, products and types are", dimension)
	default:
		bad.Add("dimension must be zones, products or types")
	}
	zones := a.filter(w, f, bad)
	if invalid(w, bad) {
		return
	}
	win, ok := span(w, from, to)
	if !ok {
		return
	}
	out := map[string]map[string]float64{"total": {}}
	a.conf.Meter.Each(win.from, win.to, func(u meter.Use) {
		key := exportKey(dimension, u, account.TypeOf)
		if len(zones) > 0 && !slices.Contains(zones, u.Zone) {
			return
		}
		if out[u.Day] == nil {
			out[u.Day] = map[string]float64{}
		}
		out[u.Day][key] = dollars(out[u.Day][key] + u.Dollars())
		out["total"][key] = dollars(out["total"][key] + u.Dollars())
	})
	if format == "csv" {
		writeCSV(w, dimension, out)
		return
	}
	answer.JSON(w, http.StatusOK, basisMoney, out)
}

// filter reads {"zones": …}, the only filter there is.
func (a *API) filter(w http.ResponseWriter, f fields, bad *answer.InvalidError) []string {
	if string(f["filters"]) == "null" {
		return nil
	}
	by := f.object("filters", bad)
	a.refuseOthers(w, "filters.", by, bad, "zones")
	var none []json.RawMessage
	if raw, ok := by["zones"]; ok && json.Unmarshal(raw, &none) == nil && len(none) == 0 {
		return nil
	}
	return by.texts("zones", bad)
}

func writeCSV(w http.ResponseWriter, dimension string, days map[string]map[string]float64) {
	var b strings.Builder
	cw := csv.NewWriter(&b)
	rows := [][]string{{"date", strings.TrimSuffix(dimension, "s"), "cost"}}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		for _, key := range slices.Sorted(maps.Keys(days[day])) {
			rows = append(rows, []string{day, key, strconv.FormatFloat(days[day][key], 'f', -1, 64)})
		}
	}
	if err := cw.WriteAll(rows); err != nil {
		answer.Text(w, http.StatusInternalServerError, basisText, "Internal server error")
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set(answer.BasisHeader, basisMoney+"; columns: assumption")
	_, _ = w.Write([]byte(b.String())) // the client may be gone; there is nobody else to tell
}
