package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/pace"
)

// verdict is the diagnosis of a try.
func (f *flight) verdict(t *try) model.Diagnosis {
	o := &t.outcome
	o.URL, o.Header = f.r.URL, t.header
	if f.ft.cfg.url != nil {
		o.URL = *f.ft.cfg.url
	}
	if o.Header == nil {
		o.Header = t.proxyHeader
	}
	var rules []model.UserRule
	var fault error
	if f.ft.cfg.Rules != nil {
		rules, fault = f.ft.cfg.Rules(f.p.Name)
	}
	way := wayOf(f.p.Name, f.r)
	o.TooFastBefore = f.ft.fast.before(way)
	d := model.Diagnose(*o, rules...)
	// A test page with a text of its own shows it, or proves nothing.
	if f.ft.cfg.proof && (d.OK() || f.p.TestText != "" && d.Cause == model.CauseTargetError) && !f.d.IsTestPage(f.p, o.BodyHead) {
		d = notTheTestPage(f.r.URL, f.p.TestText, d)
	}
	f.ft.fast.note(way, d.Class == model.ClassTooFast, o.ServiceStatus != 0 || o.TargetStatus != 0)
	if fault != nil {
		if in, ok := errors.AsType[*textfile.Error](fault); ok { // the place in the file matters more than its folder
			short := *in
			short.File = filepath.Base(in.File)
			fault = &short
		}
		d.Evidence = append(d.Evidence, model.Evidence{Kind: "note", Text: "your rules are not used: " + fault.Error()})
	}
	d.Evidence = append(d.Evidence, t.body.Notes...)
	return d
}

// notTheTestPage is the diagnosis of a proof that was answered with another page than the one it asked for: a network that
// wants to be signed in to, for example, answers every call with 200.
func notTheTestPage(url, text string, d model.Diagnosis) model.Diagnosis {
	lacks := ""
	if text != "" {
		lacks = fmt.Sprintf(", because it does not show %q (test_text)", text)
	}
	return model.Diagnosis{
		Class: model.ClassOutside, Cause: model.CauseUnrecognised, Rule: "not_the_test_page", Evidence: d.Evidence,
		Summary: "What came is not the test page " + url + lacks + ": something on the way may have answered in its place.",
	}
}

// throttleKey is what answers that say too fast are counted for.
type throttleKey struct{ profile, zone, host string }

func wayOf(profile string, r model.FetchRequest) throttleKey {
	w := throttleKey{profile: profile, zone: string(r.Zone.Name)}
	if u, err := url.Parse(r.URL); err == nil {
		w.host = u.Host
	}
	return w
}

// maxWays bounds how many ways are remembered at once.
const maxWays = 1000

// streaks counts the answers in a row that said too fast. One after which nothing was
// answered for as long as the breaker remembers is forgotten.
type streaks struct {
	now   func() time.Time
	mu    sync.Mutex
	byWay map[throttleKey]streak
}

type streak struct {
	n    int
	last time.Time
}

func (s *streaks) before(w throttleKey) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh(w).n
}

func (s *streaks) fresh(w throttleKey) streak {
	k, ok := s.byWay[w]
	if ok && s.now().Sub(k.last) > pace.Window {
		delete(s.byWay, w)
		return streak{}
	}
	return k
}

// note counts an answer; what is no answer neither counts nor ends a streak.
func (s *streaks) note(w throttleKey, tooFast, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !tooFast {
		if answered {
			delete(s.byWay, w)
		}
		return
	}
	if s.byWay == nil || len(s.byWay) >= maxWays {
		s.byWay = map[throttleKey]streak{}
	}
	s.byWay[w] = streak{n: s.fresh(w).n + 1, last: s.now()}
}
