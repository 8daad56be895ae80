package accountapi

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/answer"
	"zonedeck/service/emulator/document"
	"zonedeck/service/emulator/meter"
)

const (
	active    = "active"
	suspended = "suspend_manual"
)

// status says whether the account can fetch through a zone. Without a zone it answers
// "zone_not_found", as the public service does.
func (a *API) status(c *call) (any, error) {
	ip, _, _ := net.SplitHostPort(c.r.RemoteAddr)
	out := map[string]any{
		"status": active, "customer": a.conf.Account.ID, "can_make_requests": false, "auth_fail_reason": "zone_not_found", "ip": ip,
	}
	z, err := a.conf.Account.Zone(c.q.Get("zone"))
	switch {
	case a.conf.Account.Suspended():
		out["status"], out["auth_fail_reason"] = suspended, "account_suspended"
	case err == nil && z.Settings().Status == account.Active:
		out["can_make_requests"], out["auth_fail_reason"] = true, ""
	case err == nil:
		out["auth_fail_reason"] = "zone_disabled"
	}
	return out, nil
}

func (a *API) suspend(c *call) (any, error) {
	status := c.body.Word("status")
	c.body.RefuseIf(status != active && status != suspended, "status", "must be %s or %s", active, suspended)
	if err := c.checked(); err != nil {
		return nil, err
	}
	return map[string]string{"status": status}, a.conf.Account.Suspend(status == suspended)
}

