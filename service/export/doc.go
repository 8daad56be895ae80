// Package export writes what the console does as code for other programs: a fetch for
// curl, Go, Python, Scrapy, Node, Playwright and Puppeteer, a proxy login for a shell's
// environment and for a browser; and a comparison as Markdown and JSON. There is one file
// per target.
//
// The views and the command line are its callers. It does no I/O and holds no
// client; its functions are safe for concurrent use. Programs take their secrets from the
// environment, and hand them to no other program in argv. What a client cannot send as it
// stands in the form is refused with the reason; what arrives in another spelling of the
// same meaning is said in the code. Programs check their answers, by less than the console does
// (check.go), and end with an error if one is not ok; curl checks the status alone.
package export
