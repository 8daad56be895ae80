// Package webhook receives and keeps the webhooks of a service (service.md 6).
//
// A Receiver writes the bytes of a webhook to a file, then a row to the Inbox. Both are on disk
// before it answers 200. If anything fails until then, it answers otherwise or not at
// all, and the sender tries again. After the answer it processes the webhook: it checks who sent it, finds the job,
// and has the service asked about the job. It never trusts what a body says.
//
// An Inbox is a SQLite file and a folder. A webhook is one row however often it comes: the same
// bytes with the same identifier or, without one, to the same address.
package webhook
