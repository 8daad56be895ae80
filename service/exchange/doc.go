// Package exchange makes one exchange with the service's API or through its
// proxy: it connects, measures times, keeps to limits, bounds the body and masks
// secrets in the answer.
//
// The rooms that fetch and run jobs call it. A Wire, a Source and Bodies are safe
// for concurrent use; a Sink and a Trace belong to one exchange. A Wire follows
// no redirect, keeps no cookie and reads no proxy setting of the environment
// (HTTPS_PROXY never reroutes a call). It opens a new connection for every
// request: timings are complete, and no stale connection makes it doubtful
// whether a POST was sent; Keep says what holds for connections that are kept. It
// speaks HTTP/1.1 only, which lets a preview match the sent request byte for byte.
package exchange
