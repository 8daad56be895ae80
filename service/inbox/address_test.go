package inbox

import "testing"

func TestAReceiverAtEveryAddressIsReachedAtThisMachines(t *testing.T) {
	for place, want := range map[string]string{
		"http://0.0.0.0:8787":   "http://127.0.0.1:8787",
		"http://[::]:8787":      "http://[::1]:8787",
		"http://127.0.0.1:8787": "http://127.0.0.1:8787",
		"http://10.0.0.1:8787":  "http://10.0.0.1:8787",
	} {
		if got := nearby(place); got != want {
			t.Errorf("%s: %s", place, got)
		}
	}
}
