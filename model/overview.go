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

// ListedDataset is a data set that a service lists, or a product whose jobs name it in place of one. The
// texts are remote.
type ListedDataset struct {
	ID, Name string
	Kind     DatasetKind
	Records  int64 // that it holds; -1 where it is not shown
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
