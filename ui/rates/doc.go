// Package rates holds the palette's entry that asks the account what the zones of the profile
// cost, shows the rates that follow, and writes them into the profile when the operator says so.
//
// The wiring (ui/console) hands it the calls, which run in commands.
package rates
