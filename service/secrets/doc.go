// Package secrets knows which references to secrets the configuration, the key inventory and the ledger have,
// and moves secrets from one store to another: the new one is written and read back, the references
// are switched, and only then the old one is deleted. A journal lets a migration that was killed go
// on from where it was.
//
// The root of service calls it. Values stay in memory and in the stores; journal and errors hold
// references alone. Everything is safe for concurrent use; two migrations at once exclude each
// other by a lock.
package secrets
