// Package text makes one line of a terminal out of any text: it sanitises what is
// remote, measures, cuts and wraps by cells, and writes sizes, durations and
// times for people. Its functions are pure and know neither theme nor view; the
// views, the widgets and the command line call them.
package text
