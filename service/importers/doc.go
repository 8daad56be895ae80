// Package importers reads requests that other programs wrote: a curl command as a shell
// reads it, and the entries of a HAR file. It is pure: nothing is run, sent or opened.
//
// What it gives is text for the form, with environment variables as {{NAME}}. Secrets
// stay behind: they are named by where they stood, never repeated. What the form has no
// field for is listed.
package importers