// dollars rounds to a millionth of a dollar.
func dollars(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// balance shows the balance less the cost of all fetches so far. pending is the cost of this
// month, under both of its names.
func (a *API) balance(*call) (any, error) {
	now := a.conf.Now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	var sum meter.Sum
	for _, u := range a.conf.Meter.Uses(month, month.AddDate(0, 1, 0)) {
		sum = sum.Plus(u.Sum)
	}
	pending := dollars(sum.Dollars())
	return map[string]float64{
		"balance": dollars(a.conf.Account.Opening - float64(a.conf.Meter.Total())/1e9), "credit": 0, "prepayment": 0,
		"pending_costs": pending, "pending_balance": pending,
	}, nil
}

// window is a span of days; to is exclusive.
type window struct {
	name     string
	from, to time.Time
}

// windows are the window of a query or, without dates, the last three days and months.
func (a *API) windows(c *call) ([]window, error) {
	if c.q.Get("from") != "" || c.q.Get("to") != "" {
		custom, err := span(c.q.Get("from"), c.q.Get("to"))
		return []window{custom}, err
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
	return out, nil
}

// maxSpan bounds a window, which is added up day by day.
const maxSpan = 3 * 366 * 24 * time.Hour

// span reads the two dates of a window; anything else is answered with 500, as the
// public service does.
func span(from, to string) (window, error) {
	f, errF := document.ParseTime(from)
	t, errT := document.ParseTime(to)
	f, t = f.Truncate(24*time.Hour), t.Truncate(24*time.Hour)
	if errF != nil || errT != nil || t.Before(f) || t.Sub(f) > maxSpan {
		return window{}, &answer.TextError{
			Status: http.StatusInternalServerError, Basis: basisText,
			Text: "Internal server error: from and to must be dates like 2027-01-31, to after from, at most three years apart",
		}
	}
	return window{"custom", f, t}, nil
}

// costAnswer is one window of GET /zone/cost. Requests are named by the product.
type costAnswer struct {
	BW        int64             `json:"bw"`
	Cost      float64           `json:"cost"`
	Range     map[string]string `json:"range"`
	SERP      int64             `json:"reqs_serp,omitempty"`
	Unblocker int64             `json:"reqs_unblocker,omitempty"`
}

func (a *API) cost(c *call) (any, error) {
	z, err := a.zone(c)
	if err != nil {
		return nil, err
	}
	windows, err := a.windows(c)
	out := map[string]costAnswer{}
	for _, win := range windows {
		s := a.conf.Meter.Zone(z.Name, win.from, win.to)
		one := costAnswer{BW: s.Bytes(), Cost: dollars(s.Dollars()), Range: map[string]string{
			"from": win.from.Format(time.DateOnly), "to": win.to.Format(time.DateOnly),
		}}
		switch z.Product {
		case "serp":
			one.SERP = s.Billable
		case "unlocker":
			one.Unblocker = s.Billable
		}
		out[win.name] = one
	}
	return map[string]any{a.conf.Account.ID: out}, err
}

func (a *API) zoneUse(c *call) (any, error) {
	z, err := a.zone(c)
	if err != nil {
		return nil, err
	}
	return a.useBy(c, []account.Zone{z})
}

func (a *API) allUse(c *call) (any, error) { return a.useBy(c, a.conf.Account.AllZones()) }

const (
	// daysShown is how many days the arrays have without dates.
	defaultDays = 30
	// maxShown bounds zones times days of one answer.
	maxCells = 100_000

	basisUse = basisDocs + "; an entry for each day: assumption"
)

// useBy is bandwidth: sums by window, and arrays with an entry for each day.
func (a *API) useBy(c *call, zs []account.Zone) (any, error) {
	windows, err := a.windows(c)
	if err != nil {
		return nil, err
	}
	today := a.conf.Now().UTC().Truncate(24 * time.Hour)
	shown := window{"", today.AddDate(0, 0, 1-defaultDays), today.AddDate(0, 0, 1)}
	if windows[0].name == "custom" {
		shown = windows[0]
	}
	if days := int(shown.to.Sub(shown.from) / (24 * time.Hour)); days*len(zs) > maxCells {
		return nil, answer.Invalid("from and to are too far apart for as many zones: ask for fewer days, or zone by zone")
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
	for _, u := range a.conf.Meter.Uses(shown.from, shown.to) {
		day, err := time.Parse(time.DateOnly, u.Day)
		if err != nil || data[u.Zone] == nil {
			continue // of another zone, or of jobs
		}
		for name, n := range useOf(u.Product, u.Sum) {
			if days := data[u.Zone][name]; days != nil {
				days[int(day.Sub(shown.from)/(24*time.Hour))] += n
			}
		}
	}
	return map[string]any{a.conf.Account.ID: map[string]any{"data": data, "sums": sums}}, nil
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

// domains counts bytes or requests by zone, day and domain.
func (a *API) domains(c *call) (any, error) {
	what := c.r.PathValue("what")
	if what != "bw" && what != "req" {
		return nil, &answer.TextError{Status: http.StatusNotFound, Basis: basisAssumed, Text: "there is /domains/bw and /domains/req"}
	}
	win, err := span(c.q.Get("from"), c.q.Get("to"))
	if err != nil {
		return nil, err
	}
	zs, err := a.zones(c)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]map[string]int64{}
	for _, z := range zs {
		out[z.Name] = map[string]map[string]int64{}
	}
	for _, u := range a.conf.Meter.Uses(win.from, win.to) {
		if out[u.Zone] == nil {
			continue
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
	}
	return out, nil
}

// jobsZone is the name under which the cost of jobs is shown: jobs have no zone.
const jobsZone = "-"

func exportKey(dimension string, u meter.Use) string {
	switch dimension {
	case "zones":
		return cmp.Or(u.Zone, jobsZone)
	case "products":
		return u.Product
	default:
		return account.TypeOf(u.Product)
	}
}

// export is cost by day and key, as JSON or CSV.
func (a *API) export(c *call) (any, error) {
	format := c.r.PathValue("format")
	if format != "json" && format != "csv" {
		return nil, &answer.TextError{Status: http.StatusNotFound, Basis: basisAssumed, Text: "there is /costs/export/json and /costs/export/csv"}
	}
	dimension, from, to := c.body.Word("dimension"), c.body.Word("from"), c.body.Word("to")
	switch dimension {
	case "zones", "products", "types":
	case "datasets", "web_apis", "collectors", "dca_jobs", "snapshots", "ws_api_snaps", "domains":
		c.body.Refuse("dimension", "%s is not metered in money by this emulator: zones, products and types are", dimension)
	default:
		c.body.Refuse("dimension", "must be zones, products or types")
	}
	filters := c.body.Object("filters")
	zones := filters.Texts("zones")
	filters.Done()
	if err := c.checked(); err != nil {
		return nil, err
	}
	win, err := span(from, to)
	if err != nil {
		return nil, err
	}
	nano := map[string]map[string]int64{"total": {}} // rounded once, at the end
	for _, u := range a.conf.Meter.Uses(win.from, win.to) {
		key := exportKey(dimension, u)
		if len(zones) > 0 && !slices.Contains(zones, u.Zone) {
			continue
		}
		if nano[u.Day] == nil {
			nano[u.Day] = map[string]int64{}
		}
		nano[u.Day][key] += u.Nano
		nano["total"][key] += u.Nano
	}
	out := map[string]map[string]float64{}
	for day, costs := range nano {
		out[day] = map[string]float64{}
		for key, n := range costs {
			out[day][key] = dollars(float64(n) / 1e9)
		}
	}
	if format == "csv" {
		return csvFile{strings.TrimSuffix(dimension, "s"), out}, nil
	}
	return out, nil
}

type csvFile struct {
	key  string
	days map[string]map[string]float64
}

func (f csvFile) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set(answer.BasisHeader, basisMoney+"; columns: assumption")
	rows := [][]string{{"date", f.key, "cost"}}
	for _, day := range slices.Sorted(maps.Keys(f.days)) {
		for _, key := range slices.Sorted(maps.Keys(f.days[day])) {
			rows = append(rows, []string{day, key, strconv.FormatFloat(f.days[day][key], 'f', -1, 64)})
		}
	}
	_ = csv.NewWriter(w).WriteAll(rows) // a failed write means that the client left
}
