// Package webhook receives what a service reports by webhook (service.md 6) and keeps it.
//
// A Receiver writes the bytes of a delivery to a file, then a row to the Inbox, both on disk
// before it answers 200. If anything fails earlier it answers otherwise, or not at all, so that the
// sender tries again. Only then does it work on the delivery: it checks who sent it, finds the job,
// and has the service asked about the job. What a body says is never believed.
//
// An Inbox is a SQLite file and a folder. A delivery is one row however often it comes: the same
// bytes with the same identifier or, without one, to the same address.
package webhook
