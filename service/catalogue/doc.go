// Package catalogue tells which data sets jobs can be started for, and what their inputs are:
// as the service lists them, as it listed them before, or from the list in the program.
//
// The Jobs tab and the command line are its callers. What the service said is kept as a file
// for a day. The list in the program (builtin.ndjson) has what public sources show and nothing
// else: a data set whose inputs they do not show has none there. Every function is safe for
// concurrent use.
package catalogue
