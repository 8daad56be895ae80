package jobs_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"zonedeck/ui/kit/alert"
	"zonedeck/ui/uitest"
)

// sequence is one whose end is a bell, or another.
var sequence = regexp.MustCompile("\x1b\\][^\a\x1b]*(\a|\x1b\\\\)")

func windows(name string) string { return map[string]string{"WT_SESSION": "x"}[name] }

func TestTheTerminalIsToldOfJobsWhereThatIsWished(t *testing.T) {
	for _, c := range []struct {
		name   string
		notify bool
		keys   []string
		told   bool
	}{{"as configured", true, nil, true}, {"not by itself", false, nil, false}, {"by a key", false, []string{"N"}, true}, {"no longer", true, []string{"N"}, false}} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeLedger{terminal: alert.Detect(windows), notify: c.notify}
			flow(t, f, "brightdata", 120, 40, func(s *uitest.Screen) {
				s.Press(c.keys...)
				fillDialog(s, "https://a.test/1\nhttps://a.test/2\nhttps://a.test/3\nhttps://a.test/4")
				s.Press("ctrl+s", "ctrl+s", "y")
				s.After(5 * time.Second)
				s.Expect("2 of 4")
				half := strings.Contains(s.Written(), "\x1b]9;4;1;50\a")
				s.After(5 * time.Second)
				s.Expect("✓ ready")
				got := s.Written()
				if half != c.told {
					t.Errorf("half way told: %v, want %v", half, c.told)
				}
				if last := strings.LastIndex(got, "\x1b]9;4;"); c.told && !strings.HasPrefix(got[last:], "\x1b]9;4;0\a") || !c.told && last >= 0 {
					t.Errorf("the progress that is left: %q", got[max(last, 0):min(max(last, 0)+12, len(got))])
				}
				if bell := strings.Contains(sequence.ReplaceAllString(got, ""), "\a"); bell != c.told {
					t.Errorf("a bell: %v, want %v", bell, c.told)
				}
			})
		})
	}
}
