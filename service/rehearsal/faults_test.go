package rehearsal

import (
	"reflect"
	"testing"
)

func TestFieldsOfARuleAreSentAsWhatTheyAre(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  any
	}{
		"status": {"503", int64(503)}, "times": {"1", int64(1)}, "probability": {"0.5", 0.5},
		"off": {"true", true}, "accepted": {"false", false}, "zone": {"1", "1"}, "delay": {"2s", "2s"},
	} {
		got, err := Rule{Point: "api", Action: "x", Fields: map[string]string{name: c.value, "path": ""}}.wire()
		want := map[string]any{"point": "api", "action": "x", name: c.want}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"status": `status: "x" is not a whole number`, "probability": `probability: "x" is not a number from 0 to 1`,
	} {
		if got, err := (Rule{Fields: map[string]string{name: "x"}}).wire(); err == nil || err.Error() != want || got != nil {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
}
