// Package sandbox is the first tab: one request typed, its exact bytes shown
// before they go out, sent by either access method, and its result with
// the failure class, the evidence and the next steps as keys.
//
// The wiring builds a Model and the root shows it. A Model belongs to the
// program's own goroutine; everything that waits runs in commands, whose
// results come back addressed and are dropped if a newer load has begun.
// Requests are sent only by the send key and by the keys that say so: send again, wait and
// send again, send the other way, and compare. In a comparison they are again, one more run
// and zones. A step changes at most one field of the form; edits stay.
package sandbox
