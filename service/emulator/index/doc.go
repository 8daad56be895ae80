// Package index answers discover and deep lookup over documents that its caller hands
// in: the emulator gives it the pages of the lab site, so that what is found can also
// be fetched.
//
// Documents are ranked by SQLite's FTS5 (bm25 over title, description, category, text and
// facts) and carry their facts as data. The index makes nothing up: a result is a
// document, a column of a deep lookup is filled from a document's facts, and what no fact
// says is null. The shapes on the wire follow public documentation; those of deep lookup
// were generated from a specification and never seen live, so its answers are marked as
// beta.
//
// The emulator's root wires it: [Open], then [Service.Mount] behind its check of keys
// and levels. Tasks and requests live in memory only: they end with the process.
//
// A [Service] is safe for concurrent use, and every goroutine it starts has ended when
// [Service.Close] returns.
package index
