// Package meter counts what every fetch used and what it cost, by zone, day (UTC, on the
// emulator's clock) and target host, at the zone's rate, the same by both access methods
// (service.md 1 rule 1). The ways to a target record into it; the account's endpoints and
// its usage limits read it.
//
// A [Meter] is safe for concurrent use, and recording takes no lock once a zone and host
// were seen that day. Counts are written to the state folder within a second, and by
// [Meter.Close]: a process that is killed loses the last second at most.
package meter
