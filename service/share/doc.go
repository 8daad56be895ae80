// Package share keeps limits that several machines have in common, on a PostgreSQL server: how many fetches through a
// zone are in flight, and how many begin in a second. service/batch calls it.
//
// Of a limit each worker leases a part and renews the lease. It sends only while the lease outlasts the longest fetch
// (Lease.Covers), so that the part of a worker that was killed comes back when none of its fetches can be in flight any
// more: after one timeout. Of a rate each worker takes some moments at a time. The server's clock alone counts.
//
// Shares and Rates are safe for concurrent use, on any number of machines.
package share
