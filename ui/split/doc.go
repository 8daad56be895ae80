// Package split is the overlay that tells whether the key's level, the zone or the site
// refused a fetch: it shows the fetches that would tell and what they cost, sends them, and
// shows what came of each and one sentence. The wiring (ui/console) hands it to the tabs
// as a function.
package split
