package dialect

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"zonedeck/model"
)

// The shapes are those that the service documents in public.
func TestAZoneIsReadAsTheAccountShowsIt(t *testing.T) {
	d := Embedded()
	plan, err := d.ReadZonePlan([]byte(`{"created":"2026-03-01T08:00:00Z","password":["x"],"ips":["1.2.3.4","1.2.3.4","10.0.0.0/8"],"plan":{"start":"2026-03-01","product":"dc","type":"static","ips_type":"shared","default_country":"us","disabled":1},"description":"of the shop","usage_limit":{"value":5,"unit":"$","cycle":"m","bust_action":"refuse"},"compromised_password":["y"]}`))
	want := ZonePlan{
		Created: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), Type: "static", Addresses: "shared", Country: "us", Description: "of the shop",
		Disabled: true, Callers: []string{"1.2.3.4", "10.0.0.0/8"}, Limit: "5 $ a month", Compromised: 1,
	}
	if err != nil || !reflect.DeepEqual(plan, want) {
		t.Errorf("%+v, %v", plan, err)
	}
	if word, err := d.ReadZoneState([]byte(`{"status":"active"}`)); err != nil || word != "active" {
		t.Errorf("%q, %v", word, err)
	}
	for text, want := range map[string]model.Traffic{
		`{"hl_1":{"data":{"z":{"bw_sum":[1,2]}},"sums":{"z":{"custom":{"bw_sum":30,"bw_dn":20,"bw_up":10,"https_direct_req":4,"http_direct_req":1,"https_svc_req":2,"reqs_unblocker_billable":3}}}}}`: {Bytes: 30, Down: 20, Up: 10, Requests: 7, Billable: 3},
		`{"hl_1":{"sums":{"z":{"custom":{"bw_sum":[10,5,15],"https_svc_req":[1,1]}}}}}`:                                                                                                               {Bytes: 30, Requests: 2},
	} {
		if got, err := d.ReadTraffic("z", []byte(text)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	callers, skipped, err := d.ReadCallers("z", []byte(`{"z":["1.2.3.4","2001:db8::1","fe80::1%eth0","any","\u001b[2J"]}`))
	if err != nil || fmt.Sprint(callers) != "[1.2.3.4 2001:db8::1]" || skipped != 3 {
		t.Errorf("%v, %d, %v", callers, skipped, err)
	}
	if callers, _, err := d.ReadCallers("z", []byte(`{"z":[]}`)); err != nil || len(callers) != 0 {
		t.Errorf("of nobody: %v, %v", callers, err)
	}
	for text, want := range map[string]bool{`{"status":true}`: true, `{"status":false}`: false} {
		if up, err := d.ReadNetworks([]byte(text)); err != nil || up != want {
			t.Errorf("%s: %v, %v", text, up, err)
		}
	}
}

// Nothing of another shape is taken for an answer, nor the figures of another zone.
func TestAnAnswerOfAnotherShapeShowsNoZone(t *testing.T) {
	d := Embedded()
	for _, text := range []string{
		"", "null", "7", "[]", "{}", "<html>", `{"status":7,"plan":7}`, `{"hl_1":{}}`, `{"other":["1.2.3.4"]}`, `{"z":["1.2.3.4"],"other":[]}`, `{"z":null}`,
		`{"hl_1":{"sums":{"other":{"custom":{"bw_sum":1}}}}}`, `{"hl_1":{"sums":{"z":{"custom":{"bw_sum":-1}}}}}`, `{"hl_1":{"sums":{"z":{"custom":{"bw_sum":1e300}}}}}`,
		`{"hl_1":{"sums":{"z":{"custom":{"bw_sum":1}}}},"hl_2":{}}`, `{"hl_1":{"sums":{"z":{"custom":{"bw_sum":null}}}}}`,
	} {
		if plan, err := d.ReadZonePlan([]byte(text)); err == nil {
			t.Errorf("%s: plan %+v", text, plan)
		}
		if word, err := d.ReadZoneState([]byte(text)); err == nil {
			t.Errorf("%s: state %q", text, word)
		}
		if up, err := d.ReadNetworks([]byte(text)); err == nil {
			t.Errorf("%s: networks %v", text, up)
		}
		if traffic, err := d.ReadTraffic("z", []byte(text)); err == nil {
			t.Errorf("%s: traffic %+v", text, traffic)
		}
		if callers, _, err := d.ReadCallers("z", []byte(text)); err == nil {
			t.Errorf("%s: callers %v", text, callers)
		}
	}
}

func FuzzReadZoneShown(f *testing.F) {
	f.Add([]byte(`{"created":"2026-03-01T08:00:00Z","ips":["any"],"plan":{"type":"static","disabled":1},"usage_limit":{"value":5,"unit":"$","cycle":"m"},"status":"active"}`))
	f.Add([]byte(`{"hl_1":{"sums":{"z":{"custom":{"bw_sum":[1,2],"https_svc_req":4}}}}}`))
	f.Add([]byte(`{"z":["1.2.3.4"]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := Embedded()
		plan, _ := d.ReadZonePlan(body)
		word, _ := d.ReadZoneState(body)
		_, _ = d.ReadNetworks(body)
		if s := fmt.Sprintf("%+v %s", plan, word); strings.ContainsAny(s, "\x1b\n\r\x00") || len(plan.Callers) > maxWords {
			t.Errorf("%q", s)
		}
		if traffic, err := d.ReadTraffic("z", body); err == nil && min(traffic.Bytes, traffic.Down, traffic.Up) < 0 {
			t.Errorf("%+v", traffic)
		}
		if callers, _, _ := d.ReadCallers("z", body); len(callers) > maxCallers {
			t.Errorf("%d callers", len(callers))
		}
	})
}
