// Package body shows a text of any size through a window over an index of its rows.
// Only the rows near the screen are read, coloured and wrapped. The Sandbox shows
// bodies with it. Reading happens in commands; the View itself belongs to the
// program's own goroutine.
package body
