package fetch

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
	"zonedeck/model"
	"zonedeck/service/pace"
	"zonedeck/service/servicetest"
)

func TestTheOperatorsRulesJudgeAFetchAndAFaultInThemIsTold(t *testing.T) {
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("X-Shop", "closed")
		_, _ = io.WriteString(w, servicetest.Page)
	})
	var fault error
	asked := ""
	ft := newFetcher(t, p, func(c *Config) {
		c.Rules = func(profile string) ([]model.UserRule, error) {
			asked = profile
			r := model.UserRule{Name: "closed", Place: "rules.toml:1", Class: model.ClassOutside, Cause: model.CauseTargetError, Reason: "The shop is closed."}
			r.Match.Domains = []string{"lab.test"}
			r.Match.Headers = []model.HeaderMatch{{Name: "X-Shop", Value: regexp.MustCompile("closed")}}
			if fault != nil {
				return nil, fault
			}
			return []model.UserRule{r}, nil
		}
	})
	res, err := ft.Fetch(t.Context(), askFor(p, "unlocker1"), nil)
	if err != nil || res.Diagnosis.Rule != "closed" || asked != p.Name {
		t.Fatalf("%+v, %v, asked for profile %q", res.Diagnosis, err, asked)
	}
	fault = &textfile.Error{File: "/home/x/rules.toml", Line: 3, Column: 1, Msg: "no"}
	res, err = ft.Fetch(t.Context(), askFor(p, "unlocker1"), nil)
	said := slices.ContainsFunc(res.Diagnosis.Evidence, func(e model.Evidence) bool { return e.Note() == "your rules are not used: rules.toml:3:1: no" })
	if err != nil || res.Diagnosis.Rule != "ok" || !said {
		t.Errorf("%+v, %v", res.Diagnosis, err)
	}
}

func TestRulesSeeTheURLThatASavedAnswerIsSaidToBeOf(t *testing.T) {
	r := model.UserRule{Name: "mine", Class: model.ClassCaptcha, Reason: "x"}
	r.Match.URL = regexp.MustCompile("^https?://")
	for url, want := range map[string]string{"": "ok", "https://shop.example/": "mine"} {
		res, err := diagnose(t, "HTTP/1.1 200 OK\n\nbody", func(s *Saved) { s.URL, s.Rules = url, []model.UserRule{r} })
		if err != nil || res.Diagnosis.Rule != want {
			t.Errorf("%q: by %s, %v", url, res.Diagnosis.Rule, err)
		}
	}
}

func TestTheSecondAnswerOf429InARowOffersALongerPause(t *testing.T) {
	status := http.StatusTooManyRequests
	p := servicetest.API(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "x")
	})
	ft := newFetcher(t, p, func(c *Config) {
		c.Pace = &pace.Limiter{Store: pace.Files{Dir: t.TempDir()}, Clock: bubble{}, Log: slog.New(slog.DiscardHandler)}
	})
	ask := func(url string) model.Diagnosis {
		t.Helper()
		r := askFor(p, "unlocker1")
		r.URL = url
		res, err := ft.Fetch(context.WithoutCancel(t.Context()), r, nil)
		noerr.Must(t, err)
		return res.Diagnosis
	}
	const here, there = "http://example.com/a", "http://other.example/"
	first, second, other := ask(here), ask(here+"b"), ask(there)
	if first.Pause() != 5*time.Second || second.Pause() != 10*time.Second || other.Pause() != 5*time.Second {
		t.Errorf("%v, %v, %v", first.Pause(), second.Pause(), other.Pause())
	}
	if text := second.Steps[0].Text; !strings.Contains(text, "the second answer in a row that says too fast, so the pause grows to 10s") {
		t.Errorf("it says %q", text)
	}
	status = http.StatusOK
	ask(here)
	status = http.StatusTooManyRequests
	if d := ask(here); d.InARow != 1 {
		t.Errorf("after an answer that is none: %d in a row", d.InARow)
	}
}
