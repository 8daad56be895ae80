package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// asked is a service whose answer is set, and which remembers the questions.
type asked struct {
	answer []model.Dataset
	err    error
	beside bool // the answer comes with err, and lacks the counts
	calls  []string
	lists  bool
}

func (a *asked) Place(context.Context) (Place, error) {
	return Place{Name: "here", HasList: a.lists}, nil
}

func (a *asked) Datasets(_ context.Context, key, dataset string) ([]model.Dataset, int, error) {
	a.calls = append(a.calls, key+":"+dataset)
	switch {
	case a.err != nil && !a.beside:
		return nil, 0, a.err
	case dataset == "":
		return a.answer, 0, a.err
	}
	return slices.DeleteFunc(slices.Clone(a.answer), func(c model.Dataset) bool { return c.ID != dataset }), 0, nil
}

func started(t *testing.T, lists bool) (c *Catalogue, s *asked, now *time.Time) {
	t.Helper()
	s = &asked{lists: lists, answer: []model.Dataset{{ID: "gd_a", Name: "Shop: products"}, {ID: "gd_b", Name: "Shop: reviews"}}}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now = &at
	return New(Config{
		Dir: filepath.Join(t.TempDir(), "catalogue"), Service: s, Now: func() time.Time { return *now },
	}), s, now
}

func ids(list []model.Dataset) string {
	var out []string
	for _, c := range list {
		out = append(out, c.ID)
	}
	return strings.Join(out, " ")
}

func TestAListThatLacksItsCountsIsAskedForAgain(t *testing.T) {
	c, s, _ := started(t, true)
	s.err, s.beside = errors.New("no counts"), true
	for range 2 {
		l, err := c.Datasets(t.Context(), "", false)
		if err != nil || l.Builtin() || ids(l.Datasets) != "gd_a gd_b" || l.Problem != "no counts" {
			t.Errorf("%+v, %v", l, err)
		}
	}
	if len(s.calls) != 2 {
		t.Errorf("asked %q", s.calls)
	}
}

