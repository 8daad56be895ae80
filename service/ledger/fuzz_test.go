package ledger

import (
	"slices"
	"testing"
)

// FuzzLog reads any bytes as a log: the jobs have valid numbers, and a line
// added afterwards is read, whatever precedes it.
func FuzzLog(f *testing.F) {
	f.Add([]byte(`{"at":"2026-11-21T12:00:00Z","job":3,"event":"begun","profile":"p","dataset":"d","inputs":2,"digest":"x"}
{"at":"2026-11-21T12:00:01Z","job":3,"event":"accepted","snapshot":"sd_3"}
`))
	f.Add([]byte(`{"job":2,"event":"accepted","snapshot":"sd_2"}` + "\n{\"job\":100000001,\"event\":\"begun\"}"))
	f.Add([]byte("\x00\n\n{}\r\n{\"job\":1}\n"))
	f.Add([]byte(`{"job":1,"event":"accepted","snapshot":"` + "\\u0000\\ud800" + `"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		jobs, _ := parseLog(b)
		for n, e := range jobs {
			if n < 1 || n > maxNumber || e.begun.Job != n && e.names.Snapshot == "" {
				t.Errorf("job %d: %+v", n, e)
			}
		}
		added := slices.Concat(b, []byte("\n"+`{"job":7,"event":"accepted","snapshot":"sd_7"}`))
		if again, _ := parseLog(added); again[7].names.Snapshot != "sd_7" {
			t.Errorf("the line that was added is read as %+v", again[7])
		}
	})
}
