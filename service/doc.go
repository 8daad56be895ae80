// Package service joins the rooms under the views for one profile: fetches and
// tests of proxy logins (fetch), dataset jobs (jobs), and the history of both
// (journal).
//
// The console and the command line make a Client, and hand its rooms to the views
// through small interfaces that the views declare; it knows nothing of them. A Client is
// safe for concurrent use.
package service
