// Package meter counts what every fetch used and what it cost, by zone, day (UTC, on the
// emulator's clock) and target host. Native access and the API pay the same rate of a zone
// (service.md 1 rule 1). Everything that fetches from a target records here; the account's
// endpoints and its usage limits read it.
//
// A [Meter] is safe for concurrent use. Counts are written to the state folder within a
// second, and by [Meter.Close]: a process that is killed loses the last second at most.
package meter
