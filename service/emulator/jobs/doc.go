// Package jobs runs the emulator's dataset jobs (service.md 2.4, 4.2): it collects
// what each input asks for, extracts records, and keeps both on disk so that a job
// survives the process.
//
// The emulator's dataset endpoints call it. An [Engine] is safe for concurrent use; its
// goroutines have ended when [Engine.Close] returns. Reading waits for no disk that is
// being written to.
//
// A job and its inputs are kept as one change. Each finished input adds one line, by the
// input's number; a process that dies leaves whole lines only, and the next one does the
// inputs that have none, so no record is lost and none comes twice.
//
// A job goes through starting, running and building (the records are read back,
// checked and measured) to ready, failed or canceled. Where webhooks were asked for,
// they are handed over after the last state is on disk, again at the next start when
// the process died in between: a hand-over that was seen before must be recognised.
package jobs
