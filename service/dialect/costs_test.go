package dialect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

func TestTheCostOfAZoneBecomesARate(t *testing.T) {
	const last, now = `"range":{"from":"2027-02-01","to":"2027-03-01"}`, `"range":{"from":"2027-03-01","to":"2027-04-01"}`
	answer := func(m1, m0 string) string {
		return fmt.Sprintf(`{"hl_x":{"back_d0":{"cost":99,"bw":1},"back_m1":{%s,%s},"back_m0":{%s,%s}}}`, m1, last, m0, now)
	}
	for name, c := range map[string]struct {
		product model.Product
		body    string
		rate    model.Rate
		from    string
		problem string
	}{
		"requests":           {model.ProductUnlocker, answer(`"cost":3,"bw":5,"reqs_unblocker":2000`, `"cost":1,"bw":1`), model.Rate{Per1000: 1.5}, "2027-02-01", ""},
		"of search":          {model.ProductSERP, answer(`"cost":1,"bw":5,"reqs_serp":3000`, `"cost":1,"bw":1`), model.Rate{Per1000: 0.3333}, "2027-02-01", ""},
		"bytes":              {model.ProductResidential, answer(`"cost":4.8,"bw":600000000`, `"cost":0`), model.Rate{PerGB: 8}, "2027-02-01", ""},
		"this month":         {model.ProductMobile, answer(`"cost":0,"bw":0`, `"cost":2,"bw":1000000000,"ips":0,"vips":[]`), model.Rate{PerGB: 2}, "2027-03-01", ""},
		"addresses":          {model.ProductISP, answer(`"cost":4,"bw":1000,"ips":12`, `"cost":0`), model.Rate{}, "2027-02-01", "addresses are charged"},
		"nothing":            {model.ProductBrowser, answer(`"cost":0`, `"cost":0,"bw":7`), model.Rate{}, "2027-03-01", "nothing was charged"},
		"for nothing":        {model.ProductSERP, answer(`"cost":4,"bw":9`, `"cost":0`), model.Rate{}, "2027-02-01", "not for how much"},
		"of no product":      {"", answer(`"cost":4,"bw":9`, `"cost":0`), model.Rate{}, "2027-02-01", "does not name its product"},
		"of another product": {model.ProductCrawl, answer(`"cost":4,"bw":9`, `"cost":0`), model.Rate{}, "2027-02-01", "not shown by what"},
	} {
		got, err := Embedded().ZoneCost(model.Zone{Name: "z", Product: c.product}, []byte(c.body))
		if err != nil || got.Rate != c.rate || got.From.Format(time.DateOnly) != c.from ||
			!strings.Contains(got.Problem, c.problem) || (got.Problem == "") != (c.problem == "") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, body := range []string{
		``, `[]`, `{}`, `{"a":{},"b":{}}`, `{"a":{}}`, `{"a":{"back_m1":{"cost":1}}}`, answer(`"cost":"1"`, `"cost":1`),
		answer(`"cost":-1`, `"cost":1`), answer(`"cost":1,"bw":1e300`, `"cost":1`),
		strings.ReplaceAll(answer(`"cost":1`, `"cost":1`), "2027-03-01", "2027-02-01"),
	} {
		if got, err := Embedded().ZoneCost(model.Zone{Product: model.ProductISP}, []byte(body)); err == nil {
			t.Errorf("%s is taken as %+v", body, got)
		}
	}
	if Default().ShowsCosts() {
		t.Error("the contract shows no costs")
	}
}

func FuzzZoneCost(f *testing.F) {
	f.Add([]byte(`{"hl_x":{"back_m1":{"cost":1e-300,"bw":1e-300,"reqs_serp":1,"range":{"from":"2027-02-01","to":"2027-03-01"}}}}`))
	f.Add([]byte(`{"hl_x":{"back_m1":{"cost":0,"range":{"from":"2027-02-01","to":"2027-03-01"}},"back_m0":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range []model.Product{model.ProductSERP, model.ProductISP, ""} {
			c, err := Embedded().ZoneCost(model.Zone{Product: p}, body)
			if err == nil && (c.Rate.Priced() == (c.Problem != "") || c.Rate.Per1000 < 0 || c.Rate.PerGB < 0 || c.Dollars < 0) {
				t.Errorf("%q: %+v", body, c)
			}
		}
	})
}
