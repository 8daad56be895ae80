// Package rows reads a job's inputs and the records of its result, row by row, as
// CSV, JSON, NDJSON or lines, and writes the inputs as the service takes them.
//
// The Jobs tab, the command line and the room that runs jobs are its callers. It
// holds no client and does no I/O but reading what it is given. Everything it
// reads is bounded. Its functions are safe for concurrent use.
package rows
