package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
)

// MatrixRequest asks for a test of the logins of several zones.
type MatrixRequest struct {
	// Zones are those to test; nil means every zone of the profile that has native access. One
	// without it gets a row that says so.
	Zones []model.Zone
	// Target is the page to fetch; empty means the profile's page that tells the caller's
	// country, then its test page.
	Target string
	// Calls is how many calls to make to each zone, one after the other: 1 to
	// model.MaxMatrixCalls, and anything beyond is brought to the nearest of the two.
	Calls int
}

// Matrix tests the logins of several zones, all at once within the limits of their products.
//
// on receives a row after each of its calls, on the calling goroutine; it may be nil. A zone
// that cannot be called as it stands gets a Problem. An error is what ends a Probe otherwise;
// what was measured before it is returned with it.
func (ft *Fetcher) Matrix(ctx context.Context, q MatrixRequest, on func(i int, row model.MatrixRow)) (model.Matrix, error) {
	defer ft.cfg.Wire.Begin()()
	p, d, err := exchange.Current(ctx, ft.cfg.Source)
	if err != nil {
		return model.Matrix{}, err
	}
	m, zones, err := ft.newMatrix(p, d, q)
	if err != nil {
		return m, err
	}
	err = beside(ctx, len(zones), func(ctx context.Context, i int, report func(model.MatrixRow)) error {
		if m.Rows[i].Problem != "" {
			return nil
		}
		return ft.matrixRow(ctx, p, d, zones[i], m, m.Rows[i], report)
	}, func(i int, row model.MatrixRow) {
		m.Rows[i] = row
		if on != nil {
			on(i, row)
		}
	})
	if err != nil {
		return m, err
	}
	spent, words := m.Spend(), "matrix: "+m.Verdict()
	if spent.Priced > 0 && spent.Unpriced > 0 {
		words += fmt.Sprintf("; %d of %d calls are unpriced", spent.Unpriced, spent.Priced+spent.Unpriced)
	}
	ft.keepLine(ctx, model.Activity{
		At: m.Started, Profile: p.Name, URL: m.Target, Class: m.Class(), Total: -1, Text: words,
		Cost: spent.Dollars, Priced: spent.Priced > 0,
	})
	return m, nil
}

// newMatrix is a matrix before its first call, and the zone of each row.
func (ft *Fetcher) newMatrix(p config.Profile, d dialect.Dialect, q MatrixRequest) (model.Matrix, []model.Zone, error) {
	zones := q.Zones
	if zones == nil {
		zones = slices.DeleteFunc(slices.Clone(p.Zones), func(z model.Zone) bool { return !z.Product.NativeAccess() })
	}
	target := q.Target
	for _, page := range []string{d.PlacePage(p.Local), d.TestPage(p.Local)} {
		if target == "" {
			target = page
		}
	}
	m := model.Matrix{Profile: p.Name, Started: ft.cfg.Now(), Target: target, Calls: min(max(q.Calls, 1), model.MaxMatrixCalls)}
	switch {
	case target == "":
		return m, nil, model.BadField("url", "name a page to fetch through the proxy; the contract shows no test page")
	case len(zones) == 0:
		return m, nil, model.BadField("zone", "profile %s names no zone with native access", p.Name)
	}
	for _, z := range zones {
		row := model.MatrixRow{Zone: z.Name, Product: z.Product, Connect: -1, Median: -1}
		if !z.Product.NativeAccess() {
			row.Problem = z.Product.Label() + " has no native access (contract 5.2)"
		}
		m.Rows = append(m.Rows, row)
	}
	return m, zones, nil
}

// matrixRow makes the calls to one zone and reports its row after each.
func (ft *Fetcher) matrixRow(ctx context.Context, p config.Profile, d dialect.Dialect, z model.Zone, m model.Matrix, row model.MatrixRow, on func(model.MatrixRow)) error {
	var login exchange.Login
	pr, err := ft.prepareProbe(p, d, ProbeRequest{Zone: z, Target: m.Target})
	if err == nil {
		login, err = exchange.LoginFor(ctx, ft.cfg.Source, p, pr.q.Zone, nil)
	}
	if errors.Is(err, model.ErrRequest) {
		row.Problem = strings.ReplaceAll(err.Error(), "\n", "; ")
		on(row)
		return nil
	}
	if err != nil {
		return err
	}
	r := model.ExitRotation{Asked: m.Calls}
	for len(r.Calls) < m.Calls {
		pr.res.Timing = exchange.NoTiming() // so that what is shown is this call's
		c, err := pr.call(ctx, login)
		if err != nil {
			return err
		}
		r.Calls = append(r.Calls, c.seen)
		pr.res.Diagnosis = c.diagnosis
		row = rowOf(row, pr.res, r)
		on(row)
		if !c.diagnosis.OK() && lasting(c.diagnosis) {
			return nil
		}
	}
	return nil
}

// rowOf is a row after the calls of r, of which res has the last.
func rowOf(row model.MatrixRow, res model.ProbeResult, r model.ExitRotation) model.MatrixRow {
	row.Connect, row.Median = res.Timing.Connect, r.Median()
	row.ConnectStatus, row.Code = res.ConnectStatus, res.Code
	row.Class, row.Cause, row.Summary = res.Diagnosis.Class, res.Diagnosis.Cause, res.Diagnosis.Summary
	row.Made, row.OK, row.Known, row.Unique = len(r.Calls), r.OK(), r.Known(), len(r.Exits())
	row.Countries, row.Spend = r.Countries(), res.Spend
	if chain := res.Chain.Certificates; len(chain) > 0 {
		row.Root = chain[len(chain)-1].IssuerName()
		switch {
		case res.Chain.Unchecked:
			row.Trust = model.ChainUnchecked
		case res.Timing.TLS >= 0:
			row.Trust = model.ChainTrusted
		default:
			row.Trust = model.ChainUntrusted
		}
	}
	return row
}