func TestTheListIsKeptForADay(t *testing.T) {
	c, s, now := started(t, true)
	list := func(anew bool) Listing {
		t.Helper()
		l, err := c.Datasets(t.Context(), "etl", anew)
		noerr.Must(t, err)
		return l
	}
	first := list(false)
	if ids(first.Datasets) != "gd_a gd_b" || first.Origin(*now) != "the service's list, read now" {
		t.Errorf("%+v", first)
	}
	*now = now.Add(3 * time.Hour)
	if l := list(false); !reflect.DeepEqual(l, first) || l.Origin(*now) != "the service's list, read 3 h ago" || len(s.calls) != 1 {
		t.Errorf("%+v after %v", l, s.calls)
	}
	if l := list(true); !l.Read.Equal(*now) || len(s.calls) != 2 || s.calls[1] != "etl:" {
		t.Errorf("%+v after %v", l, s.calls)
	}
	*now = now.Add(fresh)
	s.answer = s.answer[:1]
	if l := list(false); ids(l.Datasets) != "gd_a" {
		t.Errorf("a day later: %+v", l)
	}
	// The clock was moved back: the age is not known.
	*now = now.Add(-time.Hour)
	if list(false); len(s.calls) != 4 {
		t.Error(s.calls)
	}
	// Without an answer it is what was kept, however old.
	*now, s.err = now.Add(30*24*time.Hour), errors.New("no answer")
	if l := list(false); ids(l.Datasets) != "gd_a" || l.Problem != "no answer" || l.Origin(*now) != "the service's list, read 720 h ago" {
		t.Errorf("%+v", l)
	}
	// A file that cannot be used is as good as none.
	files, err := filepath.Glob(filepath.Join(c.cfg.Dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, text := range []string{"", "{", `{"version":2,"place":"here","read":"2026-01-01T00:00:00Z"}`, `{"version":1,"place":"there","read":"2026-01-01T00:00:00Z"}`} {
		noerr.Must(t, os.WriteFile(files[0], []byte(text), 0o600))
		if l := list(false); !l.Builtin() || l.Problem != "no answer" || l.Origin(*now) != "the list in this program, from public sources" {
			t.Errorf("%s: %d, %q", text, len(l.Datasets), l.Problem)
		}
	}
}

func TestFindAsksForWhatItNeeds(t *testing.T) {
	for _, c := range []struct {
		what, name string
		lists      bool
		kept       bool
		down       bool
		id         string
		calls      string // after those that kept the list
		builtin    bool
		problem    string // beside one that the service did not answer
		err        string
	}{
		{what: "an identifier", name: "gd_a", lists: true, id: "gd_a", calls: ":gd_a"},
		{what: "of a list that is kept", name: "shop: REVIEWS", lists: true, kept: true, id: "gd_b"},
		{what: "a name", name: "shop: reviews", lists: true, id: "gd_b", calls: ":"},
		{what: "a name of the program's list, by its identifier", name: "npm_package", lists: true, id: "gd_mk57m0301khq4jmsul", calls: ":gd_mk57m0301khq4jmsul", builtin: true, problem: "it does not have gd_mk57m0301khq4jmsul"},
		{what: "an identifier that is not listed", name: "gd_z", lists: true, kept: true, id: "gd_z", calls: ":gd_z", builtin: true, problem: "it does not have gd_z"},
		{what: "no name of any", name: "shop", lists: true, calls: ":", err: `no data set is called "shop"; near are gd_a (Shop: products), gd_b (Shop: reviews)`},
		{what: "without an answer", name: "gd_a", lists: true, down: true, id: "gd_a", calls: ":gd_a", builtin: true},
		{what: "without a list of the service", name: "walmart_products", id: "gd_l95fol7l1ru6rlo116", builtin: true},
		{what: "an identifier without a list", name: "gd_z", id: "gd_z", builtin: true},
		{what: "a name of two", name: "tiktok_fast", err: `"tiktok_fast" names several data sets: gd_m7n5v2gq296pex2f5m (tiktok_fast), gd_m736hjp71lejc5dc0l (tiktok_fast), gd_m7n5ixlw1gc4no56kx (tiktok_fast)`},
		{what: "nothing near", name: "zzz zzz", err: `no data set is called "zzz zzz"; give its identifier, like gd_products`},
	} {
		t.Run(c.what, func(t *testing.T) {
			cat, s, _ := started(t, c.lists)
			if c.kept {
				noerr.Must(t, noerr.From(cat.Datasets(t.Context(), "", false)))
				s.calls = nil
			}
			if c.down {
				s.err = errors.New("no answer")
			}
			found, l, err := cat.Dataset(t.Context(), "", c.name)
			var unknown *UnknownError
			switch {
			case c.err == "" && err != nil, c.err != "" && (!errors.As(err, &unknown) || err.Error() != c.err):
				t.Errorf("error %v", err)
			case err == nil && (found.ID != c.id || l.Builtin() != c.builtin):
				t.Errorf("%+v, %q", found, l.Origin(time.Time{}))
			}
			if got := strings.Join(s.calls, " "); got != c.calls {
				t.Errorf("calls %q", got)
			}
			if c.down && l.Problem != "no answer" || c.problem != "" && l.Problem != c.problem {
				t.Errorf("problem %q", l.Problem)
			}
			if none := c.id == "gd_z" || c.down; err == nil && (l.None() != none || none && l.Origin(time.Time{}) != "no list that is known here") {
				t.Errorf("none %v: %s", l.None(), l.Origin(time.Time{}))
			}
		})
	}
}

func TestTheListInTheProgram(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range builtin() {
		if !strings.HasPrefix(c.ID, idPrefix) || seen[c.ID] || c.Name == "" || c.Kind == "" {
			t.Errorf("%+v", c)
		}
		if (c.Kind == model.CollectSearch) != slices.Contains(strings.Split(c.Name, "_"), "search") {
			t.Errorf("%s is of kind %s", c.Name, c.Kind)
		}
		seen[c.ID] = true
		how := map[string]bool{}
		for _, m := range c.Methods {
			if how[m.Discover] {
				t.Errorf("%s: %s twice", c.Name, m.Label())
			}
			how[m.Discover] = true
			fields := map[string]bool{}
			for _, f := range m.Fields {
				if f.Name == "" || fields[f.Name] || f.Default != "" && !json.Valid([]byte(f.Default)) {
					t.Errorf("%s: %s: %+v", c.Name, m.Label(), f)
				}
				fields[f.Name] = true
			}
		}
	}
	if len(seen) != 191 {
		t.Errorf("%d data sets", len(seen))
	}
	amazon := noerr.Try(pick(builtin(), "amazon_product")).Must(t)
	upc, err := amazon.Method("upc")
	if err != nil || !strings.Contains(upc.Cost(), "even an empty input") {
		t.Errorf("%+v, %v", upc, err)
	}
}

func TestACancelledQuestionIsNoList(t *testing.T) {
	c, s, _ := started(t, true)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped")
	cancel(stop)
	s.err = errors.New("no answer")
	if _, err := c.Datasets(ctx, "", false); !errors.Is(err, stop) {
		t.Error(err)
	}
	if _, _, err := c.Dataset(ctx, "", "gd_a"); !errors.Is(err, stop) {
		t.Error(err)
	}
}
