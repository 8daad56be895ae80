// Package exchange is one exchange with the service's API or through its proxy:
// the connection, its timings, the limits that hold calls back, the body within
// its bounds, and the secrets that are masked in what comes back.
//
// The rooms that fetch and run jobs are its callers. A Wire, a Source and Bodies
// are safe for concurrent use; a Sink and a Trace belong to one exchange. A Wire
// follows no redirect, keeps no cookie, reads no proxy setting of the environment
// (HTTPS_PROXY never reroutes a call), and opens a new connection for every
// request: timings are then complete, and a stale connection cannot make it
// doubtful whether a POST was sent. It speaks HTTP/1.1 only, so that a preview
// can be byte for byte what is written.
package exchange
