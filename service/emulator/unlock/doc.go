// Package unlock gets past the blocks of targets: it recognises a challenge by the
// marks on the page, as an unlocker does, solves it and asks again. It
// reports a challenge that it cannot solve with the codes of the public documentation.
//
// The unlocker and SERP products call [Fetch] for every page. The package knows no
// target: it reads the challenge off the HTML (an element with data-challenge, the
// address of a puzzle on the same host), and solves proofs of work. Everything is safe
// for concurrent use, and starts no goroutines. Pages and puzzles are remote bytes and
// bounded: how much of a page is looked at, how hard a puzzle may be.
package unlock
