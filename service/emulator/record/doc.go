// Package record is the request journal: what a client really sent, to which zone, with
// which key, and what it got. The real service does not have one.
//
// The server puts [Journal.Handler] in front of its listeners; products add what they
// alone know through the [Exchange] of a request's context ([Of]); what does not speak
// HTTP begins an exchange itself. The control API reads entries and follows them.
//
// Entries live in memory, bounded in number and bytes; the oldest go first. Secrets are
// masked before an entry is kept: keys and passwords in headers, queries and bodies. A
// body is kept as a prefix, and is never held back on its way.
//
// A Journal is safe for concurrent use.
package record
