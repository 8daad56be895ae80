// Package record is the request journal: what a client sent, to which zone, with which key,
// and the answer. The real service has none.
//
// The server puts [Journal.Handler] in front of its listeners. Products add details through
// the [Exchange] of a request's context ([Of]). Protocols other than HTTP begin an exchange
// themselves. The control API reads entries and follows them.
//
// Entries live in memory, bounded in number and bytes; the oldest go first. Keys and
// passwords in headers, queries and bodies are masked before an entry is kept. An entry has
// the beginning of a body; recording never delays one.
//
// A Journal is safe for concurrent use.
package record
