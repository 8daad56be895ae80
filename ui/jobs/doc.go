// Package jobs is the Jobs tab: the ledger of dataset jobs, a job's history, the
// dialog that launches one, downloads and a preview of the first records.
//
// The wiring (ui/cli) makes one Model and gives it to the root. A Model belongs
// to the program's own goroutine; everything that waits runs in commands.
package jobs
