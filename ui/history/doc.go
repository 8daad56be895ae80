// Package history is the fifth tab: one timeline, newest first, of everything
// the journal keeps. The wiring builds it and the root shows it.
//
// It holds a few pages of the timeline around the cursor, never all of it. A
// Model belongs to the program's own goroutine; its loads run in commands and
// come back as messages.
package history
