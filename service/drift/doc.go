// Package drift notices when what a collector gives changes. Each downloaded result of a data set and
// each fetch with required fields leaves a Run: for each field how often it was there and filled, its
// types and the variety of its values. Judge compares a run with the last good ones and with the
// operator's contract.
//
// A Profiler and the rules are plain values. A Store, one SQLite file, and a Monitor are safe for
// concurrent use, and several processes may have the same file open. The service layer and the commands
// call it; views get its values.
package drift
