package fetch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"zonedeck/model"
	"zonedeck/service/rows"
)

// The bounds of a sample, in rows.
const (
	usualSample = 50
	MostSample  = 2000
	// drawnFrom is of how many times as many rows a sample is drawn, at least, where the list has them.
	drawnFrom = 8
)

// ListDraft is a comparison of zones over a list.
type ListDraft struct {
	Draft       // the template; without a URL it is the row's
	Input Input //
	Zones []string
	Ways  []model.Via
	// Sample is how many rows are fetched through each; 0 is 50, or as many as show Need where all are useful.
	Sample int
	Need   float64 // see model.List
	Cap    float64 // dollars, 0 for none: the sample is as large as fits
	AtOnce int     // fetches in flight through each; 0 is what product and pace allow
}

// PlanList reads a list and draws the sample by which [Fetcher.Compare] compares zones. Nothing is sent. read, which may be
// nil, counts the rows. notes are remarks on list and sample. Errors are those of Prepare and ReadRows, for which a zone
// that cannot fetch the rows counts only if none can.
func (ft *Fetcher) PlanList(ctx context.Context, k Known, d ListDraft, read *atomic.Int64) (g model.Grid, notes []rows.Problem, err error) {
	d.Request.URL, d.Request.BodyLimit = cmp.Or(d.Request.URL, RowURL), cmp.Or(d.Request.BodyLimit, UsualBody)
	if d.Request.Retries < 0 {
		d.Request.Retries = UsualRetries
	}
	g = model.Grid{Kind: model.CompareList, Profile: k.Profile.Name, List: model.List{Name: d.Input.Name, Need: d.Need}}
	var usable *Prepared
	price := 0.0 // of a row, at most
	for _, zone := range d.Zones {
		for _, via := range d.Ways {
			d.Request.Zone.Name, d.Request.Via = model.ZoneName(zone), via
			if g.Base, err = d.Template(k); err != nil {
				return g, nil, err
			}
			c := model.Cell{Vary: model.Vary{Zone: g.Base.Zone, Via: via}, AtOnce: d.AtOnce}
			prepared, err := ft.Prepare(ctx, g.Base)
			switch {
			case err == nil:
				defer prepared.Close()
				usable = cmp.Or(usable, prepared)
				most, priced := UpperBound(g.Base)
				if price += most; !priced {
					g.List.Unpriced = append(g.List.Unpriced, c.Zone.Name)
				}
			case errors.Is(err, model.ErrRequest):
				c.Problem, c.Cause = oneLine(err), err
			default:
				return g, nil, err
			}
			g.Cells = append(g.Cells, c)
		}
	}
	if usable == nil {
		return g, nil, g.Cells[0].Cause
	}
	s := &sampler{want: cmp.Or(d.Sample, min(max(usualSample, model.SampleFor(1, d.Need)), MostSample)), read: read, below: math.MaxUint64, candidates: map[string]sampled{}}
	d.Input.Given = d.Given(g.Base)
	if notes, err = usable.ReadRows(ctx, d.Input, s); err != nil {
		return g, notes, err
	}
	if s.rows == 0 {
		return g, notes, model.BadField("input", "it has no row to fetch")
	}
	if s.bad > 0 {
		notes = append(notes, rows.Problem{Text: fmt.Sprintf("rows that cannot be used, and are left out: %d, the first: %s: %s", s.bad, s.firstBad.Location(), s.firstBad.Text)})
	}
	g.List.Rows, g.List.Bad = s.rows, s.bad
	n := min(s.want, len(s.candidates))
	switch {
	case d.Cap == 0:
	case len(g.List.Unpriced) > 0:
		return g, notes, model.BadField("cap", "zone %s has no rate, so that no cap can be held: give it one, or leave the cap out", g.List.Unpriced[0])
	case d.Cap < price:
		return g, notes, model.BadField("cap", "%s is below what one row may cost through all zones, %s", model.SmallDollars(d.Cap), model.SmallDollars(price))
	default:
		n = int(min(float64(n), d.Cap/price))
	}
	g.List.Sample, g.List.Hosts = s.draw(n)
	g.List.Whole = n == len(s.candidates) && s.below == math.MaxUint64
	g.Repeat, g.List.MaxCost = n, float64(n)*price
	if least := model.SampleFor(1, d.Need); n < least && !g.List.Whole {
		notes = append(notes, rows.Problem{Text: fmt.Sprintf("a sample of %d cannot show that %.4g %% are useful, even if all are; %d can", n, 100*d.Need, min(int64(least), s.rows))})
	}
	return g, notes, nil
}

// sampler keeps some rows of a list, and each request once: those whose digests are smallest, so that they depend on what is
// asked for alone, and not on the order of the rows.
type sampler struct {
	want       int
	read       *atomic.Int64
	rows, bad  int64
	firstBad   rows.Problem
	below      uint64 // the first digest that is not kept
	candidates map[string]sampled
}

// sampled is a row that may be in a sample.
type sampled struct {
	host   string
	values map[string]json.RawMessage
}

// Reject counts a row that cannot be used.
func (s *sampler) Reject(p rows.Problem) {
	if s.bad++; s.bad == 1 {
		s.firstBad = p
	}
}

// Take keeps a row, or not.
func (s *sampler) Take(row rows.Record, r model.FetchRequest) error {
	if s.read != nil {
		s.read.Add(1)
	}
	s.rows++
	host := HostOf(r.URL)
	r.Zone, r.Via = model.Zone{}, ""
	digest := Digest(r)
	if binary.BigEndian.Uint64(digest[:]) >= s.below {
		return nil
	}
	s.candidates[string(digest[:])] = sampled{host, row.Values}
	for len(s.candidates) > 2*drawnFrom*s.want {
		s.below /= 2
		maps.DeleteFunc(s.candidates, func(digest string, _ sampled) bool { return binary.BigEndian.Uint64([]byte(digest)) >= s.below })
	}
	return nil
}

// draw takes n of the rows that were kept, of each host as many as its part in them, and says of how many hosts they are.
func (s *sampler) draw(n int) (sample []map[string]json.RawMessage, hosts int) {
	byHost := slices.SortedFunc(maps.Keys(s.candidates), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.candidates[a].host, s.candidates[b].host), bytes.Compare([]byte(a), []byte(b)))
	})
	of := map[string]bool{}
	for i := range n {
		row := s.candidates[byHost[(2*i+1)*len(byHost)/(2*n)]]
		of[row.host] = true
		sample = append(sample, row.values)
	}
	return sample, len(of)
}
