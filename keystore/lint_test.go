package keystore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"zonedeck/model"
)

var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func daysAgo(n int) model.Rotation { return model.Rotation{Last: today.AddDate(0, 0, -n)} }
func inDaysFrom(n int) model.Expiry {
	return model.ExpiresAt(today.AddDate(0, 0, n))
}

// goodKey passes every rule.
func goodKey() model.Key {
	return model.Key{
		Name: "batch-user", Level: model.LevelUser, Duty: model.DutyBatch,
		Expires: inDaysFrom(60), Rotation: daysAgo(20), Secret: "env:A", Fingerprint: "feedface00000001", UsedBy: []string{"nightly"},
	}
}

func found(fs []Finding) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Severity+" "+f.Rule)
	}
	return out
}

func TestLintFindsExactlyWhatTheRulesSay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model.Key)
		want   []string
	}{
		"a good key":                {func(*model.Key) {}, nil},
		"ADMIN in a batch job":      {func(k *model.Key) { k.Level = model.LevelAdmin }, []string{"error admin-automated"}},
		"ADMIN in CI":               {func(k *model.Key) { k.Level, k.Duty = model.LevelAdmin, model.DutyCI }, []string{"error admin-automated"}},
		"ADMIN in a service":        {func(k *model.Key) { k.Level, k.Duty = model.LevelAdmin, model.DutyService }, []string{"error admin-automated"}},
		"ADMIN for a person":        {func(k *model.Key) { k.Level, k.Duty = model.LevelAdmin, model.DutyHuman }, nil},
		"ADMIN never read":          {func(k *model.Key) { k.Level, k.Duty, k.Fingerprint = model.LevelAdmin, model.DutyHuman, "" }, []string{"warn admin-unrecognised"}},
		"USER never read":           {func(k *model.Key) { k.Fingerprint = "" }, nil},
		"OPS in a batch job":        {func(k *model.Key) { k.Level = model.LevelOps }, nil},
		"FINANCE in a batch job":    {func(k *model.Key) { k.Level = model.LevelFinance }, []string{"error level-cannot-use"}},
		"FINANCE for a person":      {func(k *model.Key) { k.Level, k.Duty = model.LevelFinance, model.DutyHuman }, nil},
		"LIMIT in a batch job":      {func(k *model.Key) { k.Level = model.LevelLimit }, []string{"warn level-not-for-jobs"}},
		"no level":                  {func(k *model.Key) { k.Level = "" }, []string{"warn level-unknown"}},
		"no duty":                   {func(k *model.Key) { k.Duty = "" }, []string{"note duty-unknown"}},
		"an unlimited key":          {func(k *model.Key) { k.Expires = model.Unlimited() }, []string{"warn expiry-unlimited"}},
		"no expiry":                 {func(k *model.Key) { k.Expires = model.Expiry{} }, []string{"warn expiry-unknown"}},
		"an expired key":            {func(k *model.Key) { k.Expires = model.ExpiresAt(today) }, []string{"error expired"}},
		"expiring in a week":        {func(k *model.Key) { k.Expires = inDaysFrom(7) }, []string{"warn expires-soon"}},
		"expiring in fourteen days": {func(k *model.Key) { k.Expires = inDaysFrom(14) }, []string{"warn expires-soon"}},
		"expiring in fifteen days":  {func(k *model.Key) { k.Expires = inDaysFrom(15) }, nil},
		"no age":                    {func(k *model.Key) { k.Rotation = model.Rotation{} }, []string{"warn rotation-unknown"}},
		"75 days old":               {func(k *model.Key) { k.Rotation = daysAgo(75) }, nil},
		"76 days old":               {func(k *model.Key) { k.Rotation = daysAgo(76) }, []string{"note rotation-soon"}},
		"90 days old":               {func(k *model.Key) { k.Rotation = daysAgo(90) }, []string{"warn rotation-due"}},
		"91 days old":               {func(k *model.Key) { k.Rotation = daysAgo(91) }, []string{"warn rotation-overdue"}},
		"two users":                 {func(k *model.Key) { k.UsedBy = []string{"a", "b", "a"} }, []string{"warn shared-duties"}},
		"one user twice":            {func(k *model.Key) { k.UsedBy = []string{"a", "a"} }, nil},
		"errors before warnings and notes": {func(k *model.Key) { *k = model.Key{Name: "x", Expires: model.ExpiresAt(today)} }, []string{
			"error expired", "warn level-unknown", "warn rotation-unknown", "note duty-unknown",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			k := goodKey()
			c.change(&k)
			got := Lint([]model.Key{k}, today)
			if !slices.Equal(found(got), c.want) {
				t.Errorf("got %q, want %q", found(got), c.want)
			}
			for _, f := range got {
				if f.Key != k.Name || f.Text == "" || f.Evidence == "" || f.Fix == "" || !strings.HasPrefix(f.Source, "contract ") {
					t.Errorf("a finding is not complete: %+v", f)
				}
			}
		})
	}
}

