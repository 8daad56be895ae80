package model

// Traffic is what an account says went through a zone in some days.
type Traffic struct {
	Bytes, Down, Up int64
	// Requests are those that were made, Billable those that are charged by their number, where the
	// product is.
	Requests, Billable int64
}
