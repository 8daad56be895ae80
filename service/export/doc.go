// Package export writes what the console does as code for other programs: a
// command of curl, lines for a shell's environment, a proxy address; and a comparison as
// Markdown and JSON. There is one file per target.
//
// The views and the command line are its callers. It does no I/O and holds no
// client; its functions are safe for concurrent use. Secrets stay out of argv: a
// command takes them from the environment, by way of standard input.
package export
