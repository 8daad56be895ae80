package datasets

import (
	"encoding/json"
	"testing"

	"zonedeck/service/emulator/jobs"
)

func FuzzTriggerBody(f *testing.F) {
	for _, s := range []string{`[{"url":"http://lab.test/"}]`, `{"input":[{"url":"http://lab.test/"}],"limit_per_input":2}`, `[{}]`, `{`, `[1]`, `{"input":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var spec jobs.Spec
		err := parseTrigger(b, &spec)
		if (err == nil) != (len(spec.URLs) > 0) && err == nil {
			t.Fatal("accepted without inputs")
		}
		if err != nil {
			if _, merr := json.Marshal(err); merr != nil {
				t.Fatal(merr)
			}
		}
	})
}
