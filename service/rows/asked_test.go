package rows

import (
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestARowThatHoldsOnlyWhatWasAskedHasNoData(t *testing.T) {
	asked := NewAsked([]model.JobInput{
		{URL: "http://lab.test/1", Extra: map[string]string{"country": `"de"`, "tags": `["a", "b"]`}},
		{URL: "http://lab.test/2"},
	})
	for raw, data := range map[string]bool{
		`{"url":"http://lab.test/1","name":null,"price":""}`:                                         false,
		`{"url":"http://lab.test/1","country":"de","timestamp":"2026"}`:                              false,
		`{"country":"de","tags":["a","b"],"reviews":[]}`:                                             false,
		`{"input":{"url":"http://lab.test/2"},"url":"http://lab.test/2","country":"de","name":null}`: false,
		`{"url":"http://lab.test/3","name":null}`:                                                    true, // a discovery found it
		`{"url":"http://lab.test/1","name":"Lamp"}`:                                                  true,
		`{"url":"http://lab.test/1","country":"us"}`:                                                 true,
		`{"name":"http://lab.test/1"}`:                                                               true,
		`{"url":"http://lab.test/1","country":"de","tags":["a","b"],"x":0}`:                          true,
		`"a text"`: true,
	} {
		got, valid := CountRow([]byte(raw), asked)
		if !valid || got.Data != data {
			t.Errorf("%s counts as %t", raw, got.Data)
		}
		noerr.Must(t, EachRow(strings.NewReader(raw), "ndjson", func(r Row) error {
			if got := asked.Judge(r); got.Data != data {
				t.Errorf("%s has data: %t", raw, got.Data)
			}
			return nil
		}))
		if got := (Asked{}).Judge(rowOf([]byte(raw))); !got.Data && !strings.Contains(raw, "input") {
			t.Errorf("%s has no data where nothing was asked", raw)
		}
	}
	noerr.Must(t, EachRow(strings.NewReader("url,country,name\nhttp://lab.test/2,de,\nhttp://lab.test/2,de,Lamp\n"), "csv", func(r Row) error {
		if got := asked.Judge(r); got.Data != strings.Contains(r.fields()["name"], "Lamp") {
			t.Errorf("a line of a CSV has data: %t", got.Data)
		}
		return nil
	}))
}
