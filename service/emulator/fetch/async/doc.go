// Package async keeps the answers of asynchronous fetches until they are collected
// (public documentation: submit, poll, 48 hours). Package fetch submits and collects.
//
// A [Store] is safe for concurrent use. What was submitted is on disk before
// [Store.Submit] returns: a process that dies loses none, and fetches again what it had
// begun. Goroutines have ended when [Store.Close] returns. Everything is bounded: what
// waits, what is kept, each answer, all of them together.
package async
