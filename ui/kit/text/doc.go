// Package text prepares text for a terminal: it sanitises remote text, measures, cuts
// and wraps by cells, and formats sizes, durations and times for people. Its functions
// are pure and know neither theme nor view; the views, the widgets and the command line
// call them.
package text
