// Package drift notices changes in what a collector gives. Each downloaded result of a data set and each
// fetch with required fields leaves a Run. It says how often each field was present and filled, its types
// and how much its values vary. Judge compares a run with good earlier ones and with the operator's contract.
//
// A Profiler is for one goroutine. A Store, one SQLite file, and a Monitor are safe for concurrent use, and
// several processes may open the same file. The service layer and the commands call it; views get its values.
package drift
