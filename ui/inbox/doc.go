// Package inbox is the overlay with the received webhooks: their senders, outcomes and bytes. It
// begins and ends receiving, bookmarks webhooks, and replays them to an address of this machine.
package inbox
