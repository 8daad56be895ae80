// Package deliver sends the webhooks of dataset jobs (service.md 6): a notice that a
// job has ended, or its records.
//
// The emulator's root hands it what jobs ask for, the dataset endpoints read it. An
// [Engine] is safe for concurrent use; its goroutines have ended when [Engine.Close]
// returns. Reading waits for no disk that is being written to.
//
// A delivery is on disk before [Engine.Add] returns and before every
// attempt, so that a process that dies loses none and repeats none without end: an
// attempt that was begun counts, whatever became of it. A receiver may therefore see a
// delivery twice (service.md 6: be idempotent), and a delivery has at most one attempt
// more than its schedule has waits.
//
// The retry schedule and the signature are assumptions: the contract shows neither, and
// the public documentation says only that a receiver has 30 seconds.
package deliver
