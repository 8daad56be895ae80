// Package service is the root of the application: it opens what a run works with, and joins the use cases for the
// profile in use. ui/cli, ui/console and ui/mcp open a Service; views get the use cases, through small interfaces
// that they declare. It knows neither flags nor exit codes, neither a screen nor a key press.
//
// A Service is safe for concurrent use.
package service
