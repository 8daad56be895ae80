// Package index answers discover and deep lookup. Its documents are the pages of the lab, so that
// results can be fetched.
//
// Documents are ranked by SQLite's FTS5 (bm25 over title, description, category, text and facts)
// and carry their facts as data. Nothing is invented: a result is a document, and a column of a
// deep lookup is a fact of a document, or null. The shapes on the wire follow public
// documentation; those of deep lookup were generated from a specification and never seen live, so
// its answers are marked as beta.
//
// The emulator's root wires it: [Open], then [Service.Mount] behind its check of keys
// and levels. Tasks and requests are kept in the state: those that the end of the process cut
// begin again at the next start.
//
// A [Service] is safe for concurrent use, and every goroutine it starts has ended when
// [Service.Close] returns.
package index
