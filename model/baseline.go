package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// LoginCall is what a call through the proxy showed of the login, below HTTP.
type LoginCall struct {
	Connect       time.Duration // to connect to the proxy; negative when not measured
	ConnectStatus int           // of the proxy's answer to CONNECT
	Code          string        // the error that the proxy named
	Reason        string        `json:"-"` // what a dialect knows of the code
	Trust         ChainVerdict
	Root          string // who signed the chain
	Exit          string // the exit address, or empty when neither the proxy nor the page told it
	Country       string // or empty
	Spend         Spend  // nothing where the call was held back
}

// Baseline is a comparison of the logins of several zones as it is kept, so that a later one can be
// compared with it.
type Baseline struct {
	Profile string
	Started time.Time
	Target  string
	// Calls is how many calls each zone was asked for.
	Calls int
	Rows  []LoginRow
}

// ChainVerdict says what became of the chain that a zone's target presented.
type ChainVerdict string

// The verdicts on a chain. ChainUnknown: no handshake was reached, or the page is http.
const (
	ChainUnknown   ChainVerdict = ""
	ChainTrusted   ChainVerdict = "trusted"
	ChainUntrusted ChainVerdict = "untrusted"
	ChainUnchecked ChainVerdict = "unchecked"
)

// LoginRow is what the calls to one zone have in common.
type LoginRow struct {
	Zone    ZoneName
	Product Product
	// Problem says why nothing was sent, or is empty.
	Problem string
	// Connect is the time to connect to the proxy, Median that of a whole call; negative
	// when not measured.
	Connect, Median time.Duration
	ConnectStatus   int
	Code            string // the error that the proxy named to the last call
	Reason          string `json:"-"` // what a dialect knows of the code
	Class           Class  // of the last call
	Cause           Cause
	Summary         string
	Trust           ChainVerdict
	Root            string   // who signed the chain
	Countries       []string // of the exits, as far as they are known
	Made, OK        int      // calls
	Known, Unique   int      // exit addresses
	Spend           Spend    // of all calls
}

// Ran reports whether the zone was called.
func (r LoginRow) Ran() bool { return r.Problem == "" && r.Made > 0 }

// ChangeKind says what a change means for the operator.
type ChangeKind string

// The kinds of changes.
const (
	ChangeNew    ChangeKind = "new"
	ChangeGone   ChangeKind = "gone"
	ChangeWorse  ChangeKind = "worse"
	ChangeBetter ChangeKind = "better"
	ChangeOther  ChangeKind = "changed"
)

// BaselineChange is one difference from a baseline.
type BaselineChange struct {
	Zone ZoneName
	Kind ChangeKind
	Text string
}

// Worse reports whether any change is one for the worse; a zone that is gone is none.
func Worse(changes []BaselineChange) bool {
	return slices.ContainsFunc(changes, func(c BaselineChange) bool { return c.Kind == ChangeWorse })
}

// CompareBaseline says how now differs from a baseline, in the order of now's zones; zones that
// are gone come last. Times differ when one is more than twice the other and by more than a
// quarter of a second.
func CompareBaseline(base, now Baseline) []BaselineChange {
	var out []BaselineChange
	find := func(rows []LoginRow, name ZoneName) int {
		return slices.IndexFunc(rows, func(r LoginRow) bool { return r.Zone == name })
	}
	for _, r := range now.Rows {
		i := find(base.Rows, r.Zone)
		if i < 0 {
			text := "not in the baseline: " + r.Word()
			out = append(out, BaselineChange{r.Zone, ChangeNew, text})
			continue
		}
		for _, c := range compareRows(base.Rows[i], r, base.Target == now.Target) {
			c.Zone = r.Zone
			out = append(out, c)
		}
	}
	for _, r := range base.Rows {
		if r.Ran() && find(now.Rows, r.Zone) < 0 {
			out = append(out, BaselineChange{r.Zone, ChangeGone, "only in the baseline: " + r.Word()})
		}
	}
	return out
}

// Word is the outcome of a row.
func (r LoginRow) Word() string {
	if !r.Ran() {
		return "not called"
	}
	word := ClassWord(r.Class, r.Cause)
	if r.Code != "" && r.Class != ClassOK {
		word += " (" + r.Code + ")"
	}
	return word
}

// CodeText is a code of the service with what a dialect knows of it.
func CodeText(code, reason string) string {
	if reason == "" {
		return code + ": no dialect knows what it means"
	}
	return code + ": " + reason + " (dialect)"
}

