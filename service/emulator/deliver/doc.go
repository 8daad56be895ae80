// Package deliver sends the webhooks of dataset jobs (service.md 6): a notice that a
// job has ended, or its records.
//
// The emulator's root hands it the webhooks of jobs; the dataset endpoints read it. An
// [Engine] is safe for concurrent use; its goroutines have ended when [Engine.Close]
// returns. Readers never wait for a write to disk.
//
// A delivery is on disk before [Engine.Add] returns and before every attempt, so a process
// that dies loses no delivery and repeats none for ever: an attempt counts once it has
// begun. A receiver may therefore see a delivery twice (service.md 6: be idempotent), and a
// delivery has at most one more attempt than its schedule has waits.
//
// The retry schedule and the signature are assumptions: the contract shows neither, and
// public documentation says only that a receiver has 30 seconds.
package deliver
