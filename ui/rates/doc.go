// Package rates asks the account of its money. Its overlays show the balance with what was spent by day, and
// what the zones of the profile cost with the rates that follow, which they write into the profile when the
// operator says so.
//
// The wiring (ui/console) hands it the calls, which run in commands.
package rates