func TestLintFindsOneValueUnderTwoNames(t *testing.T) {
	a, b, c := goodKey(), goodKey(), goodKey()
	b.Name, b.Secret = "other", "env:B"
	c.Name, c.Secret = "third", "env:A"
	c.Fingerprint = "feedface00000002"
	got := Lint([]model.Key{a, b, c}, today)
	want := []string{"error shared-value", "warn shared-reference", "error shared-value", "warn shared-reference"}
	if !slices.Equal(found(got), want) {
		t.Fatalf("got %q, want %q", found(got), want)
	}
	if !strings.Contains(got[0].Text, "other") || !strings.Contains(got[1].Text, "third") || got[3].Key != "third" {
		t.Errorf("findings %+v", got)
	}
}

func TestLintWithinChangesTheMeaningOfSoon(t *testing.T) {
	k := goodKey() // expires in 60 days, due in 70
	if got := found(Checks{Now: func(model.Key) time.Time { return today }, Within: 65 * 24 * time.Hour}.Lint([]model.Key{k})); !slices.Equal(got, []string{"warn expires-soon"}) {
		t.Errorf("got %q", got)
	}
}

func TestLintSaysHowLong(t *testing.T) {
	k := goodKey()
	k.Rotation, k.Expires = daysAgo(112), inDaysFrom(1)
	var texts []string
	for _, f := range Lint([]model.Key{k}, today) {
		texts = append(texts, f.Text)
	}
	for _, want := range []string{"112 days old, 22 past", "within a day"} {
		if !strings.Contains(strings.Join(texts, "\n"), want) {
			t.Errorf("no %q in %q", want, texts)
		}
	}
}

func TestAKeyIsNeverLintedAsGoodWhileItsStateIsBad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := goodKey()
		if rapid.Bool().Draw(t, "dated") {
			k.Expires = inDaysFrom(rapid.IntRange(-200, 200).Draw(t, "expires"))
		} else {
			k.Expires = rapid.SampledFrom([]model.Expiry{{}, model.Unlimited()}).Draw(t, "expiry")
		}
		if rapid.Bool().Draw(t, "aged") {
			k.Rotation = daysAgo(rapid.IntRange(0, 200).Draw(t, "age"))
		} else {
			k.Rotation = model.Rotation{}
		}
		bad := k.State(today, soon) != model.KeyOK
		if got := Lint([]model.Key{k}, today); (len(got) > 0) != bad {
			t.Fatalf("state %s, findings %q", k.State(today, soon), found(got))
		}
	})
}

func TestCheckUseReadsTheMatrix(t *testing.T) {
	// service.md 5.3: what a finding of the matrix says for every level and column.
	want := map[model.Level][3]string{
		model.LevelAdmin:   {"", "", ""},
		model.LevelFinance: {"", "error level-cannot-use", "error level-cannot-use"},
		model.LevelOps:     {"error level-cannot-use", "", ""},
		model.LevelLimit:   {"error level-cannot-use", "warn level-partial", ""},
		model.LevelUser:    {"error level-cannot-use", "error level-cannot-use", ""},
		model.LevelUnknown: {"", "", ""},
	}
	for level, row := range want {
		for i, c := range model.Capabilities() {
			k := goodKey()
			k.Level = level
			got := ""
			for _, f := range found(CheckUse(k, c, false, today)) {
				if strings.Contains(f, "cannot-use") || strings.Contains(f, "partial") {
					got = f
				}
			}
			if got != row[i] {
				t.Errorf("%s for %s: %q, want %q", level, c, got, row[i])
			}
		}
	}
}

