// Package inbox is what an operator does with webhooks: receive them with the configured settings, read and bookmark
// them, replay them, and give a job an address here. Package webhook does the work.
//
// An Inbox is safe for concurrent use.
package inbox
