// Package jobs runs the emulator's dataset jobs (service.md 2.4, 4.2): it collects
// what each input asks for, extracts records, and keeps both on disk so that a job
// survives the process.
//
// The emulator's dataset endpoints call it. An [Engine] is safe for concurrent use; its
// goroutines have ended when [Engine.Close] returns. Readers never wait for a write to
// disk.
//
// A job and its inputs are written in one transaction. Each finished input adds one line,
// under the input's number. A process that dies leaves only whole lines, and the next one
// works through the inputs that have none: no record is lost and none comes twice.
//
// A job goes through starting, running and building (the records are read back,
// checked and measured) to ready, failed or canceled. Its webhooks are handed over once
// the last state is on disk. If the process dies in between, the next one hands them over
// again, so the receiver of a hand-over must recognise a repeated one.
package jobs
