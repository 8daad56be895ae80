// Package proxy is the Proxy tab: it composes the login of native access,
// explains it part by part, parses pasted logins, tests them and exports them for
// other clients. Passwords are references; the tab asks for a value only to show
// it for a moment or to copy it, and says so.
//
// The wiring (ui/cli) makes one Model and gives it to the root. A Model belongs
// to the program's own goroutine; everything that waits runs in commands.
package proxy
