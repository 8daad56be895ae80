// Package async keeps the answers of asynchronous fetches until they are collected
// (public documentation: submit, poll, 48 hours). Package fetch submits and collects.
//
// A [Store] is safe for concurrent use. A fetch is on disk before [Store.Submit] returns: a
// process that dies loses none, and the next one repeats those it had begun. Goroutines have
// ended when [Store.Close] returns. Waiting fetches, kept responses, each answer and the sum
// of all answers are bounded.
package async
