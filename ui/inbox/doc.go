// Package inbox is the overlay with the webhooks that came: who sent them, what came of them,
// their bytes. It begins and ends receiving, bookmarks, and replays to an address of this machine.
package inbox
