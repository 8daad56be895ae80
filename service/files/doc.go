// Package files opens what the program keeps on this machine: the history, the ledger of jobs, the queue of durable
// work, the store of drift and the inbox of webhooks. Each is opened when it is first needed, and Close closes them
// in reverse. Whoever joins the use cases makes a Files; the use cases get the stores.
//
// A Files is safe for concurrent use.
package files
