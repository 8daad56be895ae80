// Package store keeps what is known of batches beside their files: the plan, how far each slice is, what was spent and
// reserved, what each worker has committed, and sums of the results. It never holds an item or a result of its own.
//
// Its statements work on SQLite and on PostgreSQL. A Store is safe for concurrent use, also by several processes.
package store
