// Package console is the wiring of the screen: it joins the views with the use cases of a service.Service, and with
// the terminal around them: keyboard, clipboard, tmux, editor, suspension, dumps. ui/cli opens a Console and runs it.
//
// A Console belongs to the goroutine that runs it.
package console
