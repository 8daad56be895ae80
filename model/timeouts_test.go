package model_test

import (
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

func TestTimeoutsAreReadAsTheyAreWritten(t *testing.T) {
	before := model.Timeouts{model.ProductISP: time.Minute, model.ProductUnlocker: time.Second}
	after, err := before.Set("unlocker=4m unknown=90s,browser=1h")
	if err != nil || after.String() != "isp=1m0s, unlocker=4m0s, browser=1h0m0s, unknown=1m30s" {
		t.Errorf("%v, %v", after, err)
	}
	if again, err := (model.Timeouts{}).Set(after.String()); err != nil || again.String() != after.String() {
		t.Errorf("read again: %v, %v", again, err)
	}
	if before.String() != "isp=1m0s, unlocker=1s" {
		t.Errorf("the timeouts before were changed: %v", before)
	}
	if none, err := model.Timeouts(nil).Set(" "); none != nil || err != nil {
		t.Errorf("nothing: %v, %v", none, err)
	}
	for text, want := range map[string]string{
		"magic=4m": "write each as a product and a time", "=4m": "write each as", "unlocker": "the timeout of unlocker is a time from 1s to 1h0m0s", "unlocker=4": "as in unlocker=4m",
		"unlocker=999ms": "from 1s", "unlocker=61m": "to 1h0m0s",
	} {
		if after, err := before.Set("isp=2m " + text); err == nil || !strings.Contains(err.Error(), want) || after.String() != before.String() {
			t.Errorf("%s: %v, %v", text, after, err)
		}
	}
}

// The step changes the setting that ended the attempt.
func TestALongerTimeoutIsForWhatWasTooShort(t *testing.T) {
	const generic = "give this product a longer timeout"
	for name, c := range map[string]struct {
		o    model.Outcome
		text string
		sets time.Duration
	}{
		"the emulator's profile":      {model.Outcome{Timeout: time.Minute, ProductTimeout: time.Minute}, generic, 0},
		"the product's":               {model.Outcome{Profile: "acme", Timeout: time.Minute, ProductTimeout: time.Minute}, generic + ": 'zonedeck profiles edit acme --product-timeout isp=2m0s'", 2 * time.Minute},
		"the request's, longer":       {model.Outcome{Profile: "acme", Timeout: 50 * time.Minute, ProductTimeout: time.Minute}, "give the request a longer timeout than its own 50m0s", 0},
		"more than half of the most":  {model.Outcome{Profile: "acme", Timeout: 50 * time.Minute, ProductTimeout: 50 * time.Minute}, generic + ": 'zonedeck profiles edit acme --product-timeout isp=1h0m0s'", time.Hour},
		"the request's, shorter":      {model.Outcome{Profile: "acme", Timeout: time.Second, ProductTimeout: time.Minute}, "give the request a longer timeout, or none: this product has 1m0s", 0},
		"as long as a timeout can be": {model.Outcome{Profile: "acme", Timeout: time.Hour, ProductTimeout: time.Hour}, generic, 0},
	} {
		c.o.Broke, c.o.Zone = model.BreakTimeout, model.Zone{Name: "z1", Product: model.ProductISP}
		want := model.Step{Action: model.ActionRaiseTimeout, Text: c.text, Documented: true, Timeout: c.sets}
		if got := model.Diagnose(c.o).Steps[0]; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
