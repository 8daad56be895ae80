// Package jobs runs the emulator's dataset jobs (service.md 2.4, 4.2): it collects
// what each input asks for, extracts records, and keeps both on disk so that a job
// survives the process.
//
// The emulator's dataset endpoints call it. An [Engine] is safe for concurrent use; its
// goroutines have ended when [Engine.Close] returns.
//
// On disk a job is a folder named by its id: input.ndjson (one input a line, written
// once), records.ndjson (one line per finished input, in the order they finished) and
// job.json (its state, replaced atomically). The whole folder appears in one rename
// after it was synced. A process that dies leaves at worst half a last line in
// records.ndjson; the next one cuts it off and does the inputs that have no line, so
// no record is lost and none comes twice.
//
// A job goes through starting, running and building (the records are read back,
// checked and measured) to ready, failed or canceled. Where webhooks were asked for,
// they are handed over after the last state is on disk, again at the next start when
// the process died in between: whoever takes them must know a hand-over he has seen.
package jobs
