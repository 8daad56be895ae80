// Package inbox is what an operator does with webhooks: receiving them by the settings of the configuration, reading
// and marking them, sending one again, and giving a job an address here. The machinery is package webhook.
//
// An Inbox is safe for concurrent use.
package inbox