func TestCheckUseLooksAtTheUseNotAtTheRecordedDuty(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*model.Key)
		automated bool
		want      []string
	}{
		"a good key":                {func(*model.Key) {}, true, nil},
		"a person's ADMIN by a job": {func(k *model.Key) { k.Level, k.Duty = model.LevelAdmin, model.DutyHuman }, true, []string{"error admin-automated"}},
		"a job's ADMIN by a person": {func(k *model.Key) { k.Level = model.LevelAdmin }, false, []string{"note more-than-needed"}},
		"LIMIT by a job":            {func(k *model.Key) { k.Level = model.LevelLimit }, true, []string{"warn level-not-for-jobs"}},
		"LIMIT by a person":         {func(k *model.Key) { k.Level = model.LevelLimit }, false, nil},
		"no level":                  {func(k *model.Key) { k.Level = "" }, true, []string{"warn level-unknown"}},
		"expired":                   {func(k *model.Key) { k.Expires = inDaysFrom(-1) }, false, []string{"error expired"}},
		"overdue":                   {func(k *model.Key) { k.Rotation = daysAgo(100) }, false, []string{"warn rotation-overdue"}},
		"unlimited":                 {func(k *model.Key) { k.Expires = model.Unlimited() }, false, nil},
	} {
		k := goodKey()
		c.change(&k)
		if got := found(CheckUse(k, model.CapUse, c.automated, today)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func ExampleLint() {
	key := model.Key{
		Name: "etl-main", Level: model.LevelAdmin, Duty: model.DutyBatch, Fingerprint: "feedface00000001",
		Expires: model.Unlimited(), Rotation: model.Rotation{Last: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)},
	}
	for _, f := range Lint([]model.Key{key}, time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)) {
		fmt.Printf("%s %s: %s (%s)\n", f.Severity, f.Key, f.Text, f.Source)
	}
	// Output:
	// error etl-main: ADMIN is used for batch job (contract 5.4)
	// warn etl-main: the expiry is Unlimited (contract 2.1)
	// warn etl-main: the value is 112 days old, 22 past the recommended rotation (contract 5.4, 8)
}

func TestAFutureRotationDateIsReported(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	k := model.Key{Name: "k", Level: model.LevelUser, Duty: model.DutyCI, Expires: model.ExpiresAt(now.AddDate(1, 0, 0)), Rotation: model.Rotation{Last: now.AddDate(0, 0, 40)}}
	found := Lint([]model.Key{k}, now)
	if len(found) != 1 || found[0].Rule != ruleRotationUnknown || !strings.Contains(found[0].Text, "2026-12-31, is in the future") {
		t.Errorf("%+v", found)
	}
}

func TestAKeyThatCannotBeUsedSaysWhatToPick(t *testing.T) {
	k := goodKey()
	for c, want := range map[model.Capability][3]string{
		model.CapBilling:  {"USER", "USER has no access to billing", "pick a key of level FINANCE or ADMIN"},
		model.CapSettings: {"USER", "USER has no access to product settings", "pick a key of level OPS or ADMIN"},
		model.CapUse:      {"FINANCE", "FINANCE has no proxy and API use", "pick a key of level USER or OPS"},
	} {
		k.Level = model.Level(want[0])
		f, hit := permissionFinding(k, c)
		if !hit || f.Text != want[1] || f.Fix != want[2] {
			t.Errorf("%s: %+v", c, f)
		}
	}
	k.Level = model.LevelLimit
	f, hit := permissionFinding(k, model.CapSettings)
	if !hit || f.Text != "LIMIT has access to product settings for proxy passwords and IP allow/deny lists only" || f.Fix != "for anything else pick a key of level OPS or ADMIN" {
		t.Errorf("%+v", f)
	}
}

func TestADayThatHasBegunIsCounted(t *testing.T) {
	for left, want := range map[time.Duration]string{
		23 * time.Hour: ", within a day", 24 * time.Hour: ", within a day", 25 * time.Hour: ", in 2 days", 48 * time.Hour: ", in 2 days", 49 * time.Hour: ", in 3 days",
	} {
		k := goodKey()
		k.Expires = model.ExpiresAt(today.Add(left))
		fs := Lint([]model.Key{k}, today)
		if len(fs) != 1 || !strings.HasSuffix(fs[0].Text, want) {
			t.Errorf("%s before the expiry: %+v, want %q", left, fs, want)
		}
	}
}

