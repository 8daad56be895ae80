// Package dialect is what a profile adds to the contract (docs/service.md).
//
// The contract leaves much "not shown": statuses of jobs, error codes, the shape
// of answers, further request fields. The default dialect sends and reads what the
// contract shows and nothing more, and says so where that is not enough. Another
// dialect adds what is publicly documented of a service of its kind; nothing that
// comes from it is ever called "documented" on screen.
//
// A dialect is one value in the list of this package: its capabilities and its
// functions. No other package knows a dialect's name or asks for one; messages
// that name dialects get the names here.
//
// The rooms of the service and the views are the callers. Dialects are values
// without state, safe for concurrent use; every function here takes remote bytes
// as hostile and returns bounded text.
package dialect
