// Package jobs starts dataset jobs, follows them, downloads their results, and
// keeps what is known of them in the ledger.
//
// The Jobs tab and the command line are its callers. A job is sent once, whatever
// happens: the intent is on disk before the POST, and the outcome is written down
// whoever still waits for it.
//
// A Runner is safe for concurrent use. It starts no goroutine that outlives the
// call that needed it.
package jobs
