// Package code is the overlay that shows a fetch as code for other programs, in full: it is
// copied, saved as a file, or printed for the terminal's own selection. What compared runs
// showed of the zone stands below it. Views open it with kit.ShowCode; the root makes it
// with Open.
//
// Secrets come from the environment of the program that is shown. With the secret in it,
// code goes to the clipboard alone, after a question.
package code
