// Package dialect is what a profile adds to the contract (docs/service.md).
//
// The contract leaves much "not shown": statuses of jobs, error codes, the shape
// of answers, further request fields. The dialect "documented" sends and reads
// what the contract shows and nothing more, and says so where that is not
// enough. The dialect "brightdata" adds what is publicly documented of a service
// of this kind. Nothing that comes from it is ever called "documented" on screen.
//
// Package service is the caller. Dialects are values without state, safe for
// concurrent use; every function here takes remote bytes as hostile and returns
// bounded text.
package dialect
