package model

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAccountIDStartsWithHl(t *testing.T) {
	tests := []struct {
		in, text string // text of the refusal, or empty
	}{
		{"hl_1234abcd", ""},
		{"hl_A", ""},
		{"hl_a_b", ""},
		{"", "must start with hl_"},
		{"1234abcd", "must start with hl_"},
		{"HL_1234", "must start with hl_"},
		{"hl-1234", "must start with hl_"},
		{" hl_1", "must start with hl_"},
		{"hl_", "nothing follows"},
		{"hl_a-b", "'-'"},
		{"hl_a:b", "':'"},
		{"hl_a b", "' '"},
		{"hl_é", "not a letter"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := ParseAccountID(tt.in)
			if tt.text == "" {
				if err != nil || string(got) != tt.in {
					t.Fatalf("%q, %v", got, err)
				}
				return
			}
			if !errors.Is(err, ErrAccountID) || !strings.Contains(err.Error(), tt.text) || got != "" {
				t.Errorf("%q, error %v; want one that says %q", got, err, tt.text)
			}
		})
	}
}

func TestZoneNameCanStandInAUsername(t *testing.T) {
	for _, ok := range []string{"unlocker1", "eu-shop", "Zone_X", "zürich", "a.b"} {
		if got, err := ParseZoneName(ok); err != nil || string(got) != ok {
			t.Errorf("%q: %q, %v", ok, got, err)
		}
	}
	for _, bad := range []string{"", "a b", "a\tb", "a:b", "a\nb", "a\x00", "a\u00a0b", "a\xff"} {
		if got, err := ParseZoneName(bad); !errors.Is(err, errZoneName) || got != "" {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
	if !(Zone{Name: "a-b"}).Ambiguous() || (Zone{Name: "a_b"}).Ambiguous() {
		t.Error("a zone is ambiguous when its name holds the separator, and only then")
	}
}

func TestTheLevelMatrixFollowsTheContract(t *testing.T) {
	const no, partial, yes = PermNo, PermPartial, PermYes
	want := map[Level][3]Permission{ // billing, settings, use: service.md 5.3
		LevelAdmin:   {yes, yes, yes},
		LevelFinance: {yes, no, no},
		LevelOps:     {no, yes, yes},
		LevelLimit:   {no, partial, yes},
		LevelUser:    {no, no, yes},
	}
	cells := 0
	for _, level := range Levels() {
		for i, c := range Capabilities() {
			cells++
			if got := level.Permission(c); got != want[level][i] {
				t.Errorf("%s, %s: %s, want %s", level, c, got, want[level][i])
			}
		}
		if level.IntendedUse() == LevelUnknown.IntendedUse() {
			t.Errorf("%s has no intended use", level)
		}
	}
	if cells != 15 {
		t.Errorf("%d cells, want 15", cells)
	}
	for _, c := range append(Capabilities(), -1, 7) {
		if got := LevelUnknown.Permission(c); got != PermUnknown {
			t.Errorf("an unknown level grants %s for %s", got, c)
		}
	}
	if got := LevelAdmin.Permission(7); got != PermUnknown {
		t.Errorf("ADMIN grants %s for a column that is not there", got)
	}
}

func TestParseLevel(t *testing.T) {
	for _, l := range append(Levels(), LevelUnknown) {
		if got, err := ParseLevel(string(l)); got != l || err != nil {
			t.Errorf("%q: %q, %v", string(l), got, err)
		}
	}
	if _, err := ParseLevel("user"); err == nil || !strings.Contains(err.Error(), "USER") {
		t.Errorf("lower case: %v", err)
	}
	if _, err := ParseLevel("ROOT"); err == nil || !strings.Contains(err.Error(), "not one of") {
		t.Errorf("an unknown level: %v", err)
	}
}

func TestProductsFollowTheContract(t *testing.T) {
	native := map[Product]bool{
		ProductDatacenter: true, ProductISP: true, ProductResidential: true, ProductMobile: true,
		ProductUnlocker: true, ProductBrowser: true,
	}
	heavy := map[Product]bool{ProductBrowser: true, ProductCrawl: true}
	networks := 0
	for _, p := range Products() {
		if p.NativeAccess() != native[p] || p.Heavy() != heavy[p] || !p.APIAccess() {
			t.Errorf("%s: native %t, heavy %t, API %t", p, p.NativeAccess(), p.Heavy(), p.APIAccess())
		}
		if p.Network() {
			networks++
		}
		if p.Label() == ProductUnknown.Label() {
			t.Errorf("%s has no label", p)
		}
		if got, err := ParseProduct(string(p)); got != p || err != nil {
			t.Errorf("%s reads as %s, %v", p, got, err)
		}
		wantCA := p == ProductResidential || p == ProductUnlocker
		if (Zone{Product: p}).NeedsCA() != wantCA || (Zone{Product: p, IdentityVerified: true}).NeedsCA() {
			t.Errorf("%s: CA needed is wrong", p)
		}
	}
	if len(Products()) != 13 || networks != 4 {
		t.Errorf("%d products, %d networks", len(Products()), networks)
	}
	if _, err := ParseProduct("proxy"); err == nil {
		t.Error("an unknown product is accepted")
	}
	if !ProductUnknown.NativeAccess() {
		t.Error("the console cannot say no for a product it was not told")
	}
}

// now is an arbitrary moment, not at midnight.
var now = time.Date(2026, 11, 21, 15, 30, 0, 0, time.UTC)

const soon = SoonDays * day

func TestExpiryClock(t *testing.T) {
	tests := []struct {
		name string
		e    Expiry
		want ExpiryState
		days int
		date bool
	}{
		{"nothing recorded is unknown, never fresh", Expiry{}, ExpiryStateUnknown, 0, false},
		{"unlimited", Unlimited(), ExpiryStateUnlimited, 0, false},
		{"a second past", ExpiresAt(now.Add(-time.Second)), ExpiryStateExpired, 0, true},
		{"this very moment", ExpiresAt(now), ExpiryStateExpired, 0, true},
		{"in a second", ExpiresAt(now.Add(time.Second)), ExpiryStateSoon, 1, true},
		{"at the end of the window", ExpiresAt(now.Add(soon)), ExpiryStateSoon, 14, true},
		{"a second after the window", ExpiresAt(now.Add(soon + time.Second)), ExpiryStateValid, 15, true},
		{"in a year", ExpiresAt(now.Add(365 * day)), ExpiryStateValid, 365, true},
		{"a day and a second past", ExpiresAt(now.Add(-day - time.Second)), ExpiryStateExpired, -1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.e.State(now, soon); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if days, ok := tt.e.DaysLeft(now); days != tt.days || ok != tt.date {
				t.Errorf("%d days left (%t), want %d (%t)", days, ok, tt.days, tt.date)
			}
		})
	}
}

func TestExpiryReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom([]Expiry{{}, Unlimited(), ExpiresAt(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0))}).Draw(t, "expiry")
		if rapid.Bool().Draw(t, "midnight") {
			e.At = e.At.Truncate(day)
		}
		got, err := ParseExpiry(e.String())
		if err != nil || got.Kind != e.Kind || e.Kind == ExpiryDate && !got.At.Equal(e.At) {
			t.Fatalf("%s reads as %+v, %v", e, got, err)
		}
	})
	for _, bad := range []string{"tomorrow", "31.01.2027", "2027-13-01", "never"} {
		if _, err := ParseExpiry(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestRotationClock(t *testing.T) {
	tests := []struct {
		name string
		last time.Time
		want RotationState
		left int
	}{
		{"nothing recorded is unknown, never fresh", time.Time{}, RotationUnknown, 0},
		{"just made", now, RotationFresh, 90},
		{"75 days, a day before the window", now.Add(-75 * day), RotationFresh, 15},
		{"76 days, the window begins", now.Add(-76 * day), RotationSoon, 14},
		{"89 days", now.Add(-89 * day), RotationSoon, 1},
		{"a second before the 90th day", now.Add(-90*day + time.Second), RotationSoon, 1},
		{"90 days", now.Add(-90 * day), RotationDue, 0},
		{"the last second of the 90th day", now.Add(-91*day + time.Second), RotationDue, 0},
		{"91 days", now.Add(-91 * day), RotationOverdue, -1},
		{"112 days", now.Add(-112 * day), RotationOverdue, -22},
		{"made tomorrow, as it is called east of UTC", now.Add(day), RotationFresh, 90},
		{"made in the days to come is a mistake, never fresh", now.Add(day + time.Second), RotationUnknown, 0},
		{"made in years to come", now.AddDate(3, 0, 0), RotationUnknown, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Rotation{Last: tt.last}
			if got := r.State(now, soon); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			left, ok := r.DaysLeft(now)
			if ok == (tt.want == RotationUnknown) || ok && left != tt.left {
				t.Errorf("%d days left (%t), want %d", left, ok, tt.left)
			}
		})
	}
}

func TestKeyStateIsTheWorseOfTheTwoClocks(t *testing.T) {
	expiries := map[ExpiryState]Expiry{
		ExpiryStateValid:     ExpiresAt(now.Add(60 * day)),
		ExpiryStateUnlimited: Unlimited(),
		ExpiryStateUnknown:   {},
		ExpiryStateSoon:      ExpiresAt(now.Add(7 * day)),
		ExpiryStateExpired:   ExpiresAt(now.Add(-day)),
	}
	rotations := map[RotationState]Rotation{
		RotationFresh:   {Last: now.Add(-20 * day)},
		RotationUnknown: {},
		RotationSoon:    {Last: now.Add(-80 * day)},
		RotationDue:     {Last: now.Add(-90 * day)},
		RotationOverdue: {Last: now.Add(-112 * day)},
	}
	want := map[ExpiryState][5]KeyState{ // fresh, unknown, soon, due, overdue
		ExpiryStateValid:     {KeyOK, KeyUnknown, KeySoon, KeyDue, KeyOverdue},
		ExpiryStateUnlimited: {KeyUnlimited, KeyUnknown, KeySoon, KeyDue, KeyOverdue},
		ExpiryStateUnknown:   {KeyUnknown, KeyUnknown, KeySoon, KeyDue, KeyOverdue},
		ExpiryStateSoon:      {KeySoon, KeySoon, KeySoon, KeyDue, KeyOverdue},
		ExpiryStateExpired:   {KeyExpired, KeyExpired, KeyExpired, KeyExpired, KeyExpired},
	}
	for e, expiry := range expiries {
		for r, rotation := range rotations {
			got := Key{Expires: expiry, Rotation: rotation}.State(now, soon)
			if got != want[e][r] {
				t.Errorf("expiry %s and rotation %s: %s, want %s", e, r, got, want[e][r])
			}
			if got.Usable() != (e != ExpiryStateExpired) {
				t.Errorf("expiry %s and rotation %s: usable %t", e, r, got.Usable())
			}
		}
	}
}

func TestEveryStateHasAWord(t *testing.T) {
	seen := map[string]bool{}
	for s := KeyOK; s <= KeyExpired; s++ {
		seen[s.String()] = true
	}
	if len(seen) != 7 {
		t.Errorf("%d words for 7 states of a key", len(seen))
	}
	for _, c := range Classes() {
		if c.Label() == "" || c != ClassOK && c != ClassTimeout && c.Label() == string(c) {
			t.Errorf("class %s has no label", c)
		}
	}
}

func TestDutyOfAMachineIsAutomated(t *testing.T) {
	for duty, want := range map[Duty]bool{DutyBatch: true, DutyCI: true, DutyService: true, DutyHuman: false, DutyUnknown: false, "odd": false} {
		if duty.Automated() != want {
			t.Errorf("%q: automated %t", duty, duty.Automated())
		}
	}
}

func TestFinalJobStates(t *testing.T) {
	final := map[JobState]bool{JobRefused: true, JobNotSent: true, JobReady: true, JobFailed: true, JobCanceled: true}
	for _, s := range []JobState{JobIntent, JobSending, JobMayHave, JobRefused, JobNotSent, JobAccepted, JobRunning, JobReady, JobFailed, JobCanceled} {
		if s.Final() != final[s] {
			t.Errorf("%s: final %t", s, s.Final())
		}
		if strings.Contains(s.Label(), "_") {
			t.Errorf("%s is shown as %q", s, s.Label())
		}
	}
}

func TestFillRateOfATable(t *testing.T) {
	table := RecordTable{Columns: []RecordColumn{{Name: "name", Filled: 4}, {Name: "sku", Filled: 1}}, Rows: make([][]string, 4)}
	if table.FillRate(0) != 1 || table.FillRate(1) != 0.25 || table.FillRate(2) != 0 || table.FillRate(-1) != 0 || (RecordTable{}).FillRate(0) != 0 {
		t.Error("fill rates are wrong")
	}
}

func TestWordsOfLevelsAndProducts(t *testing.T) {
	for l, want := range map[Level]string{
		LevelAdmin: "administration; human use only", LevelFinance: "billing review", LevelOps: "operations, zone settings",
		LevelLimit: "proxy password and IP allow/deny lists only", LevelUser: "everyday API use by applications and batch jobs",
		LevelUnknown: "not known", "odd": "not known",
	} {
		if got := l.IntendedUse(); got != want {
			t.Errorf("%s is for %q, want %q", l, got, want)
		}
	}
	for got, want := range map[string]string{
		PermUnknown.String(): "unknown", PermNo.String(): "no", PermPartial.String(): "partial", PermYes.String(): "yes",
		CapBilling.String(): "Billing/financial", CapSettings.String(): "Product settings", CapUse.String(): "Proxy / API use",
		Capability(7).String():  "Capability(7)",
		LevelUnknown.String():   "unknown", // the zero values below say the same
		LevelOps.String():       "OPS",
		ProductUnknown.String(): "unknown",
		ProductSERP.String():    string(ProductSERP),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, c := range []Capability{-1, 3} {
		if p := LevelAdmin.Permission(c); p != PermUnknown {
			t.Errorf("capability %d: %s", c, p)
		}
	}
}

func TestDaysAreWholeAndRoundedDown(t *testing.T) {
	for d, want := range map[time.Duration]int{
		0: 0, 1: 0, day - 1: 0, day: 1, day + 1: 1, -1: -1, -day + 1: -1, -day: -1, -day - 1: -2, -2 * day: -2,
	} {
		if got := floorDays(d); got != want {
			t.Errorf("%v: %d days, want %d", d, got, want)
		}
	}
}

func TestACallOfARotationNamesTheKey(t *testing.T) {
	for _, name := range []string{OldValueOf("etl"), NewValueOf("etl"), "etl"} {
		if PlainName(name) != "etl" || isOldValue(name) != (name == "etl (old value)") || IsNewValue(name) != (name == "etl (new value)") {
			t.Errorf("%q", name)
		}
	}
}
