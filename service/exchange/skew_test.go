package exchange

import (
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTheSkewIsFoundWithinWhatIsLeftOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := time.Date(2026, 11, 21, 12, 0, 0, rapid.IntRange(0, 999_999_999).Draw(t, "nanosecond"), time.UTC)
		took := time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(t, "took"))
		answered := time.Duration(rapid.Int64Range(0, int64(took)).Draw(t, "answered"))
		skew := time.Duration(rapid.Int64Range(-int64(48*time.Hour), int64(48*time.Hour)).Draw(t, "skew"))
		date := sent.Add(answered + skew).Format(http.TimeFormat)
		s, ok := skewOf(http.Header{"Date": {date}}, sent, sent.Add(took))
		if !ok || (s.By-skew).Abs() > s.Give || s.Give > took/2+time.Second || skew == 0 && s.Significant() {
			t.Fatalf("skew %v is measured as %+v, %v", skew, s, ok)
		}
	})
	for want, s := range map[string]Skew{
		"the service's clock agrees with this machine's (±1s)":       {By: 400 * time.Millisecond, Give: 600 * time.Millisecond},
		"the service's clock is 1m30s ahead of this machine's (±1s)": {By: 90 * time.Second, Give: 600 * time.Millisecond},
		"the service's clock is 2h0m0s behind this machine's (±3s)":  {By: -2 * time.Hour, Give: 3 * time.Second},
	} {
		if s.String() != want {
			t.Errorf("%q, want %q", s, want)
		}
	}
	for _, date := range []string{"", "yesterday", "2026-11-21T12:00:00Z"} {
		if _, ok := skewOf(http.Header{"Date": {date}}, time.Unix(0, 0), time.Unix(1, 0)); ok {
			t.Errorf("%q is a date", date)
		}
	}
}
