package rows

import "testing"

// countedRows are rows, those first of which it is seen at once that they are useful.
var countedRows = []string{
	`{"input":{"url":"u"},"url":"u","title":"Lamp"}`,
	`{"title":"Lamp","input":{"url":"u"},"url":"u"}`,
	`{"url":"u","price":1.5,"error":null,"error_code":""}`,
	`{ "a" : [ 1 , "]" ] , "error" : false }`,
	`{"a":"\\\\","b":{"c":"\\\"}"}}`,
	`{"a":true,"input":null}`,
	`{"discovery_input":{"b":1},"input":{"a":1},"a":1,"b":1,"c":1}`,
	// from here on it is not
	`{"input":{"url":"u"},"url":"u"}`,
	`{"input":{"url":"u"},"url":"another"}`,
	`{"a":1,"error":"dead"}`,
	`{"a":1,"error_code":"dead_page"}`,
	`{"a":1,"\u0065rror":"dead"}`,
	`{"a":"","b":null,"c":[],"d":{ },"e":[ ]}`,
	`{"timestamp":"2026","warning":"w","warning_code":"x"}`,
	`{"discovery_input":{"a":1},"a":1}`,
	`{"input":{"\u0061":1},"a":1}`,
	`{"a":1,"input":{"a":1},"input":{}}`,
	`{}`, `[]`, `"x"`, `7`, `null`,
}

func TestNearlyEveryUsefulRowIsSeenAtOnce(t *testing.T) {
	for i, raw := range countedRows {
		if at, _ := usefulness([]byte(raw), 0); at != (i < 7) {
			t.Errorf("%s: %t", raw, at)
		}
		got, valid := CountRow([]byte(raw), Asked{})
		if want := rowOf([]byte(raw)); !valid || got.Data != want.Data || got.Error != want.Error || got.Code != want.Code || got.Text != want.Text {
			t.Errorf("%s: %+v, and by its whole %+v", raw, got, want)
		}
	}
}
