// Package webhook receives what a service reports by webhook (service.md 6) and keeps it.
//
// A Receiver writes the bytes of a delivery to a file, then a row to the Inbox, both on disk
// before it answers 200; whatever fails earlier is answered otherwise, or not at all, so that the
// sender tries again. Only then it works on the delivery: it checks who sent it, finds the job,
// and has the service asked about that. What a body says is never believed.
//
// An Inbox is a SQLite file and a folder. A delivery is one row however often it comes: the same
// bytes under the same identifier or, without one, to the same address.
package webhook
