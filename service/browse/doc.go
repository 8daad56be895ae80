// Package browse tries the remote browser (service.md 1) as its clients use it: it connects
// to its address for the Chrome DevTools Protocol with a zone's login, navigates to a page,
// and takes a screenshot, with the time of each step. The contract names the product and
// lists it among those with a login (5.2); how it is opened is a dialect's.
//
// The room that fetches calls it. Each call is one session of one page, in one goroutine.
// What comes over the socket is remote bytes: each message is bounded.
package browse
