// Package jobs starts dataset jobs, follows them, downloads their results, and
// records in the ledger what is known of them.
//
// The Jobs tab and the command line are its callers. A job is sent once, whatever
// happens: the intent is on disk before the POST, and the outcome is written down
// even if no caller waits for it any more.
//
// A Runner is safe for concurrent use. Neither it nor a Watcher leaves a
// goroutine behind when its call returns.
package jobs
