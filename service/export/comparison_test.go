package export

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func sampleTwin() model.Grid {
	ms := time.Millisecond
	ok := model.Run{FetchID: "f_1", Class: model.ClassOK, Status: 200, Total: 412 * ms, FirstByte: 398 * ms, Bytes: 22_000, Found: 2}
	slow := ok
	slow.FetchID, slow.Total = "f_2", 500*ms
	return model.Grid{
		ID: "t_1", Profile: "acme", Repeat: 2,
		Base: model.FetchRequest{URL: "http://lab.test/shop?a=1|2", Required: []string{".price", "h1"}},
		Cells: []model.Cell{
			{Vary: model.Vary{Zone: model.Zone{Name: "dc_1"}, Via: model.ViaAPI}, Runs: []model.Run{
				{FetchID: "f_3", Class: model.ClassOutside, Cause: model.CauseNetwork, Total: 41 * ms, FirstByte: -1},
				{FetchID: "f_4", Class: model.ClassOutside, Cause: model.CauseNetwork, Total: 43 * ms, FirstByte: -1},
			}},
			{Vary: model.Vary{Zone: model.Zone{Name: "unlocker1", Rate: model.Rate{Per1000: 1.5}}, Via: model.ViaNative}, Runs: []model.Run{ok, slow}},
			{Vary: model.Vary{Zone: model.Zone{Name: "serp1"}, Via: model.ViaNative}, Problem: "via: none | <here>"},
		},
	}
}

func TestAComparisonAsMarkdown(t *testing.T) {
	want := strings.Join([]string{
		"# http://lab.test/shop?a=1\\|2",
		"",
		"Required fields: .price, h1",
		"",
		"| Zone | Via | Class | OK | Status | Median ms | Fastest ms | Slowest ms | First byte ms | Bytes | Fields | Cost per 1000 |",
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
		"| dc_1 | API | network | 0 of 2 | unknown | 42.0 | 41.0 | 43.0 | not seen | 0 | 0 of 2 | unpriced |",
		"| unlocker1 | Native | ok | 2 of 2 | 200 | 456.0 | 412.0 | 500.0 | 398.0 | 22000 | 2 of 2 | $1.50 |",
		"| serp1 | Native | not sent: via: none \\| &lt;here> |  |  |  |  |  |  |  |  |  |",
		"",
		"winner: unlocker1 by Native, the only one that was ok in every run (2 of 2 ok, median 456 ms, $1.50 per 1000)",
		"",
	}, "\n")
	twin := sampleTwin()
	if got := ComparisonMarkdown(twin); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	twin.Cells[2].Problem, twin.Cells[2].CutOff = "cancelled: what was sent may have been billed", 1
	if got := ComparisonMarkdown(twin); !strings.Contains(got, "| serp1 | Native | cancelled: what was sent may have been billed |") {
		t.Error(got)
	}
}

func TestAComparisonAsJSON(t *testing.T) {
	b, err := json.Marshal(NewComparison(sampleTwin()))
	noerr.Must(t, err)
	for _, want := range []string{
		`{"schema_version":1,"id":"t_1","profile":"acme","url":"http://lab.test/shop?a=1|2","required":[".price","h1"],"cells":[`,
		`{"zone":"dc_1","via":"api","class":"outside","cause":"network","status":0,"runs":2,"ok":0,"median_ms":42,"fastest_ms":41,"slowest_ms":43,"first_byte_ms":null,"bytes":0,"cost_per_1000":null,"fields_found":0,`,
		`{"zone":"unlocker1","via":"native","class":"ok","cause":"","status":200,"runs":2,"ok":2,"median_ms":456,"fastest_ms":412,"slowest_ms":500,"first_byte_ms":398,"bytes":22000,"cost_per_1000":1.5,"fields_found":2,`,
		`{"id":"f_2","class":"ok","cause":"","status":200,"total_ms":500,"first_byte_ms":398,"bytes":22000,"fields_found":2}`,
		`{"zone":"serp1","via":"native","class":"","cause":"","status":0,"runs":0,"ok":0,"median_ms":null,"fastest_ms":null,"slowest_ms":null,"first_byte_ms":null,"bytes":0,"cost_per_1000":null,"fields_found":0,"problem":"via: none | \u003chere\u003e","fetches":[]}`,
		`"winner":{"zone":"unlocker1","via":"native","reason":"the only one that was ok in every run (2 of 2 ok, median 456 ms, $1.50 per 1000)"}}`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("lacks %s\n%s", want, b)
		}
	}
	if b, err := json.Marshal(NewComparison(model.Grid{})); err != nil || !strings.HasSuffix(string(b), `"required":[],"cells":[],"winner":null}`) {
		t.Errorf("%s, %v", b, err)
	}
}
