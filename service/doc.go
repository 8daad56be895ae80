// Package service is the layer under the views: fetches by API Access and by
// Native Access, dataset jobs, tests of proxy logins, all of it journalled.
//
// The console's views, the command line and background work call it, through
// small interfaces of their own; it knows nothing of them. What it tells is
// values: a fetch always ends in a model.FetchResult with a model.Diagnosis, and
// a Go error means that the caller cancelled, that the request cannot be sent as
// it stands (RequestError), or that the profile is not usable.
//
// A Client is safe for concurrent use. It starts no goroutine that outlives the
// call that needed it, follows no redirect, keeps no cookie, reads no proxy
// setting of the environment (HTTPS_PROXY never reroutes a call), and writes
// every request on a connection of its own: timings are then complete, and a
// stale connection cannot make it doubtful whether a POST was sent. HTTP/1.1
// only, so that a preview can be byte for byte what is written.
//
// A key's value and a zone's password are taken from their references when a
// request is written, and are in no result, error or log line.
package service
