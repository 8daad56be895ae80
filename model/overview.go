package model

import "time"

// Balance is the money of an account, in dollars, as a dialect reads it. The contract shows
// none of it.
type Balance struct {
	Dollars            float64
	Credit, Prepayment float64
	// Pending is what is not charged yet; nil where it is not shown.
	Pending *float64
}

// String is "$95.50, $4.50 not charged yet", with what else there is.
func (b Balance) String() string {
	out := signed(b.Dollars)
	if b.Pending != nil {
		out += ", " + signed(*b.Pending) + " not charged yet"
	}
	if b.Credit != 0 {
		out += ", credit " + signed(b.Credit)
	}
	if b.Prepayment != 0 {
		out += ", prepayment " + signed(b.Prepayment)
	}
	return out
}

// signed is an amount that may be a debt.
func signed(dollars float64) string {
	if dollars < 0 {
		return "-" + SmallDollars(-dollars)
	}
	return SmallDollars(dollars)
}

// Money is what an account says of its money, by UTC. A part that could not be had has a problem.
type Money struct {
	Key            string // that it was asked by
	Balance        Balance
	BalanceProblem string
	Days           []DaySpend // of this month so far
	Spent          float64    // in them
	SpentProblem   string
}

// DaySpend is what an account spent on one day.
type DaySpend struct {
	Day     time.Time
	Dollars float64
}

// RemoteJob is a job as the service lists it. All texts are remote.
type RemoteJob struct {
	Snapshot, Dataset string
	// Wire is the service's word, State what it means.
	Wire    string
	State   JobState
	Created time.Time // zero where it is not shown
	Records int64     // -1 where it is not shown
}
