// Package service is the root of the application: it opens what a run works with, and joins the use cases for the
// profile in use. ui/cli, ui/console and ui/mcp open a Service; views get its use cases through small interfaces
// that they declare. It knows no flags, exit codes, screens or key presses.
//
// A Service is safe for concurrent use.
package service