func TestWhatWasSeenOfAKeyIsLinted(t *testing.T) {
	fetches := KeyUsage{Fetches: []string{"profile acme"}}
	for name, c := range map[string]struct {
		level    model.Level
		duty     model.Duty
		seen     KeyUsage
		want     []string
		evidence string
	}{
		"FINANCE that fetches":      {model.LevelFinance, model.DutyHuman, fetches, []string{"error finance-fetches"}, "level FINANCE, duty human, used by profile acme"},
		"LIMIT that fetches":        {model.LevelLimit, model.DutyHuman, fetches, []string{"warn limit-beyond-part"}, "level LIMIT, duty human, used by profile acme"},
		"USER that fetches":         {model.LevelUser, model.DutyHuman, fetches, nil, ""},
		"a person's ADMIN in a job": {model.LevelAdmin, model.DutyHuman, KeyUsage{Automated: []string{"job-3 (running)"}}, []string{"error admin-automated"}, "level ADMIN, duty human, used by job-3 (running)"},
		"a person's ADMIN":          {model.LevelAdmin, model.DutyHuman, fetches, nil, ""},
		"a value in git":            {model.LevelUser, model.DutyHuman, KeyUsage{Tracked: []string{"a:1", "b:2", "c:3", "d:4", "e:5"}}, []string{"error value-in-git"}, "a:1, b:2, c:3 and 2 more"},
	} {
		k := goodKey()
		k.Level, k.Duty = c.level, c.duty
		got := Checks{Now: func(model.Key) time.Time { return today }, Usage: func(model.Key) KeyUsage { return c.seen }}.Lint([]model.Key{k})
		if !slices.Equal(found(got), c.want) || len(got) > 0 && (got[0].Evidence != c.evidence || got[0].Fix == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestEachFindingShowsWhatItWentBy(t *testing.T) {
	k := goodKey()
	k.Rotation, k.Expires, k.UsedBy, k.Fingerprint = daysAgo(100), model.Unlimited(), []string{"a", "b"}, "0123456789abcdef"
	k.Rotation.Interval = 60
	other := goodKey()
	other.Name, other.Fingerprint, other.Secret = "other", k.Fingerprint, k.Secret
	evidence := map[string]string{}
	for _, f := range Lint([]model.Key{k, other}, today) {
		if f.Key == k.Name {
			evidence[f.Rule] = f.Evidence
		}
	}
	want := map[string]string{
		ruleRotationOverdue: "made 2026-08-13 12:00 UTC, interval 60 days", ruleExpiryUnlimited: "expires Unlimited",
		ruleSharedDuties: "used by a, b", ruleSharedValue: "fingerprint 0123456789abcdef", ruleSharedReference: "reference env:A",
	}
	if !maps.Equal(evidence, want) {
		t.Errorf("%v", evidence)
	}
}

func TestEveryKeyIsHeldAgainstItsOwnClock(t *testing.T) {
	a, b := goodKey(), goodKey()
	b.Name, b.Secret, b.Fingerprint = "b", "env:B", "feedface00000002"
	got := Checks{Now: func(k model.Key) time.Time {
		if k.Name == "b" {
			return today.AddDate(0, 0, 61)
		}
		return today
	}}.Lint([]model.Key{a, b})
	if !slices.Equal(found(got), []string{"error expired", "note rotation-soon"}) || got[0].Key != "b" {
		t.Errorf("%+v", got)
	}
}

// The contract recommends 90 days: a finding about another interval does not cite it.
func TestAnIntervalOfOursIsNotTheContracts(t *testing.T) {
	for every, want := range map[int][]string{
		0:   {"100 days old, 10 past the recommended rotation", "contract 5.4, 8"},
		90:  {"100 days old, 10 past the recommended rotation", "contract 5.4, 8"},
		30:  {"100 days old, 70 past the interval of 30 days", "zonedeck's interval"},
		100: {"100 days old: rotation is due today", "zonedeck's interval"},
		110: {"rotation is due, in 10 days", "zonedeck's interval"},
		180: nil,
	} {
		k := model.Key{
			Name: "etl", Level: model.LevelUser, Duty: model.DutyBatch, Expires: model.ExpiresAt(today.AddDate(1, 0, 0)),
			Rotation: model.Rotation{Last: today.AddDate(0, 0, -100), Interval: every},
		}
		findings := Lint([]model.Key{k}, today)
		if len(want) == 0 && len(findings) == 0 {
			continue
		}
		if len(want) == 0 || len(findings) != 1 || !strings.Contains(findings[0].Text, want[0]) || findings[0].Source != want[1] {
			t.Errorf("every %d days: %+v, want %q", every, findings, want)
		}
	}
}