func compareRows(was, is LoginRow, samePage bool) []BaselineChange {
	var out []BaselineChange
	add := func(k ChangeKind, format string, args ...any) {
		out = append(out, BaselineChange{Kind: k, Text: fmt.Sprintf(format, args...)})
	}
	if was.Ran() != is.Ran() {
		kind := ChangeOther
		if was.Ran() && was.Class == ClassOK {
			kind = ChangeWorse
		}
		add(kind, "%s, was %s", is.Word(), was.Word())
		return out
	}
	if !is.Ran() {
		return nil
	}
	switch wasOK, isOK := was.Class == ClassOK, is.Class == ClassOK; {
	case wasOK && !isOK:
		add(ChangeWorse, "%s, was ok", is.Word())
	case !wasOK && isOK:
		add(ChangeBetter, "ok, was %s", was.Word())
	case was.Word() != is.Word():
		add(ChangeOther, "%s, was %s", is.Word(), was.Word())
	case was.Made == is.Made && was.OK > is.OK:
		add(ChangeWorse, "%d of %d calls ok, was %d", is.OK, is.Made, was.OK)
	case was.Made == is.Made && was.OK < is.OK:
		add(ChangeBetter, "%d of %d calls ok, was %d", is.OK, is.Made, was.OK)
	case was.OK == was.Made && is.OK < is.Made:
		add(ChangeWorse, "%d of %d calls ok, was %d of %d", is.OK, is.Made, was.OK, was.Made)
	case was.OK < was.Made && is.OK == is.Made:
		add(ChangeBetter, "%d of %d calls ok, was %d of %d", is.OK, is.Made, was.OK, was.Made)
	}
	switch {
	case was.Trust == is.Trust:
		if was.Root != is.Root && was.Root != "" && is.Root != "" {
			add(ChangeOther, "the chain is signed by %s, was %s", is.Root, was.Root)
		}
	case was.Trust == ChainTrusted && is.Trust == ChainUntrusted:
		add(ChangeWorse, "the certificate is not trusted any more: signed by %s", is.Root)
	case was.Trust == ChainUntrusted && is.Trust == ChainTrusted:
		add(ChangeBetter, "the certificate is trusted now: signed by %s", is.Root)
	case was.Trust == ChainTrusted && is.Trust == ChainUnchecked:
		add(ChangeWorse, "the certificate is not checked any more (verify = false)")
	}
	if was.settled() && is.Known > 0 && len(is.Countries) > 0 && countries(was) != countries(is) {
		add(ChangeOther, "exits in %s, was %s", countries(is), countries(was))
	}
	if samePage {
		if c, ok := compareTimes(was.Median, is.Median); ok {
			out = append(out, c)
		}
	}
	return append(out, compareExits(was, is)...)
}

// settled reports whether the exits of a row show that the zone is in one country: from fewer
// than three calls, a zone whose exits are anywhere would look the same.
func (r LoginRow) settled() bool { return len(r.Countries) == 1 && r.Known >= 3 }

func countries(r LoginRow) string {
	return strings.Join(slices.Sorted(slices.Values(r.Countries)), ", ")
}

func compareTimes(was, is time.Duration) (BaselineChange, bool) {
	const noise = 250 * time.Millisecond
	ms := func(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
	switch {
	case was < 0 || is < 0:
	case is > 2*was && is-was > noise:
		return BaselineChange{Kind: ChangeWorse, Text: fmt.Sprintf("slower: %s, was %s", ms(is), ms(was))}, true
	case was > 2*is && was-is > noise:
		return BaselineChange{Kind: ChangeBetter, Text: fmt.Sprintf("faster: %s, was %s", ms(is), ms(was))}, true
	}
	return BaselineChange{}, false
}

// compareExits tells whether the exit began to rotate, or stopped.
func compareExits(was, is LoginRow) []BaselineChange {
	switch {
	case was.Known < 2 || is.Known < 2:
		return nil
	case was.Unique > 1 && is.Unique == 1:
		return []BaselineChange{{Kind: ChangeWorse, Text: fmt.Sprintf("the exit does not rotate any more: one address in %d calls, were %d in %d", is.Known, was.Unique, was.Known)}}
	case was.Unique == 1 && is.Unique > 1:
		return []BaselineChange{{Kind: ChangeOther, Text: fmt.Sprintf("the exit rotates now: %d addresses in %d calls", is.Unique, is.Known)}}
	}
	return nil
}

// Baseline is the comparison of logins as it is kept.
func (g Grid) Baseline() Baseline {
	b := Baseline{Profile: g.Profile, Started: g.Started, Target: g.Base.URL, Calls: g.Repeat}
	for _, c := range g.Cells {
		b.Rows = append(b.Rows, c.LoginRow())
	}
	return b
}

// LoginRow is what the calls of a cell have in common. Class, code and time to connect are those of the
// last call.
func (c Cell) LoginRow() LoginRow {
	row := LoginRow{
		Zone: c.Zone.Name, Product: c.Zone.Product, Problem: c.Problem, Connect: -1, Median: c.MedianOK(), Countries: c.Countries(),
		Made: len(c.Runs), OK: c.OK(), Known: c.KnownExits(), Unique: len(c.Exits()), Spend: c.Spend(),
	}
	for _, r := range c.Runs {
		row.Class, row.Cause, row.Summary = r.Class, r.Cause, r.Summary
		row.Connect, row.ConnectStatus, row.Code, row.Reason = r.Login.Connect, r.Login.ConnectStatus, r.Login.Code, r.Login.Reason
		if r.Login.Trust != ChainUnknown {
			row.Trust, row.Root = r.Login.Trust, r.Login.Root
		}
	}
	return row
}

// verdict is the class of the first zone that is not ok, or ok, and the comparison in one line.
func (b Baseline) verdict() (worst Class, text string) {
	called, ok, skipped := 0, 0, 0
	for _, r := range b.Rows {
		switch {
		case !r.Ran():
			skipped++
			continue
		case r.Class == ClassOK:
			ok++
		case worst == "":
			worst = r.Class
		}
		called++
	}
	if worst == "" && ok > 0 {
		worst = ClassOK
	}
	text = fmt.Sprintf("%d of %d zones ok", ok, called)
	if skipped > 0 {
		text += fmt.Sprintf(", %d not called", skipped)
	}
	return worst, text
}

// Verdict is the baseline in one line.
func (b Baseline) Verdict() string {
	_, text := b.verdict()
	return text
}
