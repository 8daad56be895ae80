// Package fetch sends fetches by API Access and by Native Access, previews them, and
// tests proxy logins.
//
// The Sandbox, the Proxy tab and the command line are its callers. A fetch always
// ends in a model.FetchResult with a model.Diagnosis; a Go error means that the
// caller cancelled, that the request cannot be sent as it stands
// (*model.RequestError), or that the profile is not usable.
//
// A Fetcher is safe for concurrent use. It starts no goroutine that outlives the
// call that needed it; the connections of a Prepared have some until it is closed. A key's value and a zone's password are taken from their
// references when a request is written, and never appear in a result, an error or the
// log.
package fetch
